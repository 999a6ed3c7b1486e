//! The `edit` tool: replaces a text in a file of the workspace. Never guesses: a text that is not there, or there more than once, is
//! an error that helps to ask again.

use std::io::Read as _;

use async_trait::async_trait;
use domain::tool::{Invocation, Tool, ToolFailure, ToolOwner, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::json;

use crate::blocking::{self, Stop};
use crate::params;
use crate::publish::{publish, target};
use crate::replace::{Replacement, replace};
use crate::root::Root;

/// Largest file that can be edited; it is held in memory twice.
pub const MAX_EDIT_BYTES: u64 = 10 * 1024 * 1024;

/// Edits files.
pub struct EditTool {
    root: Root,
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params<'a> {
    path: &'a str,
    old_text: &'a str,
    new_text: &'a str,
    #[serde(default)]
    replace_all: bool,
}

impl EditTool {
    /// A tool that edits below `root`.
    pub fn new(root: Root) -> Self {
        Self { root, spec: spec() }
    }
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "edit".to_owned(),
        label: "Edit".to_owned(),
        description:
            "Replaces a text in a file of the workspace. `oldText` must match exactly and occur once, unless `replaceAll` is \
                      set."
                .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "minLength": 1, "description": "Path of the file, relative to the workspace" },
                "oldText": { "type": "string", "minLength": 1, "description": "The text to replace, exactly as it is in the file" },
                "newText": { "type": "string", "description": "What takes its place" },
                "replaceAll": { "type": "boolean", "description": "Replace every occurrence; default false" }
            },
            "required": ["path", "oldText", "newText"],
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
impl Tool for EditTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn execute(&self, call: Invocation<'_>) -> Result<ToolResult, ToolFailure> {
        let params: Params<'_> = params::parse(call.params)?;
        let (root, path, all) = (self.root.clone(), params.path.to_owned(), params.replace_all);
        let (old, new) = (params.old_text.to_owned(), params.new_text.to_owned());
        let turn = self.root.change().await;
        blocking::run(call.cancel, move |stop| {
            // Held by the work and not by the call: a dropped call must not let the next change in while this one still runs.
            let _turn = turn;
            edit(&root, &path, Replacement { old: &old, new: &new, all }, stop)
        })
        .await
    }
}

fn edit(root: &Root, path: &str, wanted: Replacement<'_>, stop: &Stop) -> Result<ToolResult, ToolFailure> {
    let text = whole_text(root, path)?;
    let done = replace(&text, wanted).map_err(|error| ToolFailure::Failed(format!("`{path}` was not changed: {error}")))?;
    let target = target(root, path)?;
    publish(root, path, &target, done.text.as_bytes(), stop)?;
    let places = if done.count == 1 { "1 occurrence".to_owned() } else { format!("{} occurrences", done.count) };
    Ok(ToolResult::text(format!("Replaced {places} in `{path}` (line {})", done.first_line)).with_details(json!({
        "path": path, "replacements": done.count, "firstLine": done.first_line, "diff": done.diff,
    })))
}

