//! The way from the root of the file to a value, for example `agents.list[0].id`.

use std::fmt;

use serde_json::Value;

/// One step of a [`KeyPath`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// A key of an object.
    Key(String),
    /// A place in a list, the first one is 0.
    Index(usize),
}

/// The way from the root of the file to a value.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyPath(Vec<Segment>);

impl KeyPath {
    /// A path of plain keys, given as `agents.defaults.model`.
    pub fn of(keys: &str) -> Self {
        Self(keys.split('.').map(|key| Segment::Key(key.to_owned())).collect())
    }

    /// The path, and from its value `below` on a JSON pointer. The value decides which steps are keys and which are places in a list.
    #[must_use]
    pub fn join_pointer(&self, pointer: &str, below: &Value) -> Self {
        let mut path = self.clone();
        let mut value = Some(below);
        for step in pointer.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            match (value, step.parse()) {
                (Some(Value::Array(items)), Ok(index)) => {
                    value = items.get(index);
                    path.0.push(Segment::Index(index));
                }
                _ => {
                    value = value.and_then(|value| value.get(&step));
                    path.0.push(Segment::Key(step));
                }
            }
        }
        path
    }

    /// The path with one more key.
    #[must_use]
    pub fn key(&self, key: impl Into<String>) -> Self {
        self.with(Segment::Key(key.into()))
    }

    /// The path with one more place.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.with(Segment::Index(index))
    }

    /// The path with one more step.
    #[must_use]
    pub(crate) fn with(&self, segment: Segment) -> Self {
        let mut segments = self.0.clone();
        segments.push(segment);
        Self(segments)
    }

    /// The steps.
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// The value at this path.
    pub(crate) fn find<'v>(&self, root: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(root, |value, segment| match segment {
            Segment::Key(key) => value.get(key),
            Segment::Index(index) => value.get(index),
        })
    }

    /// Removes the value at this path. A value in a list takes the whole list with it, so that the other places keep their numbers.
    /// `None`: there was none, or no object is above it.
    pub(crate) fn remove(&self, root: &mut Value) -> Option<Value> {
        let at = self.0.iter().rposition(|segment| matches!(segment, Segment::Key(_)))?;
        let (above, rest) = self.0.split_at(at);
        let Some(Segment::Key(key)) = rest.first() else { return None };
        let parent = above.iter().try_fold(root, |value, segment| match segment {
            Segment::Key(key) => value.get_mut(key),
            Segment::Index(index) => value.get_mut(index),
        })?;
        parent.as_object_mut()?.shift_remove(key)
    }
}

impl FromIterator<Segment> for KeyPath {
    fn from_iter<I: IntoIterator<Item = Segment>>(segments: I) -> Self {
        Self(segments.into_iter().collect())
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Key(key) if !is_plain(key) => write!(f, "[{key:?}]")?,
                Segment::Key(key) if at == 0 => f.write_str(key)?,
                Segment::Key(key) => write!(f, ".{key}")?,
            }
        }
        Ok(())
    }
}

/// Whether a key can stand in a dotted path without quotes.
fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '$'))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_read_like_the_file() {
        let path = KeyPath::of("agents.list").index(2).key("models").key("openai/gpt.x").key("").key("tool-guard");
        assert_eq!(path.to_string(), r#"agents.list[2].models["openai/gpt.x"][""].tool-guard"#);
        assert_eq!(KeyPath::of("a").key("line\nbreak").to_string(), r#"a["line\nbreak"]"#);
        assert_eq!(KeyPath::default().to_string(), "");
    }

    #[test]
    fn the_value_decides_between_key_and_place() {
        let root = json!({ "list": [{ "0": [true] }], "a/b": { "": 1 } });
        let path = KeyPath::default().join_pointer("/list/0/0/0", &root);
        assert_eq!(path, KeyPath::of("list").index(0).key("0").index(0));
        assert_eq!(path.find(&root), Some(&json!(true)));
        assert_eq!(KeyPath::default().join_pointer("/a~1b/", &root), KeyPath::default().key("a/b").key(""));
        assert_eq!(KeyPath::default().join_pointer("", &root), KeyPath::default());
    }

    #[test]
    fn a_place_takes_its_list_along() {
        let mut root = json!({ "a": { "list": [1, 2], "b": 3 }, "c": [{ "d": 1, "e": 2 }] });
        assert_eq!(KeyPath::of("a.list").index(1).remove(&mut root), Some(json!([1, 2])));
        assert_eq!(KeyPath::of("c").index(0).key("d").remove(&mut root), Some(json!(1)));
        assert_eq!(KeyPath::of("a.none").remove(&mut root), None);
        assert_eq!(KeyPath::default().remove(&mut root), None);
        assert_eq!(root, json!({ "a": { "b": 3 }, "c": [{ "e": 2 }] }));
    }
}
