//! Plugins on disk and settings, and what becomes of them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::fs;
use std::path::Path;

use hooks::HookId;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

mod review;

use super::*;
use crate::grant::{KvQuota, OperatorGrants};
use crate::manifest::FILE_NAME;

/// A component with these imports and exports, all empty instances.
fn component(imports: &[&str], exports: &[&str]) -> Vec<u8> {
    let name = |name: &str| if name.contains(':') { name.to_owned() } else { format!("creel:plugin/{name}@0.1.0") };
    let imports: String = imports.iter().map(|it| format!("(import \"{}\" (instance))", name(it))).collect();
    let exports: String = exports.iter().map(|it| format!("(export \"{}\" (instance $i))", name(it))).collect();
    wat::parse_str(format!("(component {imports} (instance $i) {exports})")).unwrap()
}

fn manifest(id: &str, more: &Value) -> Vec<u8> {
    let mut manifest = json!({ "id": id, "configSchema": { "type": "object" }, "component": "plugin.wasm" });
    manifest.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    manifest.to_string().into_bytes()
}

/// A state directory with installed plugins, and others.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    /// A plugin whose manifest holds more keys.
    fn plugin(&self, place: &str, more: &Value, component: &[u8]) -> &Self {
        let id = Path::new(place).file_name().unwrap().to_str().unwrap();
        fs::create_dir_all(self.path(place)).unwrap();
        fs::write(self.path(place).join(FILE_NAME), manifest(id, more)).unwrap();
        fs::write(self.path(place).join("plugin.wasm"), component).unwrap();
        self
    }

    fn sources(&self) -> Sources {
        Sources {
            load_paths: Vec::new(),
            installed: Some(self.path("installed")),
            bundled: Some(self.path("bundled")),
            workspace: Some(self.path("workspace")),
        }
    }

    fn survey(&self, settings: &PluginsSettings) -> Plan {
        survey(&self.sources(), settings)
    }
}

/// One installed plugin `p`, surveyed.
fn one(more: &Value, component: &[u8], entry: PluginSettings) -> Plan {
    Home::new().plugin("installed/p", more, component).survey(&entries([("p", entry)]))
}

fn entries<const N: usize>(entries: [(&str, PluginSettings); N]) -> PluginsSettings {
    let entries = entries.into_iter().map(|(id, entry)| (id.to_owned(), entry)).collect();
    PluginsSettings { entries, ..PluginsSettings::default() }
}

fn required() -> PluginSettings {
    PluginSettings { required: true, ..PluginSettings::default() }
}

fn with_kv() -> PluginSettings {
    let grants = OperatorGrants { kv: Some(KvQuota { max_bytes: Some(4096), max_keys: None }), ..OperatorGrants::default() };
    PluginSettings { grants, ..PluginSettings::default() }
}

fn configured(config: &Value) -> PluginSettings {
    PluginSettings { config: config.as_object().unwrap().clone(), ..PluginSettings::default() }
}

fn ids(plan: &Plan) -> Vec<&str> {
    plan.plugins.iter().map(|plugin| plugin.id.as_str()).collect()
}

/// The sentence about the one plugin that does not load.
fn failed(plan: &Plan) -> &str {
    assert!(plan.plugins.is_empty());
    match plan.reports.as_slice() {
        [PluginReport { state: PluginState::Failed(reason), .. }] => reason,
        other => panic!("{other:?}"),
    }
}

fn handlers(plan: &Plan) -> Vec<(HookId, &str, f64)> {
    plan.plugins[0].handlers.iter().map(|it| (it.hook, it.handler_name.as_str(), it.options.priority)).collect()
}

