//! Readers that go away, and disks that are full: `| head -1` ends a command, never with a panic; a result that is not written is never told
//! to be one.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::support::Bed;

/// Reads the first line of a command and closes the pipe; gives the exit code and stderr.
fn head(bed: &Bed, arguments: &[&str]) -> (Option<i32>, String) {
    let mut child = bed.process(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    // The reader is dropped with the statement, and the pipe with it.
    BufReader::with_capacity(1, child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.ends_with('\n'), "{arguments:?} wrote nothing");
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!said.contains("panicked"), "{arguments:?}: {said}");
    (output.status.code(), said)
}

/// More than a pipe holds, so that the writer meets the closed end.
fn long_text(bed: &Bed) {
    let lines: String = (0..60_000).map(|number| format!("{number}\n")).collect();
    bed.file("long.txt", lines);
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let bed = Bed::new();
    long_text(&bed);
    bed.creel(&["agent", "--message-file", "long.txt", "--json"]).success();
    for arguments in [
        &["completions", "zsh"][..],
        &["config", "schema"],
        &["agent", "--help"],
        &["sessions", "export"],
        &["sessions", "show", "--json"],
        &["sessions", "list", "--json"],
    ] {
        assert_eq!(head(&bed, arguments), (Some(0), String::new()), "{arguments:?}");
    }
}

#[test]
fn a_reply_into_a_closed_pipe_is_told_to_have_failed() {
    let bed = Bed::new();
    long_text(&bed);
    let (code, said) = head(&bed, &["agent", "--message-file", "long.txt"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("error: the reply was not sent: stdout cannot be written"), "{said}");
    assert_eq!(bed.sessions()[0]["entry"]["status"], "done", "the run itself came to its end");
    // A program that reads half of an object and stops must not be told that all is well.
    let (code, said) = head(&bed, &["agent", "--message-file", "long.txt", "--json"]);
    assert_eq!(code, Some(1), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("error: the result cannot be written to stdout: Broken pipe"), "{said}");
}

#[test]
fn a_result_on_a_full_disk_is_told_to_have_failed() {
    let bed = Bed::new();
    bed.creel(&["agent", "--message", "hi"]).success();
    for arguments in [
        &["agent", "--message", "hi", "--json"][..],
        &["sessions", "list"],
        &["sessions", "list", "--json"],
        &["sessions", "show"],
        &["sessions", "show", "--json"],
        &["sessions", "export"],
        &["plugins", "list", "--json"],
        &["config", "check"],
        &["config", "schema"],
        &["completions", "bash"],
        &["--help"],
        &["sessions", "--help"],
        &["--version"],
    ] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = bed.process(arguments).stdout(full).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        let told = said.lines().filter(|line| line.starts_with("error: ")).collect::<Vec<_>>();
        assert_eq!(told.len(), 1, "{arguments:?}: {said}");
        assert!(told[0].contains("stdout") && told[0].contains("No space left"), "{arguments:?}: {said}");
    }
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let failed = bed.process(&["sessions", "show", "nobody", "--json"]).stdout(full).output().unwrap();
    assert_eq!(failed.status.code(), Some(2), "what went wrong first decides");
}
