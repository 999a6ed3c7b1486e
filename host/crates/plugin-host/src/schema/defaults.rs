//! Fills in the `default`s of a schema: for members that are absent, in the value and in all objects and lists that are there. A part
//! of a value is never made up to hold defaults; a schema that wants that says `"default": {}`.

use serde_json::{Map, Value};

use super::MAX_STEPS;
use super::keywords::referred;

/// Deepest value that is filled in.
const MAX_DEPTH: usize = 128;

/// Why a value could not be filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unfilled {
    /// The defaults are too long.
    TooLong,
    /// It takes too many steps.
    TooComplex,
}

/// Fills in a value. Defaults are taken from `properties`, `items`, `allOf` and what `$ref` means there; not from branches that may not
/// apply. At most `room` bytes are added.
pub(super) fn fill(schema: &Value, value: &mut Value, room: usize) -> Result<(), Unfilled> {
    let mut filler = Filler { root: schema, room, steps: 0 };
    filler.value(schema, value, 0)
}

struct Filler<'a> {
    root: &'a Value,
    room: usize,
    steps: usize,
}

impl<'a> Filler<'a> {
    fn value(&mut self, schema: &'a Value, value: &mut Value, depth: usize) -> Result<(), Unfilled> {
        let Value::Object(keywords) = schema else { return Ok(()) };
        self.steps += 1;
        if self.steps > MAX_STEPS || depth > MAX_DEPTH {
            return Err(Unfilled::TooComplex);
        }
        if let Some(target) = keywords.get("$ref").and_then(Value::as_str).and_then(|to| referred(self.root, to)) {
            self.value(target, value, depth + 1)?;
        }
        for part in keywords.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.value(part, value, depth + 1)?;
        }
        match value {
            Value::Object(members) => self.members(keywords, members, depth),
            Value::Array(entries) => match keywords.get("items") {
                Some(items) => entries.iter_mut().try_for_each(|entry| self.value(items, entry, depth + 1)),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn members(
        &mut self,
        keywords: &'a Map<String, Value>,
        members: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), Unfilled> {
        for (name, schema) in keywords.get("properties").and_then(Value::as_object).into_iter().flatten() {
            if !members.contains_key(name)
                && let Some(default) = self.default(schema, 0)
            {
                let size = name.len() + default.to_string().len();
                self.room = self.room.checked_sub(size).ok_or(Unfilled::TooLong)?;
                members.insert(name.clone(), default.clone());
            }
            if let Some(member) = members.get_mut(name) {
                self.value(schema, member, depth + 1)?;
            }
        }
        Ok(())
    }

    /// The default of a schema: its own, or that of what it refers to.
    fn default(&self, schema: &'a Value, depth: usize) -> Option<&'a Value> {
        let own = schema.get("default");
        own.or_else(|| {
            let reference = schema.get("$ref").and_then(Value::as_str).filter(|_| depth < MAX_DEPTH)?;
            self.default(referred(self.root, reference)?, depth + 1)
        })
    }
}
