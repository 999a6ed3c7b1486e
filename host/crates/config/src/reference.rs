//! The reference of the configuration for people, made from the schema like everything else that describes the file. It is what
//! `creel config schema --markdown` prints; `docs/configuration.md` is a copy of it.

use std::fmt::Write;

use serde_json::Value;

use crate::check::expectation::{branches, words};
use crate::keys::{Config, quantity};

const HEAD: &str = "# Configuration

Every key of `creel.json` (JSON5; `~/.creel/creel.json` unless `--config` or `CREEL_CONFIG_PATH` names another file). Made by `creel
config schema --markdown`; `creel config schema` prints the same as JSON Schema, `creel config check` compares a file with it.

Every key is optional unless it says otherwise. `<…>` stands for a name of your own, `[]` for each entry of a list. A time is a whole
number of the unit that its type names, or text with a unit (`\"500ms\"`, `\"15s\"`, `\"30m\"`, `\"2h\"`); a size is a whole number of
bytes, or text (`\"64kb\"`, `\"20mb\"`, `\"1gb\"`, powers of 1024). In any text `${NAME}` is the environment variable of that name.

What a plugin takes below `plugins.entries.<id>.config` is said by the `configSchema` of its manifest. A file with nearly every key in it
is [example.json5](../host/crates/config/example.json5).
";

impl Config {
    /// The reference of `creel.json` as Markdown: each key path, what it takes, its default, what it means.
    pub fn reference() -> String {
        let schema = Self::schema();
        let mut text = HEAD.to_owned();
        for (name, node) in properties(&schema) {
            let mut rows = Vec::new();
            collect(node, name, is_required(&schema, name), &mut rows);
            // Writing into a text cannot fail.
            let _ = write!(text, "\n## `{name}`\n\n{}\n\n", description(node));
            text.push_str("| Key | Type | Default | Meaning |\n| --- | --- | --- | --- |\n");
            // The section has said what the key itself is.
            let shown = if rows.len() > 1 { &rows[1..] } else { &rows[..] };
            for row in shown {
                let _ =
                    writeln!(text, "| `{}` | {} | {} | {} |", row.path, cell(&row.takes), cell(&row.default), cell(&row.meaning));
            }
        }
        text
    }
}

/// One key.
struct Row {
    path: String,
    takes: String,
    default: String,
    meaning: String,
}

fn properties(node: &Value) -> impl Iterator<Item = (&String, &Value)> {
    node.get("properties").and_then(Value::as_object).into_iter().flatten()
}

fn is_required(node: &Value, name: &str) -> bool {
    node.get("required").and_then(Value::as_array).is_some_and(|names| names.iter().any(|required| required == name))
}

fn description(node: &Value) -> String {
    node.get("description").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The row of a key and those of all keys below it. Branches of a union have their keys together; one that is in several is told once.
fn collect(node: &Value, path: &str, required: bool, rows: &mut Vec<Row>) {
    if rows.iter().any(|row| row.path == path) {
        return;
    }
    let required = if required { "Required. " } else { "" };
    let default = node.get("default").map_or_else(String::new, |default| shown_default(node, default));
    rows.push(Row { path: path.to_owned(), takes: takes(node), default, meaning: format!("{required}{}", description(node)) });
    below(node, path, rows);
}

fn below(node: &Value, path: &str, rows: &mut Vec<Row>) {
    for (name, child) in properties(node) {
        collect(child, &format!("{path}.{name}"), is_required(node, name), rows);
    }
    if let Some(child) = node.get("additionalProperties").filter(|child| child.is_object()) {
        let path = format!("{path}.{}", placeholder(path));
        // The entries of a map have a row of their own only if it would say more than that of the map.
        if child.get("properties").is_some() { below(child, &path, rows) } else { collect(child, &path, false, rows) }
    }
    if let Some(child) = node.get("items") {
        below(child, &format!("{path}[]"), rows);
    }
    for branch in branches(node).into_iter().flatten() {
        below(branch, path, rows);
    }
}

/// What the names of a map are.
fn placeholder(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("entries") => "<id>",
        Some("providers") => "<provider>",
        Some("models") => "<provider/model>",
        Some("timeouts" | "dispatchBudgets" | "fields") => "<hook>",
        _ => "<name>",
    }
}

