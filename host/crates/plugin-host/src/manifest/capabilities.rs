//! `capabilities` of a manifest: what the plugin would like. An operator reads it, and grants from it with one command.

use serde_json::{Map, Value};

use super::error::ManifestError;
use crate::grant::{Asked, Capability};

/// Reads `capabilities`: `true`, `false`, or what the plugin would like in the form of the operator's grant.
pub(super) fn asked(
    capabilities: &Map<String, Value>,
    place: &str,
    diagnostics: &mut Vec<String>,
) -> Result<Asked, ManifestError> {
    let mut asked = Asked::default();
    for (key, value) in capabilities {
        let Some(capability) = Capability::from_key(key) else {
            diagnostics.push(format!("asks for the capability `{key}`, which this host does not know; the request is ignored"));
            continue;
        };
        if matches!(value, Value::Bool(false) | Value::Null) {
            continue;
        }
        check_form(capability, value, &format!("capabilities.{key}"), place)?;
        let bytes = value.get("maxBytes").map(|bytes| size(bytes, &format!("capabilities.{key}.maxBytes"), place)).transpose()?;
        match capability {
            Capability::Kv => asked.kv_bytes = bytes.flatten(),
            Capability::SessionExtension => asked.session_extension_bytes = bytes.flatten(),
            _ => {}
        }
        if !value.is_boolean() {
            asked.details.insert(capability, value.clone());
        }
        asked.capabilities.insert(capability);
    }
    Ok(asked)
}

fn check_form(capability: Capability, value: &Value, key: &str, place: &str) -> Result<(), ManifestError> {
    let wrong = |expected, value: &Value| Err(ManifestError::wrong(place, key, expected, value));
    let is_texts = |value: &Value| value.as_array().is_some_and(|list| list.iter().all(Value::is_string));
    match (capability, value) {
        (_, Value::Bool(true)) => Ok(()),
        (capability, value) if is_by_name(capability) && is_texts(value) => Ok(()),
        (capability, value) if is_by_name(capability) => wrong("`true`, `false` or a list of names", value),
        (Capability::Http, Value::Object(fields)) => match fields.get("allow") {
            None => Ok(()),
            Some(Value::Array(rules)) => rules.iter().try_for_each(|rule| check_rule(rule, &format!("{key}.allow"), place)),
            Some(other) => Err(ManifestError::wrong(place, &format!("{key}.allow"), "a list of addresses", other)),
        },
        (Capability::Fs, Value::Object(fields)) => {
            if let Some(count) = fields.get("maxFiles") {
                number(count, &format!("{key}.maxFiles"), "a whole number of files above 0", place)?;
            }
            match fields.get("mode").map(|mode| (mode.as_str(), mode)) {
                None | Some((Some("read" | "readWrite"), _)) => Ok(()),
                Some((_, mode)) => Err(ManifestError::wrong(place, &format!("{key}.mode"), "`read` or `readWrite`", mode)),
            }
        }
        (_, Value::Object(_)) => Ok(()),
        (_, other) => wrong("`true`, `false` or an object", other),
    }
}

/// Whether it is granted by names.
fn is_by_name(capability: Capability) -> bool {
    use Capability::{Env, MessagesSend, Secrets, SessionsRead, ToolsInvoke};
    matches!(capability, Env | Secrets | ToolsInvoke | MessagesSend | SessionsRead)
}

/// An address such as `https://api.example.com`, or an object with it as `url`.
fn check_rule(rule: &Value, key: &str, place: &str) -> Result<(), ManifestError> {
    let text = rule.as_str().or_else(|| rule.get("url")?.as_str());
    let parsed = text.map(egress::Rule::parse);
    if let Some(Ok(_)) = parsed {
        return Ok(());
    }
    Err(ManifestError::wrong(place, key, "addresses such as \"https://api.example.com\"", rule))
}

fn size(value: &Value, key: &str, place: &str) -> Result<Option<u64>, ManifestError> {
    number(value, key, "a whole number of bytes above 0", place)
}

fn number(value: &Value, key: &str, expected: &'static str, place: &str) -> Result<Option<u64>, ManifestError> {
    match value.as_u64() {
        _ if value.is_null() => Ok(None),
        Some(number) if number > 0 => Ok(Some(number)),
        _ => Err(ManifestError::wrong(place, key, expected, value)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use serde_json::json;

    use super::*;

    fn read(capabilities: &Value) -> Result<Asked, String> {
        asked(capabilities.as_object().unwrap(), "m", &mut Vec::new()).map_err(|error| error.to_string())
    }

    #[test]
    fn hosts_names_and_variables_are_kept_for_the_operator() {
        let hosts = json!({ "allow": ["https://api.example.com", { "url": "https://b.example", "methods": ["GET"] }] });
        let asked = read(&json!({ "http": hosts, "secrets": ["TOKEN"], "env": ["TZ"] })).unwrap();
        assert_eq!(asked.details[&Capability::Http], hosts);
        assert_eq!(asked.details[&Capability::Env], json!(["TZ"]));
        let files = json!({ "mode": "read", "maxFiles": 10 });
        let wanted = read(&json!({ "fs": files })).unwrap();
        assert_eq!(wanted.grant_value(Capability::Fs), Some(files));
        assert_eq!(read(&json!({ "fs": true })).unwrap().grant_value(Capability::Fs), Some(Value::Bool(true)));
        assert!(asked.capabilities.contains(&Capability::Secrets));
    }

    #[test]
    fn what_no_operator_could_grant_is_refused_with_its_key() {
        for (capabilities, key) in [
            (json!({ "http": { "allow": ["api.example.com"] } }), "capabilities.http.allow"),
            (json!({ "http": { "allow": "https://a.example" } }), "capabilities.http.allow"),
            (json!({ "http": ["https://a.example"] }), "capabilities.http"),
            (json!({ "secrets": [1] }), "capabilities.secrets"),
            (json!({ "toolsInvoke": "read" }), "capabilities.toolsInvoke"),
            (json!({ "messagesSend": { "to": "me" } }), "capabilities.messagesSend"),
            (json!({ "sessionsRead": [1] }), "capabilities.sessionsRead"),
            (json!({ "env": { "TZ": true } }), "capabilities.env"),
            (json!({ "fs": { "mode": "write" } }), "capabilities.fs.mode"),
            (json!({ "fs": { "maxFiles": 0 } }), "capabilities.fs.maxFiles"),
            (json!({ "fs": { "maxBytes": "1" } }), "capabilities.fs.maxBytes"),
        ] {
            let error = read(&capabilities).unwrap_err();
            assert!(error.contains(key), "{error}");
        }
    }
}
