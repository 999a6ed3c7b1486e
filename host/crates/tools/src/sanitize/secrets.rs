//! Masking of secrets in texts and values: known shapes of keys, and values that stand behind a telling name. It errs on the side of
//! masking where a name is clear, and leaves source code readable where it is not. Never the only protection: what no shape tells
//! stays.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Map, Value};

use super::assignment::mask_assignments;

/// Takes the place of a secret.
pub const MASK: &str = "***";

/// How deep values are followed; nothing that was parsed from JSON is deeper.
const MAX_DEPTH: usize = 128;

/// A shape and what replaces it.
struct Shape {
    pattern: Regex,
    replacement: &'static str,
}

/// Shapes of secrets that tell themselves. What names the kind of secret stays.
static SHAPES: LazyLock<Vec<Shape>> = LazyLock::new(|| {
    [
        // Private keys, also without their end.
        (
            r"-----BEGIN ([A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?)-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)",
            "[$1 ***]",
        ),
        // Model providers: OpenAI, Anthropic, OpenRouter and those that imitate them; Groq, xAI, Perplexity, Tavily, Hugging Face, Google.
        (r"\b(sk-)[A-Za-z0-9_-]{12,}", "$1***"),
        (r"\b(gsk_|xai-|pplx-|tvly-|hf_|r8_)[A-Za-z0-9_-]{16,}", "$1***"),
        (r"\b(AIza)[A-Za-z0-9_-]{30,}", "$1***"),
        // Code hosts and registries.
        (r"\b(gh[pousr]_|github_pat_|glpat-|npm_|pypi-|dop_v1_)[A-Za-z0-9_-]{16,}", "$1***"),
        // Clouds, payment, chat.
        (r"\b(AKIA|ASIA)[A-Z0-9]{16}\b", "$1***"),
        (r"\b([sr]k_(?:live|test)_|whsec_)[A-Za-z0-9]{10,}", "$1***"),
        (r"\b(xox[abeoprs]-|xapp-)[A-Za-z0-9-]{10,}", "$1***"),
        (r"\b\d{8,10}:[A-Za-z0-9_-]{35}\b", "***"),
        // Signed tokens: three base64 parts, of which the first begins with `{"`.
        (r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}", "***"),
        // Headers, and passwords in addresses.
        (r"(?i)\b(authorization[\x22']?\s{0,4}[:=]\s{0,4}[\x22']?(?:basic|bearer|token|digest)\s+)[^\s\x22',]+", "$1***"),
        (r"(?i)\b(bearer\s+)[A-Za-z0-9._~+/=-]{16,}", "$1***"),
        (r"\b([a-zA-Z][a-zA-Z0-9+.-]{0,30}://[^\s/:@]{0,64}:)[^\s/@]+(@)", "$1***$2"),
    ]
    .into_iter()
    .map(|(pattern, replacement)| {
        #[allow(clippy::expect_used, reason = "the patterns are constant and a test compiles each of them")]
        let pattern = Regex::new(pattern).expect("constant pattern");
        Shape { pattern, replacement }
    })
    .collect()
});

/// Masks the secrets of a text. Masking twice changes nothing more.
pub fn mask_secrets(text: &str) -> String {
    let shaped = SHAPES.iter().fold(Cow::Borrowed(text), |text, shape| {
        match shape.pattern.replace_all(&text, |found: &Captures<'_>| expand(found, shape.replacement)) {
            Cow::Borrowed(_) => text,
            Cow::Owned(masked) => Cow::Owned(masked),
        }
    });
    mask_assignments(&shaped)
}

fn expand(found: &Captures<'_>, replacement: &str) -> String {
    let mut out = String::new();
    found.expand(replacement, &mut out);
    out
}

/// Masks the secrets of a value at every depth: in texts, in names, and whatever stands behind a telling name.
pub fn mask_value(value: &Value) -> Value {
    mask_below(value, false, MAX_DEPTH)
}

