//! Plugins that lie about themselves. A manifest only describes and asks: the component, the folder and the operator decide.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use hooks::{Dispatcher, FaultKind, Scope};
use plugin_host::discovery::Sources;
use plugin_host::embedded;
use plugin_host::plan::{Plan, PluginState, PluginsSettings, survey};
use plugin_host::{HostSettings, LoadedPlugins, PluginHost};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::guest::{self, answer, component, component_of, guard, handle, module};
use crate::hostile::ID;
use crate::ports::Memory;
use crate::rig::{call, run};

/// Plugins of a host, on a disk: the hostile one comes first.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    /// The hostile plugin: what its manifest says beside the least, and its component.
    fn hostile(manifest: Value, component: &[u8]) -> Self {
        let home = Self::new();
        home.write("a-hostile", ID, manifest, component);
        home
    }

    fn folder(&self, folder: &str) -> PathBuf {
        self.0.path().join("plugins").join(folder)
    }

    fn write(&self, folder: &str, id: &str, more: Value, component: &[u8]) {
        let mut manifest = json!({ "id": id, "configSchema": { "type": "object" }, "component": "plugin.wasm" });
        manifest.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        fs::create_dir_all(self.folder(folder)).unwrap();
        fs::write(self.folder(folder).join("creel.plugin.json"), manifest.to_string()).unwrap();
        fs::write(self.folder(folder).join("plugin.wasm"), component).unwrap();
    }

    /// What becomes of the plugins; a good one is always among them.
    fn plan(&self) -> Plan {
        self.write("b-good", "good", json!({}), &guest::counter());
        let plugins = Some(self.0.path().join("plugins"));
        let sources = Sources { load_paths: Vec::new(), installed: plugins, bundled: None, workspace: None };
        survey(&sources, &PluginsSettings::default())
    }

    /// Why the hostile plugin does not load; the good one does.
    fn refusal(&self) -> String {
        let plan = self.plan();
        assert!(plan.plugins.iter().any(|plugin| plugin.id.as_str() == "good"), "{:?}", plan.reports);
        assert!(plan.plugins.iter().all(|plugin| plugin.id.as_str() != ID), "it must not load");
        let why = plan.reports.iter().find_map(|report| match &report.state {
            PluginState::Failed(why) => Some(why.clone()),
            _ => None,
        });
        why.expect("a reason")
    }

    async fn start(&self) -> LoadedPlugins {
        PluginHost::start(HostSettings::default(), self.plan().plugins, &Memory::ports().1).await.unwrap()
    }
}

fn quiet() -> Vec<u8> {
    guard(&answer(&[]))
}

#[test]
fn hooks_that_it_does_not_export() {
    let home = Home::hostile(json!({ "hooks": [{ "hook": "before_tool_call" }, { "hook": "message_sending" }] }), &quiet());
    let why = home.refusal();
    assert!(why.contains("its manifest has an entry for `message_sending`, which") && why.contains("does not export"), "{why}");
}

#[tokio::test]
async fn tools_that_it_does_not_register() {
    let home = Home::hostile(json!({ "contracts": { "tools": ["exec", "read", "ghost"] } }), &quiet());
    let loaded = home.start().await;
    assert!(loaded.tools.is_empty());
    let dispatcher = Dispatcher::new(std::sync::Arc::new(loaded.registry));
    assert_eq!(call(&dispatcher, &Scope::default()).await.unwrap().unwrap(), "a", "the good one answers");
}

#[test]
fn id_of_another_plugin() {
    // The first by place has the id; the other one is told of, and takes nothing over.
    let home = Home::hostile(json!({}), &quiet());
    home.write("c-thief", "good", json!({ "capabilities": { "kv": true } }), &quiet());
    let plan = home.plan();
    let good: Vec<_> = plan.plugins.iter().filter(|plugin| plugin.id.as_str() == "good").collect();
    assert_eq!(good.len(), 1);
    assert!(good[0].root.ends_with("b-good"), "{:?}", good[0].root);
    let told = |report: &&plugin_host::plan::PluginReport| matches!(&report.state, PluginState::Failed(why) if why.contains("two plugins have the id `good`"));
    assert_eq!(plan.reports.iter().filter(told).count(), 1, "{:?}", plan.reports);
}

