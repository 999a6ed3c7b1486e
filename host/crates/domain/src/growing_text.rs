//! A text that is told piece by piece, each time with all of it so far (agent-loop 12.2). Every piece shares the one text, so that a long
//! answer costs what it is long, and not its square.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use serde::{Serialize, Serializer};

/// The text where it grows.
#[derive(Debug, Default)]
pub struct GrowingText {
    shared: Arc<RwLock<String>>,
    len: usize,
}

impl GrowingText {
    /// Adds a piece.
    pub fn push_str(&mut self, piece: &str) {
        let mut text = self.shared.write().unwrap_or_else(PoisonError::into_inner);
        text.push_str(piece);
        self.len = text.len();
    }

    /// Its length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is nothing yet.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What it is now, and stays whatever is added to it. Copies nothing.
    pub fn so_far(&self) -> TextSoFar {
        TextSoFar { shared: Arc::clone(&self.shared), len: self.len }
    }
}

/// A text as it was at one moment. A clone copies nothing.
#[derive(Clone, Default)]
pub struct TextSoFar {
    shared: Arc<RwLock<String>>,
    len: usize,
}

impl TextSoFar {
    /// Its length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Looks at it. The text does not grow while `look` runs.
    pub fn with<T>(&self, look: impl FnOnce(&str) -> T) -> T {
        look(&self.whole()[..self.len])
    }

    fn whole(&self) -> RwLockReadGuard<'_, String> {
        // A text that only grows holds no invariant that a panic could break half way.
        self.shared.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for TextSoFar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with(|text| f.write_str(text))
    }
}

impl fmt::Debug for TextSoFar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with(|text| fmt::Debug::fmt(text, f))
    }
}

impl Serialize for TextSoFar {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.with(|text| serializer.serialize_str(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_stays_as_it_was_and_copies_nothing() {
        let mut text = GrowingText::default();
        text.push_str("one");
        let (early, copied) = (text.so_far(), text.so_far());
        text.push_str(" zwölf");
        let late = text.so_far();
        assert_eq!((early.to_string(), late.to_string()), ("one".to_owned(), "one zwölf".to_owned()));
        assert_eq!((early.len(), late.len(), copied.is_empty()), (3, 10, false));
        assert!(Arc::ptr_eq(&early.shared, &late.shared), "there is one text");
        assert_eq!(serde_json::json!(early), "one");
        assert_eq!(format!("{late:?}"), r#""one zwölf""#);
    }
}
