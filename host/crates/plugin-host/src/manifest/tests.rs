//! Tables of manifests: what is read, what is tolerated, and the sentences about the rest.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use hooks::HookId;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::grant::Capability;

const PLACE: &str = "guard/creel.plugin.json";

fn parse(manifest: &Value) -> Result<Manifest, ManifestError> {
    Manifest::parse(manifest.to_string().as_bytes(), PLACE)
}

/// A minimal manifest with more keys.
fn with(more: Value) -> Value {
    let mut manifest = json!({ "id": "guard", "configSchema": { "type": "object" } });
    manifest.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    manifest
}

fn with_hooks(hooks: Value) -> Manifest {
    parse(&with(json!({ "hooks": hooks }))).unwrap()
}

#[test]
fn a_full_manifest_is_read() {
    let manifest = parse(&with(json!({
        "name": "Guard",
        "description": "Guards.",
        "version": "1.2.3",
        "component": "guard.wasm",
        "hooks": [
            { "hook": "before_tool_call", "handler": "a", "priority": 10, "timeoutMs": 500, "matcher": ["exec"] },
            { "hook": "before_tool_call", "handler": "b", "priority": -0.5 },
            { "hook": "before_agent_reply", "eligibleTriggers": ["cron", "heartbeat"] },
            { "hook": "before_prompt_build", "requiresToolAuthority": true },
        ],
        "capabilities": { "kv": { "maxBytes": 1000 }, "sessionExtension": true, "secrets": false },
        "limits": { "memoryBytes": 1048576, "maxInstances": 4 },
        "instanceLifetime": "call",
        "contracts": { "tools": ["convert"], "webSearchProviders": ["x"] },
        "toolMetadata": { "convert": { "optional": true, "replaySafe": true, "configSignals": 7 } },
        "activation": { "onStartup": true, "onRoutes": [] },
        "kind": "memory",
        "enabledByDefault": true,
        "skills": ["skills"],
        "requiresPlugins": ["base"],
        "legacyPluginIds": ["old-guard"],
        "uiHints": { "unknown": "keys", "are": "tolerated" },
    })))
    .unwrap();
    assert_eq!(manifest.id.as_str(), "guard");
    assert_eq!(manifest.component.as_deref(), Some("guard.wasm"));
    let handlers: Vec<_> = manifest.handlers.iter().map(|it| (it.hook, it.handler_name.as_str(), it.options.priority)).collect();
    assert_eq!(
        handlers,
        [
            (HookId::BeforeToolCall, "a", 10.0),
            (HookId::BeforeToolCall, "b", -0.5),
            (HookId::BeforeAgentReply, "", 0.0),
            (HookId::BeforePromptBuild, "", 0.0)
        ]
    );
    assert_eq!(manifest.handlers[0].options.timeout_ms, Some(500));
    assert_eq!(manifest.handlers[0].options.matcher, Some(vec!["exec".to_owned()]));
    assert_eq!(manifest.handlers[2].options.eligible_triggers, Some(vec!["cron".to_owned(), "heartbeat".to_owned()]));
    assert!(manifest.handlers[3].options.requires_tool_authority);
    assert_eq!(manifest.capabilities.kv_bytes, Some(1000));
    assert!(manifest.capabilities.capabilities.contains(&Capability::SessionExtension));
    assert!(!manifest.capabilities.capabilities.contains(&Capability::Secrets));
    assert_eq!(manifest.limits.max_instances, Some(4));
    assert_eq!(manifest.lifetime, Lifetime::Call);
    assert_eq!(manifest.tools, ["convert"]);
    assert!(manifest.tool_metadata["convert"].optional);
    assert_eq!(manifest.kinds, ["memory"]);
    assert!(manifest.enabled_by_default);
    assert_eq!(manifest.diagnostics, [""; 0]);
}

#[test]
fn the_shortest_manifest_has_an_id_and_a_schema() {
    let manifest = parse(&with(json!({}))).unwrap();
    assert!(manifest.handlers.is_empty() && manifest.capabilities == Asked::default() && !manifest.enabled_by_default);
    let marked = format!("\u{feff}{}", with(json!({ "name": null })));
    assert!(Manifest::parse(marked.as_bytes(), PLACE).is_ok());
}

