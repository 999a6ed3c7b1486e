//! Reads JSON5 text into a value, with bounds on depth and without losing duplicate keys. It does not look at what the keys mean.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::Position;
use super::key_path::{KeyPath, Segment};

/// Deepest nesting of objects and lists. The configuration needs 8; the rest is room for settings of plugins. The bound keeps
/// every recursion over the value off the end of the stack.
pub(crate) const MAX_DEPTH: usize = 64;

/// The value of a text.
#[derive(Debug)]
pub(crate) struct Document {
    /// The value. Of duplicate keys the first one is kept.
    pub(crate) root: Value,
    /// Keys that occur again in the same object, once for each further occurrence.
    pub(crate) duplicates: Vec<KeyPath>,
}

/// Why a text is no document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed {
    /// Where reading stopped.
    pub(crate) position: Position,
    /// What stopped it.
    pub(crate) fault: Fault,
}

/// What stopped the reading of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is not JSON5. One phrase for people.
    Syntax(&'static str),
    /// Objects and lists are nested deeper than [`MAX_DEPTH`].
    TooDeep,
    /// `Infinity` or `NaN`, for which no key has a use.
    NotFinite,
}

/// Reads a text.
pub(crate) fn parse(text: &str) -> Result<Document, Malformed> {
    json5::from_str(text).map_err(|error: json5::Error| {
        let position = error.position().map_or_else(|| Position::of_offset(text.len(), text), Position::from);
        Malformed { position, fault: Fault::of(&error) }
    })
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut reader = Reader::default();
        let root = Node { reader: &mut reader, depth: 0 }.deserialize(deserializer)?;
        Ok(Self { root, duplicates: reader.duplicates })
    }
}

/// What the recursion shares.
#[derive(Default)]
struct Reader {
    path: Vec<Segment>,
    duplicates: Vec<KeyPath>,
}

// Our refusals travel through the parser, which adds the position, as the text of its error.
const TOO_DEEP: &str = "nested too deep";
const NOT_FINITE: &str = "not a finite number";

impl Fault {
    fn of(error: &json5::Error) -> Self {
        let text = error.to_string();
        match error.code() {
            None if text.starts_with(TOO_DEEP) => Self::TooDeep,
            None if text.starts_with(NOT_FINITE) => Self::NotFinite,
            code => Self::Syntax(phrase(code, error.position().is_some())),
        }
    }
}

/// Reads one value.
struct Node<'r> {
    reader: &'r mut Reader,
    depth: usize,
}

impl Node<'_> {
    fn child(&mut self, segment: Segment) -> Node<'_> {
        self.reader.path.push(segment);
        Node { depth: self.depth + 1, reader: self.reader }
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    /// A number such as `1e3` is whole too: keys that count things shall take it.
    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;
        if value.fract() == 0.0 && value.abs() <= LARGEST_EXACT {
            #[allow(clippy::cast_possible_truncation, reason = "whole and within the range in which f64 is exact")]
            return Ok((value as i64).into());
        }
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom(NOT_FINITE))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        if self.depth == MAX_DEPTH {
            return Err(A::Error::custom(TOO_DEEP));
        }
        let mut list = Vec::new();
        while let Some(value) = items.next_element_seed(self.child(Segment::Index(list.len())))? {
            self.reader.path.pop();
            list.push(value);
        }
        self.reader.path.pop();
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<Value, A::Error> {
        if self.depth == MAX_DEPTH {
            return Err(A::Error::custom(TOO_DEEP));
        }
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(self.child(Segment::Key(key.clone())))?;
            if object.contains_key(&key) {
                self.reader.duplicates.push(self.reader.path.iter().cloned().collect());
            } else {
                object.insert(key, value);
            }
            self.reader.path.pop();
        }
        Ok(Value::Object(object))
    }
}

