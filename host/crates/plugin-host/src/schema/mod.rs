//! Checks a plugin's settings, `plugins.entries.<id>.config`, against the schema in its manifest, and fills in the schema's defaults
//! (plugin-hooks 7, 9). Fetches nothing, and repeats no value of the settings in a message, since they may be secret.
//!
//! The schema comes from a stranger: what it may cost to check and to apply is bounded before a validator sees it.

mod cost;
mod defaults;
mod keywords;

use std::fmt;

use domain::JsonText;
use hooks::fault::one_line;
use jsonschema::error::ValidationErrorKind;
use jsonschema::paths::{Location, LocationSegment};
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::{Map, Value};

use defaults::Unfilled;

pub use cost::{MAX_PATTERNS, MAX_STEPS, SchemaProblem};

/// Longest settings after defaults were filled in, in bytes. They are copied into each instance that asks for them.
pub const MAX_CONFIG_BYTES: usize = 1 << 20;

/// Largest compiled pattern of a schema, in bytes.
const MAX_PATTERN_BYTES: usize = 256 << 10;

/// Most violations that one message tells.
const MAX_TOLD: usize = 20;

/// Longest text about one violation, in bytes.
const MAX_PROBLEM_BYTES: usize = 200;

/// Longest message about one place of a schema or of settings, in bytes. It names the place, which is made of keys of strangers.
const MAX_MESSAGE_BYTES: usize = 1024;

/// Why a schema cannot be used. It is a fault of the plugin, not of its settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// It asks for more than a schema of settings may.
    #[error("{}", message(format_args!("`configSchema{place}` {problem}")))]
    Refused {
        /// Where, as a JSON pointer.
        place: String,
        /// What.
        problem: SchemaProblem,
    },
    /// It is no JSON Schema.
    #[error("{}", message(format_args!("`configSchema{place}` is not valid JSON Schema: {problem}")))]
    Invalid {
        /// Where, as a JSON pointer.
        place: String,
        /// What.
        problem: String,
    },
}

/// One thing that is wrong with settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Key path, from `plugins` on.
    pub path: String,
    /// The same below `plugins.entries.<id>.config`, as a JSON pointer.
    pub pointer: String,
    /// What is wrong there; without the value.
    pub problem: String,
}

/// Why settings cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// They do not fit the schema.
    #[error("{}", told(violations, *more))]
    Violations {
        /// What is wrong, in the order of the schema.
        violations: Vec<Violation>,
        /// How many more violations there are.
        more: usize,
    },
    /// They are too long.
    #[error("plugins.entries.{plugin}.config has more than {MAX_CONFIG_BYTES} bytes with its defaults")]
    TooLong {
        /// The plugin.
        plugin: String,
    },
    /// The schema takes too long on them.
    #[error("plugins.entries.{plugin}.config takes more than {MAX_STEPS} steps to check; simplify the plugin's `configSchema`")]
    TooComplex {
        /// The plugin.
        plugin: String,
    },
}

fn told(violations: &[Violation], more: usize) -> String {
    let mut text: Vec<String> = violations.iter().map(ToString::to_string).collect();
    if more > 0 {
        text.push(format!("and {more} more"));
    }
    text.join("; ")
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&message(format_args!("{}: {}", self.path, self.problem)))
    }
}

/// The schema of a plugin's settings.
#[derive(Debug)]
pub struct ConfigSchema {
    schema: Value,
    validator: Validator,
}

/// Why a schema that a guest gives for a tool cannot be used; a sentence.
pub(crate) fn problem_of_tool_schema(schema: &Value) -> Option<String> {
    let invalid = || {
        let built = offline().build(schema);
        built.err().map(|error| format!("is not a valid JSON Schema: {}", cut(&error.to_string())))
    };
    cost_of_tool_schema(schema).or_else(invalid)
}

