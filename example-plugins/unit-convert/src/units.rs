//! The units: what each measures, how it is written, and how it becomes the base unit of its quantity.

/// What a unit measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantity {
    Length,
    Mass,
    Temperature,
    Volume,
    Speed,
    Data,
}
use Quantity::{Data, Length, Mass, Speed, Temperature, Volume};

impl Quantity {
    /// Its English name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Length => "length",
            Mass => "mass",
            Temperature => "temperature",
            Volume => "volume",
            Speed => "speed",
            Data => "data size",
        }
    }
}

/// One unit: `base = value * factor + offset`, in metres, kilograms, kelvin, litres, metres per second, bytes.
#[derive(Debug, PartialEq)]
pub(crate) struct Unit {
    pub(crate) quantity: Quantity,
    /// Ways to write it; the first is shown. Symbols count with their case.
    symbols: &'static [&'static str],
    /// Names, in lower case; plurals that only add an `s` are understood.
    names: &'static [&'static str],
    pub(crate) factor: f64,
    pub(crate) offset: f64,
}

impl Unit {
    /// How it is written.
    pub(crate) fn symbol(&self) -> &'static str {
        self.symbols.first().copied().unwrap_or_default()
    }

    /// Everything that it may be written as.
    pub(crate) fn spellings(&self) -> impl Iterator<Item = &'static str> {
        self.symbols.iter().chain(self.names).copied()
    }

    fn has_name(&self, name: &str) -> bool {
        let singular = name.strip_suffix('s').unwrap_or(name);
        self.names.iter().any(|known| *known == name || *known == singular)
    }
}

/// The unit that is written like this: by symbol as it stands, then by name in any case, then by symbol in any case if only one
/// unit has it.
pub(crate) fn find(text: &str) -> Option<&'static Unit> {
    let text = text.trim();
    let name = text.to_lowercase();
    let by_symbol = UNITS.iter().find(|unit| unit.symbols.contains(&text));
    by_symbol.or_else(|| UNITS.iter().find(|unit| unit.has_name(&name))).or_else(|| {
        let mut loose = UNITS.iter().filter(|unit| unit.symbols.iter().any(|symbol| symbol.to_lowercase() == name));
        let only = loose.next();
        only.filter(|_| loose.next().is_none())
    })
}

const fn unit(quantity: Quantity, factor: f64, symbols: &'static [&'static str], names: &'static [&'static str]) -> Unit {
    Unit { quantity, symbols, names, factor, offset: 0.0 }
}

const fn temperature(factor: f64, offset: f64, symbols: &'static [&'static str], names: &'static [&'static str]) -> Unit {
    Unit { quantity: Temperature, symbols, names, factor, offset }
}

const KIB: f64 = 1024.0;

