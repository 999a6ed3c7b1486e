//! Tools that a plugin registers: the list at load, calls, partial results, and what is left out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use domain::cancel::{Cancel, CancelReason};
use domain::message::ContentBlock;
use domain::ports::RunScope;
use domain::tool::{Invocation, NoProgress, Progress, Tool, ToolFailure, ToolResult, ToolScope};
use domain::{AgentId, CallId, RunId, SessionId};
use plugin_host::limits::Limits;
use plugin_host::{HostSettings, LoadedPlugins, ReadyPlugin};
use serde_json::{Map, json};

use crate::guest::{ANSWER, component, module};
use crate::rig::{load_with, plugin, session};

/// Lays out a list of tools and the answer of `list-tools`.
fn listing(tools: &[(&str, &str)]) -> String {
    let (mut texts, mut entries, mut at) = (String::new(), String::new(), 8192);
    let mut put = |text: &str| {
        texts.push_str(&format!("(data (i32.const {at}) \"{}\")", text.replace('"', "\\22")));
        let place = (at, text.len());
        at += text.len();
        place
    };
    for (index, (name, parameters)) in tools.iter().enumerate() {
        let entry = 4096 + index * 52;
        let (name, parameters) = (put(name), put(parameters));
        let words = [(0, name.0), (4, name.1), (20, name.0), (24, name.1), (28, parameters.0), (32, parameters.1)];
        for (offset, word) in words {
            let bytes: String = u32::try_from(word).unwrap().to_le_bytes().iter().map(|byte| format!("\\{byte:02x}")).collect();
            entries.push_str(&format!("(data (i32.const {}) \"{bytes}\")", entry + offset));
        }
    }
    format!(
        r#"{texts} {entries}
        (func (export "creel:plugin/tools@0.1.0#list-tools") (param i32) (result i32)
            (i32.store (i32.const {a4}) (i32.const 4096))
            (i32.store (i32.const {a8}) (i32.const {count}))
            (i32.const {ANSWER}))"#,
        a4 = ANSWER + 4,
        a8 = ANSWER + 8,
        count = tools.len(),
    )
}

/// The function `execute`, with locals `$args` and `$i`. It answers at 2048, so that the list stays as it is.
fn execute(body: &str) -> String {
    format!(
        r#"(func $execute (export "creel:plugin/tools@0.1.0#execute") (param $args i32) (result i32) (local $i i32)
            {body})"#
    )
}

/// Returns one text block at `at` (of `length` bytes).
fn returns(at: &str, length: &str) -> String {
    format!(
        "(i32.store (i32.const 2052) (i32.const 2100)) (i32.store (i32.const 2056) (i32.const 1))
         (i32.store (i32.const 2104) {at}) (i32.store (i32.const 2108) {length})
         (i32.const 2048)"
    )
}

fn offering(id: &str, tools: &[(&str, &str)], body: &str) -> ReadyPlugin {
    let core = module(&format!("{} {}", listing(tools), execute(body)));
    let declared = tools.iter().map(|(name, _)| (*name).to_owned()).collect();
    ReadyPlugin { tools: declared, ..plugin(id, component("export creel:plugin/tools@0.1.0;", &core)) }
}

const OBJECT: &str = r#"{"type":"object"}"#;

async fn load(plugins: Vec<ReadyPlugin>) -> LoadedPlugins {
    let settings = HostSettings { reserved_tools: BTreeSet::from(["exec".to_owned()]), ..HostSettings::default() };
    load_with(settings, plugins).await
}

async fn only(plugin: ReadyPlugin) -> Arc<dyn Tool> {
    let mut loaded = load(vec![plugin]).await;
    assert_eq!(loaded.tools.len(), 1, "{:?}", loaded.diagnostics);
    loaded.tools.remove(0)
}

async fn execute_with(tool: &dyn Tool, cancel: &Cancel, progress: &dyn Progress) -> Result<ToolResult, ToolFailure> {
    let params = json!({"value": 3}).as_object().cloned().unwrap_or_else(Map::new);
    let run = RunScope::new(RunId::new("r"));
    let scope = ToolScope {
        agent_id: AgentId::main(),
        session_key: session("main"),
        session_id: SessionId::new("s"),
        run_id: RunId::new("r"),
    };
    let call_id = CallId::new("c1");
    let env = BTreeMap::new();
    let call =
        Invocation { call_id: &call_id, params: &params, scope: &scope, env: &env, cancel, progress, run: &run, chain: &[] };
    tool.execute(call).await
}

async fn run(tool: &dyn Tool) -> Result<ToolResult, ToolFailure> {
    execute_with(tool, &Cancel::default(), &NoProgress).await
}

