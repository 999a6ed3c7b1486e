//! Shows the line of a syntax error with a mark below it. Texts and everything behind a key that names a secret are masked, because
//! errors travel to logs and bug reports.

use super::{Position, is_line_end};

/// Longest part of a line that is shown, in characters.
const WIDTH: usize = 100;

/// The line, its number before it, and `^` below the column.
pub(crate) fn excerpt(text: &str, position: Position) -> String {
    let (before, line) = line_at(text, position.line);
    let masked = mask(line, names_secret_at_end(before));
    let from = position.column.saturating_sub(WIDTH / 2 + 1);
    let shown: String = masked.into_iter().skip(from).take(WIDTH).collect();
    let number = position.line.to_string();
    let margin = " ".repeat(number.len());
    let mark = " ".repeat(position.column.saturating_sub(1 + from));
    format!("{number} | {}\n{margin} | {mark}^", shown.trim_end())
}

/// A line, and the text before it.
fn line_at(text: &str, number: usize) -> (&str, &str) {
    let mut start = 0;
    for _ in 1..number {
        let Some(end) = line_end(&text[start..]) else { break };
        start += end.1;
    }
    let end = line_end(&text[start..]).map_or(text.len(), |(end, _)| start + end);
    (&text[..start], &text[start..end])
}

/// Where the first line ends and where the next one begins. Lines end where the parser ends them.
fn line_end(text: &str) -> Option<(usize, usize)> {
    let (at, end) = text.char_indices().find(|(_, c)| is_line_end(*c))?;
    let next = if text[at..].starts_with("\r\n") { at + 2 } else { at + end.len_utf8() };
    Some((at, next))
}

/// Replaces what may be a secret by `*`, one for each character, and control characters by spaces.
fn mask(line: &str, mut secret: bool) -> Vec<char> {
    let mut masked = Vec::new();
    let mut quote = None;
    let mut word = String::new();
    let mut escaped = false;
    for c in line.chars() {
        let closes = quote == Some(c) && !escaped;
        escaped = quote.is_some() && c == '\\' && !escaped;
        let hide = if secret { !c.is_whitespace() } else { quote.is_some() && !closes };
        masked.push(if c.is_control() {
            ' '
        } else if hide {
            '*'
        } else {
            c
        });
        match (quote, c) {
            (Some(_), _) if closes => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, ':') => secret |= names_secret(&std::mem::take(&mut word)),
            (None, c) if !c.is_alphanumeric() && !matches!(c, '_' | '-' | ' ') => word.clear(),
            _ => {}
        }
        if quote.is_some() || c.is_alphanumeric() {
            word.push(c);
        }
    }
    masked
}

/// Whether a text ends with a key that names a secret and its colon.
fn names_secret_at_end(text: &str) -> bool {
    let text = text.trim_end();
    let key = text.strip_suffix(':').and_then(|text| text.rsplit(['{', ',', '\n', '\r']).next());
    key.is_some_and(names_secret)
}

/// Whether a key by its name holds secrets.
pub(crate) fn names_secret(key: &str) -> bool {
    const PARTS: [&str; 7] = ["apikey", "token", "secret", "password", "passphrase", "authorization", "credential"];
    const WHOLE: [&str; 4] = ["headers", "env", "config", "params"];
    let key: String = key.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    // `contextTokens` and `maxTokens` count tokens of a model.
    let counts = key.ends_with("tokens");
    WHOLE.contains(&key.as_str()) || (!counts && PARTS.iter().any(|part| key.contains(part))) || key == "key"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_below_the_column() {
        let shown = excerpt("{\n\tallow: [1 2],\r\n}", Position { line: 2, column: 12 });
        assert_eq!(shown, "2 |  allow: [1 2],\n  |            ^");
        assert_eq!(excerpt("{ a: 1", Position { line: 1, column: 7 }), "1 | { a: 1\n  |       ^");
        assert_eq!(excerpt("", Position { line: 1, column: 1 }), "1 | \n  | ^");
        assert_eq!(excerpt("{", Position { line: 9, column: 3 }), "9 | {\n  |   ^");
    }

    #[test]
    fn a_long_line_is_shown_around_the_mark() {
        let text = format!("{{ {} ! }}", "a: 1, ".repeat(100));
        let shown = excerpt(&text, Position { line: 1, column: 603 });
        let mut lines = shown.lines();
        let (line, mark) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        let column = mark.chars().position(|c| c == '^');
        assert_eq!(column.and_then(|at| line.chars().nth(at)), Some(' '));
        assert_eq!(column.and_then(|at| line.chars().nth(at + 1)), Some('!'), "{shown}");
        assert!(line.chars().count() <= WIDTH + 4, "{line}");
    }

    #[test]
    fn secrets_are_masked() {
        let rows = [
            ("{ apiKey: \"sk-hidden\" x }", 1, "{ apiKey: *********** * *"),
            ("{ apiKey: sk-hidden }", 1, "{ apiKey: ********* *"),
            ("{ 'api-key': sk-hidden }", 1, "{ '*******': ********* *"),
            ("{ apiKey:\n  sk-hidden }", 2, "  ********* *"),
            ("{ name: 'hidden\\' hidden' \"x\", b: 1 }", 1, "{ name: '***************' \"*\", b: 1 }"),
            ("{ name: 'hidden", 1, "{ name: '******"),
            ("{ contextTokens: 5 x }", 1, "{ contextTokens: 5 x }"),
        ];
        for (text, line, expected) in rows {
            let shown = excerpt(text, Position { line, column: 1 });
            assert_eq!(shown.lines().next().map(|line| line[4..].to_owned()).as_deref(), Some(expected), "{text:?}");
        }
    }
}
