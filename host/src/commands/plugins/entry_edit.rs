//! Changes of one plugin's entry in the configuration file: some values and nothing else in it. Nothing is written before the result is
//! known to be a configuration.

use std::path::Path;

use config::{KeyPath, Parsed};
use domain::PluginId;
use serde_json::Value;

use super::replace::replace;
use crate::commands::Context;
use crate::exit::{Code, Failure};
use crate::wiring::grants;

/// The text of the configuration, being changed.
pub(super) struct EntryEdit<'c> {
    context: &'c Context,
    entry: KeyPath,
    before: String,
    text: String,
    /// What was changed: the key, and its value unless it was removed.
    changes: Vec<(KeyPath, Option<Value>)>,
}

impl<'c> EntryEdit<'c> {
    /// Reads the file; one that does not exist is empty.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn open(context: &'c Context, id: &PluginId) -> Result<Self, Failure> {
        let path = &context.loaded.path;
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(wrong(path, format!("cannot be read: {error}"))),
        };
        let entry = KeyPath::of("plugins.entries").key(id.as_str());
        Ok(Self { context, entry, before: text.clone(), text, changes: Vec::new() })
    }

    /// The value at keys below the entry, as it is written.
    pub(super) fn written(&self, keys: &[&str]) -> Option<Value> {
        config::written_value(&self.text, &self.key(keys))
    }

    /// Sets a value, unless it is there already.
    ///
    /// # Errors
    /// When the file does not hold an object where there should be one.
    pub(super) fn set(&mut self, keys: &[&str], value: Value) -> Result<(), Failure> {
        if self.written(keys).as_ref() == Some(&value) {
            return Ok(());
        }
        let key = self.key(keys);
        self.text = config::set_value(&self.text, &key, &value).map_err(|error| wrong(&self.context.loaded.path, error))?;
        self.changes.push((key, Some(value)));
        Ok(())
    }

    /// Removes a value, if it is there.
    ///
    /// # Errors
    /// When the file is no configuration.
    pub(super) fn remove(&mut self, keys: &[&str]) -> Result<(), Failure> {
        if self.written(keys).is_none() {
            return Ok(());
        }
        let key = self.key(keys);
        self.text = config::remove_value(&self.text, &key).map_err(|error| wrong(&self.context.loaded.path, error))?;
        self.changes.push((key, None));
        Ok(())
    }

    /// What was changed so far, one line each.
    pub(super) fn told(&self) -> Vec<String> {
        let line = |(key, value): &(KeyPath, Option<Value>)| match value {
            Some(value) => format!("{key}: {}", super::wanted::json5(value)),
            None => format!("{key} is removed"),
        };
        self.changes.iter().map(line).collect()
    }

    /// Checks the result and, if `writes`, puts it in place of the file.
    ///
    /// # Errors
    /// When the result would be no valid configuration, or cannot be written. The file is as it was then.
    pub(super) fn finish(self, writes: bool) -> Result<Parsed, Failure> {
        let path = &self.context.loaded.path;
        let refused =
            |errors: String| Failure::new(Code::Config, format!("nothing was changed, the result would not be valid:\n{errors}"));
        let parsed = config::parse(&self.text, path, self.context.locations.environment());
        let parsed = parsed.map_err(|errors| refused(errors.to_string()))?;
        if let Some((key, problem)) = grants::problems(&parsed.config).into_iter().next() {
            return Err(refused(format!("  {key}: {problem}")));
        }
        if writes && self.text != self.before {
            replace(path, self.text.as_bytes()).map_err(|error| wrong(path, format!("cannot be written: {error}")))?;
        }
        Ok(parsed)
    }

    fn key(&self, keys: &[&str]) -> KeyPath {
        keys.iter().fold(self.entry.clone(), |path, key| path.key(*key))
    }
}

fn wrong(path: &Path, problem: impl std::fmt::Display) -> Failure {
    Failure::new(Code::Config, format!("{}: {problem}", path.display()))
}