#[test]
fn what_does_not_fit_is_named_with_file_key_found_and_expected() {
    for (manifest, sentence) in [
        (json!({ "configSchema": {} }), "`id` is missing; write the plugin's id"),
        (json!({ "id": "guard" }), "`configSchema` is missing; for a plugin without settings write \"configSchema\": {"),
        (json!([]), "found a list, expected an object"),
        (with(json!({ "id": 7 })), "`id`: found `7`, expected text in quotes"),
        (with(json!({ "configSchema": true })), "`configSchema`: found `true`, expected an object"),
        (with(json!({ "hooks": {} })), "`hooks`: found an object, expected a list"),
        (with(json!({ "hooks": [["agent_end"]] })), "`hooks[0]`: found a list, expected an object"),
        (with(json!({ "hooks": [{}] })), "`hooks[0]`: missing field `hook`"),
        (
            with(json!({ "hooks": [{ "hook": "agent_end", "priority": "high" }] })),
            "`hooks[0].priority`: found the text \"high\", expected a number",
        ),
        (
            with(json!({ "hooks": [{ "hook": "before_tool_call", "matcher": "exec" }] })),
            "`hooks[0].matcher`: found the text \"exec\", expected a list",
        ),
        (
            with(json!({ "hooks": [{ "hook": "agent_end", "handler": "a\nb" }] })),
            "`hooks[0].handler`: expected at most 128 bytes without control characters",
        ),
        (
            with(json!({ "hooks": [{ "hook": "before_tool_call", "fields": ["toolname"] }] })),
            "`hooks[0].fields`: before_tool_call has no field \"toolname\"; the nearest is `toolName`",
        ),
        (
            with(json!({ "hooks": [{ "hook": "before_tool_call", "fields": "toolName" }] })),
            "`hooks[0].fields`: found the text \"toolName\", expected a list",
        ),
        (with(json!({ "limits": { "memoryBytes": -1 } })), "`limits.memoryBytes`: found `-1`, expected a whole number"),
        (with(json!({ "limits": [] })), "`limits`: found a list, expected an object"),
        (with(json!({ "kind": 7 })), "`kind`: expected a text or a list of texts"),
        (
            with(json!({ "instanceLifetime": "ever" })),
            "`instanceLifetime`: unknown variant `ever`, expected one of `run`, `call`, `shared`",
        ),
        (with(json!({ "contracts": { "tools": "x" } })), "`contracts.tools`: found the text \"x\", expected a list"),
        (with(json!({ "capabilities": ["kv"] })), "`capabilities`: found a list, expected an object"),
        (
            with(json!({ "capabilities": { "kv": "yes" } })),
            "`capabilities.kv`: expected `true`, `false` or an object, found a string",
        ),
        (
            with(json!({ "capabilities": { "kv": { "maxBytes": 0 } } })),
            "`capabilities.kv.maxBytes`: expected a whole number of bytes above 0, found `0`",
        ),
    ] {
        let error = parse(&manifest).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{PLACE}: ")) && error.contains(sentence), "{error}\nwanted: {sentence}");
    }
}

