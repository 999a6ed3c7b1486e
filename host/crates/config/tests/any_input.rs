//! Whatever is in the file, the answer is a configuration or errors with places; never a panic, and never a value that passes the
//! checks and then does not fit the types.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::path::Path;
use std::sync::LazyLock;

use config::{Environment, Parsed, ProblemKind, parse};
use proptest::prelude::*;
use serde_json::{Value, json};

static EXAMPLE: LazyLock<Value> = LazyLock::new(|| json5::from_str(include_str!("../example.json5")).unwrap());

fn parsed(text: &str) -> Result<Parsed, Vec<ProblemKind>> {
    let environment = Environment::new([("SET", "1")], "/");
    parse(text, Path::new("creel.json"), &environment).map_err(|errors| {
        assert!(!errors.problems().is_empty());
        assert!(errors.to_string().len() > 20);
        for problem in errors.problems() {
            let is_whole_file = matches!(problem.kind, ProblemKind::Empty);
            assert_eq!(problem.position.is_none(), is_whole_file, "{errors}");
        }
        errors.problems().iter().map(|problem| problem.kind.clone()).collect()
    })
}

/// JSON pointers of all values below a value.
fn pointers(value: &Value, path: &str, found: &mut Vec<String>) {
    found.push(path.to_owned());
    match value {
        Value::Array(items) => items.iter().enumerate().for_each(|(at, item)| pointers(item, &format!("{path}/{at}"), found)),
        Value::Object(entries) => entries
            .iter()
            .for_each(|(key, item)| pointers(item, &format!("{path}/{}", key.replace('~', "~0").replace('/', "~1")), found)),
        _ => {}
    }
}

fn odd_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-10_i64..700_000).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z0-9 ./-]{0,8}".prop_map(Value::from),
        "[0-9]{0,4} ?(ms|s|m|h|d|b|kb|MB|gb)?".prop_map(Value::from),
        Just(json!("${SET}")),
        Just(json!([])),
        Just(json!({})),
        Just(json!(["a", 1])),
        Just(json!({ "env": "SET" })),
        Just(json!({ "primary": "a/b", "maxBytes": 1 })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_checks_and_the_types_agree(changes in prop::collection::vec((any::<prop::sample::Index>(), odd_value()), 1..4)) {
        let mut value = EXAMPLE.clone();
        for (at, odd) in changes {
            let mut all = Vec::new();
            pointers(&value, "", &mut all);
            *value.pointer_mut(&all[at.index(all.len())]).unwrap() = odd;
        }
        if let Err(kinds) = parsed(&value.to_string()) {
            prop_assert!(!kinds.iter().any(|kind| matches!(kind, ProblemKind::Internal { .. })), "{kinds:?}");
        }
    }

    #[test]
    fn a_damaged_text_is_an_answer_too(at in any::<prop::sample::Index>(), damage in "[\\PC\n]{0,3}", cut in any::<bool>()) {
        let text = include_str!("../example.json5");
        let offsets: Vec<usize> = text.char_indices().map(|(offset, _)| offset).collect();
        let (before, after) = text.split_at(*at.get(&offsets));
        let damaged = if cut { format!("{before}{damage}") } else { format!("{before}{damage}{after}") };
        let _ = parsed(&damaged);
    }

    #[test]
    fn any_text_is_an_answer(text in "[\\PC\\n{}\\[\\]:,'\"/*]{0,40}") {
        let _ = parsed(&text);
    }
}
