//! Compares a value with the schema: unknown keys, missing keys, wrong types, values out of range. Finds all of them at once.

use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::paths::Location;
use jsonschema::{Keyword, ValidationError, Validator};
use serde_json::{Map, Value};

use super::expectation::{expected, found, words};
use super::nearest::nearest;
use super::{Finding, foreign};
use crate::keys::quantity::{self, UNIT_KEYWORD};
use crate::problem::ProblemKind;
use crate::text::key_path::KeyPath;

/// The schema with its compiled form.
pub(crate) struct Shape {
    schema: Value,
    validator: Validator,
}

impl Shape {
    /// Compiles a schema.
    ///
    /// # Errors
    /// When it is no valid schema, which is a fault of this program.
    pub(crate) fn new(schema: Value) -> Result<Self, String> {
        let options = jsonschema::options().with_keyword(UNIT_KEYWORD, unit_keyword);
        let validator = options.build(&schema).map_err(|error| error.to_string())?;
        Ok(Self { schema, validator })
    }

    /// All deviations of `value`. `written` is the same value before variables were replaced: messages quote that one.
    pub(crate) fn check(&self, value: &Value, written: &Value) -> Vec<Finding> {
        let mut findings = Vec::new();
        for error in self.validator.iter_errors(value) {
            self.translate(&error, value, written, &mut findings);
        }
        findings
    }

    fn translate(&self, error: &ValidationError<'_>, value: &Value, written: &Value, findings: &mut Vec<Finding>) {
        let key = KeyPath::default().join_pointer(error.instance_path().as_str(), value);
        match error.kind() {
            Kind::AdditionalProperties { unexpected } => {
                let node = self.node(error);
                findings.extend(unexpected.iter().map(|name| unknown_key(&key, name, node)));
            }
            Kind::Required { property } => {
                let name = property.as_str().unwrap_or_default().to_owned();
                findings.push(Finding::value(key, ProblemKind::MissingKey { name }));
            }
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => match meant_branch(context, error) {
                Some(branch) => branch.iter().for_each(|error| self.translate(error, value, written, findings)),
                None => findings.push(self.bad_value(error, key, written)),
            },
            _ => findings.push(self.bad_value(error, key, written)),
        }
    }

    fn bad_value(&self, error: &ValidationError<'_>, key: KeyPath, written: &Value) -> Finding {
        let value = key.find(written).unwrap_or(&Value::Null);
        let node = self.node(error);
        let nearest = words(node)
            .zip(value.as_str())
            .and_then(|(words, text)| nearest(text, words.iter().map(String::as_str)).map(str::to_owned));
        let kind = ProblemKind::BadValue { found: found(value, &key), expected: expected(node), nearest };
        Finding::value(key, kind)
    }

    /// The node of the schema whose keyword failed.
    fn node(&self, error: &ValidationError<'_>) -> &Value {
        let keyword = error.schema_path().as_str();
        let node = keyword.rsplit_once('/').map_or("", |(node, _)| node);
        self.schema.pointer(node).unwrap_or(&self.schema)
    }
}

/// The branch of a union that the writer meant: the one whose faults all lie deeper than the union itself, or are about keys.
/// Of several the one with the fewest faults.
fn meant_branch<'e>(
    branches: &'e [Vec<ValidationError<'static>>],
    union: &ValidationError<'_>,
) -> Option<&'e Vec<ValidationError<'static>>> {
    let is_other_kind = |error: &ValidationError<'_>| {
        error.instance_path() == union.instance_path()
            && matches!(
                error.kind(),
                Kind::Type { .. } | Kind::Constant { .. } | Kind::Enum { .. } | Kind::AnyOf { .. } | Kind::OneOfNotValid { .. }
            )
    };
    branches.iter().filter(|branch| !branch.iter().any(is_other_kind)).min_by_key(|branch| branch.len())
}

/// An unknown key of the object at `parent`, whose schema is `node`.
fn unknown_key(parent: &KeyPath, name: &str, node: &Value) -> Finding {
    let mut known: Vec<String> =
        node.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys).cloned().collect();
    let ignored = foreign::names_below(parent);
    let candidates = known.iter().map(String::as_str).chain(ignored.iter().copied());
    let nearest = nearest(name, candidates).map(str::to_owned);
    known.sort_unstable();
    Finding::key(parent.key(name), ProblemKind::UnknownKey { nearest, known })
}

/// Checks the text form of durations and sizes.
struct UnitText {
    unit: String,
    minimum: u64,
    maximum: u64,
}

fn unit_keyword<'s>(
    node: &'s Map<String, Value>,
    unit: &'s Value,
    _: Location,
) -> Result<Box<dyn for<'i> Keyword<'i>>, ValidationError<'s>> {
    let bound = |name: &str| node.get(name).and_then(Value::as_u64);
    let (Some(unit), Some(minimum), Some(maximum)) = (unit.as_str(), bound("minimum"), bound("maximum")) else {
        return Err(ValidationError::custom("a unit needs a name, a minimum and a maximum"));
    };
    Ok(Box::new(UnitText { unit: unit.to_owned(), minimum, maximum }))
}

impl<'i> Keyword<'i> for UnitText {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        if self.is_valid(instance) { Ok(()) } else { Err(ValidationError::custom("no quantity")) }
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        let Some(text) = instance.as_str() else { return true };
        quantity::check_text(&self.unit, text, self.minimum, self.maximum).is_some_and(|check| check.is_ok())
    }
}
