//! `docs/cli.md` says what the binary does: its commands, options and exit codes; the README shows what it prints.

use std::fs;
use std::path::Path;

use clap::{Command, CommandFactory};
use creel::args::Cli;
use creel::exit::Code;

use crate::support::{Bed, example, stdout};

fn documentation() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/cli.md")).unwrap()
}

/// The command line with what clap adds to it.
fn complete() -> Command {
    let mut command = Cli::command();
    command.build();
    command
}

/// Rows of the table below a heading: the first two cells.
fn table(heading: &str) -> Vec<(String, String)> {
    let text = documentation();
    let section = text.split(&format!("\n## {heading}\n")).nth(1).unwrap_or_else(|| panic!("no section `{heading}`"));
    let lines = section.lines().take_while(|line| !line.starts_with("## ")).filter(|line| line.starts_with('|'));
    let cells = |line: &str| {
        let mut cells = line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned());
        Some((cells.next()?, cells.next()?))
    };
    lines.skip(2).filter_map(cells).collect()
}

#[test]
fn exit_codes_are_those_of_the_program() {
    use Code::{Busy, Config, Internal, Interrupted, Plugin, Refused, RunFailed, Success, Timeout, Usage};
    let codes = [Success, RunFailed, Usage, Config, Plugin, Busy, Timeout, Refused, Internal, Interrupted]
        .map(|code| (code as u8).to_string());
    let documented: Vec<String> = table("Exit codes").into_iter().map(|(code, _)| code).collect();
    assert_eq!(documented, codes);
    let help = stdout(&Bed::new().creel(&["--help"]).success()).replace('\n', " ");
    let listed = help.split("Exit codes:").nth(1).unwrap();
    let numbers: Vec<&str> = listed.split(|c: char| !c.is_ascii_digit()).filter(|word| !word.is_empty()).collect();
    assert_eq!(numbers, codes);
}

#[test]
fn every_command_and_option_is_documented() {
    let text = documentation();
    let mut missing = Vec::new();
    check(&complete(), "creel", &text, &mut missing);
    assert!(missing.is_empty(), "docs/cli.md does not mention: {missing:?}");
}

/// Lines that a document shows after a command; `…` stands for anything.
fn shown<'t>(text: &'t str, command: &str) -> Vec<&'t str> {
    let rest = text.split(&format!("\n$ {command}\n")).nth(1).unwrap_or_else(|| panic!("the README does not show `{command}`"));
    rest.lines().take_while(|line| !line.starts_with("$ ") && *line != "```").collect()
}

/// Whether a line has all parts of a shown one, in their order.
fn is_like(line: &str, shown: &str) -> bool {
    let mut rest = line;
    let parts: Vec<&str> = shown.split('…').collect();
    let in_order = parts.iter().all(|part| match rest.split_once(part) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    });
    in_order && line.starts_with(parts[0]) && line.ends_with(parts[parts.len() - 1])
}

#[test]
fn the_readme_shows_what_inspect_prints() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md")).unwrap();
    let told = stdout(&Bed::new().creel(&["plugins", "inspect", example("tool-guard").to_str().unwrap()]).success());
    let shown = shown(&readme, "creel plugins inspect target/guests/plugins/tool-guard");
    let (last, lines) = shown.split_last().unwrap();
    assert_eq!(*last, "  …", "the rest is left out");
    assert!(lines.len() > 5, "{lines:?}");
    for (line, shown) in told.lines().zip(lines) {
        assert!(is_like(line, shown), "the README shows `{shown}`, printed is `{line}`");
    }
}

fn check(command: &Command, name: &str, text: &str, missing: &mut Vec<String>) {
    for option in command.get_arguments().filter_map(|argument| argument.get_long()) {
        let is_known = ["help", "version"].contains(&option) || text.contains(&format!("`--{option}"));
        if !is_known {
            missing.push(format!("{name} --{option}"));
        }
    }
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help" && !sub.is_hide_set()) {
        let path = format!("{name} {}", sub.get_name());
        // Below the heading of its group a command stands without the group's name.
        let endings = path.match_indices(' ').map(|(at, _)| &path[at + 1..]).chain([path.as_str()]);
        if !endings.into_iter().any(|ending| text.contains(&format!("`{ending}"))) {
            missing.push(path.clone());
        }
        check(sub, &path, text, missing);
    }
}

#[test]
fn every_documented_option_exists() {
    let mut known = Vec::new();
    collect(&complete(), &mut known);
    let text = documentation();
    let named = text
        .split('`')
        .skip(1)
        .step_by(2)
        .flat_map(|code| code.split([' ', ',', '=']))
        .filter_map(|word| word.strip_prefix("--"));
    let unknown: Vec<&str> = named.filter(|option| !known.iter().any(|known| known == option)).collect();
    assert!(unknown.is_empty(), "docs/cli.md names options that do not exist: {unknown:?}");
}

fn collect(command: &Command, known: &mut Vec<String>) {
    known.extend(command.get_arguments().filter_map(|argument| argument.get_long()).map(str::to_owned));
    command.get_subcommands().for_each(|sub| collect(sub, known));
}
