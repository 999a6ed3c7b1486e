//! The conversion, and what can be wrong with it.

use crate::units::{self, Quantity, UNITS, Unit};

/// How many close spellings an error names.
const SUGGESTIONS: usize = 3;

/// A finished conversion.
#[derive(Debug)]
pub(crate) struct Conversion {
    pub(crate) from: &'static Unit,
    pub(crate) to: &'static Unit,
    pub(crate) result: f64,
}

/// Why a conversion failed; the model reads it.
#[derive(Debug, PartialEq)]
pub(crate) enum ConvertError {
    /// No unit is written like this.
    Unknown { text: String, close: Vec<&'static str> },
    /// The two units measure different things.
    Mismatch { from: &'static Unit, to: &'static Unit },
    /// Below absolute zero.
    TooCold { unit: &'static Unit },
    /// The result is beyond what a number can hold.
    TooLarge,
}

impl std::fmt::Display for ConvertError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown { text, close } if close.is_empty() => {
                write!(formatter, "no unit is written `{text}`; use symbols such as km, lb, °F, l, km/h, MiB")
            }
            Self::Unknown { text, close } => write!(formatter, "no unit is written `{text}`; did you mean {}", close.join(", ")),
            Self::Mismatch { from, to } => write!(
                formatter,
                "{} is a unit of {} and {} one of {}; give two units of one kind",
                from.symbol(),
                from.quantity.name(),
                to.symbol(),
                to.quantity.name()
            ),
            Self::TooCold { unit } => write!(
                formatter,
                "no temperature is below absolute zero, which is {} {}",
                -unit.offset / unit.factor,
                unit.symbol()
            ),
            Self::TooLarge => formatter.write_str("the result is too large for a number"),
        }
    }
}

impl std::error::Error for ConvertError {}

/// Converts a value.
pub(crate) fn convert(value: f64, from: &str, to: &str) -> Result<Conversion, ConvertError> {
    let (from, to) = (lookup(from)?, lookup(to)?);
    if from.quantity != to.quantity {
        return Err(ConvertError::Mismatch { from, to });
    }
    let base = value * from.factor + from.offset;
    if from.quantity == Quantity::Temperature && base < 0.0 {
        return Err(ConvertError::TooCold { unit: from });
    }
    let result = (base - to.offset) / to.factor;
    if !result.is_finite() {
        return Err(ConvertError::TooLarge);
    }
    Ok(Conversion { from, to, result })
}

fn lookup(text: &str) -> Result<&'static Unit, ConvertError> {
    units::find(text).ok_or_else(|| ConvertError::Unknown { text: text.trim().to_owned(), close: close_to(text.trim()) })
}

/// Of each unit that comes close to a text, the spelling that does; closest first.
fn close_to(text: &str) -> Vec<&'static str> {
    let text = text.to_lowercase();
    let mut ranked: Vec<_> = UNITS
        .iter()
        .filter_map(|unit| {
            unit.spellings()
                .map(|spelling| (closeness(&text, &spelling.to_lowercase()), spelling))
                .max_by_key(|(closeness, _)| *closeness)
        })
        .filter(|(closeness, _)| *closeness > 0)
        .collect();
    ranked.sort_by_key(|(closeness, _)| std::cmp::Reverse(*closeness));
    ranked.into_iter().map(|(_, spelling)| spelling).take(SUGGESTIONS).collect()
}

/// 0: not close. Equal but for case is closest; else at least three characters, or half of the text, must begin alike.
fn closeness(text: &str, spelling: &str) -> usize {
    if text == spelling {
        return usize::MAX;
    }
    let alike = text.chars().zip(spelling.chars()).take_while(|(one, other)| one == other).count();
    if alike >= 3 && alike * 2 >= text.chars().count() { alike } else { 0 }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use super::convert;
    use crate::units::UNITS;

    #[test]
    fn known_conversions_are_right() {
        for (value, from, to, expected) in [
            (1.0, "mi", "km", 1.609344),
            (100.0, "°C", "°F", 212.0),
            (-40.0, "°F", "°C", -40.0),
            (0.0, "K", "°C", -273.15),
            (1.0, "lb", "oz", 16.0),
            (1.0, "gal", "l", 3.785411784),
            (3.0, "tsp", "tbsp", 1.0),
            (36.0, "km/h", "m/s", 10.0),
            (1.0, "GiB", "MB", 1073.741824),
            (8.0, "Mb", "MB", 1.0),
            (12.0, "in", "ft", 1.0),
            (2.0, "short ton", "lb", 4000.0),
        ] {
            let result = convert(value, from, to).unwrap().result;
            let difference = (result - expected).abs();
            assert!(difference <= expected.abs().max(1.0) * 1e-12, "{value} {from} = {result} {to}");
        }
    }

    #[test]
    fn there_and_back_gives_the_value() {
        for from in &UNITS {
            for to in UNITS.iter().filter(|to| to.quantity == from.quantity) {
                let there = convert(300.0, from.symbol(), to.symbol()).unwrap().result;
                let back = convert(there, to.symbol(), from.symbol()).unwrap().result;
                assert!((back - 300.0).abs() < 1e-6, "{} {}", from.symbol(), to.symbol());
            }
        }
    }

    #[test]
    fn errors_say_what_would_work() {
        for (value, from, to, sentence) in [
            (1.0, "killometer", "mi", "no unit is written `killometer`; use symbols such as km, lb, °F, l, km/h, MiB"),
            (1.0, "kilometr", "mi", "no unit is written `kilometr`; did you mean kilometre, kilometres per hour, kilo"),
            (1.0, "mb", "B", "no unit is written `mb`; did you mean Mb, MB"),
            (1.0, "km", "kg", "km is a unit of length and kg one of mass; give two units of one kind"),
            (-300.0, "°C", "K", "no temperature is below absolute zero, which is -273.15 °C"),
            (1e308, "ly", "nm", "the result is too large for a number"),
        ] {
            assert_eq!(convert(value, from, to).unwrap_err().to_string(), sentence);
        }
    }
}
