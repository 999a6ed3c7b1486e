//! The manifest as it stands in the file, key by key, and the words for what does not fit. Nothing is decided here.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::error::ManifestError;
use super::object::Object;
use super::{Activation, Lifetime, MAX_BYTES, ToolMetadata};
use crate::limits::RequestedLimits;

/// The keys that this host reads. Others are tolerated (plugin-hooks 7).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Shape {
    pub(super) id: String,
    pub(super) config_schema: Map<String, Value>,
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) version: Option<String>,
    pub(super) component: Option<String>,
    #[serde(default)]
    pub(super) hooks: Vec<Object<HookShape>>,
    #[serde(default)]
    pub(super) capabilities: Map<String, Value>,
    #[serde(default)]
    pub(super) limits: Object<RequestedLimits>,
    #[serde(default)]
    pub(super) instance_lifetime: Lifetime,
    #[serde(default)]
    pub(super) contracts: Object<Contracts>,
    #[serde(default)]
    pub(super) tool_metadata: BTreeMap<String, Object<ToolMetadata>>,
    #[serde(default)]
    pub(super) activation: Object<Activation>,
    #[serde(default)]
    pub(super) kind: Kinds,
    #[serde(default)]
    pub(super) enabled_by_default: bool,
    #[serde(default)]
    pub(super) enabled_by_default_on_platforms: Vec<String>,
    #[serde(default)]
    pub(super) channels: Vec<String>,
    #[serde(default)]
    pub(super) skills: Vec<String>,
    #[serde(default)]
    pub(super) requires_plugins: Vec<String>,
    #[serde(default)]
    pub(super) legacy_plugin_ids: Vec<String>,
}

/// One entry of `hooks`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HookShape {
    pub(super) hook: String,
    pub(super) handler: Option<String>,
    pub(super) priority: Option<f64>,
    pub(super) timeout_ms: Option<f64>,
    pub(super) matcher: Option<Vec<String>>,
    /// Any value: an unusable one counts as absent (plugin-hooks 1.1).
    pub(super) eligible_triggers: Option<Value>,
    pub(super) requires_tool_authority: Option<bool>,
    pub(super) fields: Option<Vec<String>>,
}

/// `contracts`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Contracts {
    pub(super) tools: Vec<String>,
    pub(super) tools_per_run: bool,
}

/// `kind`: a name, or a list of names.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a text or a list of texts")]
pub(super) enum Kinds {
    One(String),
    Many(Vec<String>),
}

impl Default for Kinds {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl Kinds {
    pub(super) fn into_names(self) -> Vec<String> {
        match self {
            Self::One(name) => vec![name],
            Self::Many(names) => names,
        }
    }
}

/// Reads the text. A byte order mark is tolerated.
pub(super) fn read(text: &[u8], place: &str) -> Result<Shape, ManifestError> {
    if text.len() > MAX_BYTES {
        return Err(ManifestError::TooLong { place: place.to_owned(), bytes: text.len() });
    }
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    let mut reader = serde_json::Deserializer::from_slice(text);
    let shape: Object<Shape> = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let key = error.path().to_string();
        let problem = remedied(plain(&error.into_inner().to_string()));
        // The path of text that ends too early, or is no JSON, is a question mark.
        let problem = if key == "." || key.ends_with('?') { problem } else { format!("`{key}`: {problem}") };
        ManifestError::shape(place, &problem)
    })?;
    reader.end().map_err(|error| ManifestError::shape(place, &plain(&error.to_string())))?;
    Ok(shape.0)
}

/// Longest part of a message that may repeat the file, in characters.
const SHOWN_CHARS: usize = 160;

/// Says of a required key that is missing what to write.
fn remedied(problem: String) -> String {
    const REMEDIES: &[(&str, &str)] = &[
        ("missing field `id`", r#"`id` is missing; write the plugin's id, for example "id": "my-plugin""#),
        (
            "missing field `configSchema`",
            r#"`configSchema` is missing; for a plugin without settings write "configSchema": { "type": "object", "additionalProperties": false }"#,
        ),
    ];
    match REMEDIES.iter().find(|(words, _)| problem.starts_with(words)) {
        Some((_, remedy)) => (*remedy).to_owned(),
        None => problem,
    }
}

/// Turns the deserializer's words into those of somebody who writes JSON, and cuts long values out of them.
fn plain(message: &str) -> String {
    const WORDS: &[(&str, &str)] = &[
        ("invalid type: ", "found "),
        ("invalid value: ", "found "),
        ("expected f64", "expected a number"),
        ("expected u64", "expected a whole number"),
        ("expected u32", "expected a whole number"),
        ("expected a string", "expected text in quotes"),
        ("expected a sequence", "expected a list"),
        ("expected a map", "expected an object"),
        ("expected a boolean", "expected `true` or `false`"),
        ("found string ", "found the text "),
        ("found integer ", "found "),
        ("found floating point ", "found "),
        ("found boolean ", "found "),
        ("found sequence", "found a list"),
        ("found map", "found an object"),
    ];
    let text = WORDS.iter().fold(message.to_owned(), |text, (from, to)| text.replacen(from, to, 1));
    if text.chars().count() <= SHOWN_CHARS {
        return text;
    }
    let (head, tail) = text.rsplit_once(", expected ").unwrap_or((&text, "another value"));
    let shown: String = head.chars().take(SHOWN_CHARS / 4).collect();
    let tail: String = tail.chars().take(SHOWN_CHARS).collect();
    format!("{shown}…, expected {tail}")
}
