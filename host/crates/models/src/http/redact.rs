//! Texts of providers, made fit for an error message: one line, short, and without the secrets that were sent. Some servers repeat
//! the key that they refuse.

use std::borrow::Cow;

use crate::settings::Secret;

/// Longest text that is quoted, in characters.
const MAX_QUOTE: usize = 300;
/// Shorter values are place-holders such as `none`, and would blacken ordinary words.
const MIN_SECRET: usize = 4;

/// The secrets of one provider.
#[derive(Debug, Clone, Default)]
pub(crate) struct Redactor(Vec<Secret>);

impl Redactor {
    /// Hides these.
    pub(crate) fn new(secrets: impl IntoIterator<Item = Secret>) -> Self {
        let mut secrets: Vec<Secret> = secrets.into_iter().filter(|secret| secret.reveal().len() >= MIN_SECRET).collect();
        // The longest first: one secret may hold another.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.reveal().len()));
        Self(secrets)
    }

    /// A text from outside as a quote.
    pub(crate) fn quote(&self, text: &str) -> String {
        let mut text = Cow::Borrowed(text);
        for secret in &self.0 {
            if text.contains(secret.reveal()) {
                text = Cow::Owned(text.replace(secret.reveal(), "***"));
            }
        }
        one_line(&text)
    }
}

fn one_line(text: &str) -> String {
    let mut words = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
    }
    match words.char_indices().nth(MAX_QUOTE) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_short_single_lines_without_secrets() {
        let redactor = Redactor::new(["sk-1234", "sk-1234-long", "x"].map(Secret::new));
        assert_eq!(redactor.quote("bad key\nsk-1234-long\t or sk-1234\u{7}!"), "bad key *** or *** !");
        let long = redactor.quote(&"é".repeat(1000));
        assert_eq!(long.chars().count(), MAX_QUOTE + 1);
        assert_eq!(redactor.quote(&format!("{}sk-1234", "a".repeat(297))), format!("{}***", "a".repeat(297)));
    }
}
