//! Data minimisation: which fields of an event and its context a handler gets. A manifest names the fields that a plugin needs, an
//! operator may narrow them; what is not named is left empty before anything is converted for a guest. Ids that tell which run, call
//! and session a call is about always stay. A handler without a list costs nothing.
//!
//! What a field is called is what the contract calls it, in camelCase. Nothing here knows what a handler does with its event: the
//! original still decides selection, checks and merging.

mod blank;
mod contexts;
mod events;

use std::fmt;

use crate::catalogue::{HookId, distance};

pub use blank::Blank;

/// Most fields of one event or context: the bits of a set.
const MAX_FIELDS: usize = 64;

/// One field of an event or a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Its name in the contract, in camelCase.
    pub name: &'static str,
    /// Whether it stays whatever a list says: an id of the run, the call or the session, or a case for which the contract has no word
    /// that means "not told".
    pub always: bool,
}

/// An event or a context whose fields can be left out.
pub trait Fields: Sized {
    /// All fields in the order of the contract.
    const FIELDS: &'static [Field];

    /// A copy in which the fields without a bit in `kept` are empty; bit n belongs to field n. What is left out is not copied.
    #[must_use]
    fn only(&self, kept: u64) -> Self;
}

/// The fields that one handler gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldSet {
    hook: HookId,
    event: u64,
    context: u64,
}

/// A name in a list that is no field of the hook.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{hook} has no field {name:?}; the nearest is `{nearest}`")]
pub struct UnknownField {
    /// The hook.
    pub hook: HookId,
    /// The name, cut to what can be shown.
    pub name: String,
    /// The field whose name is nearest.
    pub nearest: &'static str,
}

/// Longest part of an unknown name that is shown, in characters. Names come from manifests.
const SHOWN_CHARS: usize = 64;

impl FieldSet {
    /// The fields of a hook that are named, and those that always stay. A name that event and context share means both.
    ///
    /// # Errors
    /// The first name that is no field.
    pub fn parse<N: AsRef<str>>(hook: HookId, names: impl IntoIterator<Item = N>) -> Result<Self, UnknownField> {
        let (event, context) = hook.fields();
        let mut set = Self { hook, event: bits(event, |field| field.always), context: bits(context, |field| field.always) };
        for name in names {
            let name = name.as_ref();
            let named = |field: &Field| field.name == name;
            if !event.iter().chain(context).any(named) {
                return Err(unknown(hook, name));
            }
            set.event |= bits(event, named);
            set.context |= bits(context, named);
        }
        Ok(set)
    }

    /// What is left of what a manifest asks for when an operator allows only some of it; none: everything.
    pub fn narrowed(asked: Option<Self>, allowed: Option<Self>) -> Option<Self> {
        match (asked, allowed) {
            (Some(asked), Some(allowed)) => {
                Some(Self { event: asked.event & allowed.event, context: asked.context & allowed.context, ..asked })
            }
            (one, other) => one.or(other),
        }
    }

    /// Names of the fields, those of the event first, each once.
    pub fn names(&self) -> Vec<&'static str> {
        let (event, context) = self.hook.fields();
        let mut names: Vec<&'static str> = kept(event, self.event).chain(kept(context, self.context)).collect();
        let mut seen = std::collections::BTreeSet::new();
        names.retain(|name| seen.insert(*name));
        names
    }

    /// Event and context with these fields only.
    pub(crate) fn apply<E: Fields, C: Fields>(&self, event: &E, context: &C) -> Box<(E, C)> {
        Box::new((event.only(self.event), context.only(self.context)))
    }
}

impl fmt::Display for FieldSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names().join(" "))
    }
}

fn bits(fields: &[Field], wanted: impl Fn(&Field) -> bool) -> u64 {
    fields.iter().take(MAX_FIELDS).enumerate().filter(|(_, field)| wanted(field)).fold(0, |set, (place, _)| set | 1 << place)
}

fn kept(fields: &'static [Field], set: u64) -> impl Iterator<Item = &'static str> {
    fields.iter().take(MAX_FIELDS).enumerate().filter(move |(place, _)| set >> place & 1 == 1).map(|(_, field)| field.name)
}

/// A path into a field is named by its first part: whole fields are given or left out.
fn unknown(hook: HookId, name: &str) -> UnknownField {
    let whole = name.split('.').next().unwrap_or(name);
    let (event, context) = hook.fields();
    let nearest = event.iter().chain(context).min_by_key(|field| distance(whole, field.name)).map_or("", |field| field.name);
    UnknownField { hook, name: name.chars().take(SHOWN_CHARS).collect(), nearest }
}

/// Lists the fields of a type with their names in the contract. A field of the type that is missing here does not compile.
macro_rules! fields {
    ($type:ty { $($field:ident = $name:literal $($always:ident)?),* $(,)? }) => {
        impl $crate::fields::Fields for $type {
            const FIELDS: &'static [$crate::fields::Field] = &[
                $($crate::fields::Field { name: $name, always: fields!(@always $($always)?) },)*
            ];

            fn only(&self, kept: u64) -> Self {
                let mut bits = kept;
                let mut keeps = || {
                    let keeps = bits & 1 == 1;
                    bits >>= 1;
                    keeps
                };
                // The fields of a literal are evaluated in their order.
                Self { $($field: fields!(@value keeps, self.$field $(, $always)?),)* }
            }
        }
    };
    (@always) => { false };
    (@always always) => { true };
    (@value $keeps:ident, $value:expr) => {
        if $keeps() { $value.clone() } else { $crate::fields::Blank::blank(&$value) }
    };
    (@value $keeps:ident, $value:expr, always) => {{
        $keeps();
        $value.clone()
    }};
}
pub(crate) use fields;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]
    use super::*;
    use crate::catalogue::CATALOGUE;

    #[test]
    fn no_event_has_more_fields_than_a_set_has_bits_and_no_name_stands_twice() {
        for row in CATALOGUE {
            let (event, context) = row.id.fields();
            for fields in [event, context] {
                assert!(fields.len() <= MAX_FIELDS, "{}", row.name);
                let names: std::collections::BTreeSet<&str> = fields.iter().map(|field| field.name).collect();
                assert_eq!(names.len(), fields.len(), "{}", row.name);
            }
        }
    }

    #[test]
    fn ids_stay_and_an_unknown_name_finds_its_neighbour() {
        let set = |names: &[&str]| FieldSet::parse(HookId::BeforeToolCall, names);
        assert_eq!(set(&[]).unwrap().to_string(), "toolCallId agentId sessionKey sessionId runId");
        assert_eq!(set(&["toolName", "requester"]).unwrap().names()[0], "toolName");
        let text = |names: &[&str]| set(names).unwrap_err().to_string();
        assert_eq!(text(&["toolname"]), r#"before_tool_call has no field "toolname"; the nearest is `toolName`"#);
        assert!(text(&["params.command"]).ends_with("the nearest is `params`"), "{}", text(&["params.command"]));
    }

    #[test]
    fn an_operator_narrows_and_never_widens() {
        let set = |names: &[&str]| Some(FieldSet::parse(HookId::BeforeToolCall, names).unwrap());
        let narrowed = |asked, allowed| FieldSet::narrowed(asked, allowed);
        assert_eq!(narrowed(set(&["toolName", "params"]), set(&["params", "requester"])), set(&["params"]));
        assert_eq!(narrowed(None, set(&["params"])), set(&["params"]));
        assert_eq!(narrowed(set(&["params"]), None), set(&["params"]));
        assert_eq!(narrowed(None, None), None);
    }
}
