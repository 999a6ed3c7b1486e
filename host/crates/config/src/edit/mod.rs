//! Changes or removes one value in the text of a configuration file and leaves everything else as it is: comments, order, spelling. What is added
//! looks like its surroundings. Pure; whoever calls it reads and writes the file.

mod layout;
mod removal;
mod style;
mod token;

use serde_json::Value;

use crate::text::Position;
use crate::text::document::{self, Fault};
use crate::text::key_path::{KeyPath, Segment};
use crate::text::locate::{Target, locate};
use style::Style;

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
    // Also bounds the nesting, which the searches below rely on.
    document::parse(text).map_err(|_| EditError::NotConfiguration)?;
    let segments = key.segments();
    if let Some(position) = locate(text, key, Target::Value) {
        let start = position.offset_in(text).ok_or(EditError::NotConfiguration)?;
        let end = token::value_end(text, start);
        return Ok(format!("{}{}{}", &text[..start], Style::of(text).value(value), &text[end..]));
    }
    for depth in (0..segments.len()).rev() {
        let parent: KeyPath = segments[..depth].iter().cloned().collect();
        let Some(position) = locate(text, &parent, Target::Value) else { continue };
        let start = position.offset_in(text).ok_or(EditError::NotConfiguration)?;
        if !text[start..].starts_with('{') {
            return Err(EditError::NotAnObject { at: parent.to_string(), position, key: key.to_string() });
        }
        let style = Style::of(text);
        let names: Vec<String> = segments[depth..].iter().map(|segment| style.key(&name(segment))).collect();
        return Ok(layout::insert(text, start, &style.member(&names, value), &style));
    }
    Err(EditError::NotConfiguration)
}

/// Removes a value with its key and gives the new text. A text that does not have it comes back as it is.
///
/// # Errors
/// When the text is no JSON5 object.
pub fn remove_value(text: &str, key: &KeyPath) -> Result<String, EditError> {
    if text.trim().is_empty() {
        return Ok(text.to_owned());
    }
    document::parse(text).map_err(|_| EditError::NotConfiguration)?;
    let place = |target| locate(text, key, target).and_then(|position| position.offset_in(text));
    Ok(match place(Target::Key).zip(place(Target::Value)) {
        Some((at, value)) => removal::remove(text, at, value),
        None => text.to_owned(),
    })
}

/// The value at a key as a text has it, with names of variables in place of what they hold. None: there is none, or the text is none.
pub fn written_value(text: &str, key: &KeyPath) -> Option<Value> {
    let document = document::parse(text).ok()?;
    key.find(&document.root).cloned()
}

/// Reads one value that stands for itself.
///
/// # Errors
/// One phrase, when the text is no JSON5 value.
pub fn parse_value(text: &str) -> Result<Value, String> {
    document::parse(text).map(|document| document.root).map_err(|malformed| match malformed.fault {
        Fault::Syntax(phrase) => phrase.to_owned(),
        Fault::TooDeep => "it is nested too deeply".to_owned(),
        Fault::NotFinite => "numbers are finite here".to_owned(),
    })
}

fn name(segment: &Segment) -> String {
    match segment {
        Segment::Key(key) => key.clone(),
        Segment::Index(index) => index.to_string(),
    }
}

#[cfg(test)]
mod tests;
