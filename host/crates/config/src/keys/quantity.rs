//! Durations and sizes: numbers, or text with a unit (runtime 11.1.6). The bounds are part of the type, so the schema, the check of
//! the file and the loaded value cannot disagree.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// What a bare number of a key counts.
pub trait Unit {
    /// Plural name for messages, for example `milliseconds`.
    const NAME: &'static str;
    /// Text form for messages, for example `15s`.
    const EXAMPLE: &'static str;
    /// Suffixes of the text form, each with its size in the smallest step of the family.
    const SUFFIXES: &'static [(&'static str, u64)];
    /// Size of this unit in the same step.
    const STEP: u64;
}

const DURATION_SUFFIXES: &[(&str, u64)] = &[("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// Unit of keys that end in `Ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Milliseconds {}

impl Unit for Milliseconds {
    const NAME: &'static str = "milliseconds";
    const EXAMPLE: &'static str = "15s";
    const SUFFIXES: &'static [(&'static str, u64)] = DURATION_SUFFIXES;
    const STEP: u64 = 1;
}

/// Unit of keys that end in `Seconds` or `Sec`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seconds {}

impl Unit for Seconds {
    const NAME: &'static str = "seconds";
    const EXAMPLE: &'static str = "30m";
    const SUFFIXES: &'static [(&'static str, u64)] = DURATION_SUFFIXES;
    const STEP: u64 = 1_000;
}

/// Unit of keys that end in `Bytes`. The larger units are powers of 1024.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bytes {}

impl Unit for Bytes {
    const NAME: &'static str = "bytes";
    const EXAMPLE: &'static str = "20mb";
    const SUFFIXES: &'static [(&'static str, u64)] = &[("b", 1), ("kb", 1 << 10), ("mb", 1 << 20), ("gb", 1 << 30)];
    const STEP: u64 = 1;
}

/// A number of `U` from `MIN` to `MAX`.
pub struct Quantity<U, const MIN: u64, const MAX: u64> {
    value: u64,
    unit: PhantomData<U>,
}

/// Why a value is no quantity. [`Quantity::expected`] says what would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidQuantity {
    /// The text is not a whole number followed by a unit.
    #[error("it has no known unit")]
    Form,
    /// The text is no whole multiple of the key's unit.
    #[error("it is not a whole number of the key's unit")]
    Fraction,
    /// Outside of the bounds.
    #[error("it is out of range")]
    Range,
}

impl<U: Unit, const MIN: u64, const MAX: u64> Quantity<U, MIN, MAX> {
    /// The number, in the unit of the key.
    pub const fn get(self) -> u64 {
        self.value
    }

    /// Takes a bare number.
    ///
    /// # Errors
    /// When it is out of range.
    pub const fn new(value: u64) -> Result<Self, InvalidQuantity> {
        if value < MIN || value > MAX { Err(InvalidQuantity::Range) } else { Ok(Self { value, unit: PhantomData }) }
    }

    /// Takes text such as `15s`: a whole number and a unit. A number without a unit is refused, because it could mean anything.
    ///
    /// # Errors
    /// When the text has another form, is no whole number of `U`, or is out of range.
    pub fn parse(text: &str) -> Result<Self, InvalidQuantity> {
        let text = text.trim();
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, suffix) = text.split_at(digits);
        let suffix = suffix.trim_start();
        let (_, size) = U::SUFFIXES.iter().find(|(name, _)| name.eq_ignore_ascii_case(suffix)).ok_or(InvalidQuantity::Form)?;
        let number: u64 = number.parse().map_err(|_| if digits == 0 { InvalidQuantity::Form } else { InvalidQuantity::Range })?;
        let steps = number.checked_mul(*size).ok_or(InvalidQuantity::Range)?;
        if !steps.is_multiple_of(U::STEP) {
            return Err(InvalidQuantity::Fraction);
        }
        Self::new(steps / U::STEP)
    }

    /// One sentence for messages: unit, bounds and the text form.
    pub fn expected() -> String {
        format!("a whole number of {} from {MIN} to {MAX}, or text with a unit such as {:?}", U::NAME, U::EXAMPLE)
    }
}

// Written by hand: a derive would ask the same of the marker type.
impl<U, const MIN: u64, const MAX: u64> Clone for Quantity<U, MIN, MAX> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<U, const MIN: u64, const MAX: u64> Copy for Quantity<U, MIN, MAX> {}

impl<U, const MIN: u64, const MAX: u64> PartialEq for Quantity<U, MIN, MAX> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<U, const MIN: u64, const MAX: u64> Eq for Quantity<U, MIN, MAX> {}

impl<U: Unit, const MIN: u64, const MAX: u64> std::fmt::Debug for Quantity<U, MIN, MAX> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.value, U::NAME)
    }
}

