//! Data minimisation over the whole catalogue: every field of every event and context can be left out, alone, and stays in when it is
//! named; and every field is called what the contract calls it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod samples;

use std::collections::BTreeMap;
use std::fmt::Debug;

use hooks::HookId;
use hooks::catalogue::CATALOGUE;
use hooks::fields::Fields;

/// Fields of a value as its debug form shows them, by name.
fn shown<T: Debug>(value: &T) -> BTreeMap<String, String> {
    let text = format!("{value:#?}");
    let mut fields: BTreeMap<String, String> = BTreeMap::new();
    let mut current = String::new();
    for line in text.lines().skip(1) {
        if let Some(own) = line.strip_prefix("    ")
            && !own.starts_with([' ', '}', ']', ')'])
        {
            current = own.split(':').next().unwrap().to_owned();
        }
        fields.entry(current.clone()).or_default().push_str(line);
    }
    fields
}

/// Names of the fields in which two values differ, in the words of the contract.
fn changed<T: Debug>(one: &T, other: &T) -> Vec<String> {
    let (one, other) = (shown(one), shown(other));
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    let named = |field: &String| match field.as_str() {
        "is_preflight" => "policyPhase".to_owned(),
        "request_kind" | "is_update" | "requested_specifier" => "request".to_owned(),
        other => camel_case(other, '_'),
    };
    let mut names: Vec<String> =
        one.iter().filter(|(field, text)| other[*field] != **text).map(|(field, _)| named(field)).collect();
    names.dedup();
    names
}

fn camel_case(name: &str, separator: char) -> String {
    let mut words = name.split(separator);
    let first = words.next().unwrap().to_owned();
    words.fold(first, |text, word| text + &word[..1].to_uppercase() + &word[1..])
}

/// Checks a sample in which no field is empty. `as_target`: the fields of the contract that one field of the sample stands for.
fn check<T: Fields + Debug + PartialEq>(at: &str, sample: &T, as_target: &[&str]) {
    assert_eq!(&sample.only(u64::MAX), sample, "{at}");
    for (place, field) in T::FIELDS.iter().enumerate() {
        let name = field.name;
        let without = sample.only(!(1 << place));
        let alone = sample.only(1 << place);
        let nothing = sample.only(0);
        if field.always {
            assert_eq!(&without, sample, "{at}: {name} stays");
            assert_eq!(alone, nothing, "{at}: {name} stays");
        } else if as_target.contains(&name) {
            let is_this_one = without != *sample;
            assert_eq!(changed(&alone, &nothing) == ["target"], is_this_one, "{at}: {name}");
        } else {
            assert_eq!(changed(&without, sample), [name], "{at}: {name} can be left out, and nothing goes with it");
            assert_eq!(changed(&alone, &nothing), [name], "{at}: {name} stays in when it is named, and nothing with it");
        }
    }
}

#[test]
fn every_field_can_be_left_out_and_stays_in_when_it_is_named() {
    for row in CATALOGUE {
        samples::each(row.id);
    }
    samples::contexts();
}

/// The contract as text.
fn contract() -> String {
    let files = ["agent", "gateway", "message", "model", "session", "tool"].map(|subject| format!("hooks-{subject}"));
    let read = |file: &str| std::fs::read_to_string(format!("{}/../../../wit/{file}.wit", env!("CARGO_MANIFEST_DIR"))).unwrap();
    files.iter().map(String::as_str).chain(["types"]).map(read).collect()
}

/// Names of the fields of a record, in camelCase.
fn record(text: &str, name: &str) -> Vec<String> {
    let body = text.split_once(&format!("record {name} {{")).unwrap_or_else(|| panic!("record {name}")).1;
    let body = body.split_once("\n    }").unwrap().0;
    let fields = body.lines().map(str::trim).filter(|line| !line.starts_with("//") && line.ends_with(','));
    fields.map(|line| camel_case(line.split_once(':').unwrap().0.trim_start_matches('%'), '-')).collect()
}

#[test]
fn every_field_is_called_what_the_contract_calls_it() {
    let text = contract();
    for row in CATALOGUE {
        let interface = format!("interface {} {{", row.name.replace('_', "-"));
        let interface = text.split_once(&interface).unwrap_or_else(|| panic!("{interface}")).1.split_once("\n}").unwrap().0;
        let context = interface.rsplit_once("context: ").unwrap().1.split_once(')').unwrap().0;
        let (event_fields, context_fields) = row.id.fields();
        let names = |fields: &[hooks::fields::Field]| fields.iter().map(|field| field.name.to_owned()).collect::<Vec<_>>();
        assert_eq!(names(event_fields), record(interface, "event"), "{}", row.name);
        assert_eq!(names(context_fields), record(&text, context), "{}", row.name);
    }
    assert_eq!(HookId::BeforeToolCall.fields().0.len(), 7);
}
