//! Secrets that show what they are: tokens with an issuer's prefix, key blocks, credentials in headers and URLs.
//!
//! One pass per kind, without backtracking: the hook has one second, and a tool may print megabytes.

use crate::mask::Secret;

/// A token that begins in its own way.
struct Issued {
    kind: &'static str,
    prefix: &'static str,
    /// Characters after the prefix, at least.
    min: usize,
    /// Characters that the rest may have beside letters and digits.
    also: &'static [u8],
}

const fn issued(kind: &'static str, prefix: &'static str, min: usize, also: &'static [u8]) -> Issued {
    Issued { kind, prefix, min, also }
}

const ISSUED: [Issued; 26] = [
    issued("aws-access-key", "AKIA", 16, b""),
    issued("aws-access-key", "ASIA", 16, b""),
    issued("github-token", "ghp_", 30, b""),
    issued("github-token", "gho_", 30, b""),
    issued("github-token", "ghu_", 30, b""),
    issued("github-token", "ghs_", 30, b""),
    issued("github-token", "ghr_", 30, b""),
    issued("github-token", "github_pat_", 22, b"_"),
    issued("gitlab-token", "glpat-", 20, b"_-"),
    issued("slack-token", "xoxb-", 10, b"-"),
    issued("slack-token", "xoxp-", 10, b"-"),
    issued("slack-token", "xoxa-", 10, b"-"),
    issued("slack-token", "xoxr-", 10, b"-"),
    issued("slack-token", "xoxs-", 10, b"-"),
    issued("slack-token", "xapp-", 10, b"-"),
    issued("stripe-key", "sk_live_", 16, b""),
    issued("stripe-key", "rk_live_", 16, b""),
    issued("stripe-key", "sk_test_", 16, b""),
    issued("google-api-key", "AIza", 35, b"_-"),
    issued("npm-token", "npm_", 36, b""),
    issued("huggingface-token", "hf_", 30, b""),
    issued("digitalocean-token", "dop_v1_", 32, b""),
    issued("sendgrid-key", "SG.", 40, b"._-"),
    issued("pypi-token", "pypi-", 40, b"_-"),
    issued("api-key", "sk-", 20, b"_-"),
    issued("json-web-token", "eyJ", 30, b"._-"),
];

/// Begin and end of a private key block.
const KEY_BEGIN: &str = "-----BEGIN ";
const KEY_END: &str = "-----END ";

/// All secrets of these kinds, in no order.
pub(crate) fn find(text: &str) -> Vec<Secret> {
    let mut secrets = Vec::new();
    for token in &ISSUED {
        secrets.extend(tokens(text, token));
    }
    secrets.extend(key_blocks(text));
    secrets.extend(credentials(text));
    secrets.extend(url_passwords(text));
    secrets
}

fn tokens<'a>(text: &'a str, token: &'a Issued) -> impl Iterator<Item = Secret> + 'a {
    // A run that was looked at is not looked at again, or `eyJ.eyJ.eyJ.…` would take for ever.
    let mut done = 0;
    text.match_indices(token.prefix).filter_map(move |(start, _)| {
        let before = text.as_bytes()[..start].last();
        let goes_on = before.is_some_and(|byte| is_word(*byte) || *byte == b'-');
        if start < done || goes_on {
            return None;
        }
        let rest = &text[start + token.prefix.len()..];
        let length = run(rest, |byte| byte.is_ascii_alphanumeric() || token.also.contains(&byte));
        done = start + token.prefix.len() + length;
        is_token(token, &rest[..length]).then(|| Secret::new(start..done, token.kind))
    })
}

fn is_token(token: &Issued, body: &str) -> bool {
    let is_right_kind = match token.kind {
        // Words joined by hyphens are no key.
        "api-key" => has_digit(body),
        "aws-access-key" => body.len() == token.min && !body.bytes().any(|byte| byte.is_ascii_lowercase()),
        "json-web-token" => body.matches('.').count() == 2,
        _ => true,
    };
    is_right_kind && body.len() >= token.min && body.bytes().any(|byte| byte.is_ascii_alphanumeric())
}

/// Blocks from `-----BEGIN … PRIVATE KEY-----` to the line that ends them, or to the end of the text.
fn key_blocks(text: &str) -> impl Iterator<Item = Secret> + '_ {
    let mut done = 0;
    text.match_indices(KEY_BEGIN).filter_map(move |(start, _)| {
        let label = text[start + KEY_BEGIN.len()..].split("-----").next()?;
        if start < done || !label.contains("PRIVATE KEY") || label.len() > 64 {
            return None;
        }
        done = key_block_end(text, start + KEY_BEGIN.len() + label.len());
        Some(Secret::new(start..done, "private-key"))
    })
}

