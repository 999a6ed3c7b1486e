//! From a text to the same text with masks.

use crate::settings::Settings;
use crate::{issued, named};
use std::ops::Range;

/// Keys whose texts tell the host what a message is; changing one breaks the message.
const STRUCTURE: [&str; 9] =
    ["role", "type", "id", "toolCallId", "toolName", "mimeType", "signature", "thinkingSignature", "textSignature"];

/// Shorter data than this is looked at even if it could be base64.
const MIN_BLOB_BYTES: usize = 256;

/// A secret in a text.
#[derive(Debug, PartialEq)]
pub(crate) struct Secret {
    /// Where it is.
    pub(crate) range: Range<usize>,
    /// What it is, for the mask.
    pub(crate) kind: String,
}

impl Secret {
    pub(crate) fn new(range: Range<usize>, kind: impl Into<String>) -> Self {
        Self { range, kind: kind.into() }
    }
}

/// The text that stands under `key`, with every secret masked. None: there is none in it.
pub(crate) fn masked(key: &str, text: &str, settings: &Settings) -> Option<String> {
    if STRUCTURE.contains(&key) || is_blob(key, text) {
        return None;
    }
    if named::is_secret_name(key, settings) && named::is_value(text) {
        return Some(mask(&named::kind(key)));
    }
    let mut secrets = issued::find(text);
    secrets.extend(named::find(text, settings));
    for (name, pattern) in settings.patterns() {
        let matches = pattern.find_iter(text).filter(|found| !found.is_empty());
        secrets.extend(matches.map(|found| Secret::new(found.range(), name)));
    }
    if secrets.is_empty() {
        return None;
    }
    Some(replaced(text, secrets))
}

fn mask(kind: &str) -> String {
    format!("[redacted:{kind}]")
}

/// Puts a mask in place of each secret; of overlapping ones the first names the mask and the last ends it.
fn replaced(text: &str, mut secrets: Vec<Secret>) -> String {
    secrets.sort_by_key(|secret| (secret.range.start, usize::MAX - secret.range.end));
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    for secret in &secrets {
        if secret.range.start >= done {
            result.push_str(&text[done..secret.range.start]);
            result.push_str(&mask(&secret.kind));
        }
        done = done.max(secret.range.end);
    }
    result.push_str(&text[done..]);
    result
}

/// Pictures and other files travel as base64: no secret can be told in there, and a chance match would spoil the file.
fn is_blob(key: &str, text: &str) -> bool {
    key == "data"
        && text.len() >= MIN_BLOB_BYTES
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use super::{Secret, masked, replaced};
    use crate::settings::Settings;

    #[test]
    fn overlapping_secrets_share_one_mask() {
        let secrets = vec![Secret::new(4..6, "b"), Secret::new(2..5, "a"), Secret::new(8..9, "c")];
        assert_eq!(replaced("0123456789", secrets), "01[redacted:a]67[redacted:c]9");
    }

    #[test]
    fn of_two_from_the_same_place_the_longer_names_the_mask() {
        let secrets = vec![Secret::new(1..2, "short"), Secret::new(1..4, "long")];
        assert_eq!(replaced("01234", secrets), "0[redacted:long]4");
    }

    #[test]
    fn text_around_a_secret_may_be_of_any_script() {
        let text = "пароль — password=hunter2 🔑 password: \"größe9\"";
        assert_eq!(
            masked("text", text, &Settings::default()).unwrap(),
            "пароль — password=[redacted:password] 🔑 password: \"[redacted:password]\""
        );
    }
}
