//! Finds where a key or a value stands in a text. The parser tells positions in errors only, so the text is read again and the
//! value that is looked for is refused: the position of that refusal is the answer.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::Position;
use super::key_path::{KeyPath, Segment};

/// What to point at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// The value.
    Value,
    /// The key of the value. In a list, and at the root, the value itself.
    Key,
    /// The key again, where it stands for the second time or more often: this many occurrences are passed over.
    Repeated(usize),
}

/// The place of a path in a text that was read before, so its depth is known to be bounded. `None`: the path is not there.
pub(crate) fn locate(text: &str, path: &KeyPath, target: Target) -> Option<Position> {
    let mut deserializer = json5::Deserializer::from_str(text);
    let refusal = Search { rest: path.segments(), target }.deserialize(&mut deserializer).err()?;
    refusal.position().map(Position::from)
}

/// Looks for `rest` below one value.
#[derive(Clone, Copy)]
struct Search<'p> {
    rest: &'p [Segment],
    target: Target,
}

impl Search<'_> {
    /// Refuses the value if it is the one that is looked for.
    fn scalar<E: Error>(self) -> Result<(), E> {
        if self.rest.is_empty() { Err(E::custom("found")) } else { Ok(()) }
    }
}

impl<'de> DeserializeSeed<'de> for Search<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Search<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("another value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.scalar()
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.scalar()
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        self.scalar()
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        self.scalar()
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        self.scalar()
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        self.scalar()
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Some((first, rest)) = self.rest.split_first() else { return self.scalar() };
        let mut at = 0;
        loop {
            let more = if *first == Segment::Index(at) {
                items.next_element_seed(Search { rest, target: self.target })?.is_some()
            } else {
                items.next_element::<IgnoredAny>()?.is_some()
            };
            if !more {
                return Ok(());
            }
            at += 1;
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let Some((first, rest)) = self.rest.split_first() else { return self.scalar() };
        let mut passed = match self.target {
            Target::Repeated(passed) if rest.is_empty() => passed,
            _ => 0,
        };
        let wants_key = rest.is_empty() && self.target != Target::Value;
        while let Some(matches) = entries.next_key_seed(WantedKey { wanted: first, refuse: wants_key && passed == 0 })? {
            if matches && !wants_key {
                entries.next_value_seed(Search { rest, target: self.target })?;
            } else {
                entries.next_value::<IgnoredAny>()?;
                passed = passed.saturating_sub(usize::from(matches));
            }
        }
        Ok(())
    }
}

/// Compares one key; refuses it if it is the place that is looked for.
struct WantedKey<'p> {
    wanted: &'p Segment,
    refuse: bool,
}

impl<'de> DeserializeSeed<'de> for WantedKey<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for WantedKey<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("another key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<bool, E> {
        let matches = matches!(self.wanted, Segment::Key(wanted) if wanted == key);
        if matches && self.refuse { Err(E::custom("found")) } else { Ok(matches) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
    use super::*;
    use crate::text::document;
    use proptest::prelude::*;
    use serde_json::Value;

    const TEXT: &str =
        "// head\n{\n  a: { 'b c': [10, /* x */ { d: null },\n    \"ä\"], },\n\ta: 2, e: -0x1F,\n  f: 'x\\\n y', a: 3,\n}";

    #[test]
    fn keys_and_values_are_found() {
        let list = KeyPath::of("a").key("b c");
        let rows = [
            (KeyPath::default(), Target::Value, Some((2, 1))),
            (KeyPath::default(), Target::Key, Some((2, 1))),
            (KeyPath::of("a"), Target::Key, Some((3, 3))),
            (KeyPath::of("a"), Target::Value, Some((3, 6))),
            (KeyPath::of("a"), Target::Repeated(1), Some((5, 2))),
            (KeyPath::of("a"), Target::Repeated(2), Some((7, 6))),
            (KeyPath::of("a"), Target::Repeated(3), None),
            (list.clone(), Target::Key, Some((3, 8))),
            (list.clone(), Target::Value, Some((3, 15))),
            (list.index(0), Target::Value, Some((3, 16))),
            (list.index(0), Target::Key, Some((3, 16))),
            (list.index(1).key("d"), Target::Key, Some((3, 30))),
            (list.index(1).key("d"), Target::Value, Some((3, 33))),
            (list.index(2), Target::Value, Some((4, 5))),
            (list.index(3), Target::Value, None),
            (KeyPath::of("e"), Target::Value, Some((5, 11))),
            (KeyPath::of("f"), Target::Value, Some((6, 6))),
            (KeyPath::of("e.x"), Target::Value, None),
            (KeyPath::of("none"), Target::Key, None),
        ];
        for (path, target, expected) in rows {
            let found = locate(TEXT, &path, target).map(|place| (place.line, place.column));
            assert_eq!(found, expected, "{path} {target:?}");
        }
    }

    /// All paths of a value.
    fn paths(value: &Value, path: &KeyPath, found: &mut Vec<KeyPath>) {
        found.push(path.clone());
        match value {
            Value::Array(items) => items.iter().enumerate().for_each(|(at, item)| paths(item, &path.index(at), found)),
            Value::Object(entries) => entries.iter().for_each(|(key, item)| paths(item, &path.key(key), found)),
            _ => {}
        }
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            ".{0,6}".prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(".{0,4}", inner, 0..4)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// What stands at the place of a path is the value of that path.
        #[test]
        fn a_value_begins_at_its_place(value in any_value()) {
            let text = serde_json::to_string_pretty(&value).unwrap();
            let document = document::parse(&text).unwrap();
            prop_assert_eq!(&document.root, &value);
            let mut all = Vec::new();
            paths(&value, &KeyPath::default(), &mut all);
            for path in all {
                let place = locate(&text, &path, Target::Value).unwrap();
                let offset = (0..=text.len()).filter(|at| text.is_char_boundary(*at)).find(|at| Position::of_offset(*at, &text) == place);
                let mut rest = serde_json::Deserializer::from_str(&text[offset.unwrap()..]).into_iter::<Value>();
                prop_assert_eq!(&rest.next().unwrap().unwrap(), path.find(&value).unwrap());
            }
        }
    }
}