/// Where the block ends whose first line is over at `body`.
fn key_block_end(text: &str, body: usize) -> usize {
    let Some(end) = text[body..].find(KEY_END) else {
        return text.len();
    };
    let label = body + end + KEY_END.len();
    text[label..].find("-----").map_or(text.len(), |dashes| label + dashes + 5)
}

/// What follows `Bearer` or `Basic`.
fn credentials(text: &str) -> impl Iterator<Item = Secret> + '_ {
    text.match_indices(' ').filter_map(|(space, _)| {
        let scheme = text[..space].rsplit(|character: char| !character.is_ascii_alphabetic()).next()?;
        let kind = if scheme.eq_ignore_ascii_case("bearer") {
            "bearer-token"
        } else if scheme.eq_ignore_ascii_case("basic") {
            "basic-credentials"
        } else {
            return None;
        };
        let start = space + 1;
        let length = run(&text[start..], |byte| byte.is_ascii_alphanumeric() || b"._~+/=-".contains(&byte));
        let value = &text[start..start + length];
        let is_value = length >= 8 && (has_digit(value) || value.ends_with('='));
        is_value.then(|| Secret::new(start..start + length, kind))
    })
}

/// The password in `scheme://user:password@host`.
fn url_passwords(text: &str) -> impl Iterator<Item = Secret> + '_ {
    text.match_indices("://").filter_map(|(scheme_end, _)| {
        let start = scheme_end + 3;
        let length = run(&text[start..], |byte| !byte.is_ascii_whitespace() && !b"/?#\"'<>`".contains(&byte));
        let authority = &text[start..start + length];
        let (user_info, _) = authority.rsplit_once('@')?;
        let (user, password) = user_info.split_once(':')?;
        if password.is_empty() || password.starts_with("[redacted:") || password.starts_with('$') {
            return None;
        }
        let start = start + user.len() + 1;
        Some(Secret::new(start..start + password.len(), "url-password"))
    })
}

/// Length of the run of bytes at the start of a text; ends between characters, for every test that takes all of a character's
/// bytes or none.
fn run(text: &str, belongs: impl Fn(u8) -> bool) -> usize {
    text.bytes().position(|byte| !belongs(byte)).unwrap_or(text.len())
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn has_digit(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::find;

    fn kinds(text: &str) -> Vec<String> {
        find(text).into_iter().map(|secret| format!("{}={}", secret.kind, &text[secret.range])).collect()
    }

    #[test]
    fn issued_tokens_are_found_whole() {
        for (kind, token) in [
            ("aws-access-key", "AKIAIOSFODNN7EXAMPLE"),
            ("github-token", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"),
            ("github-token", "github_pat_11ABCDEFG0123456789_abcdef"),
            ("gitlab-token", "glpat-abcdefghij_0123456789"),
            ("slack-token", "xoxb-123456789012-abcdef"),
            ("stripe-key", "sk_live_abcdefghijklmnop"),
            ("google-api-key", "AIzaSyA-1234567890_abcdefghijklmnopqrstu"),
            ("api-key", "sk-proj-abcdefghijklmnop1234"),
            ("json-web-token", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"),
        ] {
            assert_eq!(kinds(&format!("({token})")), [format!("{kind}={token}")]);
        }
    }

    #[test]
    fn what_only_looks_like_a_token_is_left() {
        for text in [
            "AKIA is a prefix",
            "XAKIAIOSFODNN7EXAMPLE",
            "task-management-for-large-teams1",
            "sk-loading-indicator-wrapper",
            "eyJust a word",
            "ghp_short",
            "a bearer certificates",
            "basic understanding of it",
            "https://example.org/a:b@c",
            "ssh://git@example.org:22/x",
        ] {
            assert_eq!(kinds(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_private_key_goes_from_begin_to_end() {
        let block = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----";
        assert_eq!(kinds(&format!("x\n{block}\ny")), [format!("private-key={block}")]);
        assert_eq!(kinds("-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----"), [""; 0]);
    }

    #[test]
    fn a_private_key_that_was_cut_goes_to_the_end() {
        let block = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz";
        assert_eq!(kinds(block), [format!("private-key={block}")]);
    }

    #[test]
    fn credentials_of_headers_and_urls_are_found() {
        assert_eq!(kinds("Authorization: Bearer abc.def-123"), ["bearer-token=abc.def-123"]);
        assert_eq!(kinds("authorization: basic dXNlcjpwYXNz1="), ["basic-credentials=dXNlcjpwYXNz1="]);
        assert_eq!(kinds("postgres://app:p%40ss@db:5432/x"), ["url-password=p%40ss"]);
    }
}