/// What a key takes, in a few words.
fn takes(node: &Value) -> String {
    if let Some(unit) = node.get(quantity::UNIT_KEYWORD).and_then(Value::as_str) {
        return format!("{unit}{}", bounds(node));
    }
    if let Some(words) = words(node) {
        return words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    }
    if let Some(branches) = branches(node) {
        let mut parts: Vec<String> = Vec::new();
        for part in branches.iter().map(takes) {
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        return parts.join(" or ");
    }
    match node.get("type").and_then(Value::as_str) {
        Some("string") => "text".to_owned(),
        Some("boolean") => "`true` or `false`".to_owned(),
        Some("integer") => format!("whole number{}", bounds(node)),
        Some("number") => format!("number{}", bounds(node)),
        Some("array") => format!("list of {}", node.get("items").map_or_else(|| "anything".to_owned(), takes_each)),
        _ => "object".to_owned(),
    }
}

/// What the entries of a list are, as a plural where it is one word of ours.
fn takes_each(items: &Value) -> String {
    let each = takes(items);
    if each.contains('`') {
        return each;
    }
    ["text", "object", "number"].iter().fold(each, |each, word| each.replacen(word, &format!("{word}s"), 1))
}

fn bounds(node: &Value) -> String {
    match (node.get("minimum"), node.get("maximum")) {
        (Some(minimum), Some(maximum)) => format!(", {minimum} to {maximum}"),
        (Some(minimum), None) => format!(", at least {minimum}"),
        (None, Some(maximum)) => format!(", at most {maximum}"),
        (None, None) => String::new(),
    }
}

/// A default as it would be written, in the larger unit where there is one that fits.
fn shown_default(node: &Value, default: &Value) -> String {
    let is_size = node.get(quantity::UNIT_KEYWORD).and_then(Value::as_str) == Some("bytes");
    let units = [(1_u64 << 30, "gb"), (1 << 20, "mb"), (1 << 10, "kb")];
    let larger = default.as_u64().filter(|bytes| is_size && *bytes > 0).and_then(|bytes| {
        let (size, unit) = units.into_iter().find(|(size, _)| bytes.is_multiple_of(*size))?;
        Some(format!("`\"{}{unit}\"`", bytes / size))
    });
    larger.unwrap_or_else(|| format!("`{default}`"))
}

/// Text inside a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn the_documentation_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/configuration.md");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, Config::reference()).unwrap();
        }
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            written == Config::reference(),
            "docs/configuration.md is out of date; `UPDATE_DOCS=1 cargo test -p config reference` writes it anew"
        );
    }

    #[test]
    fn keys_have_type_default_and_meaning() {
        let reference = Config::reference();
        let rows = [
            "| `plugins.enabled` | `true` or `false` | `true` | Master switch.",
            "| `plugins.entries.<id>.capabilities.kv` | `true` or `false` or object |  | A key-value store",
            "| `plugins.entries.<id>.capabilities.kv.maxBytes` | bytes, 1 to 1073741824 |",
            "| `plugins.entries.<id>.limits.memoryBytes` | bytes, 65536 to 4294967296 | `\"64mb\"` |",
            "| `plugins.entries.<id>.hooks.timeouts.<hook>` | milliseconds, 1 to 600000 |",
            "| `agents.list[].id` | text |  | Required. ",
            "| `agents.defaults.timeoutSeconds` | seconds, 0 to 31622400 | `172800` |",
            "| `logging.level` | `silent`, `fatal`, `error`, `warn`, `info`, `debug`, `trace` |",
        ];
        for row in rows {
            assert!(reference.lines().any(|line| line.starts_with(row)), "no row `{row}…` in\n{reference}");
        }
    }

    #[test]
    fn every_key_of_the_schema_is_told_once() {
        fn names(node: &Value, found: &mut Vec<String>) {
            for (name, child) in properties(node) {
                found.push(name.clone());
                names(child, found);
            }
            ["additionalProperties", "items"].iter().filter_map(|below| node.get(below)).for_each(|child| names(child, found));
            branches(node).into_iter().flatten().for_each(|branch| names(branch, found));
        }
        let reference = Config::reference();
        let paths: Vec<&str> = reference.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
        let mut sorted = paths.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), paths.len());
        let mut keys = Vec::new();
        names(&Config::schema(), &mut keys);
        for key in keys {
            let is_told = paths.iter().any(|path| path.rsplit('.').next() == Some(key.as_str()));
            assert!(is_told || reference.contains(&format!("\n## `{key}`\n")), "{key}");
        }
    }
}
