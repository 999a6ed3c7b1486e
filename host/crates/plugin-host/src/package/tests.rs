//! Packages on disk: every rule of 7.1, and what is refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::fs;

use serde_json::json;
use tempfile::TempDir;

use super::*;

/// A directory with these (empty) files and this value under `openclaw`.
fn package(declared: &Value, files: &[&str]) -> TempDir {
    let place = tempfile::tempdir().unwrap();
    for file in files {
        let path = place.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    fs::write(place.path().join(FILE_NAME), json!({ "name": "kit", "openclaw": declared }).to_string()).unwrap();
    place
}

fn open(place: &TempDir) -> Root {
    Root::open(place.path()).unwrap()
}

fn found(declared: &Value, files: &[&str]) -> Package {
    read(&open(&package(declared, files))).unwrap().unwrap()
}

fn names(paths: &[PathBuf]) -> Vec<&str> {
    paths.iter().map(|path| path.to_str().unwrap()).collect()
}

const ALL: &[&str] = &[
    "extensions/a.wasm",
    "extensions/b/creel.plugin.json",
    "extensions/c.ts",
    "extensions/README.md",
    "skills/s.md",
    "skills/t/SKILL.md",
    "skills/t/notes.md",
    "skills/x.txt",
    "prompts/p.md",
    "prompts/q.json",
    "themes/dark.json",
    "themes/light.md",
];

#[test]
fn types_that_are_not_listed_come_from_their_conventional_directories() {
    let package = found(&json!({}), ALL);
    assert_eq!(names(&package.extensions), ["extensions/a.wasm", "extensions/b", "extensions/c.ts"]);
    assert_eq!(names(&package.skills), ["skills/s.md", "skills/t/SKILL.md"]);
    assert_eq!(names(&package.prompts), ["prompts/p.md"]);
    assert_eq!(names(&package.themes), ["themes/dark.json"]);
    assert_eq!(package.problems, []);
}

#[test]
fn the_fall_back_is_per_type_and_an_empty_list_is_a_list() {
    let package = found(&json!({ "skills": ["skills/x.txt"], "themes": [], "prompts": null }), ALL);
    assert_eq!(names(&package.skills), ["skills/x.txt"]);
    assert!(package.themes.is_empty());
    assert_eq!(names(&package.prompts), ["prompts/p.md"]);
    assert_eq!(package.extensions.len(), 3);
}

#[test]
fn order_is_that_of_the_list_with_sorted_patterns_and_no_duplicates() {
    let files = ["x/z.md", "x/b.md", "x/a.md", "x/deep/c.md", "top.md"];
    let package = found(&json!({ "skills": ["./x/z.md", "x/*.md", "./x/**/*.md", "x/../top.md", "t[o]p.md"] }), &files);
    assert_eq!(names(&package.skills), ["x/z.md", "x/a.md", "x/b.md", "x/deep/c.md", "top.md"]);
    assert_eq!(package.problems, []);
}

#[test]
fn no_package_file_or_no_declaration_is_no_package() {
    let place = tempfile::tempdir().unwrap();
    assert_eq!(read(&open(&place)), Ok(None));
    fs::write(place.path().join(FILE_NAME), r#"{"name":"x"}"#).unwrap();
    assert_eq!(read(&open(&place)), Ok(None));
}

#[test]
fn what_does_not_fit_is_told_and_the_rest_is_used() {
    let declared = json!({
        "extensions": "x",
        "skills": ["skills/s.md", 7, "gone.md", "none/*.md", "../up.md", "/etc/hostname", "[", "x/{a"],
    });
    let package = found(&declared, ALL);
    assert_eq!(names(&package.skills), ["skills/s.md"]);
    assert!(package.extensions.is_empty());
    assert_eq!(names(&package.prompts), ["prompts/p.md"]);
    let problems: Vec<String> = package.problems.iter().map(ToString::to_string).collect();
    for (problem, expected) in problems.iter().zip([
        "`openclaw.extensions`: expected a list of paths, found a string",
        "`openclaw.skills[1]`: expected text in quotes, found a number",
        "`openclaw.skills[2]`:",
        "`openclaw.skills[3]`: the pattern `none/*.md` finds no file",
        "`openclaw.skills[4]`:",
        "`openclaw.skills[5]`:",
        "`openclaw.skills[6]`: is not a pattern",
        "`openclaw.skills[7]`: is not a pattern",
    ]) {
        assert!(problem.contains(FILE_NAME) && problem.contains(expected), "{problem}\nwanted: {expected}");
    }
    assert_eq!(problems.len(), 8, "{problems:?}");
    assert!(problems[2].ends_with("gone.md does not exist") && problems[4].contains("leads out of"), "{problems:?}");
}

#[test]
fn a_package_file_that_cannot_be_read_is_an_error() {
    for (text, expected) in [
        ("{", "is not JSON"),
        (r#"{"openclaw": []}"#, "`openclaw`: expected an object, found an array"),
        (&" ".repeat(MAX_BYTES + 1), "has more than 1048576 bytes"),
    ] {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join(FILE_NAME), text).unwrap();
        let error = read(&open(&place)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let many = found(&json!({ "skills": vec!["a.md"; MAX_LISTED + 1] }), &["a.md"]);
    assert!(many.problems[0].to_string().contains("has 257 entries"));
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_out_is_refused_wherever_it_is_found() {
    use std::os::unix::fs::symlink;

    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("s.md"), "").unwrap();
    let place = package(&json!({ "prompts": ["out/s.md", "links/*.md"] }), &["skills/own.md", "links/own.md"]);
    symlink(outside.path(), place.path().join("out")).unwrap();
    symlink(outside.path().join("s.md"), place.path().join("links/stolen.md")).unwrap();
    symlink(outside.path().join("s.md"), place.path().join("skills/stolen.md")).unwrap();
    symlink("own.md", place.path().join("skills/same.md")).unwrap();
    let package = read(&open(&place)).unwrap().unwrap();
    assert_eq!(names(&package.prompts), ["links/own.md"]);
    assert_eq!(names(&package.skills), ["skills/own.md"]);
    assert_eq!(package.problems.len(), 3, "{:?}", package.problems);
    assert!(package.problems.iter().all(|problem| problem.to_string().contains("leads out of")));
}

#[test]
fn a_pattern_looks_at_a_bounded_part_of_the_directory() {
    let place = package(&json!({ "skills": ["**/*.md"], "prompts": [] }), &[]);
    let mut deep = place.path().to_owned();
    for n in 0..20 {
        deep.push(format!("d{n}"));
    }
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("too-deep.md"), "").unwrap();
    let package = read(&open(&place)).unwrap().unwrap();
    assert!(package.skills.is_empty() && matches!(package.problems[0], PackageError::NoMatch { .. }), "{package:?}");
    for directory in 0..11 {
        let directory = place.path().join(format!("w{directory}"));
        fs::create_dir(&directory).unwrap();
        for file in 0..950 {
            fs::write(directory.join(file.to_string()), "").unwrap();
        }
    }
    let package = read(&open(&place)).unwrap().unwrap();
    assert!(package.problems[0].to_string().contains("more than 10000 entries"), "{package:?}");
}
