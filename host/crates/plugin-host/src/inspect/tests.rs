//! Components written as text, what is read from them, and the sentences about those that do not load.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use proptest::prelude::*;

use super::*;
use crate::grant::{KvGrant, SessionExtensionGrant};

/// A component with these imports and exports, all empty instances.
fn component(imports: &[&str], exports: &[&str]) -> Vec<u8> {
    let imports: String = imports.iter().map(|name| format!("(import \"{name}\" (instance))")).collect();
    let exports: String = exports.iter().map(|name| format!("(export \"{name}\" (instance $i))")).collect();
    wat::parse_str(format!("(component {imports} (core module) (instance $i) {exports})")).unwrap()
}

fn seen(imports: &[&str], exports: &[&str]) -> Inspection {
    inspect(&component(imports, exports)).unwrap()
}

fn reasons(inspection: &Inspection, grants: &Grants) -> Vec<String> {
    inspection.refusals("guard", grants).0.iter().map(ToString::to_string).collect()
}

#[test]
fn hooks_and_tools_are_found_in_the_order_of_the_exports() {
    let inspection = seen(
        &[],
        &[
            "creel:plugin/message-sent@0.1.0",
            "creel:plugin/before-tool-call@0.1.3",
            "wasi:cli/run@0.2.3",
            "creel:plugin/tools@0.1.0",
            "creel:plugin/approval-resolved@0.1.0",
            "cabi-extra",
        ],
    );
    assert_eq!(inspection.hooks(), [HookId::MessageSent, HookId::BeforeToolCall, HookId::ApprovalResolved]);
    assert!(inspection.has_tools());
    assert_eq!(inspection.left_out().count(), 0);
    assert_eq!(inspection.exports.iter().filter(|it| it.role == ExportRole::Foreign).count(), 2);
    assert_eq!(inspection.counts, Counts { modules: 1, components: 0, functions: 0 });
    assert_eq!(reasons(&inspection, &Grants::default()), [""; 0]);
}

#[test]
fn every_hook_of_the_catalogue_has_an_interface() {
    for row in hooks::catalogue::CATALOGUE {
        let export = format!("creel:plugin/{}@0.1.0", row.name.replace('_', "-"));
        assert_eq!(seen(&[], &[&export]).hooks(), [row.id]);
    }
}

#[test]
fn a_hook_of_a_newer_version_of_the_line_is_left_out() {
    let inspection = seen(&[], &["creel:plugin/before-lunch@0.1.4", "creel:plugin/agent-end@0.1.0"]);
    assert_eq!(inspection.left_out().collect::<Vec<_>>(), ["creel:plugin/before-lunch@0.1.4"]);
    assert_eq!(inspection.hooks(), [HookId::AgentEnd]);
    assert_eq!(reasons(&inspection, &Grants::default()), [""; 0]);
}

#[test]
fn another_version_of_the_contract_is_refused_in_one_sentence() {
    for version in ["0.2.0", "1.0.0", "0.1.0-rc.1"] {
        let names = ["agent-end", "agent-end-2"].map(|name| format!("creel:plugin/{name}@{version}"));
        let import = format!("creel:plugin/kv@{version}");
        let inspection = seen(&[&import], &[&names[0], &names[1]]);
        let expected = format!("was built for creel:plugin {version} (it names `{}`); this host knows 0.1", names[0]);
        assert_eq!(reasons(&inspection, &Grants::default()), [expected]);
    }
    let bare = seen(&["creel:plugin/log"], &[]);
    assert!(reasons(&bare, &Grants::default())[0].starts_with("was built for creel:plugin without a version"));
}

#[test]
fn of_one_hook_in_two_versions_the_known_one_counts() {
    let inspection = seen(&[], &["creel:plugin/agent-end@0.2.0", "creel:plugin/agent-end@0.1.0"]);
    assert_eq!(inspection.hooks(), [HookId::AgentEnd]);
    assert_eq!(inspection.left_out().collect::<Vec<_>>(), ["creel:plugin/agent-end@0.2.0"]);
    assert_eq!(reasons(&inspection, &Grants::default()), [""; 0]);
}

