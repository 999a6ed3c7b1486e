//! Secrets that a name gives away: `password=…`, `client_secret: "…"`, the value of a JSON key.
//!
//! Source code has such names too, with types and calls behind them; those are not values and stay readable.

use crate::mask::Secret;
use crate::settings::Settings;

/// Parts of a folded name that make its value secret.
const TELLING_PARTS: [&str; 7] = ["password", "passwd", "passphrase", "secret", "apikey", "accesskey", "privatekey"];

/// Ends of a folded name that make its value secret; as parts they would name counters and tokenizers too.
const TELLING_ENDS: [&str; 3] = ["token", "pwd", "credential"];

/// Words that stand behind such names without being values.
const NO_VALUES: [&str; 22] = [
    "string",
    "str",
    "&str",
    "bool",
    "boolean",
    "int",
    "integer",
    "number",
    "float",
    "bytes",
    "any",
    "object",
    "null",
    "none",
    "nil",
    "true",
    "false",
    "undefined",
    "required",
    "optional",
    "self",
    "unknown",
];

/// What is looked at to tell whether a text is a value. Text that is none is looked at again at its next sign, so that a line
/// without an end costs no more than its length times this.
const HEAD_BYTES: usize = 256;

/// A name without what spellings differ in: lower case, no `-`, `_`, `.`.
pub(crate) fn folded(name: &str) -> String {
    name.chars()
        .filter(|character| !matches!(character, '-' | '_' | '.'))
        .map(|character| character.to_ascii_lowercase())
        .collect()
}

/// Whether the value of this name is secret.
pub(crate) fn is_secret_name(name: &str, settings: &Settings) -> bool {
    let name = folded(name);
    TELLING_PARTS.iter().any(|part| name.contains(part))
        || TELLING_ENDS.iter().any(|end| name.ends_with(end))
        || settings.names(&name)
}

/// Whether a text can be a secret at all.
pub(crate) fn is_value(text: &str) -> bool {
    let text = text.trim_end_matches(['?', '!', '.', ';', ',']);
    text.len() >= 3
        && !text.starts_with(['$', '<', '[', '{', '*'])
        && !text.starts_with("Option<")
        && !text.contains('(')
        && !NO_VALUES.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// How a mask calls the value of a name.
pub(crate) fn kind(name: &str) -> String {
    name.to_ascii_lowercase().replace(['_', '.'], "-")
}

/// All values of telling names in a text, in order.
pub(crate) fn find(text: &str, settings: &Settings) -> Vec<Secret> {
    let mut secrets = Vec::new();
    let mut done = 0;
    for (sign, _) in text.match_indices([':', '=']) {
        if sign < done {
            continue;
        }
        let Some(name) = name_before(text, sign).filter(|name| is_secret_name(name, settings)) else {
            continue;
        };
        if let Some((start, value)) = value_after(text, sign) {
            done = start + value.len();
            secrets.push(Secret::new(start..done, kind(name)));
        }
    }
    secrets
}

/// The name that ends before a sign, with quotes, backslashes and blanks between them.
fn name_before(text: &str, sign: usize) -> Option<&str> {
    let before = text[..sign].trim_end_matches([' ', '"', '\'', '`', '\\']);
    let start = before
        .bytes()
        .rposition(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')))
        .map_or(0, |position| position + 1);
    let name = &before[start..];
    (!name.is_empty()).then_some(name)
}

/// The value that begins after a sign. None: there is none, or the sign is part of `==`, `=>`, `::`, `:=` and the like.
fn value_after(text: &str, sign: usize) -> Option<(usize, &str)> {
    let rest = &text[sign + 1..];
    if rest.starts_with(['=', '>', ':', '/']) {
        return None;
    }
    let unspaced = rest.trim_start_matches([' ', '\t']);
    let value = unspaced.trim_start_matches(['\\', '"', '\'', '`']);
    let is_quoted = value.len() < unspaced.len();
    let length = |text: &str| {
        let ends = |character: char| match character {
            '"' | '\'' | '`' | '\\' | '\n' | '\r' => true,
            ',' | ';' | ')' | '}' | ']' | '&' | '|' => !is_quoted,
            other => !is_quoted && other.is_whitespace(),
        };
        text.find(ends).unwrap_or(text.len())
    };
    let head = &value[..value.floor_char_boundary(HEAD_BYTES)];
    if !is_value(&head[..length(head)]) {
        return None;
    }
    Some((text.len() - value.len(), &value[..length(value)]))
}

#[cfg(test)]
mod tests {
    use super::{find, folded, is_secret_name};
    use crate::settings::Settings;

    fn values(text: &str) -> Vec<&str> {
        find(text, &Settings::default()).into_iter().map(|secret| &text[secret.range]).collect()
    }

    #[test]
    fn names_are_compared_without_spelling() {
        let settings = Settings::default();
        for name in ["password", "DB_PASSWORD", "apiKey", "X-Api-Key", "aws.secret_access.key", "accessToken"] {
            assert!(is_secret_name(name, &settings), "{name}");
        }
        for name in ["max_tokens", "tokenizer", "key", "author", "tokenCount"] {
            assert!(!is_secret_name(name, &settings), "{name}");
        }
        assert_eq!(folded("Door-Pin"), "doorpin");
    }

    #[test]
    fn values_are_found_in_every_notation() {
        assert_eq!(values("PASSWORD=hunter2\nX=1"), ["hunter2"]);
        assert_eq!(values("password: correct horse"), ["correct"]);
        assert_eq!(values(r#"{"client_secret": "a b,c", "id": 1}"#), ["a b,c"]);
        assert_eq!(values(r#"{\"api_key\":\"k-123\"}"#), ["k-123"]);
        assert_eq!(values("https://x/?access_token=abc123&y=1"), ["abc123"]);
        assert_eq!(values("mysql --password='p w' -u x"), ["p w"]);
        assert_eq!(values("token = \"t-9\""), ["t-9"]);
    }

    #[test]
    fn source_code_stays_readable() {
        for text in [
            "password: String,",
            "token: Option<String>",
            "let token = next_token();",
            "if password == other {",
            "token::Kind",
            "secret => true",
            "PASSWORD=$DB_PASSWORD",
            "password=<your password>",
            "password: null",
            "const secret_token: &str;",
        ] {
            assert_eq!(values(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_mask_is_no_value() {
        assert_eq!(values("password=[redacted:password]"), [""; 0]);
    }
}