#[test]
fn a_plugin_that_fits_is_planned_with_everything_that_a_loader_needs() {
    let more = json!({
        "configSchema": { "properties": { "level": { "type": "integer", "default": 3 } } },
        "capabilities": { "kv": true },
        "limits": { "memoryBytes": 1048576 },
        "contracts": { "tools": ["t"] },
    });
    let bytes = component(&["log", "kv"], &["agent-end", "tools"]);
    let plan = one(
        &more,
        &bytes,
        PluginSettings { limits: RequestedLimits { max_instances: Some(2), ..Default::default() }, ..with_kv() },
    );
    let plugin = &plan.plugins[0];
    assert_eq!(plugin.config.as_str(), r#"{"level":3}"#);
    assert_eq!(plugin.grants.kv.map(|kv| kv.max_bytes), Some(4096));
    assert_eq!((plugin.requested_limits.memory_bytes, plugin.operator_limits.max_instances), (Some(1 << 20), Some(2)));
    assert_eq!(*plugin.component.bytes, *bytes);
    assert_eq!(plugin.component.digest(), hex::encode(<sha2::Sha256 as sha2::Digest>::digest(&bytes)));
    assert!(plugin.inspection().has_tools() && !plugin.access.bundled);
    assert_eq!(plugin.diagnostics, []);
    assert_eq!(plan.reports[0].state, PluginState::Loaded);
    assert_eq!(plan.reports[0].handlers, plugin.handlers);
}

#[test]
fn handlers_are_those_of_the_manifest_then_exports_without_an_entry() {
    let hooks = json!({ "hooks": [
        { "hook": "before_tool_call", "handler": "a", "priority": 10 },
        { "hook": "agent_end" },
        { "hook": "before_tool_call", "handler": "b" },
    ]});
    let exports = component(&[], &["message-sent", "before-tool-call", "approval-resolved", "agent-end"]);
    let plan = one(&hooks, &exports, PluginSettings::default());
    assert_eq!(
        handlers(&plan),
        [
            (HookId::BeforeToolCall, "a", 10.0),
            (HookId::AgentEnd, "", 0.0),
            (HookId::BeforeToolCall, "b", 0.0),
            (HookId::MessageSent, "", 0.0),
            (HookId::ApprovalResolved, "", 0.0),
        ]
    );
    let plan = one(&json!({}), &component(&[], &["before-tool-call"]), PluginSettings::default());
    assert_eq!(handlers(&plan), [(HookId::BeforeToolCall, "", 0.0)]);
}

#[test]
fn an_entry_without_an_export_is_a_load_error_and_an_unknown_one_a_warning() {
    let hooks = json!({ "hooks": [{ "hook": "agent_end" }, { "hook": "before_tool_call" }, { "hook": "agent_end" }] });
    let plan = one(&hooks, &component(&[], &["message-sent"]), PluginSettings::default());
    let reason = failed(&plan);
    assert!(reason.starts_with("its manifest has an entry for `agent_end`, `before_tool_call`, which "), "{reason}");
    assert!(reason.ends_with("plugin.wasm does not export; export it, or remove the entry"), "{reason}");

    let unknown = json!({ "hooks": [{ "hook": "before_toolcall" }] });
    let plan = one(&unknown, &component(&[], &["message-sent"]), PluginSettings::default());
    assert_eq!(handlers(&plan), [(HookId::MessageSent, "", 0.0)]);
    assert!(plan.reports[0].diagnostics[0].contains("the nearest is `before_tool_call`"), "{:?}", plan.reports[0]);
}

#[test]
fn load_errors_are_sentences() {
    let fine = component(&[], &["agent-end"]);
    let foreign = crate::embedded::write(&fine, &manifest("q", &json!({}))).unwrap();
    let strict = json!({ "configSchema": { "additionalProperties": false } });
    let rows: [(Value, Vec<u8>, PluginSettings, &str); 11] = [
        (json!({ "component": "gone.wasm" }), fine.clone(), PluginSettings::default(), "gone.wasm does not exist"),
        (json!({ "component": "../../out.wasm" }), fine.clone(), PluginSettings::default(), "leads out of"),
        (json!({ "component": "/etc/hostname" }), fine.clone(), PluginSettings::default(), "leads out of"),
        (
            json!({}),
            wat::parse_str("(module)").unwrap(),
            PluginSettings::default(),
            "plugin.wasm is a core WebAssembly module, not a component",
        ),
        (json!({}), fine[..fine.len() - 4].to_vec(), PluginSettings::default(), "plugin.wasm is cut off: it ends at byte"),
        (
            json!({}),
            component(&[], &["creel:plugin/agent-end@0.2.0"]),
            PluginSettings::default(),
            "was built for creel:plugin 0.2.0",
        ),
        (
            json!({ "capabilities": { "kv": true } }),
            component(&["kv", "secrets"], &[]),
            PluginSettings::default(),
            "set plugins.entries.p.capabilities.kv: true; imports `creel:plugin/secrets@0.1.0`",
        ),
        (json!({}), component(&["acme:x/y@1.0.0"], &[]), PluginSettings::default(), "unknown import `acme:x/y@1.0.0`"),
        (json!({}), foreign, PluginSettings::default(), "its manifest says `p`, the one in"),
        (
            json!({ "configSchema": { "type": 7 } }),
            fine.clone(),
            PluginSettings::default(),
            "`configSchema/type` is not valid JSON Schema",
        ),
        (strict, fine, configured(&json!({ "extra": 1 })), "plugins.entries.p.config: takes no keys, found `extra`"),
    ];
    for (more, component, entry, expected) in rows {
        let plan = one(&more, &component, entry);
        let reason = failed(&plan);
        assert!(reason.contains(expected), "{reason}\nwanted: {expected}");
    }
}

#[test]
fn one_faulty_plugin_changes_nothing_for_the_others() {
    let home = Home::new();
    let fine = component(&[], &["agent-end"]);
    home.plugin("installed/a", &json!({}), &fine).plugin("installed/b", &json!({}), b"\0asm").plugin(
        "installed/c",
        &json!({}),
        &fine,
    );
    fs::create_dir_all(home.path("installed/d")).unwrap();
    let plan = home.survey(&PluginsSettings::default());
    assert_eq!(ids(&plan), ["a", "c"]);
    assert_eq!(plan.reports.len(), 4);
    assert_eq!(plan.reports.iter().filter(|report| report.required).count(), 0);
}

#[test]
fn disabled_plugins_are_reported_and_their_components_are_not_read() {
    let home = Home::new();
    home.plugin("installed/p", &json!({ "component": "gone.wasm" }), b"").plugin("workspace/w", &json!({}), b"");
    let off = PluginSettings { enabled: Some(false), ..PluginSettings::default() };
    let plan = home.survey(&entries([("p", off)]));
    assert_eq!(ids(&plan), [""; 0]);
    let states: Vec<&PluginState> = plan.reports.iter().map(|report| &report.state).collect();
    assert_eq!(*states[0], PluginState::Disabled("plugins.entries.p.enabled is false".to_owned()));
    assert!(matches!(states[1], PluginState::Disabled(reason) if reason.contains("it comes with a workspace")));
}

#[test]
fn allow_and_deny_reach_the_ladder() {
    let home = Home::new();
    let fine = component(&[], &["agent-end"]);
    home.plugin("installed/a", &json!({}), &fine).plugin("installed/b", &json!({}), &fine);
    home.plugin("bundled/c", &json!({ "enabledByDefault": true }), &fine).plugin("workspace/d", &json!({}), &fine);
    let list = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    let with = |allow: &[&str], deny: &[&str]| {
        let mut settings = PluginsSettings::default();
        settings.switches.allow = list(allow);
        settings.switches.deny = list(deny);
        home.survey(&settings).plugins.iter().map(|plugin| plugin.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(with(&[], &[]), ["a", "b", "c"]);
    assert_eq!(with(&["a"], &["a"]), [""; 0]);
    assert_eq!(with(&["b", "d"], &[]), ["b", "d"]);
    assert_eq!(with(&[], &["b"]), ["a", "c"]);
}

#[test]
fn a_single_file_is_planned_by_its_embedded_manifest() {
    let home = Home::new();
    let packed = |description: &str| {
        let text = manifest("single", &json!({ "description": description }));
        crate::embedded::write(&component(&[], &["agent-end"]), &text).unwrap()
    };
    fs::create_dir_all(home.path("installed")).unwrap();
    fs::write(home.path("installed/single.wasm"), packed("one")).unwrap();
    assert_eq!(ids(&home.survey(&PluginsSettings::default())), ["single"]);

    let discovery = discover(&Sources { installed: Some(home.path("installed")), ..Sources::default() });
    fs::write(home.path("installed/single.wasm"), packed("two")).unwrap();
    let plan = plan(discovery, &PluginsSettings::default());
    assert!(failed(&plan).ends_with("single.wasm changed while it was being loaded; load again"));
}

#[test]
fn what_has_no_effect_is_told() {
    let more = json!({
        "contracts": { "tools": ["t"] }, "requiresPlugins": ["base"], "instanceLifetime": "shared", "skills": ["s", "../s", "gone"],
    });
    let mut entry = with_kv();
    entry.budgets.by_hook.insert("before_toolcall".to_owned(), 5);
    let home = Home::new();
    home.plugin("installed/p", &more, &component(&[], &["creel:plugin/before-lunch@0.1.9"]));
    fs::create_dir(home.path("installed/p/s")).unwrap();
    let plan = home.survey(&entries([("p", entry), ("stranger", PluginSettings::default())]));
    let plugin = &plan.plugins[0];
    assert_eq!(plugin.lifetime, Lifetime::Run);
    assert_eq!(plugin.skills, [home.path("installed/p/s")]);
    let told: Vec<&str> = plugin.diagnostics.iter().map(|it| it.text.as_str()).collect();
    for expected in [
        "exports `creel:plugin/before-lunch@0.1.9`, which this host does not know",
        "names tools in `contracts.tools`, but exports none",
        "exports neither hooks nor tools",
        "plugins.entries.p.capabilities.kv has no effect",
        "plugins.entries.p.hooks.timeouts.before_toolcall names no hook; the nearest is `before_tool_call`",
        "asks for one instance for all sessions",
        "a directory of `skills` is left out",
        "builds on the plugin `base`, which is not loaded",
    ] {
        assert!(told.iter().any(|it| it.starts_with("plugin `p`: ") && it.contains(expected)), "{told:#?}\nwanted: {expected}");
    }
    assert_eq!(told, plan.reports[0].diagnostics);
    assert_eq!(plan.diagnostics, ["plugins.entries.stranger is for a plugin that was not found"]);
}

#[test]
fn old_ids_count_for_the_plugin_that_had_them() {
    let home = Home::new();
    let kv = component(&["kv"], &["agent-end"]);
    let old = json!({ "legacyPluginIds": ["old"] });
    home.plugin("installed/new", &old, &kv);
    let plan = home.survey(&entries([("old", with_kv())]));
    assert_eq!(ids(&plan), ["new"]);
    assert_eq!(plan.diagnostics, ["plugins.entries.old: the plugin is called `new` now; rename the entry"]);
    let mut denied = PluginsSettings::default();
    denied.switches.deny = vec!["old".to_owned()];
    assert_eq!(ids(&home.survey(&denied)), [""; 0]);
}

#[test]
fn a_claim_on_an_id_gives_no_rights_to_whoever_makes_it() {
    let kv = component(&["kv"], &["agent-end"]);
    let claim = json!({ "legacyPluginIds": ["old"] });
    let home = Home::new();
    home.plugin("installed/old", &json!({}), &kv).plugin("installed/thief", &claim, &kv);
    assert_eq!(ids(&home.survey(&entries([("old", with_kv())]))), ["old"]);

    let home = Home::new();
    let enabled = PluginSettings { enabled: Some(true), ..with_kv() };
    home.plugin("workspace/thief", &claim, &kv);
    assert_eq!(ids(&home.survey(&entries([("old", enabled.clone())]))), [""; 0]);

    let home = Home::new();
    home.plugin("installed/one", &claim, &kv).plugin("installed/two", &claim, &kv);
    assert_eq!(ids(&home.survey(&entries([("old", enabled)]))), [""; 0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damaged_plugins_fail_or_load_and_never_panic(at in any::<prop::sample::Index>(), flip in 1..=255u8, half in any::<bool>()) {
        let component = component(&["log"], &["agent-end"]);
        let mut packed = crate::embedded::write(&component, &manifest("p", &json!({}))).unwrap();
        let at = at.index(packed.len());
        packed[at] ^= flip;
        if half {
            packed.truncate(at);
        }
        let home = Home::new();
        fs::create_dir_all(home.path("installed")).unwrap();
        fs::write(home.path("installed/p.wasm"), packed).unwrap();
        let plan = home.survey(&PluginsSettings::default());
        prop_assert_eq!(plan.reports.len(), 1);
        prop_assert!(!half || plan.plugins.is_empty());
    }
}

#[test]
fn settings_of_nobody_are_the_defaults() {
    let settings = PluginsSettings::default().of(&PluginId::new("x"));
    assert_eq!(settings, PluginSettings { config: Map::new(), ..PluginSettings::default() });
    assert!(!settings.access(Origin::Installed).conversation() && settings.access(Origin::Bundled).conversation());
}

#[test]
fn an_operator_narrows_fields_and_a_name_that_is_none_keeps_the_plugin_out() {
    let more = json!({ "hooks": [{ "hook": "before_tool_call", "fields": ["toolName", "params"] }] });
    let with = |hook: &str, field: &str| {
        let fields = [(hook.to_owned(), vec![field.to_owned()])].into();
        one(&more, &component(&[], &["before-tool-call"]), PluginSettings { fields, ..PluginSettings::default() })
    };
    let plan = with("before_tool_call", "params");
    let planned = &plan.plugins[0];
    assert_eq!(planned.access.fields[&HookId::BeforeToolCall].names()[0], "params");
    assert_eq!(planned.handlers[0].options.fields.unwrap().names()[..2], ["toolName", "params"]);
    assert_eq!(planned.access.component, planned.component.digest());
    for (hook, field, sentence) in [
        (
            "before_tool_call",
            "param",
            "plugins.entries.p.hooks.fields: before_tool_call has no field \"param\"; the nearest is `params`",
        ),
        ("before_toolcall", "params", "plugins.entries.p.hooks.fields names no hook with \"before_toolcall\"; the nearest is"),
    ] {
        let plan = with(hook, field);
        assert!(plan.plugins.is_empty());
        assert!(
            matches!(&plan.reports[0].state, PluginState::Failed(why) if why.contains(sentence)),
            "{:?}",
            plan.reports[0].state
        );
    }
}

#[test]
fn entries_are_checked_by_manifests_alone() {
    let home = Home::new();
    let closed = json!({ "configSchema": { "type": "object", "additionalProperties": false }, "legacyPluginIds": ["former"] });
    home.plugin("installed/closed", &closed, b"no component").plugin("workspace/guest", &json!({}), b"");
    home.plugin("installed/broken", &json!({ "configSchema": { "type": "nothing" } }), b"");
    fs::create_dir_all(home.path("installed/unreadable")).unwrap();
    fs::write(home.path("installed/unreadable").join(FILE_NAME), r#"{ "id": "unreadable", "configSchema": {} }"#).unwrap();
    let config: Map<String, Value> = [("a/b".to_owned(), json!(1))].into_iter().collect();
    let settings = entries([
        ("former", PluginSettings { config, ..PluginSettings::default() }),
        ("guest", PluginSettings { required: true, ..PluginSettings::default() }),
        ("broken", PluginSettings::default()),
        ("unreadable", PluginSettings::default()),
        ("nobody", PluginSettings::default()),
    ]);
    let found = check_entries(&discover(&home.sources()), &settings);
    let told: Vec<(&str, bool, String)> =
        found.iter().map(|finding| (finding.entry.as_str(), finding.is_error, finding.problem.to_string())).collect();
    let expected = [
        ("broken", true, "`configSchema"),
        ("former", false, "the plugin is called `closed` now; rename the entry"),
        ("former", true, "takes no keys, found `a/b`"),
        ("guest", true, "it is required, so nothing would run: it comes with a workspace"),
        ("nobody", false, "no plugin with this id was found"),
        ("unreadable", false, ""),
    ];
    assert_eq!(told.len(), expected.len(), "{told:?}");
    for ((entry, is_error, words), expected) in told.iter().zip(expected) {
        assert_eq!((*entry, *is_error), (expected.0, expected.1), "{told:?}");
        assert!(words.starts_with(expected.2), "{told:?}");
    }
}