#[test]
fn all_imports_that_cannot_be_had_are_told_at_once() {
    let inspection = seen(
        &[
            "creel:plugin/types@0.1.0",
            "creel:plugin/log@0.1.0",
            "creel:plugin/kv@0.1.0",
            "creel:plugin/session-extension@0.1.2",
            "creel:plugin/secrets@0.1.0",
            "creel:plugin/new-thing@0.1.9",
            "wasi:cli/stdout@0.2.6",
            "wasi:sockets/tcp@0.2.0",
            "wasi:http/types@0.2.3",
            "wasi:cli/stdout@0.3.0",
            "acme:tools/box@1.0.0",
        ],
        &[],
    );
    assert_eq!(
        reasons(&inspection, &Grants::default()),
        [
            "imports `creel:plugin/kv@0.1.0`, which is not granted; to grant it set plugins.entries.guard.capabilities.kv: true",
            "imports `creel:plugin/session-extension@0.1.2`, which is not granted; to grant it set plugins.entries.guard.capabilities.sessionExtension: true",
            "imports `creel:plugin/secrets@0.1.0`, which is not granted; to grant it set plugins.entries.guard.capabilities.secrets: true",
            "has the unknown import `creel:plugin/new-thing@0.1.9`; build the plugin against the interfaces of creel:plugin 0.1 only",
            "imports `wasi:cli/stdout@0.3.0`; of the standard interfaces this host links those of 0.2; build the plugin for wasm32-wasip2",
            "has the unknown import `acme:tools/box@1.0.0`; build the plugin against the interfaces of creel:plugin 0.1 only",
        ]
    );
    let granted = Grants {
        kv: Some(KvGrant { max_bytes: 1, max_keys: 1 }),
        session_extension: Some(SessionExtensionGrant { max_bytes: 1 }),
        ..Grants::default()
    };
    assert_eq!(reasons(&inspection, &granted).len(), 4);
    let sentence = inspection.refusals("guard", &Grants::default()).to_string();
    assert_eq!(sentence.matches("; imports ").count() + sentence.matches("; has the unknown").count(), 5);
}

#[test]
fn every_import_of_the_contract_has_its_need() {
    for (interfaces, need) in [
        ("types log config invocation tool-progress tool-authority ended-transcript", Need::Free),
        ("kv", Need::Grant(Capability::Kv)),
        ("session-extension", Need::Grant(Capability::SessionExtension)),
        ("secrets", Need::Grant(Capability::Secrets)),
        ("tools-invoke", Need::Grant(Capability::ToolsInvoke)),
        ("messages-send", Need::Grant(Capability::MessagesSend)),
        ("sessions-read", Need::Grant(Capability::SessionsRead)),
        ("next-turn", Need::NotOffered(Capability::NextTurn)),
        ("cron-read", Need::NotOffered(Capability::CronRead)),
    ] {
        for interface in interfaces.split(' ') {
            let inspection = seen(&[&format!("creel:plugin/{interface}@0.1.0")], &[]);
            assert_eq!(inspection.imports[0].need, need, "{interface}");
        }
    }
}

#[test]
fn a_function_is_no_interface() {
    let text = r#"(component
        (import "run" (func))
        (import "wasi:cli/exit@0.2.0" (func $f))
        (export "creel:plugin/agent-end@0.1.0" (func $f)))"#;
    let inspection = inspect(&wat::parse_str(text).unwrap()).unwrap();
    let reasons = reasons(&inspection, &Grants::default());
    assert_eq!(reasons.len(), 3, "{reasons:?}");
    assert!(reasons[0].starts_with("exports `creel:plugin/agent-end@0.1.0`, but not as an interface"));
    assert!(inspection.hooks().is_empty());
}

#[test]
fn names_of_components_inside_do_not_count() {
    let text = r#"(component
        (component (import "creel:plugin/kv@0.1.0" (instance)) (core module (func)))
        (core module (func) (func)))"#;
    let inspection = inspect(&wat::parse_str(text).unwrap()).unwrap();
    assert!(inspection.imports.is_empty());
    assert_eq!(inspection.counts, Counts { modules: 2, components: 1, functions: 3 });
}

#[test]
fn what_is_no_component_is_called_by_its_name() {
    for (bytes, sentence) in [
        (wat::parse_str("(module)").unwrap(), "is a core WebAssembly module, not a component; build with --target wasm32-wasip2"),
        (Vec::new(), "is not WebAssembly: it starts with nothing, the file is empty"),
        (b"(component)".to_vec(), "is not WebAssembly: it starts with text; convert it"),
        (b"\x7fELF....".to_vec(), "is not WebAssembly: it starts with the mark of machine code"),
        (b"PK\x03\x04".to_vec(), "is not WebAssembly: it starts with 50 4b 03 04"),
        (b"\0asm".to_vec(), "is cut off: it ends at byte 4"),
        (b"\0asm\x09\0\0\0".to_vec(), "is damaged or uses an unsupported feature at byte 4 of 8"),
    ] {
        for error in [inspect(&bytes).unwrap_err(), validate(&bytes).unwrap_err()] {
            assert!(error.to_string().starts_with(sentence), "{error}");
        }
    }
}

