//! Texts before and after a change. Nothing is written to a disk.
#![allow(clippy::unwrap_used, reason = "tests")]
use proptest::prelude::*;

use super::*;

fn key(id: &str) -> KeyPath {
    KeyPath::of("plugins.entries").key(id).key("enabled")
}

fn enable(text: &str, on: bool) -> String {
    let changed = set_value(text, &key("tool-guard"), &Value::from(on)).unwrap();
    let parsed: Value = json5::from_str(&changed).unwrap();
    assert_eq!(parsed["plugins"]["entries"]["tool-guard"]["enabled"], on, "{changed}");
    changed
}

#[test]
fn a_value_is_set_wherever_its_parents_end() {
    for text in [
        "",
        "{}",
        "// mine\n{ }",
        "{ plugins: {} }",
        "{\n  plugins: {\n    entries: {\n      other: { enabled: true }, // keep\n    },\n  },\n}",
        "{ plugins: { entries: { 'tool-guard': { config: { a: [1] } } } } }",
        "{ plugins: { entries: { \"tool-guard\": { enabled: true /* why */ } } } }",
        "{ plugins: { entries: { \"tool-guard\": {enabled:true} } } }",
    ] {
        enable(text, false);
        let on = enable(text, true);
        assert_eq!(enable(&on, false).matches("enabled").count(), on.matches("enabled").count());
    }
}