/// Why a schema that a guest gives for a tool is too costly; a sentence. Such a schema is applied to what a model says, again and again
/// and away from any deadline, so it must be cheap for every value.
pub(crate) fn cost_of_tool_schema(schema: &Value) -> Option<String> {
    match cost::check(schema) {
        Err(SchemaError::Refused { problem, .. }) => Some(problem.to_string()),
        Err(SchemaError::Invalid { problem, .. }) => Some(problem),
        Ok(()) if cost::is_cheap(schema) => None,
        Ok(()) => Some(format!("takes more than {MAX_STEPS} steps to apply, or refers to itself; make it simpler")),
    }
}

/// Nothing is fetched, and patterns take time in proportion to the text.
fn offline() -> jsonschema::ValidationOptions<'static> {
    jsonschema::options().offline().with_pattern_options(PatternOptions::regex().size_limit(MAX_PATTERN_BYTES))
}

impl ConfigSchema {
    /// Prepares a schema.
    ///
    /// # Errors
    /// When it is no JSON Schema, refers to anything outside itself, or is too complex.
    pub fn compile(schema: &Map<String, Value>) -> Result<Self, SchemaError> {
        let schema = Value::Object(schema.clone());
        cost::check(&schema)?;
        let validator = offline().build(&schema).map_err(|error| SchemaError::Invalid {
            place: error.instance_path().as_str().to_owned(),
            problem: cut(&error.to_string()),
        })?;
        Ok(Self { schema, validator })
    }

    /// The settings with their defaults, if they fit.
    ///
    /// # Errors
    /// When they do not fit the schema (all violations are told, up to a limit), or are too long or too complex with their defaults.
    pub fn settings(&self, plugin: &str, config: &Map<String, Value>) -> Result<JsonText, ConfigError> {
        let too_complex = || ConfigError::TooComplex { plugin: plugin.to_owned() };
        let too_long = || ConfigError::TooLong { plugin: plugin.to_owned() };
        let mut settings = Value::Object(config.clone());
        defaults::fill(&self.schema, &mut settings, MAX_CONFIG_BYTES).map_err(|reason| match reason {
            Unfilled::TooLong => too_long(),
            Unfilled::TooComplex => too_complex(),
        })?;
        let text = JsonText::from_value(&settings);
        if text.as_str().len() > MAX_CONFIG_BYTES {
            return Err(too_long());
        }
        cost::steps(&self.schema, &settings).ok_or_else(too_complex)?;
        let mut errors = self.validator.iter_errors(&settings);
        let violation = |error: ValidationError<'_>| Violation {
            path: format!("plugins.entries.{plugin}.config{}", key_path(error.instance_path())),
            pointer: error.instance_path().as_str().to_owned(),
            problem: cut(&problem(&error, &settings)),
        };
        let violations: Vec<Violation> = errors.by_ref().take(MAX_TOLD).map(violation).collect();
        if violations.is_empty() { Ok(text) } else { Err(ConfigError::Violations { violations, more: errors.count() }) }
    }
}

/// What is wrong, without the value.
fn problem(error: &ValidationError<'_>, settings: &Value) -> String {
    if !matches!(error.kind(), ValidationErrorKind::FalseSchema) {
        return error.masked_with("the value").to_string();
    }
    // The validator has one text for all that is forbidden, and no name for what is forbidden in an object without properties.
    match settings.pointer(error.instance_path().as_str()) {
        Some(Value::Object(members)) if error.schema_path().as_str().ends_with("/additionalProperties") => {
            let names: Vec<String> = members.keys().map(|name| format!("`{name}`")).collect();
            format!("takes no keys, found {}", names.join(", "))
        }
        _ => "is not allowed".to_owned(),
    }
}

/// A place in settings, as the rest of a key path.
fn key_path(location: &Location) -> String {
    let segment = |segment| match segment {
        LocationSegment::Property(name) => format!(".{name}"),
        LocationSegment::Index(index) => format!("[{index}]"),
    };
    location.into_iter().map(segment).collect()
}

fn cut(text: &str) -> String {
    one_line(text, MAX_PROBLEM_BYTES)
}

fn message(text: fmt::Arguments<'_>) -> String {
    one_line(&text.to_string(), MAX_MESSAGE_BYTES)
}

#[cfg(test)]
mod tests;
