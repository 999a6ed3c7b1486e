//! Secrets that only their name tells: `DB_PASSWORD=hunter2`, `"apiKey": "abc"`, `--token abc`. A reading of text and not of a
//! language: where a value looks like code (a call, a type, a variable) it stays, so that a model can still read programs.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Match, Regex};

use super::secrets::MASK;

/// A telling name, a sign, and a value in quotes (of which a cut may have taken the second) or up to the next separator.
static ASSIGNMENT: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r#"(?ix)
        \b [a-z0-9_.-]*?
            (?: (?P<clear> password | passwd | passphrase | secret | api[_-]?key | access[_-]?key | private[_-]?key
                    | (?:auth|access|refresh|session|bot|id)[_-]?token | credentials? )
              | token | pwd | _key )
            [0-9_]*
        (?: \\? ["'] )? (?P<sign> [\x20\t]* (?: => | := | = | : ) [\x20\t]* )
        (?: " (?P<double> (?: [^"\\\n] | \\. )+ ) "
          | ' (?P<single> (?: [^'\\\n] | \\. )+ ) '
          | \\" (?P<escaped> [^"\\\n]+ ) \\"
          | ["'] (?P<cut> [^"'\n]{4,} ) \z
          | (?P<bare> [^\s"'`,;&(){}\[\]<>=\\] [^\s"'`,;&(){}\[\]<>\\]* ) )
        "#,
    )
});

/// A telling option of a command and its value.
static OPTION: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r#"(?ix)
        -- (?: api-?key | (?:auth-|access-)?token | (?:client-)?secret | password | passwd | passphrase )
        [\x20\t]+ (?: " (?P<double> [^"\n]+ ) " | ' (?P<single> [^'\n]+ ) ' | (?P<bare> [^\s"'-] [^\s"']* ) )
        "#,
    )
});

fn constant(pattern: &str) -> Regex {
    #[allow(clippy::expect_used, reason = "the patterns are constant and a test uses each of them")]
    Regex::new(pattern).expect("constant pattern")
}

/// Masks values behind telling names.
pub(super) fn mask_assignments(text: &str) -> String {
    let assigned = mask_where(text, &ASSIGNMENT, |found, behind| {
        let clear = found.name("clear").is_some();
        match value(found) {
            Some((value, true)) => looks_like_text(value.as_str()) && (clear || value.len() >= 8),
            Some((value, false)) => is_bare_secret(found, value.as_str(), clear, behind),
            None => false,
        }
    });
    mask_where(&assigned, &OPTION, |found, _| value(found).is_some_and(|(value, _)| looks_like_text(value.as_str()))).into_owned()
}

/// Replaces the value of each finding that `is_secret` confirms; it also gets what follows.
fn mask_where<'t>(text: &'t str, pattern: &Regex, is_secret: impl Fn(&Captures<'_>, &str) -> bool) -> Cow<'t, str> {
    let mut out = String::new();
    let mut copied = 0;
    for found in pattern.captures_iter(text) {
        let (Some(whole), Some((value, _))) = (found.get(0), value(&found)) else { continue };
        if is_secret(&found, &text[whole.end()..]) {
            out.push_str(&text[copied..value.start()]);
            out.push_str(MASK);
            copied = value.end();
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// The value, and whether it is in quotes.
fn value<'t>(found: &Captures<'t>) -> Option<(Match<'t>, bool)> {
    let quoted = ["double", "single", "escaped", "cut"].into_iter().find_map(|form| found.name(form)).map(|value| (value, true));
    quoted.or_else(|| found.name("bare").map(|value| (value, false)))
}

/// No placeholder, no variable, no mask.
fn looks_like_text(value: &str) -> bool {
    !value.starts_with(['$', '<', '%', '{']) && !value.chars().all(|c| matches!(c, '*' | '.' | 'x' | 'X'))
}

/// A value without quotes: either the form of an environment file, `NAME=value`, or one that no programmer would write as code.
fn is_bare_secret(found: &Captures<'_>, value: &str, clear: bool, behind: &str) -> bool {
    let is_code =
        behind.starts_with(['(', '<', '[', '{']) || value.contains("::") || value.starts_with(['&', '*', '|', '!', '@', ':']);
    if is_code || !looks_like_text(value) || is_word_of_code(value) || value.len() < 4 {
        return false;
    }
    let tight = found.name("sign").is_some_and(|sign| sign.as_str() == "=");
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    match (clear, tight) {
        (true, true) => !is_path_of_names(value),
        (true, false) => has_digit || !is_path_of_names(value) && value.len() >= 8,
        (false, true) => has_digit || value.len() >= 20,
        (false, false) => has_digit && value.len() >= 12,
    }
}

fn is_word_of_code(value: &str) -> bool {
    const WORDS: [&str; 22] = [
        "any",
        "bool",
        "boolean",
        "bytes",
        "char",
        "default",
        "false",
        "int",
        "nil",
        "none",
        "null",
        "number",
        "option",
        "optional",
        "required",
        "some",
        "str",
        "string",
        "true",
        "undefined",
        "unknown",
        "vec",
    ];
    WORDS.contains(&value.trim_end_matches(['?', '.']).to_lowercase().as_str())
}

/// `self.password`, `config.auth.token`: names joined by dots.
fn is_path_of_names(value: &str) -> bool {
    value.contains('.')
        && value.split('.').all(|part| {
            part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_behind_telling_names_are_masked() {
        for (text, masked) in [
            ("password=hunter2", "password=***"),
            ("DB_PASSWORD=swordfish", "DB_PASSWORD=***"),
            ("export MY_API_KEY='abc def'", "export MY_API_KEY='***'"),
            ("STRIPE_KEY=abc123def456", "STRIPE_KEY=***"),
            ("SESSION_TOKEN_2=abcdefgh1", "SESSION_TOKEN_2=***"),
            (r#"{"apiKey": "abc", "n": 1}"#, r#"{"apiKey": "***", "n": 1}"#),
            (r#"{"password": "a\"b\\"}"#, r#"{"password": "***"}"#),
            (r#"{\"password\": \"hunter2\"}"#, r#"{\"password\": \"***\"}"#),
            (r#"{"client_secret":"q"}"#, r#"{"client_secret":"***"}"#),
            ("password: \"hunt", "password: \"***"),
            ("password: hunter2", "password: ***"),
            ("secret: correct-horse-battery", "secret: ***"),
            ("?api_key=abcd1234&x=1", "?api_key=***&x=1"),
            ("curl --token abcdef -v", "curl --token *** -v"),
            ("login --password 'a b'", "login --password '***'"),
            ("a password=one1 and secret=two2", "a password=*** and secret=***"),
        ] {
            assert_eq!(mask_assignments(text), masked);
        }
    }

    #[test]
    fn code_and_placeholders_stay_readable() {
        for text in [
            "let token = lexer.next_token();",
            "let token = next;",
            "password = input(\"Password: \")",
            "password: String,",
            "password: Option<String>",
            "secret: Secret::new(x)",
            "password = self.password",
            "if password == other {",
            "PASSWORD=$PASSWORD",
            "PASSWORD=${PASSWORD}",
            "API_KEY=<your key>",
            "\"token\": \"abc\"",
            "token: &str",
            "error: unexpected token: identifier",
            "max_tokens=4096",
            "primary_key = id",
            "--token --verbose",
            "password=***",
            "password: null",
        ] {
            assert_eq!(mask_assignments(text), text);
        }
    }
}