#[test]
fn half_a_component_is_cut_off_and_garbage_inside_has_a_place() {
    let whole = component(&["creel:plugin/log@0.1.0"], &["creel:plugin/agent-end@0.1.0"]);
    let half = inspect(&whole[..whole.len() / 2]).unwrap_err();
    assert_eq!(half, InspectError::CutOff { bytes: whole.len() / 2 });
    let mut damaged = whole.clone();
    damaged[8] = 0x7f;
    let error = inspect(&damaged).unwrap_err();
    assert_eq!(error, InspectError::Damaged { offset: 10, bytes: whole.len(), problem: "malformed section id: 127".into() });
}

#[test]
fn words_of_the_parser_become_one_line() {
    let mut damaged = wat::parse_str("(component (core module))").unwrap();
    let magic = damaged.windows(4).rposition(|bytes| bytes == b"\0asm").unwrap();
    damaged[magic + 2] = b'q';
    let told = inspect(&damaged).unwrap_err().to_string();
    assert!(told.contains("bad magic number") && !told.contains(char::is_control), "{told:?}");
}

#[test]
fn sizes_and_counts_are_bounded() {
    let mut large = vec![0; MAX_COMPONENT_BYTES + 1];
    large[..4].copy_from_slice(b"\0asm");
    assert_eq!(inspect(&large), Err(InspectError::TooLarge { bytes: MAX_COMPONENT_BYTES + 1 }));
    let refused = |text: String| inspect(&wat::parse_str(text).unwrap()).unwrap_err().to_string();
    let modules = format!("(component {})", "(core module)".repeat(257));
    assert_eq!(refused(modules), "has more than 256 modules and components inside");
    let nested = format!("{}{}", "(component ".repeat(20), ")".repeat(20));
    assert_eq!(refused(nested), "has more than 16 levels of components inside each other");
    let imports: String = (0..501).map(|n| format!("(import \"a{n}\" (instance))")).collect();
    assert_eq!(refused(format!("(component {imports})")), "has more than 500 imports");
    let exports: String = (0..501).map(|n| format!("(export \"a{n}\" (instance $i))")).collect();
    assert_eq!(refused(format!("(component (instance $i) {exports})")), "has more than 500 exports");
    let name = "a".repeat(513);
    let long = format!("(component (import \"{name}\" (instance)))");
    assert_eq!(refused(long), "has more than 512 bytes in the name of an import or export");
}

#[test]
fn proposals_that_the_engine_does_not_run_are_refused() {
    for module in [
        "(module (memory i64 1))",
        "(module (memory 1 1 shared))",
        "(module (tag))",
        "(module (type (struct)))",
        "(module (func (param externref)))",
    ] {
        let component = wat::parse_str(format!("(component (core {}", &format!("{})", &module[1..]))).unwrap();
        let error = inspect(&component).unwrap_err();
        assert!(matches!(error, InspectError::Damaged { .. }), "{module}: {error}");
    }
    for module in ["(module (func (result i32 i32) i32.const 1 i32.const 2))", "(module (func (param v128)) (table 1 funcref))"] {
        let component = wat::parse_str(format!("(component (core {})", &module[1..])).unwrap();
        assert_eq!(inspect(&component).map(|it| it.counts.modules), Ok(1), "{module}");
    }
}

#[test]
fn a_bad_body_is_found_by_validation_only() {
    let component = wat::parse_str("(component (core module (func i32.const 1)))").unwrap();
    assert!(inspect(&component).is_ok());
    assert!(matches!(validate(&component), Err(InspectError::Damaged { .. })));
}

proptest! {
    #[test]
    fn damage_never_panics(cut in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), flip in 1..=255u8) {
        let mut bytes = component(&["creel:plugin/log@0.1.0", "wasi:io/poll@0.2.0"], &["creel:plugin/agent-end@0.1.0"]);
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        if let Ok(inspection) = inspect(&bytes) {
            let _ = inspection.refusals("guard", &Grants::default()).to_string();
        }
        let _ = validate(&bytes);
        let _ = inspect(&bytes[..cut.index(bytes.len())]);
    }

    #[test]
    fn arbitrary_bytes_never_panic(tail in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut bytes = b"\0asm\x0d\0\x01\0".to_vec();
        bytes.extend(tail);
        let _ = inspect(&bytes);
    }
}