#[test]
fn id_other_than_in_its_component() {
    let inside = json!({ "id": "trusted", "configSchema": { "type": "object" } }).to_string();
    let component = embedded::write(&quiet(), inside.as_bytes()).unwrap();
    let why = Home::hostile(json!({}), &component).refusal();
    assert!(why.contains("its manifest says `hostile`, the one in") && why.contains("says `trusted`"), "{why}");
}

#[test]
fn id_that_is_none() {
    for id in ["", "../good", "Good", "a b", "good\n", "-x", "gооd"] {
        let home = Home::new();
        home.write("a-hostile", id, json!({}), &quiet());
        let why = home.refusal();
        assert!(why.contains("`id`") && !why.contains('\n'), "{id:?}: {why:?}");
    }
}

#[test]
fn words_that_forge_lines() {
    // Whatever a manifest holds, what is told about it stays one line without anything that a terminal obeys.
    let word = "x\nERROR creel: all keys leaked\u{1b}[2J\u{202e}";
    for manifest in [
        json!({ "hooks": [{ "hook": word }] }),
        json!({ "hooks": [{ "hook": "before_tool_call", "handler": word }] }),
        json!({ "hooks": [{ "hook": "before_tool_call", "matcher": [word] }] }),
        json!({ "hooks": [{ "hook": "before_tool_call", "eligibleTriggers": [word] }] }),
        json!({ "hooks": word }),
        json!({ "component": word }),
        json!({ "component": format!("../{word}") }),
        json!({ "capabilities": { word: true } }),
        json!({ "limits": { word: 1 } }),
        json!({ "limits": word }),
        json!({ "instanceLifetime": word }),
        json!({ "kind": word }),
        json!({ "requiresPlugins": [word] }),
        json!({ "skills": [word] }),
        json!({ "contracts": { "tools": [word] } }),
        json!({ "configSchema": { "type": word } }),
        json!({ "configSchema": { "type": "object", "required": [word] } }),
        json!({ "configSchema": { "type": "object", "properties": { "a": { "pattern": format!("({word}") } } } }),
    ] {
        let plan = Home::hostile(manifest.clone(), &quiet()).plan();
        let report = &plan.reports[0];
        let mut told = report.diagnostics.clone();
        if let PluginState::Failed(why) = &report.state {
            told.push(why.clone());
        }
        for text in told {
            assert!(!text.contains(['\n', '\u{1b}', '\u{202e}']), "{manifest}: {text:?}");
        }
    }
}

#[test]
fn contract_of_another_version() {
    let contract =
        "package creel:plugin@0.9.0; interface before-tool-call { handle: func(handler: string) -> result<_, string>; }";
    let core = module(&handle(guest::GUARD, "unreachable")).replace("@0.1.0", "@0.9.0");
    let core = core.replace("(param $args i32)", "(param $args i32) (param i32)");
    let component = component_of(contract, "export creel:plugin/before-tool-call@0.9.0;", &core);
    let why = Home::hostile(json!({}), &component).refusal();
    assert!(why.contains("was built for creel:plugin 0.9.0") && why.contains("this host knows 0.1"), "{why}");
}

#[test]
fn capabilities_that_nobody_granted() {
    let world = "import creel:plugin/kv@0.1.0; export creel:plugin/before-tool-call@0.1.0;";
    let import = r#"(import "creel:plugin/kv@0.1.0" "get" (func (param i32 i32 i32)))"#;
    let core = module(&handle(guest::GUARD, &answer(&[]))).replacen("(memory", &format!("{import} (memory"), 1);
    for asked in [json!({}), json!({ "capabilities": { "kv": true } })] {
        let why = Home::hostile(asked, &component(world, &core)).refusal();
        assert!(why.contains("to grant it set plugins.entries.hostile.capabilities.kv: true"), "{why}");
    }
}