/// Each row: a text, and what comes of switching `tool-guard` off.
#[test]
fn what_is_added_looks_like_its_surroundings() {
    let rows = [
        // One line stays one line, with the quotes and spaces of the file.
        (
            "{ plugins: { entries: { 'tool-guard': { config: {} } } } }",
            "{ plugins: { entries: { 'tool-guard': { enabled: false, config: {} } } } }",
        ),
        (
            "{ 'logging': { 'level': 'warn' } }",
            "{ 'plugins': { 'entries': { 'tool-guard': { 'enabled': false } } }, 'logging': { 'level': 'warn' } }",
        ),
        (r#"{"plugins":{"entries":{}}}"#, r#"{"plugins":{"entries":{"tool-guard":{"enabled":false}}}}"#),
        (r#"{"plugins":{"deny":[]}}"#, r#"{"plugins":{"entries":{"tool-guard":{"enabled":false}},"deny":[]}}"#),
        ("{ plugins: { entries: {} } }", "{ plugins: { entries: { \"tool-guard\": { enabled: false } } } }"),
        (
            "{ plugins: { entries: { /* none */ } } }",
            "{ plugins: { entries: { \"tool-guard\": { enabled: false } /* none */ } } }",
        ),
        // Lines stay lines, with the indentation and line ends of the file.
        (
            "{\n    plugins: {\n        deny: [],\n    },\n}\n",
            "{\n    plugins: {\n        entries: { \"tool-guard\": { enabled: false } },\n        deny: [],\n    },\n}\n",
        ),
        (
            "{\r\n\tplugins: {\r\n\t},\r\n}\r\n",
            "{\r\n\tplugins: {\r\n\t\tentries: { \"tool-guard\": { enabled: false } },\r\n\t},\r\n}\r\n",
        ),
        // A comment behind the brace keeps its place.
        (
            "{ // mine\n  agents: {},\n}\n",
            "{ // mine\n  plugins: { entries: { \"tool-guard\": { enabled: false } } },\n  agents: {},\n}\n",
        ),
        // What could be JSON stays JSON.
        (
            "{\n  \"plugins\": {\n    \"entries\": {\n    }\n  }\n}\n",
            "{\n  \"plugins\": {\n    \"entries\": {\n      \"tool-guard\": { \"enabled\": false }\n    }\n  }\n}\n",
        ),
        ("", "{\n  plugins: { entries: { \"tool-guard\": { enabled: false } } },\n}\n"),
    ];
    for (text, expected) in rows {
        assert_eq!(enable(text, false), expected);
    }
}

#[test]
fn texts_get_the_quotes_of_the_file() {
    let level = KeyPath::of("logging.level");
    let set = |text: &str| set_value(text, &level, &Value::from("it's")).unwrap();
    assert_eq!(set("{ logging: { level: 'warn' } }"), r"{ logging: { level: 'it\'s' } }");
    assert_eq!(set(r#"{ logging: { level: "warn" } }"#), r#"{ logging: { level: "it's" } }"#);
}

/// JSON5 ends lines, and with them comments, at four characters.
#[test]
fn places_are_found_whatever_ends_the_lines() {
    for end in ["\n", "\r\n", "\r", "\u{2028}", "\u{2029}"] {
        let text =
            format!("// head{end}{{{end}  a: 1,{end}  plugins: {{ entries: {{ 'tool-guard': {{ enabled: true }} }} }},{end}}}");
        assert_eq!(enable(&text, false), text.replace("true", "false"));
    }
}

#[test]
fn text_that_is_no_configuration_is_refused() {
    let deep = "{a:".repeat(300_000);
    for text in ["{ plugins: ", "nothing", "{ plugins: Infinity }", "[".repeat(1_000_000).as_str(), deep.as_str()] {
        assert_eq!(set_value(text, &key("x"), &Value::from(true)), Err(EditError::NotConfiguration));
    }
}

#[test]
fn objects_and_lists_look_like_the_file() {
    let value = serde_json::json!({ "a-b": [1, "x"], "c": {} });
    for (text, expected) in [
        ("{ x: 1 }", "{ k: { \"a-b\": [1, \"x\"], c: {} }, x: 1 }"),
        ("{x:'1'}", "{k:{'a-b':[1,'x'],c:{}},x:'1'}"),
        (r#"{"x":1}"#, r#"{"k":{"a-b":[1,"x"],"c":{}},"x":1}"#),
    ] {
        assert_eq!(set_value(text, &KeyPath::of("k"), &value).unwrap(), expected);
    }
}

#[test]
fn comments_and_other_keys_stay() {
    let text = "{\n  // keep me\n  agents: { defaults: { model: 'offline/echo' } },\n}\n";
    let changed = enable(text, true);
    assert!(changed.contains("// keep me") && changed.contains("'offline/echo'"), "{changed}");
}

#[test]
fn a_parent_that_is_no_object_is_refused() {
    let key = key("x");
    assert!(matches!(set_value("{ plugins: 3 }", &key, &Value::from(true)), Err(EditError::NotAnObject { .. })));
    assert_eq!(
        set_value("[]", &key, &Value::from(true)),
        Err(EditError::NotAnObject {
            at: KeyPath::default().to_string(),
            position: Position { line: 1, column: 1 },
            key: key.to_string(),
        })
    );
}

/// Each row: a text, and what is left of it without `plugins.entries.a-b`, or of a shorter one without `b`.
#[test]
fn what_is_removed_leaves_no_trace_and_nothing_else_goes() {
    let rows = [
        ("{ a: 1, b: 2, c: 3 }", "{ a: 1, c: 3 }"),
        ("{ a: 1, b: 2 }", "{ a: 1 }"),
        ("{ a: 1, b: 2, }", "{ a: 1, }"),
        ("{ b: 2 }", "{ }"),
        (r#"{"b":{"x":[1,2]},"c":3}"#, r#"{"c":3}"#),
        (r#"{"a":1,"b":{"x":"}"}}"#, r#"{"a":1}"#),
        ("{\n  // about a\n  a: 1, // one\n  b: 2, // two\n}\n", "{\n  // about a\n  a: 1, // one\n}\n"),
        ("{\r\n  b: {\r\n    x: 1,\r\n  },\r\n  c: 3\r\n}", "{\r\n  c: 3\r\n}"),
        // JSON stays JSON.
        ("{\n  \"a\": 1,\n  \"b\": 2\n}\n", "{\n  \"a\": 1\n}\n"),
        // Somebody else's comment or value on the line is not taken.
        ("{\n  a: 1, b: 2,\n  c: 3,\n}", "{\n  a: 1, \n  c: 3,\n}"),
        ("{ a: 1 /* one */, b: 2 }", "{ a: 1 /* one */ }"),
        ("{ a: 1 }", "{ a: 1 }"),
        ("", ""),
    ];
    for (before, after) in rows {
        assert_eq!(remove_value(before, &KeyPath::of("b")).unwrap(), after, "{before}");
    }
    assert_eq!(remove_value("{ a: ", &KeyPath::of("a")), Err(EditError::NotConfiguration));
}

/// Objects whose keys include those on the way to the value that is set.
fn any_object() -> impl Strategy<Value = Value> {
    let leaf =
        prop_oneof![any::<bool>().prop_map(Value::from), any::<i32>().prop_map(Value::from), ".{0,6}".prop_map(Value::from)];
    let name = prop_oneof![Just("plugins".to_owned()), Just("entries".to_owned()), Just("a-b".to_owned()), ".{0,4}"];
    let object = |values: BoxedStrategy<Value>| {
        prop::collection::btree_map(name.clone(), values, 0..4).prop_map(|entries| Value::Object(entries.into_iter().collect()))
    };
    let inner = object(leaf.boxed()).boxed();
    let middle = object(inner).boxed();
    object(middle)
}

proptest! {
    /// Whatever the file holds, one value changes and all others stay.
    #[test]
    fn one_value_changes(before in any_object(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&before) } else { serde_json::to_string(&before) }.unwrap();
        let Ok(changed) = set_value(&text, &key("a-b"), &Value::from(true)) else { return Ok(()) };
        let after: Value = json5::from_str(&changed).unwrap();
        if before != Value::Object(Default::default()) {
            prop_assert!(serde_json::from_str::<Value>(&changed).is_ok(), "JSON stays JSON: {}", changed);
        }
        let mut expected = before;
        for name in ["plugins", "entries", "a-b"] {
            if expected.pointer("/plugins/entries/a-b").is_some() { break }
            let at = match name { "plugins" => "", "entries" => "/plugins", _ => "/plugins/entries" };
            let parent = expected.pointer_mut(at).unwrap().as_object_mut().unwrap();
            parent.entry(name).or_insert_with(|| Value::Object(Default::default()));
        }
        expected["plugins"]["entries"]["a-b"]["enabled"] = Value::from(true);
        prop_assert_eq!(after, expected);
    }

    /// Whatever the file holds, one value goes and all others stay.
    #[test]
    fn one_value_goes(before in any_object(), pretty in any::<bool>(), end in prop_oneof![Just("\n"), Just("\r\n")]) {
        let text = if pretty { serde_json::to_string_pretty(&before) } else { serde_json::to_string(&before) }.unwrap();
        let text = text.replace('\n', end);
        let key = KeyPath::of("plugins.entries").key("a-b");
        let changed = remove_value(&text, &key).unwrap();
        let mut expected = before;
        if let Some(entries) = expected.pointer_mut("/plugins/entries").and_then(Value::as_object_mut) {
            entries.remove("a-b");
        }
        prop_assert_eq!(serde_json::from_str::<Value>(&changed).unwrap(), expected, "JSON stays JSON: {}", changed);
        prop_assert_eq!(remove_value(&changed, &key).unwrap(), changed);
    }
}
