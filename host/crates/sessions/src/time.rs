//! Times: milliseconds in columns and ports, ISO 8601 in exported events and in sentences (sessions 5.1). Reads no clock.

use jiff::Timestamp;

/// Milliseconds for a column. What no column can hold becomes the largest that one can.
pub(crate) fn column(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}

/// Milliseconds from a column. What is before 1970 becomes 1970.
pub(crate) fn from_column(ms: i64) -> u64 {
    u64::try_from(ms).unwrap_or(0)
}

/// ISO 8601 in UTC with milliseconds, for example `2026-07-01T09:30:00.250Z`. Times after the year 9999 become its end.
pub(crate) fn iso8601(ms: u64) -> String {
    let time = Timestamp::from_millisecond(column(ms)).unwrap_or(Timestamp::MAX);
    format!("{time:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_iso_8601_with_milliseconds() {
        assert_eq!(iso8601(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso8601(1_782_898_200_250), "2026-07-01T09:30:00.250Z");
        assert!(iso8601(u64::MAX).starts_with("9999-12-30T"), "{}", iso8601(u64::MAX));
    }
}