#[tokio::test]
async fn limits_that_it_gives_itself() {
    // Asks for 4 GiB and gets what everybody gets.
    let body = format!("(if (i32.eq (memory.grow (i32.const 1022)) (i32.const -1)) (then unreachable)) {}", answer(&[]));
    let (fits, above) = (body.as_str(), body.replace("1022", "1023"));
    for (body, enough) in [(fits, true), (&*above, false)] {
        let home = Home::hostile(
            json!({ "limits": { "memoryBytes": 4_294_967_296_u64 }, "hooks": [{ "hook": "before_tool_call", "priority": 10 }] }),
            &guard(body),
        );
        let dispatcher = Dispatcher::new(std::sync::Arc::new(home.start().await.registry));
        match call(&dispatcher, &run("r")).await {
            Ok(said) => assert!(enough && said.as_deref() == Some("a"), "{said:?}"),
            Err(fault) => assert!(!enough && fault.kind() == FaultKind::Limit, "{fault}"),
        }
    }
}

#[test]
fn component_outside_of_its_folder() {
    let outside = |name: &str, make: &dyn Fn(&Path)| {
        let home = Home::hostile(json!({ "component": name }), &quiet());
        fs::write(home.0.path().join("elsewhere.wasm"), quiet()).unwrap();
        make(&home.folder("a-hostile"));
        home.refusal()
    };
    for name in ["../../elsewhere.wasm", "/etc/passwd", "a/../../../elsewhere.wasm"] {
        let why = outside(name, &|_| ());
        assert!(why.contains("component") || why.contains("leads out of"), "{name}: {why}");
    }
    let why = outside("link.wasm", &|folder| symlink("../../elsewhere.wasm", folder.join("link.wasm")).unwrap());
    assert!(why.contains("leads out of"), "{why}");
    let why = outside("pipe.wasm", &|folder| {
        rustix::fs::mknodat(rustix::fs::CWD, folder.join("pipe.wasm"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
            .unwrap();
    });
    assert!(why.contains("is not a file"), "{why}");
}

#[test]
fn component_that_is_none() {
    let whole = quiet();
    let files: [(&str, Vec<u8>); 6] = [
        ("a core module", wat::parse_str("(module)").unwrap()),
        ("machine code", b"\x7fELF\x02\x01\x01\x00 compiled by somebody else".to_vec()),
        ("a script", b"#!/bin/sh\nrm -rf /\n".to_vec()),
        ("nothing", Vec::new()),
        ("half a component", whole[..whole.len() / 2].to_vec()),
        ("a length that is too long", [&whole[..8], &[0, 0xff, 0xff, 0xff, 0xff, 0x0f]].concat()),
    ];
    for (what, file) in files {
        let why = Home::hostile(json!({}), &file).refusal();
        assert!(!why.contains('\n') && why.len() < 600, "{what}: {why}");
    }
}

#[test]
fn manifest_without_end() {
    for (what, text) in [
        ("nested", format!("{{\"id\":\"hostile\",\"x\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000))),
        ("long", format!("{{\"id\":\"hostile\",\"x\":\"{}\"}}", "a".repeat(20 << 20))),
        ("cut", "{\"id\":\"hostile\"".to_owned()),
        ("empty", String::new()),
    ] {
        let home = Home::hostile(json!({}), &quiet());
        fs::write(home.folder("a-hostile").join("creel.plugin.json"), text).unwrap();
        let why = home.refusal();
        assert!(!why.contains('\n') && why.len() < 600, "{what}: {why}");
    }
}

#[test]
fn settings_that_its_schema_makes_up() {
    // A schema that no validator should follow: it refers to a file and to the network.
    for reference in ["file:///etc/passwd", "http://127.0.0.1:1/schema.json"] {
        let home = Home::hostile(
            json!({ "configSchema": { "type": "object", "properties": { "a": { "$ref": reference } } } }),
            &quiet(),
        );
        let why = home.refusal();
        assert!(!why.contains("root:"), "{why}");
    }
}
