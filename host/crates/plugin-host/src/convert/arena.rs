//! Where the lists and rendered texts of one event live while a guest reads them. Freed as a whole.

use bumpalo::Bump;
use domain::JsonText;
use hooks::context::Extra;
use serde::Serialize;

/// Memory of one call. Takes none before the first list that is not empty.
pub(crate) struct Arena(Bump);

impl Arena {
    pub(crate) fn new() -> Self {
        Self(Bump::new())
    }

    /// A list of records.
    pub(crate) fn list<T>(&self, items: impl ExactSizeIterator<Item = T>) -> &[T] {
        if items.len() == 0 {
            return &[];
        }
        self.0.alloc_slice_fill_iter(items)
    }

    /// A list of texts.
    pub(crate) fn texts<'a>(&'a self, texts: &'a [String]) -> &'a [&'a str] {
        self.list(texts.iter().map(String::as_str))
    }

    /// A list of JSON values.
    pub(crate) fn jsons<'a>(&'a self, values: &'a [JsonText]) -> &'a [&'a str] {
        self.list(values.iter().map(JsonText::as_str))
    }

    /// Fields that the contract does not name yet.
    pub(crate) fn extra<'a>(&'a self, extra: &'a Extra) -> &'a [(&'a str, &'a str)] {
        self.list(extra.iter().map(|(name, json)| (name.as_str(), json.as_str())))
    }

    /// A value as JSON text. A value that JSON cannot express (a map with keys that are not text) becomes `null`.
    pub(crate) fn render<T: Serialize + ?Sized>(&self, value: &T) -> &str {
        serde_json::to_string(value).map_or("null", |text| self.0.alloc_str(&text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_live_as_long_as_the_arena() {
        let arena = Arena::new();
        let names = ["a".to_owned(), "b".to_owned()];
        assert_eq!(arena.texts(&names), ["a", "b"]);
        assert!(arena.texts(&[]).is_empty());
        assert_eq!(arena.render(&serde_json::json!({"k": 1})), r#"{"k":1}"#);
    }
}