#[tokio::test]
async fn a_call_reaches_the_guest_with_its_parameters() {
    // Returns the parameters, the third text of the call.
    let body = returns("(i32.load offset=16 (local.get $args))", "(i32.load offset=20 (local.get $args))");
    let tool = only(offering("p", &[("convert", OBJECT)], &body)).await;
    assert_eq!(tool.spec().name, "convert");
    assert_eq!(run(&*tool).await.unwrap(), ToolResult::text(r#"{"value":3}"#));
}

#[tokio::test]
async fn bad_entries_are_left_out_and_the_others_stay() {
    let body = returns("(i32.const 8192)", "(i32.const 1)");
    let mut plugin = offering(
        "p",
        &[
            ("good", OBJECT),
            ("exec", OBJECT),
            ("bad name", OBJECT),
            ("shape", "[]"),
            ("good", OBJECT),
            ("undeclared", OBJECT),
            ("schema", r#"{"type":"object","properties":7}"#),
        ],
        &body,
    );
    plugin.tools.retain(|name| name != "undeclared");
    let loaded = load(vec![plugin, offering("q", &[("good", OBJECT), ("more", OBJECT)], &body)]).await;
    let names: Vec<_> = loaded.tools.iter().map(|tool| tool.spec().name.as_str()).collect();
    assert_eq!(names, ["good", "more"]);
    let texts: Vec<_> = loaded.diagnostics.iter().map(|it| it.text.as_str()).collect();
    for (index, part) in [
        "plugin `p`: its tool `exec` is left out: a built-in tool",
        "`bad name` is left out: name: `bad name` is no tool name",
        "`shape` is left out: parameters: expected a JSON Schema object, found an array",
        "`good` is left out: a built-in tool or a plugin that was loaded before has that name",
        "`undeclared` is left out: the manifest does not declare it; add it to contracts.tools",
        "`schema` is left out: parameters is not a valid JSON Schema",
        "plugin `q`: its tool `good` is left out",
    ]
    .into_iter()
    .enumerate()
    {
        assert!(texts[index].contains(part), "{part}\n{texts:#?}");
    }
    assert_eq!(texts.len(), 7);
}

#[tokio::test]
async fn the_manifest_can_hide_a_tool_that_the_guest_does_not() {
    let body = returns("(i32.const 8192)", "(i32.const 1)");
    let hidden = ReadyPlugin { optional_tools: BTreeSet::from(["t".to_owned()]), ..offering("p", &[("t", OBJECT)], &body) };
    assert!(only(hidden).await.spec().optional);
    assert!(!only(offering("p", &[("t", OBJECT)], &body)).await.spec().optional);
}

#[tokio::test]
async fn a_list_that_fails_leaves_the_plugin_without_tools() {
    let core = module(&format!(
        r#"(func (export "creel:plugin/tools@0.1.0#list-tools") (param i32) (result i32) unreachable) {}"#,
        execute("unreachable")
    ));
    let loaded = load(vec![plugin("p", component("export creel:plugin/tools@0.1.0;", &core))]).await;
    assert!(loaded.tools.is_empty() && loaded.reports[0].error.is_none());
    assert!(loaded.diagnostics[0].text.contains("listing them failed (trap:"), "{:?}", loaded.diagnostics);
}

#[tokio::test]
async fn a_trap_and_an_error_are_failures_that_the_model_can_read() {
    let tool = only(offering("p", &[("t", OBJECT)], "unreachable")).await;
    let failure = run(&*tool).await.unwrap_err();
    assert_eq!(
        failure,
        ToolFailure::Failed("the plugin `p` failed: trap: wasm `unreachable` instruction executed in `execute`".to_owned())
    );
    let error = "(i32.store (i32.const 2048) (i32.const 1)) (i32.store (i32.const 2052) (i32.const 8192))
                 (i32.store (i32.const 2056) (i32.const 1)) (i32.const 2048)";
    let tool = only(offering("p", &[("t", OBJECT)], error)).await;
    assert_eq!(run(&*tool).await.unwrap_err(), ToolFailure::Failed("t".to_owned()));
}

#[tokio::test]
async fn a_tool_that_takes_too_long_times_out() {
    let limits = Limits { tool_ms: 100, ..Limits::default() };
    let looping = offering("p", &[("t", OBJECT)], "(loop $again (br $again)) unreachable");
    let tool = only(ReadyPlugin { limits, ..looping }).await;
    assert!(matches!(run(&*tool).await.unwrap_err(), ToolFailure::TimedOut(_)));
}

#[tokio::test]
async fn a_cancelled_tool_is_aborted() {
    let tool = only(offering("p", &[("t", OBJECT)], "(loop $again (br $again)) unreachable")).await;
    let cancel = Cancel::default();
    let (result, ()) = tokio::join!(execute_with(&*tool, &cancel, &NoProgress), async { cancel.cancel(CancelReason::User) });
    assert_eq!(result.unwrap_err(), ToolFailure::Aborted);
}

#[derive(Default)]
struct Shown(Mutex<Vec<ToolResult>>);

impl Progress for Shown {
    fn update(&self, partial: &ToolResult) {
        self.0.lock().unwrap().push(partial.clone());
    }
}

#[tokio::test]
async fn partial_results_are_shown_and_the_newest_counts() {
    let import = r#"(import "creel:plugin/tool-progress@0.1.0" "update" (func $update (param i32 i32 i32 i32 i32 i32)))"#;
    // Shows the tool's name twice, then returns it. A text block is at 2100.
    let body = format!(
        "(drop {}) 
         (call $update (i32.const 2100) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 1))
         (call $update (i32.const 2100) (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 1))
         (i32.const 2048)",
        returns("(i32.const 8192)", "(i32.const 4)")
    );
    let core = module(&format!("{} {}", listing(&[("slow", OBJECT)]), execute(&body))).replacen(
        "(memory",
        &format!("{import} (memory"),
        1,
    );
    let world = "import creel:plugin/tool-progress@0.1.0; export creel:plugin/tools@0.1.0;";
    let ready = ReadyPlugin { tools: vec!["slow".to_owned()], ..plugin("p", component(world, &core)) };
    let shown = Shown::default();
    let tool = only(ready).await;
    let result = execute_with(&*tool, &Cancel::default(), &shown).await.unwrap();
    assert_eq!(result.content, [ContentBlock::text("slow")]);
    assert_eq!(*shown.0.lock().unwrap(), [ToolResult::text("slow")]);
}
