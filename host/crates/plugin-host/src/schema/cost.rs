//! What a schema may cost. Two bounds: what stands in a schema at all, and how many times its parts are applied to one value.
//!
//! A schema of a few lines whose parts refer to each other twice takes for ever to apply. So it is first walked over the value the way
//! a validator would do it, with nothing but a count of steps.

use std::collections::HashSet;
use std::fmt;

use serde_json::{Map, Value};

use super::SchemaError;
use super::keywords::{Part, inner, referred};

/// Most patterns of one schema. Each is compiled when the plugin loads.
pub const MAX_PATTERNS: usize = 100;

/// Most times that parts of a schema are applied to parts of a value; a tenth of a second at most.
pub const MAX_STEPS: usize = 100_000;

/// Deepest chain of schemas applied inside each other.
const MAX_DEPTH: usize = 256;

/// Keywords that would let a schema refer to, or be referred to by, more than a place in itself.
const FAR_REFERENCES: &[&str] = &["$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor"];

/// What a schema of settings may not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaProblem {
    /// A reference to somewhere else, or to nothing.
    Reference(String),
    /// A keyword for references of other forms.
    Keyword(&'static str),
    /// An id of its own inside the schema.
    InnerId,
    /// Too many patterns.
    Patterns,
    /// Schemas nested too deep.
    Depth,
}

impl fmt::Display for SchemaProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reference(to) => write!(
                f,
                "refers to {to:?}; a reference must have the form \"#/$defs/name\" and mean a place in the same schema, nothing is fetched"
            ),
            Self::Keyword(keyword) => write!(f, "uses `{keyword}`; refer with \"#/$defs/name\" instead"),
            Self::InnerId => f.write_str("has an `$id` inside the schema; leave it out"),
            Self::Patterns => write!(f, "has more than {MAX_PATTERNS} patterns"),
            Self::Depth => write!(f, "nests more than {MAX_DEPTH} schemas"),
        }
    }
}

/// Looks at everything in a schema once.
pub(super) fn check(root: &Value) -> Result<(), SchemaError> {
    let mut check = Check { root, seen: HashSet::new(), patterns: 0 };
    check.schema(root, String::new(), 0)
}

struct Check<'a> {
    root: &'a Value,
    /// Addresses of schemas that were looked at; they live as long as the root.
    seen: HashSet<*const Value>,
    patterns: usize,
}

impl<'a> Check<'a> {
    fn schema(&mut self, schema: &'a Value, place: String, depth: usize) -> Result<(), SchemaError> {
        let Value::Object(keywords) = schema else { return Ok(()) };
        if !self.seen.insert(std::ptr::from_ref(schema)) {
            return Ok(());
        }
        self.keywords(keywords, depth).map_err(|problem| SchemaError::Refused { place: place.clone(), problem })?;
        if let Some(Value::String(reference)) = keywords.get("$ref") {
            let refused = || SchemaError::Refused {
                place: place.clone(),
                problem: SchemaProblem::Reference(reference.chars().take(100).collect()),
            };
            let target = referred(self.root, reference).ok_or_else(refused)?;
            self.schema(target, reference.trim_start_matches('#').to_owned(), depth + 1)?;
        }
        for (_, below, schema) in inner(keywords) {
            self.schema(schema, format!("{place}{below}"), depth + 1)?;
        }
        Ok(())
    }

    fn keywords(&mut self, keywords: &Map<String, Value>, depth: usize) -> Result<(), SchemaProblem> {
        if depth > MAX_DEPTH {
            return Err(SchemaProblem::Depth);
        }
        if depth > 0 && (keywords.contains_key("$id") || keywords.contains_key("id")) {
            return Err(SchemaProblem::InnerId);
        }
        if let Some(keyword) = FAR_REFERENCES.iter().find(|keyword| keywords.contains_key(**keyword)) {
            return Err(SchemaProblem::Keyword(keyword));
        }
        self.patterns += usize::from(keywords.contains_key("pattern"));
        self.patterns += keywords.get("patternProperties").and_then(Value::as_object).map_or(0, Map::len);
        if self.patterns > MAX_PATTERNS { Err(SchemaProblem::Patterns) } else { Ok(()) }
    }
}

/// How many steps it takes to apply a schema to a value. `None`: too many.
pub(super) fn steps(root: &Value, value: &Value) -> Option<usize> {
    let mut count = Count { root, steps: 0 };
    count.apply(root, value, 0)?;
    Some(count.steps)
}

/// Whether a schema stays cheap for every value of ordinary size: each of its parts is counted as if it applied, once for every way that
/// leads to it. A schema that refers to itself has no end and is not.
pub(super) fn is_cheap(root: &Value) -> bool {
    Count { root, steps: 0 }.unfold(root, 0).is_some()
}

struct Count<'a> {
    root: &'a Value,
    steps: usize,
}

impl Count<'_> {
    fn apply(&mut self, schema: &Value, value: &Value, depth: usize) -> Option<()> {
        self.steps += 1;
        if self.steps > MAX_STEPS || depth > MAX_DEPTH {
            return None;
        }
        let Value::Object(keywords) = schema else { return Some(()) };
        if let Some(Value::String(reference)) = keywords.get("$ref") {
            self.apply(referred(self.root, reference)?, value, depth + 1)?;
        }
        for (part, _, schema) in inner(keywords) {
            self.part(part, schema, value, depth + 1)?;
        }
        Some(())
    }

    fn unfold(&mut self, schema: &Value, depth: usize) -> Option<()> {
        self.steps += 1;
        if self.steps > MAX_STEPS || depth > MAX_DEPTH {
            return None;
        }
        let Value::Object(keywords) = schema else { return Some(()) };
        if let Some(Value::String(reference)) = keywords.get("$ref") {
            self.unfold(referred(self.root, reference)?, depth + 1)?;
        }
        inner(keywords)
            .into_iter()
            .filter(|(part, ..)| *part != Part::Nothing)
            .try_for_each(|(_, _, schema)| self.unfold(schema, depth + 1))
    }

    fn part(&mut self, part: Part<'_>, schema: &Value, value: &Value, depth: usize) -> Option<()> {
        match (part, value) {
            (Part::Whole, value) => self.apply(schema, value, depth),
            (Part::Member(name), Value::Object(members)) => match members.get(name) {
                Some(member) => self.apply(schema, member, depth),
                None => Some(()),
            },
            (Part::Members, Value::Object(members)) => members.values().try_for_each(|member| self.apply(schema, member, depth)),
            (Part::Names, Value::Object(members)) => members.keys().try_for_each(|_| self.apply(schema, &Value::Null, depth)),
            (Part::Entry(index), Value::Array(entries)) => match entries.get(index) {
                Some(entry) => self.apply(schema, entry, depth),
                None => Some(()),
            },
            (Part::Entries, Value::Array(entries)) => entries.iter().try_for_each(|entry| self.apply(schema, entry, depth)),
            _ => Some(()),
        }
    }
}
