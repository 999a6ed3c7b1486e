//! How a file is written: its quotes, its spaces, its indentation. Taken from what most of it looks like.

use serde_json::Value;

use super::token::{Kind, Token, tokens};

/// How keys are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keys {
    /// Without quotes, where a key is a name.
    Bare,
    /// In these quotes.
    Quoted(char),
}

/// How a file is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Style {
    keys: Keys,
    /// Quotes of texts.
    quote: char,
    /// What stands between a key and its value.
    colon: &'static str,
    /// One step of indentation.
    pub(super) indent: &'static str,
    /// End of a line.
    pub(super) line_end: &'static str,
}

impl Style {
    pub(super) fn of(text: &str) -> Self {
        let all: Vec<Token> = tokens(text, 0).collect();
        let pairs = || all.windows(2).filter(|pair| pair[1].kind == Kind::Mark(':')).map(|pair| (&pair[0], &pair[1]));
        let count = |wanted: fn(Kind) -> bool| pairs().filter(|(key, _)| wanted(key.kind)).count();
        let (bare, single) = (count(|kind| kind == Kind::Word), count(|kind| kind == Kind::Quoted('\'')));
        let double = count(|kind| kind == Kind::Quoted('"'));
        let texts = |quote| all.iter().filter(|token| token.kind == Kind::Quoted(quote)).count();
        let quote = if texts('\'') > texts('"') { '\'' } else { '"' };
        let keys = if bare >= single + double { Keys::Bare } else { Keys::Quoted(if single > double { '\'' } else { '"' }) };
        let tight = pairs().filter(|(_, colon)| !text[colon.at.end..].starts_with(char::is_whitespace)).count();
        let colon = if 2 * tight > bare + single + double { ":" } else { ": " };
        Self { keys, quote, colon, indent: indent(text), line_end: if text.contains("\r\n") { "\r\n" } else { "\n" } }
    }

    /// Whether a comma may stand behind the last member: not where the file could be JSON.
    pub(super) fn trailing_comma(&self) -> bool {
        self.keys != Keys::Quoted('"')
    }

    /// Whether nothing stands between a colon and its value.
    pub(super) fn is_tight(&self) -> bool {
        self.colon == ":"
    }

    /// A key.
    pub(super) fn key(&self, key: &str) -> String {
        match self.keys {
            Keys::Bare if is_name(key) => key.to_owned(),
            Keys::Bare => quoted(key, self.quote),
            Keys::Quoted(quote) => quoted(key, quote),
        }
    }

    /// A value.
    pub(super) fn value(&self, value: &Value) -> String {
        match value {
            Value::String(text) => quoted(text, self.quote),
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(|item| self.value(item)).collect();
                format!("[{}]", items.join(self.comma()))
            }
            Value::Object(members) if members.is_empty() => "{}".to_owned(),
            Value::Object(members) => {
                let member = |(key, value): (&String, &Value)| format!("{}{}{}", self.key(key), self.colon, self.value(value));
                let members: Vec<String> = members.iter().map(member).collect();
                let space = if self.is_tight() { "" } else { " " };
                format!("{{{space}{}{space}}}", members.join(self.comma()))
            }
            other => other.to_string(),
        }
    }

    fn comma(&self) -> &'static str {
        if self.is_tight() { "," } else { ", " }
    }

    /// A member whose value is inside as many objects as there are further names. There is at least one name.
    pub(super) fn member(&self, names: &[String], value: &Value) -> String {
        let space = if self.is_tight() { "" } else { " " };
        let mut written = self.value(value);
        for name in names.iter().skip(1).rev() {
            written = format!("{{{space}{name}{}{written}{space}}}", self.colon);
        }
        format!("{}{}{written}", names.first().map_or("", String::as_str), self.colon)
    }
}

/// The first indentation that the file has.
fn indent(text: &str) -> &'static str {
    let first = text.lines().map(|line| &line[..line.len() - line.trim_start().len()]).find(|indent| !indent.is_empty());
    match first {
        Some(indent) if indent.starts_with('\t') => "\t",
        Some("    ") => "    ",
        _ => "  ",
    }
}

/// Whether a key may stand without quotes. Narrower than JSON5, which takes letters of all languages.
fn is_name(key: &str) -> bool {
    let is_start = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '$');
    key.starts_with(is_start) && key.chars().all(|c| is_start(c) || c.is_ascii_digit())
}

fn quoted(text: &str, quote: char) -> String {
    let double = Value::from(text).to_string();
    if quote == '"' {
        return double;
    }
    let inner = double[1..double.len() - 1].replace("\\\"", "\"").replace('\'', "\\'");
    format!("'{inner}'")
}
