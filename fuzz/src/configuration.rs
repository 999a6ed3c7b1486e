//! The configuration file: reading any text, and setting a value in it, which must change that value and nothing else.

mod plain;

use std::path::Path;

use config::{EditError, Environment, KeyPath, Segment, set_value};
use serde_json::{Map, Value, json};

use plain::Plain;

/// The value of the one variable that the environment has, for `${FUZZ_SECRET}` in a text.
const SECRET: &str = "no message may show 4f9d21c7";

/// Most places of one text at which values are set.
const MAX_PLACES: usize = 6;

/// Reads one input, and sets values in it.
pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    read(text);
    match Plain::parse(text) {
        Ok(Plain(value)) => edit(text, &value),
        // Whatever it is, it must not be worse than refused.
        Err(_) => drop(set_value(text, &KeyPath::of("plugins.enabled"), &json!(true))),
    }
}

fn read(text: &str) {
    let environment = Environment::new([("FUZZ_SECRET", SECRET), ("HOME", "/home/fuzz")], "/");
    let told = match config::parse(text, Path::new("/fuzz/creel.json"), &environment) {
        Ok(parsed) => parsed.warnings.iter().map(ToString::to_string).collect(),
        Err(errors) => errors.to_string(),
    };
    assert!(text.contains(SECRET) || !told.contains(SECRET), "a message shows a secret: {told}");
    assert!(!told.chars().any(|c| c.is_control() && c != '\n'), "a message has control characters: {told:?}");
}

/// Sets values at places of the text: at some that are there, and at one more in the objects among them.
fn edit(text: &str, value: &Value) {
    // Whatever stands in the first line, so that the engine chooses it.
    let name = text.lines().next().unwrap_or_default().trim_start_matches(['/', ' ']);
    let mut places = Vec::new();
    collect(value, &KeyPath::default(), &mut places);
    for (at, place) in places.iter().take(MAX_PLACES).enumerate() {
        let new = [json!(name), json!(true), json!({ name: [null, -1.5] })];
        set(text, value, place, &new[at % new.len()]);
        if find(value, place).is_some_and(Value::is_object) {
            set(text, value, &place.key(name), &json!(at));
            set(text, value, &place.key(name).key("in"), &json!(name));
        }
    }
}

/// All places, from the outside to the inside.
fn collect(value: &Value, path: &KeyPath, places: &mut Vec<KeyPath>) {
    places.push(path.clone());
    match value {
        Value::Array(items) => items.iter().enumerate().for_each(|(at, item)| collect(item, &path.index(at), places)),
        Value::Object(members) => members.iter().for_each(|(key, member)| collect(member, &path.key(key), places)),
        _ => {}
    }
}

fn set(text: &str, before: &Value, key: &KeyPath, new: &Value) {
    let mut wanted = before.clone();
    let is_possible = put(&mut wanted, key.segments(), new);
    match set_value(text, key, new) {
        Ok(changed) => {
            assert!(is_possible, "`{key}` was set where there is no object for it");
            match Plain::parse(&changed) {
                Ok(Plain(after)) => assert_eq!(after, wanted, "setting `{key}` changed something else:\n{text}\n---\n{changed}"),
                Err(error) => panic!("setting `{key}` broke the text: {error}\n{text}\n---\n{changed}"),
            }
        }
        Err(error @ EditError::NotConfiguration) => panic!("`{key}` is not set in a text that is JSON5: {error}\n{text}"),
        Err(error @ EditError::NotAnObject { .. }) => assert!(!is_possible, "`{key}` is not set: {error}\n{text}"),
    }
}

fn find<'v>(root: &'v Value, path: &KeyPath) -> Option<&'v Value> {
    path.segments().iter().try_fold(root, |value, segment| match segment {
        Segment::Key(key) => value.get(key),
        Segment::Index(index) => value.get(index),
    })
}

/// Puts a value at a place; parents that are missing are made. `false`: something in the way is no object.
fn put(root: &mut Value, path: &[Segment], new: &Value) -> bool {
    let Some((first, rest)) = path.split_first() else {
        *root = new.clone();
        return true;
    };
    match (root, first) {
        (Value::Object(members), Segment::Key(key)) => {
            put(members.entry(key).or_insert_with(|| Value::Object(Map::new())), rest, new)
        }
        (Value::Array(items), Segment::Index(index)) => items.get_mut(*index).is_some_and(|item| put(item, rest, new)),
        _ => false,
    }
}
