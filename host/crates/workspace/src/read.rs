//! Reading one text file of the workspace: bounded, only a regular one, only inside. A file that does not qualify is an answer and no
//! failure, because a run goes on without it.

use std::io::{self, Read as _};

use cap_std::fs::{Dir, File, OpenOptions, OpenOptionsExt as _};
use rustix::fs::OFlags;

/// Most bytes that are read of one file; far more than any limit lets into a prompt.
pub const MAX_FILE_READ_BYTES: u64 = 2 * 1024 * 1024;

/// What is there under a name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing.
    Nothing,
    /// Text.
    Text(FoundText),
    /// Something that cannot be used, and why.
    Unusable(String),
}

/// Text as it was found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FoundText {
    pub(crate) text: String,
    /// Whether bytes that are not UTF-8 were replaced.
    pub(crate) lossy: bool,
    /// Bytes behind the part that was read.
    pub(crate) unread_bytes: u64,
}

/// Reads the file `name`.
pub(crate) fn read_text(dir: &Dir, name: &str) -> Found {
    let mut options = OpenOptions::new();
    // A pipe must not make the run wait for a writer.
    options.read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    match dir.open_with(name, &options).and_then(read_file) {
        Ok(found) => found,
        Err(error) => refused(&error),
    }
}

fn read_file(file: File) -> io::Result<Found> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(Found::Unusable("it is not a regular file".to_owned()));
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE_READ_BYTES).read_to_end(&mut bytes)?;
    let unread_bytes = metadata.len().saturating_sub(bytes.len() as u64);
    if unread_bytes > 0 {
        drop_partial_character(&mut bytes);
    }
    let (text, lossy) = match String::from_utf8(bytes) {
        Ok(text) => (text, false),
        Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), true),
    };
    let text = text.strip_prefix('\u{FEFF}').map(str::to_owned).unwrap_or(text);
    Ok(Found::Text(FoundText { text, lossy, unread_bytes }))
}

/// The limit may have cut a character; its first bytes are no fault of the file.
fn drop_partial_character(bytes: &mut Vec<u8>) {
    let start = bytes.iter().rposition(|byte| !(0x80..=0xBF).contains(byte)).unwrap_or(0);
    if std::str::from_utf8(&bytes[start..]).is_err_and(|error| error.error_len().is_none()) {
        bytes.truncate(start);
    }
}

fn refused(error: &io::Error) -> Found {
    match error.kind() {
        io::ErrorKind::NotFound => Found::Nothing,
        // The handle itself refuses an escape; there is no system error number then.
        io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
            Found::Unusable("it is a link that leads outside the workspace".to_owned())
        }
        _ => Found::Unusable(format!("it cannot be read: {error}")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::test_support::Home;

    fn found(home: &Home, name: &str) -> Found {
        read_text(home.workspace.dir(), name)
    }

    fn text(text: &str, lossy: bool, unread_bytes: u64) -> Found {
        Found::Text(FoundText { text: text.to_owned(), lossy, unread_bytes })
    }

    #[test]
    fn text_is_read_without_its_byte_order_mark() {
        let home = Home::new();
        home.write("a", "\u{FEFF}grüße");
        assert_eq!(found(&home, "a"), text("grüße", false, 0));
        assert_eq!(found(&home, "b"), Found::Nothing);
    }

    #[test]
    fn odd_bytes_are_replaced_and_told() {
        let home = Home::new();
        home.write("a", b"caf\xE9");
        assert_eq!(found(&home, "a"), text("caf\u{FFFD}", true, 0));
    }

    #[test]
    fn a_huge_file_is_read_only_in_part() {
        let home = Home::new();
        let size = 10 * 1024 * 1024 * 1024;
        // Sparse: it takes no room on the disk.
        std::fs::File::create(home.path().join("huge")).unwrap().set_len(size).unwrap();
        let Found::Text(huge) = found(&home, "huge") else { panic!("a regular file") };
        assert_eq!((huge.text.len() as u64, huge.unread_bytes), (MAX_FILE_READ_BYTES, size - MAX_FILE_READ_BYTES));
        // Each character has three bytes, so the limit falls inside one.
        home.write("wide", "€".repeat(usize::try_from(MAX_FILE_READ_BYTES).unwrap() / 3 + 10));
        let Found::Text(wide) = found(&home, "wide") else { panic!("a regular file") };
        assert!(!wide.lossy && !wide.text.contains('\u{FFFD}'));
    }

    #[test]
    fn links_out_directories_and_pipes_are_not_usable() {
        let home = Home::new();
        let outside = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(outside.path(), "secret").unwrap();
        symlink(outside.path(), home.path().join("absolute")).unwrap();
        symlink("../outside", home.path().join("relative")).unwrap();
        std::fs::write(home.path().parent().unwrap().join("outside"), "secret").unwrap();
        std::fs::create_dir(home.path().join("directory")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(home.path().join("pipe")).status().unwrap().success());
        for (name, reason) in [
            ("absolute", "outside the workspace"),
            ("relative", "outside the workspace"),
            ("directory", "not a regular file"),
            ("pipe", "not a regular file"),
        ] {
            assert!(matches!(found(&home, name), Found::Unusable(why) if why.contains(reason)), "{name}");
        }
    }

    #[test]
    fn a_link_that_stays_inside_is_followed() {
        let home = Home::new();
        home.write("real", "x");
        symlink("real", home.path().join("link")).unwrap();
        assert_eq!(found(&home, "link"), text("x", false, 0));
    }
}
