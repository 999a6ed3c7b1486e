//! The `read` tool: a page of a text file, or a picture, from the workspace. Never holds more of a file in memory than it shows.

use std::io::{BufReader, Read as _};

use async_trait::async_trait;
use cap_std::fs::File;
use domain::message::ContentBlock;
use domain::tool::{Invocation, Tool, ToolFailure, ToolOwner, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::json;

use crate::blocking::{self, Stop};
use crate::image;
use crate::page::{Lines, Page, PageLimits, ReadError};
use crate::params;
use crate::root::Root;

/// Most lines of one page.
pub const MAX_READ_LINES: u64 = 2000;
/// Most bytes of one page; about a tenth of a large context window.
pub const MAX_READ_BYTES: usize = 50 * 1024;
/// How much of the beginning is searched for a zero byte, the mark of a file that is no text.
const BINARY_PROBE_BYTES: usize = 8 * 1024;
/// Read-ahead; at least [`BINARY_PROBE_BYTES`].
const BUFFER_BYTES: usize = 64 * 1024;

/// Reads files.
pub struct ReadTool {
    root: Root,
    spec: ToolSpec,
}

#[derive(Deserialize)]
struct Params<'a> {
    path: &'a str,
    offset: Option<u64>,
    limit: Option<u64>,
}

impl ReadTool {
    /// A tool that reads below `root`.
    pub fn new(root: Root) -> Self {
        Self { root, spec: spec() }
    }
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "read".to_owned(),
        label: "Read".to_owned(),
        description: format!(
            "Reads a file of the workspace: text, or a png, jpeg, gif or webp picture. At most {MAX_READ_LINES} lines or {} KB per \
             call; go on with `offset`.",
            MAX_READ_BYTES / 1024
        ),
        parameters: json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "minLength": 1, "description": "Path of the file, relative to the workspace" },
                "offset": { "type": "integer", "minimum": 1, "description": "First line to read, counted from 1; default 1" },
                "limit": { "type": "integer", "minimum": 1, "description": "Most lines to read" }
            },
            "required": ["path"],
            "additionalProperties": false
        }),
        output_schema: None,
        optional: false,
        owner: ToolOwner::Host,
        sequential: false,
    }
}

#[async_trait]
impl Tool for ReadTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn execute(&self, call: Invocation<'_>) -> Result<ToolResult, ToolFailure> {
        let params: Params<'_> = params::parse(call.params)?;
        let limits = PageLimits {
            first_line: params.offset.unwrap_or(1).max(1),
            lines: params.limit.unwrap_or(MAX_READ_LINES).clamp(1, MAX_READ_LINES),
            bytes: MAX_READ_BYTES,
        };
        let (root, path) = (self.root.clone(), params.path.to_owned());
        blocking::run(call.cancel, move |stop| read(&root, &path, limits, stop)).await
    }
}

fn read(root: &Root, path: &str, limits: PageLimits, stop: &Stop) -> Result<ToolResult, ToolFailure> {
    let (file, metadata) = root.open_file(path)?;
    let io = |error: std::io::Error| ToolFailure::from(root.explain(path, &error));
    let mut lines = Lines::new(BufReader::with_capacity(BUFFER_BYTES, file));
    let start = lines.peek().map_err(io)?;
    if let Some(mime_type) = image::sniff(start) {
        return picture(path, lines.into_inner(), metadata.len(), mime_type).map_err(|error| error.explained(io));
    }
    if start.iter().take(BINARY_PROBE_BYTES).any(|byte| *byte == 0) {
        return Err(ToolFailure::Failed(format!(
            "`{path}` is a binary file of {} bytes; `read` shows text and png, jpeg, gif or webp pictures",
            metadata.len()
        )));
    }
    let page = lines.page(limits, stop).map_err(|error| error.explained(io))?;
    text(path, metadata.len(), limits, &page)
}

