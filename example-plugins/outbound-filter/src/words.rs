//! Finding and replacing whole words in any case.
//!
//! Case is compared character by character (`to_lowercase`), so a word of any script works; a word is whole if no letter, digit or
//! `_` touches its ends.

use std::ops::Range;

/// Whether a text has this word.
pub(crate) fn contains(text: &str, word: &str) -> bool {
    find(text, word, 0).is_some()
}

/// The text with every `word` replaced. None: it has none.
pub(crate) fn replaced(text: &str, word: &str, with: &str) -> Option<String> {
    let mut found = find(text, word, 0)?;
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    loop {
        result.push_str(&text[done..found.start]);
        result.push_str(with);
        done = found.end;
        match find(text, word, done) {
            Some(next) => found = next,
            None => break,
        }
    }
    result.push_str(&text[done..]);
    Some(result)
}

/// The first place at or after `from` where the word stands whole.
fn find(text: &str, word: &str, from: usize) -> Option<Range<usize>> {
    text[from..]
        .char_indices()
        .map(|(offset, _)| from + offset)
        .filter(|start| !touches(text[..*start].chars().next_back(), word.chars().next()))
        .find_map(|start| {
            let end = start + matched_bytes(&text[start..], word)?;
            let is_whole = !touches(text[end..].chars().next(), word.chars().next_back());
            is_whole.then_some(start..end)
        })
}

/// How many bytes at the start of a text are the word. None: it does not begin with it.
fn matched_bytes(text: &str, word: &str) -> Option<usize> {
    let mut rest = text.chars();
    word.chars()
        .all(|wanted| rest.next().is_some_and(|found| found == wanted || found.to_lowercase().eq(wanted.to_lowercase())))
        .then(|| text.len() - rest.as_str().len())
}

/// Whether a neighbour makes a word longer. A word that ends in a sign, such as `c++`, has no such neighbour.
fn touches(neighbour: Option<char>, edge: Option<char>) -> bool {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    neighbour.is_some_and(is_word) && edge.is_some_and(is_word)
}

#[cfg(test)]
mod tests {
    use super::{contains, replaced};

    #[test]
    fn only_whole_words_count() {
        for (text, found) in
            [("acme", true), ("(ACME)", true), ("acmes", false), ("my_acme", false), ("acmes acme", true), ("", false)]
        {
            assert_eq!(contains(text, "acme"), found, "{text}");
        }
    }

    #[test]
    fn words_of_any_script_and_with_signs_are_found() {
        assert!(contains("Straße und ÖLWEG", "ölweg"));
        assert!(contains("СЕКРЕТ!", "секрет"));
        assert!(contains("we use C++.", "c++"));
        assert!(contains("two words here", "TWO WORDS"));
    }

    #[test]
    fn every_place_is_replaced_and_the_rest_stays() {
        assert_eq!(replaced("Foo, foo-foo; food", "foo", "é").as_deref(), Some("é, é-é; food"));
        assert_eq!(replaced("food", "foo", "x"), None);
    }

    #[test]
    fn a_replacement_is_not_searched_again() {
        assert_eq!(replaced("a a", "a", "a a").as_deref(), Some("a a a a"));
    }
}