/// All units. Factors are exact by definition unless a comment says otherwise.
pub(crate) static UNITS: [Unit; 59] = [
    unit(Length, 1e-9, &["nm"], &["nanometer", "nanometre"]),
    unit(Length, 1e-6, &["µm", "μm", "um"], &["micrometer", "micrometre", "micron"]),
    unit(Length, 1e-3, &["mm"], &["millimeter", "millimetre"]),
    unit(Length, 1e-2, &["cm"], &["centimeter", "centimetre"]),
    unit(Length, 1e-1, &["dm"], &["decimeter", "decimetre"]),
    unit(Length, 1.0, &["m"], &["meter", "metre"]),
    unit(Length, 1e3, &["km"], &["kilometer", "kilometre"]),
    unit(Length, 0.0254, &["in", "\""], &["inch", "inches"]),
    unit(Length, 0.3048, &["ft", "'"], &["foot", "feet"]),
    unit(Length, 0.9144, &["yd"], &["yard"]),
    unit(Length, 1609.344, &["mi"], &["mile"]),
    unit(Length, 1852.0, &["nmi", "NM"], &["nautical mile"]),
    unit(Length, 9_460_730_472_580_800.0, &["ly"], &["light year", "light-year"]),
    unit(Mass, 1e-9, &["µg", "μg", "ug"], &["microgram"]),
    unit(Mass, 1e-6, &["mg"], &["milligram"]),
    unit(Mass, 1e-3, &["g"], &["gram"]),
    unit(Mass, 1.0, &["kg"], &["kilogram", "kilo"]),
    unit(Mass, 1e3, &["t"], &["tonne", "metric ton"]),
    unit(Mass, 0.028_349_523_125, &["oz"], &["ounce"]),
    unit(Mass, 0.453_592_37, &["lb", "lbs"], &["pound"]),
    unit(Mass, 6.350_293_18, &["st"], &["stone"]),
    unit(Mass, 907.184_74, &["short ton"], &["us ton"]),
    temperature(1.0, 0.0, &["K"], &["kelvin"]),
    temperature(1.0, 273.15, &["°C", "C", "ºC"], &["celsius", "degree celsius", "degrees celsius"]),
    temperature(5.0 / 9.0, 459.67 * 5.0 / 9.0, &["°F", "F", "ºF"], &["fahrenheit", "degree fahrenheit", "degrees fahrenheit"]),
    temperature(5.0 / 9.0, 0.0, &["°R", "°Ra"], &["rankine"]),
    unit(Volume, 1e-3, &["ml", "mL", "cm³", "cm3"], &["milliliter", "millilitre", "cubic centimeter"]),
    unit(Volume, 1e-2, &["cl", "cL"], &["centiliter", "centilitre"]),
    unit(Volume, 1e-1, &["dl", "dL"], &["deciliter", "decilitre"]),
    unit(Volume, 1.0, &["l", "L", "dm³", "dm3"], &["liter", "litre"]),
    unit(Volume, 1e3, &["m³", "m3"], &["cubic meter", "cubic metre"]),
    unit(Volume, 0.004_928_921_593_75, &["tsp"], &["teaspoon"]),
    unit(Volume, 0.014_786_764_781_25, &["tbsp"], &["tablespoon"]),
    unit(Volume, 0.029_573_529_562_5, &["fl oz", "floz"], &["fluid ounce"]),
    unit(Volume, 0.236_588_236_5, &["cup"], &["cup"]),
    unit(Volume, 0.473_176_473, &["pt"], &["pint"]),
    unit(Volume, 0.946_352_946, &["qt"], &["quart"]),
    unit(Volume, 3.785_411_784, &["gal"], &["gallon", "us gallon"]),
    unit(Volume, 4.546_09, &["imp gal"], &["imperial gallon"]),
    unit(Volume, 158.987_294_928, &["bbl"], &["barrel", "oil barrel"]),
    unit(Speed, 1.0, &["m/s"], &["meters per second", "metres per second"]),
    unit(Speed, 1.0 / 3.6, &["km/h", "kph", "kmh"], &["kilometers per hour", "kilometres per hour"]),
    unit(Speed, 0.447_04, &["mph", "mi/h"], &["miles per hour"]),
    unit(Speed, 1852.0 / 3600.0, &["kn", "kt"], &["knot"]),
    unit(Speed, 0.3048, &["ft/s", "fps"], &["feet per second"]),
    unit(Data, 0.125, &["bit", "b"], &["bit"]),
    unit(Data, 125.0, &["kb", "kbit"], &["kilobit"]),
    unit(Data, 125e3, &["Mb", "Mbit"], &["megabit"]),
    unit(Data, 125e6, &["Gb", "Gbit"], &["gigabit"]),
    unit(Data, 1.0, &["B"], &["byte"]),
    unit(Data, 1e3, &["kB", "KB"], &["kilobyte"]),
    unit(Data, 1e6, &["MB"], &["megabyte"]),
    unit(Data, 1e9, &["GB"], &["gigabyte"]),
    unit(Data, 1e12, &["TB"], &["terabyte"]),
    unit(Data, 1e15, &["PB"], &["petabyte"]),
    unit(Data, KIB, &["KiB", "kiB"], &["kibibyte"]),
    unit(Data, KIB * KIB, &["MiB"], &["mebibyte"]),
    unit(Data, KIB * KIB * KIB, &["GiB"], &["gibibyte"]),
    unit(Data, KIB * KIB * KIB * KIB, &["TiB"], &["tebibyte"]),
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use super::{UNITS, find};
    use std::collections::BTreeMap;

    #[test]
    fn no_spelling_means_two_units() {
        let mut seen = BTreeMap::new();
        for unit in &UNITS {
            for spelling in unit.spellings() {
                if let Some(other) = seen.insert(spelling, unit.symbol()) {
                    assert_eq!(other, unit.symbol(), "{spelling}");
                }
            }
        }
    }

    #[test]
    fn every_spelling_is_found() {
        for unit in &UNITS {
            for spelling in unit.spellings() {
                assert_eq!(find(spelling), Some(unit), "{spelling}");
            }
        }
    }

    #[test]
    fn names_are_free_in_case_and_number() {
        for (text, symbol) in [
            (" Kilometers ", "km"),
            ("Feet", "ft"),
            ("POUNDS", "lb"),
            ("gallons", "gal"),
            ("Fahrenheit", "°F"),
            ("KM", "km"),
            ("mib", "MiB"),
            ("knots", "kn"),
        ] {
            assert_eq!(find(text).unwrap().symbol(), symbol, "{text}");
        }
    }

    #[test]
    fn a_symbol_whose_case_decides_is_not_guessed() {
        assert_eq!(find("Mb").unwrap().symbol(), "Mb");
        assert_eq!(find("MB").unwrap().symbol(), "MB");
        assert_eq!(find("mb"), None);
        assert_eq!(find("parsec"), None);
    }
}
