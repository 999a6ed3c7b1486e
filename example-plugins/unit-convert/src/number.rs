//! Numbers as people read them.

/// Digits that count in what is shown; the details of the result hold the exact number.
const SHOWN_DIGITS: i32 = 6;

/// Up to six digits that count, without trailing zeros; powers of ten for what is very large or very small.
pub(crate) fn shown(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let magnitude = number.abs().log10().floor();
    if !(-5.0..15.0).contains(&magnitude) {
        return format!("{number:.5e}");
    }
    // Between -5 and 15, so the cast keeps it.
    let decimals = (SHOWN_DIGITS - 1 - magnitude as i32).max(0).unsigned_abs() as usize;
    let text = format!("{number:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn numbers_are_short_but_never_wrong_before_the_point() {
        for (number, text) in [
            (0.0, "0"),
            (5.0, "5"),
            (-40.0, "-40"),
            (3.106_855_961_186_67, "3.10686"),
            (0.000_123_456_789, "0.000123457"),
            (1_073.741_824, "1073.74"),
            (123_456_789.0, "123456789"),
            (1e20, "1.00000e20"),
            (1.5e-7, "1.50000e-7"),
        ] {
            assert_eq!(shown(number), text);
        }
    }
}