#[test]
fn text_that_is_no_json_is_told_with_its_line() {
    for text in ["", "{", "{\n\"id\": \"x\",,}", "{} {}", "\u{0}", "[[[[", "nonsense"] {
        let error = Manifest::parse(text.as_bytes(), PLACE).unwrap_err().to_string();
        assert!(error.starts_with(PLACE), "{error}");
    }
    let error = Manifest::parse(b"{\n\"id\": oops}", PLACE).unwrap_err().to_string();
    assert!(error.contains("line 2"), "{error}");
    let not_utf8 = Manifest::parse(b"{\"id\": \"\xff\", \"configSchema\": {}}", PLACE).unwrap_err().to_string();
    assert!(not_utf8.contains("unicode"), "{not_utf8}");
    let twice = Manifest::parse(br#"{"id": "a", "id": "b", "configSchema": {}}"#, PLACE).unwrap_err().to_string();
    assert!(twice.contains("duplicate field `id`"), "{twice}");
}

#[test]
fn a_long_value_is_not_repeated_in_full() {
    let error = parse(&with(json!({ "kind": 7, "skills": "x".repeat(100_000) }))).unwrap_err().to_string();
    assert!(error.len() < 400, "{}", error.len());
    let error = parse(&with(json!({ "limits": { "memoryBytes": "x".repeat(100_000) } }))).unwrap_err().to_string();
    assert!(error.contains("expected a whole number") && error.len() < 400, "{error}");
}

#[test]
fn no_part_of_the_file_controls_a_terminal_or_fills_it() {
    let hostile = ["t\n\u{1b}[31m".to_owned(), "x".repeat(100_000)];
    for name in &hostile {
        let texts = [
            with(json!({ "toolMetadata": { name: { "optional": 3 } } })),
            with(json!({ "instanceLifetime": name })),
            with(json!({ "capabilities": { "fs": { "mode": name } } })),
        ];
        for text in texts {
            let told = parse(&text).unwrap_err().to_string();
            assert!(!told.contains(char::is_control) && told.len() < 2048, "{told:?}");
        }
        let told = parse(&with(json!({ "capabilities": { name: {} } }))).unwrap().diagnostics;
        assert!(told.len() == 1 && !told[0].contains(char::is_control) && told[0].len() <= 512, "{told:?}");
    }
}

#[test]
fn an_id_of_another_form_is_refused() {
    let error = parse(&with(json!({ "id": "My Guard" }))).unwrap_err();
    assert!(error.to_string().contains("`My Guard` is not a plugin id"), "{error}");
}

#[test]
fn sizes_and_counts_are_bounded() {
    let long = with(json!({ "description": "x".repeat(MAX_BYTES) }));
    assert!(matches!(parse(&long), Err(ManifestError::TooLong { .. })));
    let entries = |count: usize| with(json!({ "hooks": vec![json!({ "hook": "agent_end" }); count] }));
    assert_eq!(parse(&entries(MAX_HANDLERS)).unwrap().handlers.len(), MAX_HANDLERS);
    assert!(matches!(parse(&entries(MAX_HANDLERS + 1)), Err(ManifestError::TooManyHandlers { count: 129, .. })));
    let deep = format!(r#"{{"id":"a","configSchema":{{"x":{}{}}}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    assert!(Manifest::parse(deep.as_bytes(), PLACE).is_err());
}

#[test]
fn an_unknown_hook_warns_with_the_nearest_name_and_the_rest_loads() {
    let manifest = with_hooks(json!([{ "hook": "before_toolcall" }, { "hook": "message:sent" }, { "hook": "agent_end" }]));
    assert_eq!(manifest.handlers, [HandlerEntry::with_defaults(HookId::AgentEnd)]);
    assert!(manifest.diagnostics[0].contains("\"before_toolcall\"") && manifest.diagnostics[0].contains("`before_tool_call`"));
    assert!(manifest.diagnostics[1].contains("\"message:sent\"") && manifest.diagnostics[1].contains("`message_sent`"));
}

#[test]
fn unusable_triggers_count_as_unrestricted() {
    for (triggers, expected) in [
        (json!(["user"]), Some(vec!["user".to_owned()])),
        (json!([]), None),
        (json!("user"), None),
        (json!(["user", "moon"]), None),
        (json!(["user", 7]), None),
        (json!(null), None),
    ] {
        let manifest = with_hooks(json!([{ "hook": "before_agent_reply", "eligibleTriggers": triggers }]));
        assert_eq!(manifest.handlers[0].options.eligible_triggers, expected, "{triggers}");
        assert_eq!(manifest.diagnostics.len(), usize::from(expected.is_none() && !triggers.is_null()));
    }
}

#[test]
fn options_of_other_hooks_are_ignored() {
    let manifest = with_hooks(json!([{
        "hook": "message_sending", "matcher": ["exec"], "eligibleTriggers": ["user"], "requiresToolAuthority": true, "priority": 3,
    }]));
    let options = &manifest.handlers[0].options;
    assert_eq!((options.priority, &options.matcher, &options.eligible_triggers), (3.0, &None, &None));
    assert!(!options.requires_tool_authority);
    assert_eq!(manifest.diagnostics.len(), 3);
    assert_eq!(
        manifest.diagnostics[0],
        "hooks[0]: `matcher` is ignored: it belongs to before_tool_call and after_tool_call, not to message_sending"
    );
}

#[test]
fn only_positive_timeouts_count() {
    for (ms, expected) in
        [(json!(1), Some(1)), (json!(0.2), Some(1)), (json!(0), None), (json!(-5), None), (json!(1e300), Some(u64::MAX))]
    {
        let manifest = with_hooks(json!([{ "hook": "agent_end", "timeoutMs": ms }]));
        assert_eq!(manifest.handlers[0].options.timeout_ms, expected, "{ms}");
    }
}

#[test]
fn an_unknown_capability_is_tolerated() {
    let manifest = parse(&with(json!({ "capabilities": { "telepathy": true, "kv": true } }))).unwrap();
    assert!(manifest.capabilities.capabilities.contains(&Capability::Kv));
    assert!(manifest.diagnostics[0].contains("`telepathy`"));
}

#[test]
fn a_platform_list_enables_by_default_here_only() {
    for (platforms, enabled) in [(json!([platform()]), true), (json!(["plan9"]), false)] {
        let manifest = parse(&with(json!({ "enabledByDefaultOnPlatforms": platforms }))).unwrap();
        assert_eq!(manifest.enabled_by_default, enabled);
    }
}

proptest! {
    #[test]
    fn damaged_manifests_never_panic(cut in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let text = with(json!({ "hooks": [{ "hook": "agent_end", "priority": 1.5 }], "capabilities": { "kv": { "maxBytes": 3 } } })).to_string();
        let mut bytes = text.into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let cut = cut.index(bytes.len());
        prop_assert!(Manifest::parse(&bytes[..cut], PLACE).is_err());
        let _ = Manifest::parse(&bytes, PLACE);
    }
}
