//! The grammar of plugin ids. An id is a key of `plugins.entries`, a part of dotted key paths in messages, and a part of file names,
//! so it holds neither dots nor anything that a shell or a file system takes specially.

use domain::PluginId;

/// Longest id, in characters.
pub const MAX_ID_CHARS: usize = 128;

/// Words that stand for "no plugin" in `plugins.slots`.
const RESERVED: &[&str] = &["none", "legacy"];

/// Why a text is no plugin id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPluginId {
    /// It has another form.
    #[error(
        "`{0}` is not a plugin id: use at most {MAX_ID_CHARS} lower-case letters, digits, `-` and `_`, a letter or digit first, and one `/` only between a package and its entry"
    )]
    Form(String),
    /// It means something else.
    #[error("`{0}` cannot be a plugin id: it stands for \"no plugin\" in plugins.slots; choose another id")]
    Reserved(String),
}

/// Checks an id: one name, or the name of a package and of its entry with a `/` between.
///
/// # Errors
/// When the text has another form, or means "no plugin".
pub fn parse_id(text: &str) -> Result<PluginId, InvalidPluginId> {
    let fits = text.len() <= MAX_ID_CHARS && text.split('/').count() <= 2 && text.split('/').all(is_name);
    match (fits, RESERVED.contains(&text)) {
        (true, false) => Ok(PluginId::new(text)),
        (true, true) => Err(InvalidPluginId::Reserved(text.to_owned())),
        // Escaped, so that it stays one line of what is printed about it.
        (false, _) => Err(InvalidPluginId::Form(text.escape_debug().take(MAX_ID_CHARS).collect())),
    }
}

/// The id of one of several entries of a package: `<id>/<basename of the entry>`.
///
/// # Errors
/// When the basename cannot be a part of an id, or the package's id already has two parts.
pub fn entry_id(package: &PluginId, basename: &str) -> Result<PluginId, InvalidPluginId> {
    parse_id(&format!("{package}/{basename}"))
}

fn is_name(text: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.starts_with(alphanumeric) && text.chars().all(|c| alphanumeric(c) || c == '-' || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_one_name_or_two() {
        for good in ["a", "tool-guard", "a_b-1", "0x", "pkg/entry"] {
            assert_eq!(parse_id(good), Ok(PluginId::new(good)));
        }
        let long = "a".repeat(129);
        for bad in ["", "-a", "_a", "A", "a b", "a.b", "a/b/c", "/a", "a/", "..", "a/..", "ä", "a\n", long.as_str()] {
            assert!(matches!(parse_id(bad), Err(InvalidPluginId::Form(_))), "{bad:?}");
        }
        for reserved in ["none", "legacy"] {
            assert_eq!(parse_id(reserved), Err(InvalidPluginId::Reserved(reserved.to_owned())));
        }
    }

    #[test]
    fn an_entry_of_a_package_gets_both_names() {
        assert_eq!(entry_id(&PluginId::new("kit"), "guard"), Ok(PluginId::new("kit/guard")));
        assert!(entry_id(&PluginId::new("kit"), "Guard 2").is_err());
        assert!(entry_id(&PluginId::new("kit/a"), "b").is_err());
    }
}
