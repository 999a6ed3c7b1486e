//! Changes one value in the text of a configuration file and leaves everything else as it is: comments, order, spelling. Pure; whoever
//! calls it reads and writes the file.

use serde_json::Value;

use crate::text::Position;
use crate::text::key_path::{KeyPath, Segment};
use crate::text::locate::{Target, locate};

/// Why a text could not be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// Something on the way to the key is no object.
    #[error("`{at}` at {position} is not an object, so `{key}` cannot be set; mend the file first")]
    NotAnObject {
        /// What is in the way.
        at: String,
        /// Where it stands.
        position: Position,
        /// What should be set.
        key: String,
    },
    /// The text is not a JSON5 object.
    #[error("the file does not hold a JSON5 object; mend it first, `creel config check` says where")]
    NotConfiguration,
}

/// Sets a value and gives the new text. Parents that are missing are written too. An empty text counts as `{}`.
///
/// # Errors
/// When the text is no JSON5 object, or a parent is no object.
pub fn set_value(text: &str, key: &KeyPath, value: &Value) -> Result<String, EditError> {
    let text = if text.trim().is_empty() { "{\n}\n" } else { text };
    let segments = key.segments();
    if let Some(position) = locate(text, key, Target::Value) {
        let start = offset(text, position).ok_or(EditError::NotConfiguration)?;
        let length = value_length(&text[start..]);
        return Ok(format!("{}{value}{}", &text[..start], &text[start + length..]));
    }
    for depth in (0..segments.len()).rev() {
        let parent = path(&segments[..depth]);
        let Some(position) = locate(text, &parent, Target::Value) else { continue };
        let start = offset(text, position).ok_or(EditError::NotConfiguration)?;
        if !text[start..].starts_with('{') {
            return Err(EditError::NotAnObject { at: parent.to_string(), position, key: key.to_string() });
        }
        return Ok(insert(text, start, depth, &segments[depth..], value));
    }
    Err(EditError::NotConfiguration)
}

fn path(segments: &[Segment]) -> KeyPath {
    segments.iter().fold(KeyPath::default(), |path, segment| path.with(segment.clone()))
}

/// Writes `key: …,` as the first thing of the object that begins at `start`.
fn insert(text: &str, start: usize, depth: usize, missing: &[Segment], value: &Value) -> String {
    let mut written = value.to_string();
    for segment in missing.iter().skip(1).rev() {
        written = format!("{{ {}: {written} }}", name(segment));
    }
    let first = missing.first().map(name).unwrap_or_default();
    let indent = "  ".repeat(depth + 1);
    let rest = &text[start + 1..];
    // An object that was closed on the same line gets its brace on a line of its own.
    let tail = if rest.starts_with('\n') || rest.starts_with('\r') { String::new() } else { format!("\n{indent}") };
    format!("{}{{\n{indent}{first}: {written},{tail}{}", &text[..start], rest.trim_start_matches([' ', '\t']))
}

fn name(segment: &Segment) -> String {
    match segment {
        Segment::Key(key) => Value::from(key.as_str()).to_string(),
        Segment::Index(index) => index.to_string(),
    }
}

fn offset(text: &str, position: Position) -> Option<usize> {
    let mut at = 0;
    let mut lines = text.split_inclusive('\n');
    for _ in 1..position.line {
        at += lines.next()?.len();
    }
    let line = lines.next().unwrap_or_default();
    let within = line.char_indices().nth(position.column - 1).map_or(line.len(), |(index, _)| index);
    Some(at + within)
}

/// Bytes of the scalar at the start of a text. Objects and lists are never replaced here.
fn value_length(text: &str) -> usize {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''));
    if let Some(quote) = quote {
        let mut escaped = false;
        for (index, c) in text.char_indices().skip(1) {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                c if c == quote => return index + c.len_utf8(),
                _ => {}
            }
        }
        return text.len();
    }
    text.find(|c: char| c.is_whitespace() || matches!(c, ',' | '}' | ']' | '/')).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn enable(text: &str, on: bool) -> String {
        let key = KeyPath::of("plugins.entries").key("tool-guard").key("enabled");
        let changed = set_value(text, &key, &Value::from(on)).unwrap();
        let parsed: Value = json5::from_str(&changed).unwrap();
        assert_eq!(parsed["plugins"]["entries"]["tool-guard"]["enabled"], on, "{changed}");
        changed
    }

    #[test]
    fn a_value_is_set_wherever_its_parents_end() {
        for text in [
            "",
            "{}",
            "// mine\n{ }",
            "{ plugins: {} }",
            "{\n  plugins: {\n    entries: {\n      other: { enabled: true }, // keep\n    },\n  },\n}",
            "{ plugins: { entries: { 'tool-guard': { config: { a: [1] } } } } }",
            "{ plugins: { entries: { \"tool-guard\": { enabled: true /* why */ } } } }",
            "{ plugins: { entries: { \"tool-guard\": {enabled:true} } } }",
        ] {
            enable(text, false);
            let on = enable(text, true);
            assert_eq!(enable(&on, false).matches("enabled").count(), on.matches("enabled").count());
        }
    }

    #[test]
    fn comments_and_other_keys_stay() {
        let text = "{\n  // keep me\n  agents: { defaults: { model: 'offline/echo' } },\n}\n";
        let changed = enable(text, true);
        assert!(changed.contains("// keep me") && changed.contains("'offline/echo'"), "{changed}");
    }

    #[test]
    fn a_parent_that_is_no_object_is_refused() {
        let key = KeyPath::of("plugins.entries").key("x").key("enabled");
        assert!(matches!(set_value("{ plugins: 3 }", &key, &Value::from(true)), Err(EditError::NotAnObject { .. })));
        assert_eq!(
            set_value("[]", &key, &Value::from(true)),
            Err(EditError::NotAnObject {
                at: KeyPath::default().to_string(),
                position: Position { line: 1, column: 1 },
                key: key.to_string(),
            })
        );
    }
}
