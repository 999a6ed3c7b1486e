//! Takes a member out of an object, with the comma and the line that were its own. Comments above it stay: whom they are about is not known.

use super::style::Style;
use super::token::{Kind, Token, tokens, value_end};
use crate::text::is_line_end;

/// The text without the member whose key stands at `key` and whose value begins at `value`.
pub(super) fn remove(text: &str, key: usize, value: usize) -> String {
    let end = value_end(text, value);
    let next = tokens(text, end).next();
    let (before, is_last) = (tokens(text, 0).take_while(|token| token.at.end <= key).last(), !is_comma(next.as_ref()));
    let end = next.filter(|token| token.kind == Kind::Mark(',')).map_or(end, |comma| comma.at.end);
    let comma_before = before.filter(|token| token.kind == Kind::Mark(',') && is_last).map(|comma| comma.at);
    match own_lines(text, key, end) {
        // Where lines end in commas the one before may keep its own, unless the file could be JSON.
        Some(lines) => match comma_before.filter(|_| !Style::of(text).trailing_comma()) {
            Some(comma) => format!("{}{}{}", &text[..comma.start], &text[comma.end..lines.start], &text[lines.end..]),
            None => format!("{}{}", &text[..lines.start], &text[lines.end..]),
        },
        None => {
            let start = comma_before.map_or(key, |comma| comma.start);
            // What stood before the member stands before what follows it now.
            let rest = if start == key { text[end..].trim_start_matches([' ', '\t']) } else { &text[end..] };
            format!("{}{rest}", &text[..start])
        }
    }
}

fn is_comma(token: Option<&Token>) -> bool {
    token.is_some_and(|token| token.kind == Kind::Mark(','))
}

/// The lines of a member, if nothing else stands on them; with the comment behind it, which is about it.
fn own_lines(text: &str, start: usize, end: usize) -> Option<std::ops::Range<usize>> {
    let line = text[..start].rfind(is_line_end).map(|at| at + text[at..].chars().next().map_or(0, char::len_utf8))?;
    if !text[line..start].trim().is_empty() {
        return None;
    }
    let rest = &text[end..];
    let behind = rest.find(is_line_end)?;
    let comment = rest[..behind].trim();
    let is_comment = comment.starts_with("//") || (comment.starts_with("/*") && comment.find("*/") == Some(comment.len() - 2));
    if !comment.is_empty() && !is_comment {
        return None;
    }
    let line_end = if rest[behind..].starts_with("\r\n") { 2 } else { rest[behind..].chars().next().map_or(0, char::len_utf8) };
    Some(line..end + behind + line_end)
}
