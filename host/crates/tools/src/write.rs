//! The `write` tool: makes a file of the workspace or replaces it whole. Never leaves a half-written file.

use async_trait::async_trait;
use domain::tool::{Invocation, Tool, ToolFailure, ToolOwner, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::json;

use crate::blocking;
use crate::params;
use crate::publish::{publish, target};
use crate::root::Root;

/// Writes files.
pub struct WriteTool {
    root: Root,
    spec: ToolSpec,
}

#[derive(Deserialize)]
struct Params<'a> {
    path: &'a str,
    content: &'a str,
}

impl WriteTool {
    /// A tool that writes below `root`.
    pub fn new(root: Root) -> Self {
        Self { root, spec: spec() }
    }
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "write".to_owned(),
        label: "Write".to_owned(),
        description:
            "Writes a file of the workspace. Missing directories are made; an existing file is replaced whole, so use `edit` \
                      for changes."
                .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "minLength": 1, "description": "Path of the file, relative to the workspace" },
                "content": { "type": "string", "description": "The whole new content" }
            },
            "required": ["path", "content"],
            "additionalProperties": false
        }),
        output_schema: None,
        optional: false,
        owner: ToolOwner::Host,
        // A model that writes a file and uses it in one answer means the file as it is then.
        sequential: true,
    }
}

#[async_trait]
impl Tool for WriteTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn execute(&self, call: Invocation<'_>) -> Result<ToolResult, ToolFailure> {
        let params: Params<'_> = params::parse(call.params)?;
        let (root, path, content) = (self.root.clone(), params.path.to_owned(), params.content.to_owned());
        let turn = self.root.change().await;
        blocking::run(call.cancel, move |stop| {
            // Held by the work and not by the call: a dropped call must not let the next change in while this one still runs.
            let _turn = turn;
            let target = target(&root, &path)?;
            publish(&root, &path, &target, content.as_bytes(), stop)?;
            let (bytes, created) = (content.len(), target.existing.is_none());
            let done = if created { "Created" } else { "Replaced" };
            Ok(ToolResult::text(format!("{done} `{path}` ({bytes} bytes)"))
                .with_details(json!({ "path": path, "bytes": bytes, "created": created })))
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    use domain::cancel::{Cancel, CancelReason};
    use domain::tool::NoProgress;

    use super::*;
    use crate::test_root::{TestRoot, call, call_with, text};

    fn tool() -> (TestRoot, WriteTool) {
        let test = TestRoot::new();
        let tool = WriteTool::new(test.root.clone());
        (test, tool)
    }

    fn names(test: &TestRoot) -> Vec<String> {
        let entries = std::fs::read_dir(test.path()).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[tokio::test]
    async fn missing_directories_are_made_and_bytes_told() {
        let (test, tool) = tool();
        let result = call(&tool, json!({"path": "a/b/c.txt", "content": "grüße"})).await.unwrap();
        assert_eq!(text(&result), "Created `a/b/c.txt` (7 bytes)");
        assert_eq!(result.details.unwrap(), json!({"path": "a/b/c.txt", "bytes": 7, "created": true}));
        assert_eq!(test.read("a/b/c.txt"), "grüße");
        assert_eq!(std::fs::read_dir(test.path().join("a/b")).unwrap().count(), 1);
    }

    #[tokio::test]
    async fn a_replaced_file_keeps_its_permissions_and_gets_a_new_inode() {
        let (test, tool) = tool();
        test.write("run.sh", "old");
        let path = test.path().join("run.sh");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).unwrap();
        std::fs::hard_link(&path, test.path().join("other")).unwrap();
        let before = path.metadata().unwrap().ino();
        let result = call(&tool, json!({"path": "run.sh", "content": "new"})).await.unwrap();
        assert_eq!(text(&result), "Replaced `run.sh` (3 bytes)");
        let metadata = path.metadata().unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, 0o750);
        assert_ne!(metadata.ino(), before);
        assert_eq!(test.read("other"), "old", "a hard link keeps the old content");
    }

    #[tokio::test]
    async fn nothing_outside_can_be_written() {
        let (test, tool) = tool();
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("kept"), "kept").unwrap();
        symlink(outside.path(), test.path().join("dir-link")).unwrap();
        symlink(outside.path().join("kept"), test.path().join("file-link")).unwrap();
        symlink(outside.path().join("new"), test.path().join("new-link")).unwrap();
        let absolute = outside.path().join("kept");
        for path in [
            "../up.txt",
            "a/../../up.txt",
            "new/sub/../../../up.txt",
            "dir-link/new",
            "dir-link/new/x.txt",
            "file-link",
            "new-link",
            absolute.to_str().unwrap(),
        ] {
            let error = call(&tool, json!({"path": path, "content": "evil"})).await.unwrap_err();
            let told = format!("only `{}`", test.path().display());
            assert!(matches!(&error, ToolFailure::Invalid(text) if text.contains(&told)), "{path}: {error}");
        }
        assert_eq!(names(&test), ["dir-link", "file-link", "new-link"], "no directory is left");
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
        assert_eq!(std::fs::read_to_string(outside.path().join("kept")).unwrap(), "kept");
        assert!(!test.path().parent().unwrap().join("up.txt").exists());
    }

    #[tokio::test]
    async fn the_file_behind_a_link_inside_is_replaced_and_the_link_stays() {
        let (test, tool) = tool();
        test.write("real.txt", "old");
        symlink("real.txt", test.path().join("link.txt")).unwrap();
        call(&tool, json!({"path": "link.txt", "content": "new"})).await.unwrap();
        assert_eq!(test.read("real.txt"), "new");
        assert!(test.path().join("link.txt").is_symlink());
    }

    #[tokio::test]
    async fn directories_and_dangling_links_are_refused() {
        let (test, tool) = tool();
        std::fs::create_dir(test.path().join("d")).unwrap();
        symlink("nowhere", test.path().join("dangling")).unwrap();
        for (path, kind) in
            [("d", "a directory"), (".", "a directory"), ("d/..", "a directory"), ("dangling", "a link to nothing")]
        {
            let error = call(&tool, json!({"path": path, "content": "x"})).await.unwrap_err();
            assert!(error.to_string().contains(kind), "{path}: {error}");
        }
        assert_eq!(names(&test), ["d", "dangling"], "no temporary file is left");
    }

    #[tokio::test]
    async fn a_cancelled_call_writes_nothing() {
        let (test, tool) = tool();
        let cancel = Cancel::default();
        cancel.cancel(CancelReason::User);
        let params = json!({"path": "a.txt", "content": "x"});
        let result = call_with(&tool, params, &std::collections::BTreeMap::new(), &cancel, &NoProgress).await;
        assert_eq!(result, Err(ToolFailure::Aborted));
        assert!(names(&test).is_empty());
    }
}
