//! Whether arguments fit a tool's schema, in words that help a model to do better. Schemas come from plugins as well: they are
//! compiled without fetching anything, and what they ask for cannot make a check run away.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use domain::json::kind_of;
use domain::tool::ToolSpec;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::{Map, Value};

use crate::coerce::coerce;
use crate::text::shorten;

/// Most problems that one error names.
pub const MAX_LISTED_PROBLEMS: usize = 5;
/// Most characters of one problem: a path and what is expected.
pub const MAX_PROBLEM_CHARS: usize = 300;
/// Steps that a `pattern` of a schema may go back while it looks for a match; a hostile one would need billions.
const PATTERN_BACKTRACKS: usize = 100_000;
/// Compiled schemas that are kept; far more than an agent has tools.
const MAX_CACHED_SCHEMAS: usize = 1024;

/// A schema cannot be used; the tool that it belongs to must not be offered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the schema is not valid at `{path}`: {reason}")]
pub struct InvalidSchema {
    /// JSON pointer into the schema.
    pub path: String,
    /// What is wrong.
    pub reason: String,
}

/// Arguments do not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the arguments do not fit: {}", .problems.join("; "))]
pub struct InvalidArgs {
    /// One text per problem: the path and what is expected there. Values of the call are not repeated.
    pub problems: Vec<String>,
}

/// A compiled schema.
#[derive(Debug)]
pub struct Schema {
    source: Value,
    validator: Validator,
}

impl Schema {
    /// Compiles a schema. References may point into the schema itself only.
    ///
    /// # Errors
    /// When it is no JSON Schema or refers to something else.
    pub fn compile(source: &Value) -> Result<Self, InvalidSchema> {
        let patterns = PatternOptions::fancy_regex().backtrack_limit(PATTERN_BACKTRACKS);
        let compiled = jsonschema::options().with_pattern_options(patterns).build(source);
        let validator = compiled.map_err(|error| InvalidSchema {
            path: error.instance_path().to_string(),
            reason: shorten(&error.masked().to_string(), MAX_PROBLEM_CHARS),
        })?;
        Ok(Self { source: source.clone(), validator })
    }

    /// Checks the arguments of a call after mending obvious slips.
    ///
    /// # Errors
    /// What does not fit, at most [`MAX_LISTED_PROBLEMS`] problems.
    pub fn check_args(&self, mut args: Value) -> Result<Map<String, Value>, InvalidArgs> {
        // Some models send nothing at all to a tool without parameters.
        if args.is_null() {
            args = Value::Object(Map::new());
        }
        if !args.is_object() {
            return Err(InvalidArgs { problems: vec![format!("expected an object, found {}", kind_of(&args))] });
        }
        coerce(&self.source, &mut args);
        self.check(&args)?;
        match args {
            Value::Object(map) => Ok(map),
            other => Err(InvalidArgs { problems: vec![format!("expected an object, found {}", kind_of(&other))] }),
        }
    }

    /// Checks any value, for example a result's details against the output schema.
    ///
    /// # Errors
    /// What does not fit, at most [`MAX_LISTED_PROBLEMS`] problems.
    pub fn check(&self, value: &Value) -> Result<(), InvalidArgs> {
        let mut errors = self.validator.iter_errors(value);
        let mut problems: Vec<String> = errors.by_ref().take(MAX_LISTED_PROBLEMS).map(|error| problem(&error)).collect();
        if problems.is_empty() {
            return Ok(());
        }
        if errors.next().is_some() {
            problems.push("and more".to_owned());
        }
        Err(InvalidArgs { problems })
    }
}

fn problem(error: &ValidationError<'_>) -> String {
    let path = error.instance_path().as_str();
    let place = if path.is_empty() { String::new() } else { format!("`{path}`: ") };
    shorten(&format!("{place}{}", expectation(error)), MAX_PROBLEM_CHARS)
}

fn expectation(error: &ValidationError<'_>) -> String {
    match error.kind() {
        ValidationErrorKind::Required { property } => format!("{property} is required"),
        ValidationErrorKind::AdditionalProperties { unexpected } | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            format!("unknown: {}", unexpected.join(", "))
        }
        ValidationErrorKind::Type { kind } => format!("expected {}, found {}", type_words(kind), kind_of(error.instance())),
        ValidationErrorKind::Enum { options } => format!("expected one of {options}"),
        _ => error.masked().to_string(),
    }
}

fn type_words(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => one.to_string(),
        TypeKind::Multiple(several) => several.iter().map(|one| one.to_string()).collect::<Vec<_>>().join(" or "),
    }
}

/// Compiled schemas by tool, so that each is compiled once.
#[derive(Debug, Default)]
pub struct SchemaCache {
    compiled: Mutex<HashMap<String, Arc<Schema>>>,
}

impl SchemaCache {
    /// The compiled parameters of a tool. A tool of the same name with another schema replaces the old one.
    ///
    /// # Errors
    /// When the schema is not valid.
    pub fn parameters(&self, tool: &ToolSpec) -> Result<Arc<Schema>, InvalidSchema> {
        self.get(&tool.name, &tool.parameters)
    }

    /// The compiled output schema of a tool, if it has one.
    ///
    /// # Errors
    /// When the schema is not valid.
    pub fn output(&self, tool: &ToolSpec) -> Result<Option<Arc<Schema>>, InvalidSchema> {
        // A space cannot be part of a tool's name.
        tool.output_schema.as_ref().map(|schema| self.get(&format!("{} output", tool.name), schema)).transpose()
    }

