//! The time zone of the system. `TZ` may name a file, and the library below reads a file whole, whatever it is.

use std::ffi::OsStr;
use std::path::Path;

/// Largest file that is taken for a time zone, in bytes. Those of the database have some kilobytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The IANA name of the time zone; `UTC` if there is none.
pub(super) fn of_system() -> String {
    let variable = std::env::var_os("TZ");
    if let Some(text) = variable.as_deref().filter(|text| is_endless(text)) {
        tracing::warn!("TZ is {text:?}, which is no file that could be a time zone; UTC is used");
        return utc();
    }
    jiff::tz::TimeZone::system().iana_name().map_or_else(utc, str::to_owned)
}

fn utc() -> String {
    "UTC".to_owned()
}

/// Whether reading what `TZ` names could take for ever, or all memory.
fn is_endless(text: &OsStr) -> bool {
    let bytes = text.as_encoded_bytes();
    // By POSIX a colon stands before what the system itself gives a meaning.
    let is_marked = bytes.first() == Some(&b':');
    let Ok(path) = std::str::from_utf8(&bytes[usize::from(is_marked)..]) else { return false };
    // A directory cannot be read, and a name from the database is no path in most places.
    Path::new(path).metadata().is_ok_and(|file| !file.is_dir() && (!file.is_file() || file.len() > MAX_FILE_BYTES))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn devices_pipes_and_large_files_are_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let large = dir.path().join("large");
        std::fs::File::create(&large).unwrap().set_len(MAX_FILE_BYTES + 1).unwrap();
        for (text, expected) in [
            ("/dev/zero", true),
            (":/dev/zero", true),
            (large.to_str().unwrap(), true),
            (dir.path().to_str().unwrap(), false),
            ("Europe/Berlin", false),
            ("EST5EDT", false),
            (":", false),
            ("", false),
        ] {
            assert_eq!(is_endless(OsStr::new(text)), expected, "{text}");
        }
    }
}
