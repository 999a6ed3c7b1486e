//! Puts a member into an object in the way in which the object is laid out: on a line of its own where the members have lines of their
//! own, between the braces where they stand in one line.

use super::style::Style;
use super::token::{blank, value_end};
use crate::text::is_line_end;

/// Writes a member as the first one of the object that begins at `start`.
pub(super) fn insert(text: &str, start: usize, member: &str, style: &Style) -> String {
    let (inside, end) = (start + 1, value_end(text, start));
    let is_empty = inside + blank(&text[inside..]) + 1 >= end;
    match rest_of_line(text, inside) {
        Some(line_end) => own_line(text, line_end, member, is_empty, style),
        None => same_line(text, inside, member, is_empty, style),
    }
}

/// Where the line ends, if nothing but space and comments is left on it.
fn rest_of_line(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    let trimmed = rest.trim_start_matches([' ', '\t']);
    if trimmed.starts_with(is_line_end) {
        return Some(at);
    }
    let comment = match trimmed.as_bytes() {
        [b'/', b'/', ..] => trimmed.find(is_line_end)?,
        [b'/', b'*', ..] => trimmed.find("*/")? + 2,
        _ => return None,
    };
    let behind = at + (rest.len() - trimmed.len()) + comment;
    // A comment over several lines belongs to what follows it.
    if trimmed[..comment].contains(is_line_end) { None } else { rest_of_line(text, behind) }
}

fn own_line(text: &str, line_end: usize, member: &str, is_empty: bool, style: &Style) -> String {
    let following = text[line_end..].lines().skip(1).find(|line| !line.trim().is_empty()).unwrap_or_default();
    let there = &following[..following.len() - following.trim_start().len()];
    let step = if is_empty { style.indent } else { "" };
    let comma = if !is_empty || style.trailing_comma() { "," } else { "" };
    format!("{}{}{there}{step}{member}{comma}{}", &text[..line_end], style.line_end, &text[line_end..])
}

fn same_line(text: &str, inside: usize, member: &str, is_empty: bool, style: &Style) -> String {
    let rest = &text[inside..];
    let behind = rest.trim_start_matches([' ', '\t']);
    let space = match &rest[..rest.len() - behind.len()] {
        "" if is_empty && !style.is_tight() => " ",
        there => there,
    };
    let (comma, space_behind) = match is_empty {
        true => ("", if space.is_empty() { "" } else { " " }),
        false => (",", if space.is_empty() && style.is_tight() { "" } else { " " }),
    };
    format!("{}{space}{member}{comma}{space_behind}{behind}", &text[..inside])
}