/// What the parser found, in words for somebody who edits the file. `inside`: the position is that of the object or list that is
/// open; it only tells so at the end of the file.
fn phrase(code: Option<json5::ErrorCode>, inside: bool) -> &'static str {
    use json5::ErrorCode as Code;
    match code {
        Some(Code::EofParsingComment) => "the file ends inside a comment; its `*/` is missing",
        Some(Code::EofParsingString | Code::EofParsingEscapeSequence) => {
            "the file ends inside a text; its closing quote is missing"
        }
        Some(
            Code::EofParsingArray
            | Code::EofParsingBool
            | Code::EofParsingIdentifier
            | Code::EofParsingNull
            | Code::EofParsingNumber
            | Code::EofParsingObject
            | Code::EofParsingValue,
        ) => match inside {
            true => "the file ends before the object or list that begins here is closed",
            false => "the file ends where a value is expected",
        },
        Some(Code::ExpectedColon) => "expected `:` after the key",
        Some(Code::ExpectedComma | Code::ExpectedClosingBrace | Code::ExpectedClosingBracket) => {
            "expected `,` or the end of the object or list"
        }
        Some(Code::ExpectedComment) => "expected `//` or `/*`",
        Some(Code::ExpectedIdentifier | Code::InvalidKey) => "expected a key: a plain name, or any text in quotes",
        Some(Code::ExpectedBool | Code::ExpectedNull | Code::ExpectedNumber | Code::ExpectedValue) => {
            "expected a value: text in quotes, a number, `true`, `false`, an object or a list"
        }
        Some(Code::InvalidEscapeSequence) => "unknown escape sequence; write a backslash as `\\\\`",
        Some(Code::LeadingZero) => "a number must not begin with 0",
        Some(Code::LineTerminatorInString) => "the text in quotes does not end on its line",
        Some(Code::OverflowParsingNumber) => "the number is too large",
        Some(Code::TrailingCharacters) => "expected nothing more after the end of the configuration",
        _ => "this is not valid JSON5",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
    use super::*;
    use serde_json::json;

    #[test]
    fn every_form_of_json5_is_read() {
        let text = "\u{feff}// head\n{ plain: 'a', \"quoted\": \"b\\u00e4\\\n\", /* in */ num: [+1, -2, .5, 0xff, 1e3, 1.5, -0,], ok: true, no: null, }";
        let value = json!({ "plain": "a", "quoted": "bä", "num": [1, -2, 0.5, 255, 1000, 1.5, 0], "ok": true, "no": null });
        assert_eq!(parse(text).unwrap().root, value);
    }

    #[test]
    fn faults_have_their_place() {
        let rows: &[(&str, usize, usize, &str)] = &[
            ("", 1, 1, "ends where a value"),
            ("  // only a comment\n", 2, 1, "ends where a value"),
            ("{ a: 1", 1, 1, "begins here is closed"),
            ("{\n  a: [1,\n", 2, 6, "begins here is closed"),
            ("{ a 1 }", 1, 5, "expected `:`"),
            ("{ a: 1 b: 2 }", 1, 8, "expected `,`"),
            ("{ a: [1 2] }", 1, 9, "expected `,`"),
            ("{ a: yes }", 1, 6, "expected a value"),
            ("{ a: 'x\n' }", 1, 8, "does not end on its line"),
            ("{ a: 012 }", 1, 6, "begin with 0"),
            ("{ 1a: 2 }", 1, 3, "expected a key"),
            ("{} x", 1, 4, "nothing more"),
            ("{ a: 1 } /* x", 1, 14, "inside a comment"),
            ("{ a: '\\u12' }", 1, 7, "escape"),
            ("{ 'ä🙂': tru }", 1, 12, "expected a value"),
        ];
        for (text, line, column, part) in rows {
            let malformed = parse(text).unwrap_err();
            let Fault::Syntax(phrase) = malformed.fault else { panic!("{text:?}: {malformed:?}") };
            assert!(phrase.contains(part), "{text:?}: {phrase}");
            assert_eq!((malformed.position.line, malformed.position.column), (*line, *column), "{text:?}");
        }
    }

    #[test]
    fn depth_is_bounded_at_the_value_that_is_too_deep() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(&nested(MAX_DEPTH)).is_ok());
        let malformed = parse(&nested(MAX_DEPTH + 1)).unwrap_err();
        assert_eq!(malformed, Malformed { position: Position { line: 1, column: MAX_DEPTH + 1 }, fault: Fault::TooDeep });
        assert_eq!(parse(&"[".repeat(1_000_000)).unwrap_err().fault, Fault::TooDeep);
        assert_eq!(parse(&"{a:".repeat(300_000)).unwrap_err().fault, Fault::TooDeep);
    }

    #[test]
    fn numbers_that_no_key_can_use_are_refused() {
        for text in ["{ a: Infinity }", "{ a: -Infinity }", "{ a: NaN }"] {
            let malformed = parse(text).unwrap_err();
            assert_eq!(malformed, Malformed { position: Position { line: 1, column: 6 }, fault: Fault::NotFinite }, "{text}");
        }
        assert_eq!(parse("1e400").unwrap_err().fault, Fault::NotFinite);
        assert_eq!(parse("18446744073709551616").unwrap().root, json!(18_446_744_073_709_551_616.0_f64));
    }

    #[test]
    fn duplicates_are_kept_in_mind() {
        let document = parse("{ a: 1, b: { c: 1, 'c': 2, c: 3 }, l: [{ x: 1, x: 2 }], a: 9 }").unwrap();
        let paths: Vec<_> = document.duplicates.iter().map(ToString::to_string).collect();
        assert_eq!(paths, ["b.c", "b.c", "l[0].x", "a"]);
        assert_eq!(document.root, json!({ "a": 1, "b": { "c": 1 }, "l": [{ "x": 1 }] }));
    }
}
