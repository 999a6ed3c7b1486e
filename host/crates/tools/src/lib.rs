//! The host's own tools and everything around a tool call that is no decision of the loop: which tools a policy leaves, whether
//! arguments fit, what a result looks like when it is stored or shown. This crate never runs a tool by itself, never asks a hook and
//! never sees a plugin; whoever holds a tool must reach it through the agent's one executor.

pub mod args;
mod blocking;
mod coerce;
mod edit;
mod exec;
pub mod exec_env;
mod image;
mod page;
mod params;
pub mod policy;
mod publish;
mod read;
mod replace;
mod root;
pub mod sanitize;
mod text;
mod write;

#[cfg(test)]
mod test_root;

use std::sync::Arc;

use domain::tool::Tool;

pub use edit::{EditTool, MAX_EDIT_BYTES};
pub use exec::{
    DEFAULT_TIMEOUT, DRAIN_GRACE, ExecSettings, ExecTool, INHERITED_VARIABLES, KEPT_HEAD_BYTES, KEPT_TAIL_BYTES, KILL_GRACE,
    MAX_TIMEOUT_SEC, PROGRESS_INTERVAL, STOP_GRACE, Variables, inherited,
};
pub use image::{MAX_IMAGE_BYTES, admit as admit_image};
pub use read::{MAX_READ_BYTES, MAX_READ_LINES, ReadTool};
pub use replace::{MAX_DIFF_CHARS, MAX_LISTED_MATCHES};
pub use root::Root;
pub use write::WriteTool;

/// Names of the host's own tools, which no other tool may have.
pub const BUILT_IN: [&str; 4] = ["read", "write", "edit", "exec"];

/// The host's own tools for one workspace: those of [`BUILT_IN`].
pub fn built_in(root: Root, exec: ExecSettings) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(ReadTool::new(root.clone())),
        Arc::new(WriteTool::new(root.clone())),
        Arc::new(EditTool::new(root.clone())),
        Arc::new(ExecTool::new(root, exec)),
    ]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
    use serde_json::json;

    use super::*;
    use crate::test_root::TestRoot;

    /// What changes files is done in the model's order; what only looks, or is a program of its own, may run side by side.
    #[test]
    fn tools_that_change_files_run_alone() {
        let test = TestRoot::new();
        let tools = built_in(test.root.clone(), ExecSettings::from_process());
        let alone = tools.iter().filter(|tool| tool.spec().sequential).map(|tool| tool.spec().name.as_str());
        assert_eq!(alone.collect::<Vec<_>>(), ["write", "edit"]);
    }

    #[test]
    fn every_built_in_tool_is_known_to_policies_and_refuses_unknown_parameters() {
        let test = TestRoot::new();
        let tools = built_in(test.root.clone(), ExecSettings::from_process());
        let names: Vec<&str> = tools.iter().map(|tool| tool.spec().name.as_str()).collect();
        assert_eq!(names, BUILT_IN);
        for tool in &tools {
            let spec = tool.spec();
            assert!(policy::is_core_name(&spec.name), "{}", spec.name);
            let schema = args::Schema::compile(&spec.parameters).unwrap();
            let problems = schema.check_args(json!({"surprise": 1})).unwrap_err().to_string();
            assert!(problems.contains("unknown: surprise") && problems.contains("is required"), "{problems}");
        }
    }
}
