//! Where a JSON Schema holds other schemas, and which part of a value each is for. Keywords of all drafts together: what a draft does
//! not know is applied by nobody, so looking at it costs nothing but time.

use serde_json::{Map, Value};

/// Which part of a value a schema inside another one is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// The value itself.
    Whole,
    /// One member of an object.
    Member(&'a str),
    /// Members of an object.
    Members,
    /// Names of the members of an object.
    Names,
    /// One entry of a list.
    Entry(usize),
    /// Entries of a list.
    Entries,
    /// Nothing, until something refers to it.
    Nothing,
}

/// Keywords that hold one schema.
const SINGLE: &[(&str, Part<'static>)] = &[
    ("not", Part::Whole),
    ("if", Part::Whole),
    ("then", Part::Whole),
    ("else", Part::Whole),
    ("additionalProperties", Part::Members),
    ("unevaluatedProperties", Part::Members),
    ("propertyNames", Part::Names),
    ("items", Part::Entries),
    ("additionalItems", Part::Entries),
    ("unevaluatedItems", Part::Entries),
    ("contains", Part::Entries),
    ("contentSchema", Part::Nothing),
];

/// Keywords that hold a list of schemas.
const LISTS: &[(&str, Part<'static>)] = &[("allOf", Part::Whole), ("anyOf", Part::Whole), ("oneOf", Part::Whole)];

/// Keywords that hold an object of schemas.
const MAPS: &[(&str, Part<'static>)] = &[
    ("patternProperties", Part::Members),
    ("dependentSchemas", Part::Whole),
    ("dependencies", Part::Whole),
    ("$defs", Part::Nothing),
    ("definitions", Part::Nothing),
];

/// Keywords that hold a list of schemas, each for the entry at its place.
const PLACES: &[&str] = &["items", "prefixItems"];

/// The schemas in a schema, with their places in it as JSON pointers.
pub(super) fn inner(schema: &Map<String, Value>) -> Vec<(Part<'_>, String, &Value)> {
    let mut found = Vec::new();
    for (keyword, part) in SINGLE {
        if let Some(inner @ (Value::Object(_) | Value::Bool(_))) = schema.get(*keyword) {
            found.push((*part, format!("/{keyword}"), inner));
        }
    }
    for (keyword, part) in LISTS {
        for (index, inner) in list(schema, keyword) {
            found.push((*part, format!("/{keyword}/{index}"), inner));
        }
    }
    for keyword in PLACES {
        for (index, inner) in list(schema, keyword) {
            found.push((Part::Entry(index), format!("/{keyword}/{index}"), inner));
        }
    }
    for (keyword, part) in MAPS {
        for (name, inner) in map(schema, keyword) {
            found.push((*part, format!("/{keyword}/{name}"), inner));
        }
    }
    for (name, inner) in map(schema, "properties") {
        found.push((Part::Member(name), format!("/properties/{name}"), inner));
    }
    found
}

fn list<'a>(schema: &'a Map<String, Value>, keyword: &str) -> impl Iterator<Item = (usize, &'a Value)> {
    schema.get(keyword).and_then(Value::as_array).into_iter().flatten().enumerate()
}

fn map<'a>(schema: &'a Map<String, Value>, keyword: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    schema.get(keyword).and_then(Value::as_object).into_iter().flatten()
}

/// The schema that a reference means. Only the forms `#` and `#/a/b` are known; others mean nothing here.
pub(super) fn referred<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let pointer = reference.strip_prefix('#').filter(|pointer| !pointer.contains('%'))?;
    root.pointer(pointer)
}