fn whole_text(root: &Root, path: &str) -> Result<String, ToolFailure> {
    let (file, _) = root.open_file(path)?;
    let mut bytes = Vec::new();
    file.take(MAX_EDIT_BYTES + 1).read_to_end(&mut bytes).map_err(|error| root.explain(path, &error))?;
    if bytes.len() as u64 > MAX_EDIT_BYTES {
        return Err(ToolFailure::Failed(format!("`{path}` has more than {MAX_EDIT_BYTES} bytes; use `exec` with `sed` instead")));
    }
    // Lossy reading would damage the rest of the file.
    String::from_utf8(bytes)
        .map_err(|_| ToolFailure::Failed(format!("`{path}` is not UTF-8 text; `edit` would damage it, use `exec` instead")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::test_root::{TestRoot, call, text};

    fn tool() -> (TestRoot, EditTool) {
        let test = TestRoot::new();
        let tool = EditTool::new(test.root.clone());
        (test, tool)
    }

    #[tokio::test]
    async fn the_one_occurrence_is_replaced() {
        let (test, tool) = tool();
        test.write("a.txt", "one\r\ntwo\r\n");
        let result = call(&tool, json!({"path": "a.txt", "oldText": "two\n", "newText": "2\nIII\n"})).await.unwrap();
        assert_eq!(test.read("a.txt"), "one\r\n2\r\nIII\r\n");
        assert_eq!(text(&result), "Replaced 1 occurrence in `a.txt` (line 2)");
        assert_eq!(result.details.unwrap()["diff"], "@@ line 2 @@\n-two\n+2\n+III");
    }

    #[tokio::test]
    async fn an_ambiguous_text_changes_nothing_unless_all_are_meant() {
        let (test, tool) = tool();
        test.write("a.txt", "x\nx\n");
        let error = call(&tool, json!({"path": "a.txt", "oldText": "x", "newText": "y"})).await.unwrap_err();
        assert!(error.to_string().contains("found 2 times, on lines 1, 2"), "{error}");
        assert_eq!(test.read("a.txt"), "x\nx\n");
        call(&tool, json!({"path": "a.txt", "oldText": "x", "newText": "y", "replaceAll": true})).await.unwrap();
        assert_eq!(test.read("a.txt"), "y\ny\n");
    }

    #[tokio::test]
    async fn a_missing_text_or_file_is_an_error() {
        let (test, tool) = tool();
        test.write("a.txt", "x");
        let error = call(&tool, json!({"path": "a.txt", "oldText": "q", "newText": "y"})).await.unwrap_err();
        assert!(error.to_string().contains("found 0 times"), "{error}");
        let error = call(&tool, json!({"path": "b.txt", "oldText": "q", "newText": "y"})).await.unwrap_err();
        assert_eq!(error.to_string(), "`b.txt` does not exist in the workspace");
    }

    #[tokio::test]
    async fn files_outside_are_refused() {
        let (test, tool) = tool();
        let outside = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(outside.path(), "secret").unwrap();
        symlink(outside.path(), test.path().join("link")).unwrap();
        for path in ["link", outside.path().to_str().unwrap()] {
            let error = call(&tool, json!({"path": path, "oldText": "secret", "newText": "x"})).await.unwrap_err();
            assert!(error.to_string().contains("outside the workspace"), "{error}");
        }
        assert_eq!(std::fs::read_to_string(outside.path()).unwrap(), "secret");
    }

    #[tokio::test]
    async fn a_file_that_is_too_large_or_not_text_is_left_alone() {
        let (test, tool) = tool();
        test.write("big.txt", vec![b'x'; usize::try_from(MAX_EDIT_BYTES).unwrap() + 1]);
        test.write("latin.txt", b"caf\xE9");
        for (path, reason) in [("big.txt", "more than 10485760 bytes"), ("latin.txt", "not UTF-8")] {
            let error = call(&tool, json!({"path": path, "oldText": "caf", "newText": "y"})).await.unwrap_err();
            assert!(error.to_string().contains(reason), "{error}");
        }
    }

    #[tokio::test]
    async fn edits_of_one_file_at_the_same_time_lose_nothing() {
        let (test, tool) = tool();
        test.write("a.txt", (0..20).map(|n| format!("<{n}>")).collect::<String>());
        let edits: Vec<_> =
            (0..20).map(|n| json!({"path": "a.txt", "oldText": format!("<{n}>"), "newText": format!("[{n}]")})).collect();
        let tool = std::sync::Arc::new(tool);
        let tasks: Vec<_> = edits
            .into_iter()
            .map(|params| {
                let tool = std::sync::Arc::clone(&tool);
                tokio::spawn(async move { call(&*tool, params).await })
            })
            .collect();
        for task in tasks {
            task.await.unwrap().unwrap();
        }
        assert_eq!(test.read("a.txt"), (0..20).map(|n| format!("[{n}]")).collect::<String>());
    }
}
