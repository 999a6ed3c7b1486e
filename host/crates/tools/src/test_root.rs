//! A workspace in a temporary directory and a way to call a tool in it. Only for the tests of this crate.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use domain::cancel::Cancel;
use domain::ports::RunScope;
use domain::tool::{Invocation, NoProgress, Progress, Tool, ToolFailure, ToolOwner, ToolResult, ToolScope, ToolSpec};
use domain::{AgentId, CallId, RunId, SessionId, SessionKey};
use serde_json::Value;

/// A workspace that vanishes with it.
pub(crate) struct TestRoot {
    pub(crate) root: Root,
    path: PathBuf,
    _home: tempfile::TempDir,
}

use crate::root::Root;

impl TestRoot {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        // Below another directory, so that `..` of the workspace is private to the test as well.
        let path = home.path().canonicalize().unwrap().join("workspace");
        std::fs::create_dir(&path).unwrap();
        let dir = Dir::open_ambient_dir(&path, ambient_authority()).unwrap();
        Self { root: Root::new(dir, &path), path, _home: home }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path.join(name)).unwrap()
    }
}

/// Calls a tool with parameters and nothing else.
pub(crate) async fn call(tool: &dyn Tool, params: Value) -> Result<ToolResult, ToolFailure> {
    call_with(tool, params, &BTreeMap::new(), &Cancel::default(), &NoProgress).await
}

/// Calls a tool.
pub(crate) async fn call_with(
    tool: &dyn Tool,
    params: Value,
    env: &BTreeMap<String, String>,
    cancel: &Cancel,
    progress: &dyn Progress,
) -> Result<ToolResult, ToolFailure> {
    let Value::Object(params) = params else { panic!("parameters are an object") };
    let scope = ToolScope {
        agent_id: AgentId::main(),
        session_key: SessionKey::main(&AgentId::main()),
        session_id: SessionId::new("s"),
        run_id: RunId::new("r"),
    };
    let run = RunScope::new(RunId::new("r"));
    let call_id = CallId::new("c");
    tool.execute(Invocation { call_id: &call_id, params: &params, scope: &scope, env, cancel, progress, run: &run, chain: &[] })
        .await
}

/// The text of a result.
pub(crate) fn text(result: &ToolResult) -> String {
    domain::message::text_of(&result.content)
}

/// A host tool of which only the name matters.
pub(crate) fn spec(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        label: name.to_owned(),
        description: String::new(),
        parameters: serde_json::json!({ "type": "object" }),
        output_schema: None,
        optional: false,
        owner: ToolOwner::Host,
        sequential: false,
    }
}
