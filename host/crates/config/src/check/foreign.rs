//! Takes keys of the public configuration whose part this version does not have out of a file. A file that has them loads; they are
//! listed once and ignored (runtime 11.1.2, R15). A key that is neither in the table nor in the schema is an error.

use serde_json::Value;

use super::foreign_keys::Effect::{self, Missing, Unrestricted};
use super::foreign_keys::TABLES;
use crate::text::key_path::{KeyPath, Segment};

/// Keys that were taken out of a value.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Taken {
    /// Keys that have no effect.
    pub(crate) ignored: Vec<KeyPath>,
    /// Keys that were to restrict something.
    pub(crate) restrictions: Vec<KeyPath>,
}

/// Removes every foreign key from a value.
pub(crate) fn take(root: &mut Value) -> Taken {
    let mut taken = Taken::default();
    for (pattern, effect) in patterns() {
        let list = match effect {
            Missing => &mut taken.ignored,
            Unrestricted => &mut taken.restrictions,
        };
        take_one(root, &pattern, &KeyPath::default(), list);
    }
    taken.ignored.sort_unstable();
    taken.restrictions.sort_unstable();
    taken
}

fn take_one(value: &mut Value, pattern: &[&str], path: &KeyPath, taken: &mut Vec<KeyPath>) {
    match (pattern, value) {
        ([name], Value::Object(entries)) => {
            taken.extend(entries.shift_remove(*name).map(|_| path.key(*name)));
        }
        (["*", rest @ ..], Value::Object(entries)) => {
            entries.iter_mut().for_each(|(key, value)| take_one(value, rest, &path.key(key.as_str()), taken));
        }
        (["*", rest @ ..], Value::Array(items)) => {
            items.iter_mut().enumerate().for_each(|(at, value)| take_one(value, rest, &path.index(at), taken));
        }
        ([name, rest @ ..], Value::Object(entries)) => {
            entries.get_mut(*name).into_iter().for_each(|value| take_one(value, rest, &path.key(*name), taken));
        }
        _ => {}
    }
}

/// Names of the foreign keys that an object at this place may have.
pub(crate) fn names_below(parent: &KeyPath) -> Vec<&'static str> {
    let parent = parent.segments();
    let is_here = |pattern: &[&str]| {
        pattern.len() == parent.len() + 1
            && pattern
                .iter()
                .zip(parent)
                .all(|(step, segment)| *step == "*" || matches!(segment, Segment::Key(key) if key == step))
    };
    patterns().filter(|(pattern, _)| is_here(pattern)).filter_map(|(pattern, _)| pattern.last().copied()).collect()
}

fn patterns() -> impl Iterator<Item = (Vec<&'static str>, Effect)> {
    TABLES.iter().flat_map(|(place, table)| {
        table.iter().map(|(pattern, effect)| {
            let place = place.split('/').filter(|step| !step.is_empty());
            (place.chain(pattern.split('/')).collect(), *effect)
        })
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
    use super::*;
    use crate::keys::Config;
    use serde_json::json;

    #[test]
    fn a_foreign_key_is_beside_known_ones_and_never_one_of_them() {
        let schema = Config::schema();
        for (pattern, _) in patterns() {
            let (name, parent) = pattern.split_last().unwrap();
            let node = parent.iter().try_fold(&schema, |node, step| match *step {
                "*" => node.get("additionalProperties").or_else(|| node.get("items")),
                step => node.get("properties")?.get(step),
            });
            let properties = node.and_then(|node| node.get("properties")).unwrap_or_else(|| panic!("{pattern:?}: no such place"));
            assert!(properties.get(name).is_none(), "{pattern:?} is a key of this version");
        }
    }

    #[test]
    fn no_pattern_is_there_twice_or_below_another() {
        let all: Vec<_> = patterns().map(|(pattern, _)| pattern).collect();
        for (at, one) in all.iter().enumerate() {
            for other in &all[at + 1..] {
                assert!(!one.starts_with(other) && !other.starts_with(one), "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn foreign_keys_are_taken_out_with_all_that_is_below() {
        let mut root = json!({
            "gateway": { "port": 1 }, "tools": { "deny": ["x"], "web": {}, "exec": { "mode": "deny" } },
            "agents": { "list": [{ "id": "a" }, { "id": "b", "sandbox": { "mode": "all" } }] },
            "plugins": { "slots": { "memory.recall": "x" }, "entries": { "p": { "capabilities": { "cron": true, "kv": true } } } },
        });
        let taken = take(&mut root);
        let shown = |keys: &[KeyPath]| keys.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(
            shown(&taken.ignored),
            ["gateway", "plugins.entries.p.capabilities.cron", "plugins.slots[\"memory.recall\"]", "tools.web"]
        );
        assert_eq!(shown(&taken.restrictions), ["agents.list[1].sandbox", "tools.exec.mode"]);
        let left = json!({
            "tools": { "deny": ["x"], "exec": {} }, "agents": { "list": [{ "id": "a" }, { "id": "b" }] },
            "plugins": { "slots": {}, "entries": { "p": { "capabilities": { "kv": true } } } },
        });
        assert_eq!(root, left);
        assert_eq!(take(&mut root), Taken::default());
    }

    #[test]
    fn values_of_other_shapes_are_left_to_the_schema() {
        for mut root in [json!(null), json!([{ "gateway": 1 }]), json!({ "tools": "x", "agents": { "list": { "a": 1 } } })] {
            let before = root.clone();
            assert_eq!(take(&mut root), Taken::default());
            assert_eq!(root, before);
        }
    }

    #[test]
    fn names_are_known_at_their_place() {
        assert!(names_below(&KeyPath::default()).contains(&"channels"));
        assert!(names_below(&KeyPath::of("agents.list").index(3)).contains(&"sandbox"));
        assert!(names_below(&KeyPath::of("models.providers.openai")).contains(&"auth"));
        assert!(names_below(&KeyPath::of("gateway")).is_empty());
    }
}