impl<'de, U: Unit, const MIN: u64, const MAX: u64> Deserialize<'de> for Quantity<U, MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct QuantityVisitor<U, const MIN: u64, const MAX: u64>(PhantomData<U>);

        impl<U: Unit, const MIN: u64, const MAX: u64> Visitor<'_> for QuantityVisitor<U, MIN, MAX> {
            type Value = Quantity<U, MIN, MAX>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&Quantity::<U, MIN, MAX>::expected())
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
                Quantity::new(value).map_err(E::custom)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Quantity::parse(text).map_err(E::custom)
            }
        }

        deserializer.deserialize_any(QuantityVisitor(PhantomData))
    }
}

/// Keyword of our schemas that checks the text form; JSON Schema itself cannot compare it with the bounds.
pub(crate) const UNIT_KEYWORD: &str = "x-unit";

impl<U: Unit, const MIN: u64, const MAX: u64> JsonSchema for Quantity<U, MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("{}_{MIN}_{MAX}", U::NAME).into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["integer", "string"], "minimum": MIN, "maximum": MAX, UNIT_KEYWORD: U::NAME })
    }
}

/// Checks the text form of the unit with this name, for bounds that came out of a schema. `None`: there is no such unit.
pub(crate) fn check_text(unit: &str, text: &str, minimum: u64, maximum: u64) -> Option<Result<(), InvalidQuantity>> {
    fn value<U: Unit>(text: &str) -> Result<u64, InvalidQuantity> {
        Quantity::<U, 0, { u64::MAX }>::parse(text).map(Quantity::get)
    }
    let value = match unit {
        Milliseconds::NAME => value::<Milliseconds>(text),
        Seconds::NAME => value::<Seconds>(text),
        Bytes::NAME => value::<Bytes>(text),
        _ => return None,
    };
    Some(value.and_then(|value| if (minimum..=maximum).contains(&value) { Ok(()) } else { Err(InvalidQuantity::Range) }))
}

/// Text form of the unit with this name, for messages.
pub(crate) fn example(unit: &str) -> &'static str {
    match unit {
        Milliseconds::NAME => Milliseconds::EXAMPLE,
        Seconds::NAME => Seconds::EXAMPLE,
        _ => Bytes::EXAMPLE,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
    use super::*;

    type Timeout = Quantity<Milliseconds, 1, 600_000>;
    type Budget = Quantity<Seconds, 0, 1_000_000>;
    type Size = Quantity<Bytes, 1, { 1 << 30 }>;

    #[test]
    fn text_is_counted_in_the_unit_of_the_key() {
        assert_eq!(Timeout::parse("15s").map(Timeout::get), Ok(15_000));
        assert_eq!(Timeout::parse(" 250 ms ").map(Timeout::get), Ok(250));
        assert_eq!(Budget::parse("2d").map(Budget::get), Ok(172_800));
        assert_eq!(Budget::parse("3000ms").map(Budget::get), Ok(3));
        assert_eq!(Size::parse("20MB").map(Size::get), Ok(20 * 1024 * 1024));
        assert_eq!(Size::parse("7b").map(Size::get), Ok(7));
    }

    #[test]
    fn other_text_is_refused_with_its_reason() {
        let rows: &[(&str, InvalidQuantity)] = &[
            ("", InvalidQuantity::Form),
            ("500", InvalidQuantity::Form),
            ("s", InvalidQuantity::Form),
            ("1.5s", InvalidQuantity::Form),
            ("-1s", InvalidQuantity::Form),
            ("1 week", InvalidQuantity::Form),
            ("0s", InvalidQuantity::Range),
            ("11m", InvalidQuantity::Range),
            ("99999999999999999999d", InvalidQuantity::Range),
            ("18446744073709551615d", InvalidQuantity::Range),
        ];
        for (text, reason) in rows {
            assert_eq!(Timeout::parse(text), Err(*reason), "{text:?}");
        }
        assert_eq!(Budget::parse("1500ms"), Err(InvalidQuantity::Fraction));
    }

    #[test]
    fn bare_numbers_keep_to_the_bounds() {
        assert_eq!(Timeout::new(0), Err(InvalidQuantity::Range));
        assert_eq!(Timeout::new(600_000).map(Timeout::get), Ok(600_000));
        assert_eq!(Timeout::new(600_001), Err(InvalidQuantity::Range));
        assert_eq!(serde_json::from_str::<Timeout>("7").unwrap().get(), 7);
        assert_eq!(serde_json::from_str::<Timeout>("\"1s\"").unwrap().get(), 1_000);
        assert!(serde_json::from_str::<Timeout>("-7").is_err());
    }

    #[test]
    fn the_check_by_name_agrees_with_the_type() {
        for text in ["15s", "0ms", "601s", "x", "1h"] {
            let by_name = check_text("milliseconds", text, 1, 600_000).unwrap();
            assert_eq!(by_name.is_ok(), Timeout::parse(text).is_ok(), "{text}");
        }
        assert_eq!(check_text("furlongs", "1s", 0, 1), None);
    }
}