    fn get(&self, key: &str, source: &Value) -> Result<Arc<Schema>, InvalidSchema> {
        // Each entry is whole, so nothing is lost when another holder of the lock panicked.
        let known = self.compiled.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned();
        if let Some(schema) = known.filter(|schema| schema.source == *source) {
            return Ok(schema);
        }
        let schema = Arc::new(Schema::compile(source)?);
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if compiled.len() >= MAX_CACHED_SCHEMAS {
            compiled.clear();
        }
        compiled.insert(key.to_owned(), Arc::clone(&schema));
        Ok(schema)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
    use serde_json::json;

    use super::*;
    use crate::test_root::spec;

    fn checked(schema: &Value, args: Value) -> Result<Map<String, Value>, String> {
        Schema::compile(schema).unwrap().check_args(args).map_err(|error| error.to_string())
    }

    fn read_schema() -> Value {
        json!({
            "type": "object",
            "properties": {"path": {"type": "string"}, "offset": {"type": "integer", "minimum": 1}, "mode": {"enum": ["a", "b"]}},
            "required": ["path"],
            "additionalProperties": false
        })
    }

    #[test]
    fn each_problem_names_the_place_and_what_is_expected() {
        let rows = [
            (json!({}), "\"path\" is required"),
            (json!({"path": 5}), "`/path`: expected string, found a number"),
            (json!({"path": "x", "offset": 0}), "`/offset`: value is less than the minimum of 1"),
            (json!({"path": "x", "offset": "secret-value"}), "`/offset`: expected integer, found a string"),
            (json!({"path": "x", "mode": "c"}), "`/mode`: expected one of [\"a\",\"b\"]"),
            (json!({"path": "x", "file": 1}), "unknown: file"),
            (json!([]), "expected an object, found an array"),
        ];
        for (args, expected) in rows {
            let error = checked(&read_schema(), args.clone()).unwrap_err();
            assert_eq!(error, format!("the arguments do not fit: {expected}"), "{args}");
        }
    }

    #[test]
    fn slips_are_mended_before_the_check() {
        let args = checked(&read_schema(), json!({"path": "x", "offset": "3"})).unwrap();
        assert_eq!(Value::Object(args), json!({"path": "x", "offset": 3}));
        assert_eq!(checked(&json!({"type": "object"}), Value::Null), Ok(Map::new()));
    }

    #[test]
    fn the_error_is_bounded_and_repeats_no_values() {
        let properties: Map<String, Value> = (0..50).map(|n| (format!("p{n}"), json!({"type": "integer"}))).collect();
        let schema = json!({"type": "object", "properties": properties});
        let args: Map<String, Value> = (0..50).map(|n| (format!("p{n}"), json!("sk-secret".repeat(1000)))).collect();
        let error = checked(&schema, Value::Object(args)).unwrap_err();
        assert!(error.ends_with("; and more") && !error.contains("secret"), "{error}");
        let long_name = json!({"n".repeat(10_000): 1});
        let error = checked(&read_schema(), long_name).unwrap_err();
        assert!(error.chars().count() < (MAX_PROBLEM_CHARS + 50) * 2, "{}", error.len());
    }

    #[test]
    fn schemas_that_cannot_be_used_are_refused() {
        for bad in [
            json!({"type": "frob"}),
            json!({"properties": 5}),
            json!({"$ref": "#/nowhere"}),
            json!({"$ref": "http://127.0.0.1:1/x.json"}),
            json!({"$ref": "file:///etc/passwd"}),
            json!({"pattern": "("}),
            json!("text"),
        ] {
            assert!(Schema::compile(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_schema_that_refers_to_itself_or_backtracks_comes_to_an_end() {
        assert!(Schema::compile(&json!({"$ref": "#"})).unwrap().check(&json!({"a": 1})).is_ok());
        let hostile = Schema::compile(&json!({"pattern": "^(?=(a+)+$)b"})).unwrap();
        assert!(hostile.check(&json!(format!("{}!", "a".repeat(5000)))).is_err());
    }

    #[test]
    fn a_schema_is_compiled_once_until_it_changes() {
        let cache = SchemaCache::default();
        let mut tool = spec("read");
        tool.parameters = read_schema();
        let first = cache.parameters(&tool).unwrap();
        assert!(Arc::ptr_eq(&first, &cache.parameters(&tool).unwrap()));
        assert!(cache.output(&tool).unwrap().is_none());
        tool.output_schema = Some(json!({"type": "integer"}));
        assert!(cache.output(&tool).unwrap().unwrap().check(&json!("x")).is_err());
        assert!(Arc::ptr_eq(&first, &cache.parameters(&tool).unwrap()));
        tool.parameters = json!({"type": "object"});
        assert!(!Arc::ptr_eq(&first, &cache.parameters(&tool).unwrap()));
    }

    #[test]
    fn the_cache_does_not_grow_without_end() {
        let cache = SchemaCache::default();
        for n in 0..=MAX_CACHED_SCHEMAS {
            cache.parameters(&spec(&format!("t{n}"))).unwrap();
        }
        assert!(cache.compiled.lock().unwrap().len() <= MAX_CACHED_SCHEMAS);
    }
}
