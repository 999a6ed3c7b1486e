//! Names in archives: what may become a path below the staging directory. Everything that could lead out, or that means something else
//! to another system, is refused rather than cleaned.

use std::path::PathBuf;

use crate::digest::is_passed_over;

/// Longest path, in bytes.
const MAX_PATH_BYTES: usize = 1_024;

/// Longest name of one part, in bytes.
const MAX_PART_BYTES: usize = 255;

/// What a name in an archive means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EntryName {
    /// A path below the directory.
    Path(PathBuf),
    /// The directory itself.
    Root,
    /// Hidden, or a dependency of another tool: nothing of a plugin.
    PassedOver,
}

/// Reads a name.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn read(raw: &[u8], max_depth: usize) -> Result<EntryName, String> {
    let text = std::str::from_utf8(raw).map_err(|_| "has a name that is not UTF-8".to_owned())?;
    if text.len() > MAX_PATH_BYTES {
        return Err(format!("has a name of more than {MAX_PATH_BYTES} bytes"));
    }
    if text.starts_with('/') {
        return Err("has an absolute path".to_owned());
    }
    if text.contains('\\') || text.chars().any(char::is_control) {
        return Err("has a backslash or a control character in its name".to_owned());
    }
    let mut parts: Vec<&str> = Vec::new();
    // A directory ends with a slash, and many programs begin with `./`.
    for part in text.strip_suffix('/').unwrap_or(text).split('/') {
        match part {
            "." if parts.is_empty() => {}
            ".." => return Err("leads out of the archive with `..`".to_owned()),
            "" | "." => return Err("has an empty part or a `.` in its path".to_owned()),
            part if part.len() > MAX_PART_BYTES => return Err(format!("has a name of more than {MAX_PART_BYTES} bytes")),
            part => parts.push(part),
        }
    }
    if parts.len() > max_depth {
        return Err(format!("is more than {max_depth} directories deep"));
    }
    Ok(match parts.as_slice() {
        [] => EntryName::Root,
        parts if parts.iter().any(|part| is_passed_over(part.as_bytes())) => EntryName::PassedOver,
        parts => EntryName::Path(parts.iter().collect()),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::path::Path;

    use super::*;

    #[test]
    fn plain_names_are_paths() {
        for (raw, expected) in [("a", "a"), ("./a/b.md", "a/b.md"), ("a/", "a"), ("ä/b c", "ä/b c")] {
            assert_eq!(read(raw.as_bytes(), 8), Ok(EntryName::Path(expected.into())), "{raw}");
        }
        assert_eq!(read(b"./", 8), Ok(EntryName::Root));
        assert_eq!(read(b".", 8), Ok(EntryName::Root));
        for hidden in [".git/config", "a/.env", "node_modules/x.js"] {
            assert_eq!(read(hidden.as_bytes(), 8), Ok(EntryName::PassedOver), "{hidden}");
        }
    }

    #[test]
    fn what_leads_out_or_is_ambiguous_is_refused() {
        let long = "a".repeat(256);
        let longer = "a/".repeat(513);
        for (bad, why) in [
            (&b"/etc/passwd"[..], "absolute"),
            (b"../a", "`..`"),
            (b"a/../../b", "`..`"),
            (b".hidden/../../a", "`..`"),
            (b"a//b", "empty part"),
            (b"", "empty part"),
            (b"a/./b", "`.`"),
            (b"a\\..\\b", "backslash"),
            (b"a\nb", "control"),
            (b"a\0", "control"),
            (b"a\xff", "UTF-8"),
            (b"1/2/3/4/5/6/7/8/9", "deep"),
            (long.as_bytes(), "255"),
            (longer.as_bytes(), "1024"),
        ] {
            let refused = read(bad, 8).unwrap_err();
            assert!(refused.contains(why), "{bad:?}: {refused}");
        }
        assert_eq!(read(b"1/2/3/4/5/6/7/8", 8), Ok(EntryName::Path(Path::new("1/2/3/4/5/6/7/8").into())));
    }
}