fn picture(path: &str, file: BufReader<File>, size: u64, mime_type: &str) -> Result<ToolResult, ReadError> {
    let limit = image::MAX_IMAGE_BYTES;
    let too_large = |size: u64| {
        ReadError::Tool(ToolFailure::Failed(format!(
            "`{path}` is a picture of {size} bytes; at most {limit} are allowed, make a smaller copy first"
        )))
    };
    if size > limit as u64 {
        return Err(too_large(size));
    }
    let mut bytes = Vec::new();
    // The size may have grown since it was asked for.
    file.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(ReadError::Io)?;
    if bytes.len() > limit {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(ToolResult {
        content: vec![
            ContentBlock::text(format!("Picture `{path}` ({mime_type}, {} bytes)", bytes.len())),
            image::block(&bytes, mime_type),
        ],
        details: Some(json!({ "path": path, "mimeType": mime_type, "bytes": bytes.len() })),
        terminate: false,
    })
}

fn text(path: &str, size: u64, limits: PageLimits, page: &Page) -> Result<ToolResult, ToolFailure> {
    let first = limits.first_line;
    if page.lines == 0 && first > 1 {
        return Err(ToolFailure::Failed(format!("line {first} is behind the end of `{path}`, which has {} lines", page.skipped)));
    }
    let (shown, lossy) = match String::from_utf8_lossy(&page.bytes) {
        std::borrow::Cow::Borrowed(text) => (text.to_owned(), false),
        std::borrow::Cow::Owned(text) => (text, true),
    };
    let last = first + page.lines.saturating_sub(1);
    let mut notes = Vec::new();
    if size == 0 {
        notes.push("the file is empty".to_owned());
    }
    if page.line_cut {
        notes.push(format!(
            "line {first} is longer than {MAX_READ_BYTES} bytes and was cut; use `exec` with `cut` or `fold` for the rest"
        ));
    }
    if page.more {
        notes.push(format!("lines {first} to {last} of `{path}`; more follow, go on with `offset` {}", last + 1));
    }
    if lossy {
        notes.push("bytes that are not UTF-8 are shown as \u{FFFD}".to_owned());
    }
    let details = json!({
        "path": path, "bytes": size, "firstLine": first, "lines": page.lines, "truncated": page.more || page.line_cut,
    });
    Ok(ToolResult::text(with_notes(shown, &notes)).with_details(details))
}

fn with_notes(mut text: String, notes: &[String]) -> String {
    if notes.is_empty() {
        return text;
    }
    if !text.is_empty() {
        text.push_str(if text.ends_with('\n') { "\n" } else { "\n\n" });
    }
    text.push_str(&format!("[{}]", notes.join("; ")));
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::test_root::{TestRoot, call, text};

    fn tool() -> (TestRoot, ReadTool) {
        let test = TestRoot::new();
        let tool = ReadTool::new(test.root.clone());
        (test, tool)
    }

    #[tokio::test]
    async fn a_short_file_comes_as_it_is() {
        let (test, tool) = tool();
        test.write("a.txt", "one\r\ntwo\n");
        let result = call(&tool, json!({"path": "a.txt"})).await.unwrap();
        assert_eq!(text(&result), "one\r\ntwo\n");
        assert_eq!(result.details.unwrap()["truncated"], false);
    }

    #[tokio::test]
    async fn an_absolute_path_below_the_workspace_is_accepted_and_any_other_refused() {
        let (test, tool) = tool();
        test.write("a.txt", "x");
        assert!(call(&tool, json!({"path": test.path().join("a.txt")})).await.is_ok());
        symlink("/etc/hostname", test.path().join("link")).unwrap();
        for path in ["/etc/hostname", "../x", "link"] {
            let error = call(&tool, json!({"path": path})).await.unwrap_err();
            assert!(
                matches!(&error, ToolFailure::Invalid(text) if text.contains(test.path().to_str().unwrap())),
                "{path}: {error}"
            );
        }
    }

    #[tokio::test]
    async fn pages_go_on_where_the_last_one_ended() {
        let (test, tool) = tool();
        let all: String = (1..=2500).map(|line| format!("{line}\n")).collect();
        test.write("long.txt", &all);
        let first = call(&tool, json!({"path": "long.txt"})).await.unwrap();
        assert!(text(&first).ends_with("[lines 1 to 2000 of `long.txt`; more follow, go on with `offset` 2001]"));
        let second = call(&tool, json!({"path": "long.txt", "offset": 2001})).await.unwrap();
        assert!(text(&second).starts_with("2001\n"));
        assert!(text(&second).ends_with("2500\n"));
        let few = call(&tool, json!({"path": "long.txt", "offset": 7, "limit": 2})).await.unwrap();
        assert!(text(&few).starts_with("7\n8\n\n[lines 7 to 8 of"), "{}", text(&few));
    }

    #[tokio::test]
    async fn a_page_holds_no_more_than_its_bytes() {
        let (test, tool) = tool();
        test.write("wide.txt", format!("{}\n", "x".repeat(1000)).repeat(100));
        let result = call(&tool, json!({"path": "wide.txt"})).await.unwrap();
        assert!(text(&result).len() < MAX_READ_BYTES + 200);
        assert!(text(&result).contains("go on with `offset` 52]"), "{}", &text(&result)[MAX_READ_BYTES - 1000..]);
    }

    #[tokio::test]
    async fn a_line_without_end_is_cut_between_characters() {
        let (test, tool) = tool();
        test.write("line.txt", "€".repeat(MAX_READ_BYTES));
        let result = call(&tool, json!({"path": "line.txt"})).await.unwrap();
        let text = text(&result);
        assert!(text.len() < MAX_READ_BYTES + 300 && text.contains("was cut"), "{}", text.len());
        assert!(!text.contains('\u{FFFD}'));
    }

    #[tokio::test]
    async fn a_line_behind_the_end_is_an_error_that_tells_the_length() {
        let (test, tool) = tool();
        test.write("a.txt", "1\n2\n3");
        let error = call(&tool, json!({"path": "a.txt", "offset": 5})).await.unwrap_err();
        assert_eq!(error.to_string(), "line 5 is behind the end of `a.txt`, which has 3 lines");
    }

    #[tokio::test]
    async fn an_empty_file_says_so() {
        let (test, tool) = tool();
        test.write("a.txt", "");
        assert_eq!(text(&call(&tool, json!({"path": "a.txt"})).await.unwrap()), "[the file is empty]");
    }

    #[tokio::test]
    async fn pictures_come_as_image_blocks_whatever_their_name() {
        let (test, tool) = tool();
        test.write("shot.txt", image::samples::PNG);
        let result = call(&tool, json!({"path": "shot.txt"})).await.unwrap();
        assert!(matches!(&result.content[1], ContentBlock::Image(block) if block.mime_type == "image/png"));
    }

    #[tokio::test]
    async fn a_picture_that_is_too_large_is_refused() {
        let (test, tool) = tool();
        let mut bytes = image::samples::PNG.to_vec();
        bytes.resize(image::MAX_IMAGE_BYTES, 0);
        test.write("fits.png", &bytes);
        assert!(call(&tool, json!({"path": "fits.png"})).await.is_ok());
        bytes.push(0);
        test.write("big.png", &bytes);
        let error = call(&tool, json!({"path": "big.png"})).await.unwrap_err();
        assert!(error.to_string().contains("at most 3750000"), "{error}");
    }

    #[tokio::test]
    async fn binary_files_are_refused_and_odd_bytes_replaced() {
        let (test, tool) = tool();
        test.write("prog", b"\x7FELF\0\0");
        let error = call(&tool, json!({"path": "prog"})).await.unwrap_err();
        assert!(error.to_string().contains("binary file of 6 bytes"), "{error}");
        test.write("latin.txt", b"caf\xE9\n");
        let result = call(&tool, json!({"path": "latin.txt"})).await.unwrap();
        assert!(text(&result).starts_with("caf\u{FFFD}\n") && text(&result).contains("not UTF-8"));
    }
}