fn mask_below(value: &Value, secret: bool, depth: usize) -> Value {
    let Some(deeper) = depth.checked_sub(1) else { return Value::from(MASK) };
    match value {
        Value::String(text) if secret && !text.is_empty() => Value::from(MASK),
        Value::String(text) => Value::from(mask_secrets(text)),
        Value::Number(_) if secret => Value::from(MASK),
        Value::Array(items) => items.iter().map(|item| mask_below(item, secret, deeper)).collect(),
        Value::Object(map) => Value::Object(mask_map(map, secret, deeper)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn mask_map(map: &Map<String, Value>, secret: bool, depth: usize) -> Map<String, Value> {
    let mut masked = Map::new();
    for (name, member) in map {
        let value = mask_below(member, secret || is_secret_name(name), depth);
        masked.insert(free_name(&masked, mask_secrets(name)), value);
    }
    masked
}

/// Two names may be the same after masking; neither member may vanish.
pub(super) fn free_name(taken: &Map<String, Value>, name: String) -> String {
    if !taken.contains_key(&name) {
        return name;
    }
    (2..).map(|n| format!("{name}#{n}")).find(|candidate| !taken.contains_key(candidate)).unwrap_or(name)
}

/// Whether what stands behind this name is a secret: `apiKey`, `DB_PASSWORD`, `x-auth-token`. Counters such as `maxTokens` are not.
pub(super) fn is_secret_name(name: &str) -> bool {
    /// A part of a name.
    const WITHIN: [&str; 9] =
        ["password", "passwd", "passphrase", "secret", "apikey", "privatekey", "accesskey", "authorization", "credential"];
    /// The end of a name.
    const AT_END: [&str; 3] = ["token", "cookie", "signingkey"];
    /// A whole name.
    const WHOLE: [&str; 4] = ["auth", "bearer", "pwd", "cookies"];
    let plain: String = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    WITHIN.iter().any(|part| plain.contains(part))
        || AT_END.iter().any(|end| plain.ends_with(end))
        || WHOLE.contains(&plain.as_str())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
    use serde_json::json;

    use super::*;

    /// Joined here, so that no scanner takes this file for a leak.
    fn key(prefix: &str, length: usize) -> String {
        format!("{prefix}{}", "Ab3dEf6h".repeat(length.div_ceil(8)).get(..length).unwrap())
    }

    #[test]
    fn known_shapes_are_masked() {
        let pem = format!("-----BEGIN RSA {0}-----\nMIIE\n-----END RSA {0}-----", "PRIVATE KEY");
        let rows = [
            (key("sk-", 48), "sk-***"),
            (key("sk-ant-api03-", 40), "sk-***"),
            (key("ghp_", 36), "ghp_***"),
            (key("github_pat_", 60), "github_pat_***"),
            (key("glpat-", 20), "glpat-***"),
            (format!("AKIA{}", "ABCD".repeat(4)), "AKIA***"),
            (key("AIza", 35), "AIza***"),
            (key("xoxb-", 24), "xoxb-***"),
            (key("hf_", 34), "hf_***"),
            (key("sk_live_", 24), "sk_live_***"),
            (key("123456789:", 35), "***"),
            (format!("{}.{}.{}", key("eyJ", 20), key("", 30), key("", 20)), "***"),
            (format!("Bearer {}", key("", 24)), "Bearer ***"),
            ("Authorization: Basic dXNlcjpwdw==".to_owned(), "Authorization: Basic ***"),
            ("postgres://me:hunter2@db/x".to_owned(), "postgres://me:***@db/x"),
            (pem.clone(), "[RSA PRIVATE KEY ***]"),
            (pem[..pem.len() - 20].to_owned(), "[RSA PRIVATE KEY ***]"),
        ];
        for (text, masked) in rows {
            let inside = format!("before {text}");
            assert_eq!(mask_secrets(&inside), format!("before {masked}"), "{text}");
        }
    }

    #[test]
    fn ordinary_text_stays() {
        for text in [
            "risk-assessment-of-the-quarter",
            "task-1234567890123456",
            "the bearer of this letter",
            "https://example.test:8080/a@b",
            "12:34:56",
            "sk-learn",
            "commit 0123456789abcdef0123456789abcdef01234567",
        ] {
            assert_eq!(mask_secrets(text), text);
        }
    }

    #[test]
    fn masking_twice_changes_nothing_more() {
        let text = format!("{} password=hunter22 Bearer {} http://a:b@c", key("sk-", 30), key("", 20));
        let once = mask_secrets(&text);
        assert_ne!(once, text);
        assert_eq!(mask_secrets(&once), once);
    }

    #[test]
    fn values_are_masked_at_every_depth_and_in_names() {
        let secret = key("sk-", 30);
        let mut value = json!({
            "env": [{"API_KEY": "abc", "pin": 7, "note": format!("use {secret}")}],
            "auth": {"user": "me", "code": 5, "on": true, "none": null},
            "maxTokens": 100, "empty": {"password": ""},
        });
        value[&secret] = json!(1);
        value[&format!("{secret}x")] = json!(2);
        assert_eq!(
            mask_value(&value),
            json!({
                "env": [{"API_KEY": "***", "pin": 7, "note": "use sk-***"}],
                "auth": {"user": "***", "code": "***", "on": true, "none": null},
                "maxTokens": 100, "empty": {"password": ""},
                "sk-***": 1, "sk-***#2": 2,
            })
        );
    }

    #[test]
    fn a_secret_is_masked_however_deep_it_lies() {
        let mut value = json!({"token": "abc"});
        for _ in 0..100 {
            value = json!([value]);
        }
        assert!(!mask_value(&value).to_string().contains("abc"));
        for _ in 0..100 {
            value = json!([value]);
        }
        assert!(!mask_value(&value).to_string().contains("abc"), "too deep is masked as a whole");
    }

    #[test]
    fn names_tell_secrets() {
        for name in
            ["password", "DB_PASSWORD", "apiKey", "x-api-key", "clientSecret", "access_token", "Set-Cookie", "authorization"]
        {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["maxTokens", "total_tokens", "key", "author", "path", "tokenizer", "publicKey"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
