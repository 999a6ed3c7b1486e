//! Replaces `${NAME}` in texts by environment variables (runtime 5.1). Names are upper case; `$${NAME}` stands for the text
//! `${NAME}`; a variable that is not set is a fault. Keys are not touched.

use serde_json::Value;

use super::Finding;
use crate::environment::Environment;
use crate::problem::ProblemKind;
use crate::text::key_path::KeyPath;

/// Replaces references in every text below `value` and returns the faults.
pub(crate) fn substitute(value: &mut Value, environment: &Environment) -> Vec<Finding> {
    let mut findings = Vec::new();
    walk(value, &KeyPath::default(), environment, &mut findings);
    findings
}

fn walk(value: &mut Value, path: &KeyPath, environment: &Environment, findings: &mut Vec<Finding>) {
    match value {
        Value::String(text) if text.contains("${") => match expanded(text, environment) {
            Ok(replaced) => *text = replaced,
            Err(name) => findings.push(Finding::value(path.clone(), ProblemKind::MissingVariable { name })),
        },
        Value::Array(items) => {
            items.iter_mut().enumerate().for_each(|(at, item)| walk(item, &path.index(at), environment, findings));
        }
        Value::Object(entries) => {
            entries.iter_mut().for_each(|(key, item)| walk(item, &path.key(key.as_str()), environment, findings));
        }
        _ => {}
    }
}

/// The text with its references replaced. What a variable holds is not looked at again.
///
/// # Errors
/// The name of the first variable that is not set.
fn expanded(text: &str, environment: &Environment) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, reference) = rest.split_at(at);
        let name = reference.find('}').and_then(|end| reference.get(2..end)).filter(|name| is_variable_name(name));
        let Some(name) = name else {
            out.push_str(before);
            out.push_str("${");
            rest = &reference[2..];
            continue;
        };
        match before.strip_suffix('$') {
            Some(before) => out.extend([before, "${", name, "}"]),
            None => out.extend([before, environment.get(name).ok_or(name)?]),
        }
        rest = &reference[name.len() + 3..];
    }
    out.push_str(rest);
    Ok(out)
}

fn is_variable_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_uppercase() || c == '_')
        && chars.all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn environment() -> Environment {
        Environment::new([("A", "one"), ("B_2", "${A}"), ("EMPTY", "")], "/")
    }

    #[test]
    fn references_are_replaced_once() {
        let rows = [
            ("${A}", "one"),
            ("x${A}y${A}", "xoneyone"),
            ("${B_2}", "${A}"),
            ("$${A}", "${A}"),
            ("a$${A}${A}", "a${A}one"),
            ("${a} ${} ${ A} $A ${A", "${a} ${} ${ A} $A ${A"),
            ("${${A}}", "${one}"),
        ];
        for (text, expected) in rows {
            assert_eq!(expanded(text, &environment()).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn every_missing_variable_is_reported_at_its_key() {
        let mut value = json!({ "a": ["${A}", "${NONE}"], "${A}": { "b": "x${EMPTY}" }, "n": 1 });
        let findings = substitute(&mut value, &environment());
        assert_eq!(value, json!({ "a": ["one", "${NONE}"], "${A}": { "b": "x${EMPTY}" }, "n": 1 }));
        let missing: Vec<_> = findings.into_iter().map(|finding| (finding.key.to_string(), finding.kind)).collect();
        assert_eq!(
            missing,
            [
                ("a[1]".to_owned(), ProblemKind::MissingVariable { name: "NONE".to_owned() }),
                ("[\"${A}\"].b".to_owned(), ProblemKind::MissingVariable { name: "EMPTY".to_owned() }),
            ]
        );
    }
}
