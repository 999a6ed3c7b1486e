//! `creel plugins grant|revoke`: changes what the operator grants to one plugin, in the configuration file, and says which lines came of it.
//! Grants nothing that was not named.

use domain::PluginId;
use plugin_host::grant::Capability;
use plugin_host::manifest;
use plugin_host::plan::PluginReport;
use serde_json::{Value, json};

use super::describe::Subject;
use super::entry_edit::EntryEdit;
use super::switch::{require_known, tell_effect};
use crate::args::{GrantArgs, RevokeArgs};
use crate::commands::Context;
use crate::exit::{Code, Failure};
use crate::terminal::Output;
use crate::wiring::plugins;

/// What can be granted that is no capability: keys below `plugins.entries.<id>`.
const OTHERS: &[(&str, [&str; 2])] = &[
    ("conversation", ["hooks", "allowConversationAccess"]),
    ("prompt", ["hooks", "allowPromptInjection"]),
    ("clock", ["capabilities", "clock"]),
    ("random", ["capabilities", "random"]),
];

/// Something that is granted, with what is said of it.
#[derive(Debug, Clone, PartialEq)]
enum Grant {
    Capability(Capability, Option<String>),
    /// A secret, and the variable that holds it.
    Secret(String, Option<String>),
    /// One of [`OTHERS`].
    Other(&'static str, [&'static str; 2], Option<String>),
}

pub(super) async fn grant(context: &Context, args: GrantArgs, output: &Output) -> Result<Code, Failure> {
    let id = manifest::parse_id(&args.id).map_err(|error| Failure::usage(error.to_string()))?;
    require_known(context, &id).await?;
    let config = &context.loaded.config;
    let settings = plugins::settings(config, context.locations.environment());
    let plan = plugins::survey(super::sources(context, config, Vec::new())?, settings.clone()).await?;
    let report = plan.reports.iter().find(|report| report.id.as_ref() == Some(&id));
    let mut edit = EntryEdit::open(context, &id)?;
    if args.all {
        let report = report.ok_or_else(|| not_found(&id))?;
        for line in Subject::new(report, &settings).wanted() {
            match line.value() {
                Some(value) => edit.set(&line.keys(), value.clone())?,
                None => output.warning(format!(
                    "{} is not granted: only you know what it should hold; docs/configuration.md has its form",
                    line.keys().join(".")
                )),
            }
        }
    } else if args.what.is_empty() {
        return Err(nothing_named(&id, report.map(|report| Subject::new(report, &settings))));
    }
    for text in &args.what {
        let grant = parse(text)?;
        if !args.force {
            require_use(&id, report, &grant)?;
        }
        add(&mut edit, report, &grant, &args.allow)?;
    }
    finish(context, edit, &id, args.dry_run, output).await
}

pub(super) async fn revoke(context: &Context, args: RevokeArgs, output: &Output) -> Result<Code, Failure> {
    let id = manifest::parse_id(&args.id).map_err(|error| Failure::usage(error.to_string()))?;
    require_known(context, &id).await?;
    if args.what.is_empty() && !args.all {
        return Err(Failure::usage("name what is taken back, or take everything with --all")
            .hint(format!("`creel plugins grants {id}` shows what it has")));
    }
    let mut edit = EntryEdit::open(context, &id)?;
    if args.all {
        edit.remove(&["capabilities"])?;
        OTHERS.iter().filter(|(_, keys)| keys[0] == "hooks").try_for_each(|(_, keys)| edit.remove(keys))?;
    }
    for text in &args.what {
        take(&mut edit, &parse(text)?)?;
    }
    finish(context, edit, &id, args.dry_run, output).await
}

async fn finish(context: &Context, edit: EntryEdit<'_>, id: &PluginId, dry_run: bool, output: &Output) -> Result<Code, Failure> {
    let lines = edit.told();
    let parsed = edit.finish(!dry_run)?;
    let path = context.loaded.path.display();
    match (lines.is_empty(), dry_run) {
        (true, _) => output.line(format!("nothing changes in {path}")),
        (false, true) => output.line(format!("{path} would hold:")),
        (false, false) => output.line(format!("{path} holds now:")),
    }
    lines.iter().for_each(|line| output.line(format!("  {line}")));
    if !dry_run {
        tell_effect(context, &parsed.config, id, output).await?;
    }
    Ok(Code::Success)
}

/// Reads `KIND` or `KIND=VALUE`.
fn parse(text: &str) -> Result<Grant, Failure> {
    let (kind, value) = text.split_once('=').map_or((text, None), |(kind, value)| (kind, Some(value.to_owned())));
    if let Some(name) = kind.strip_prefix("secrets.") {
        return Ok(Grant::Secret(name.to_owned(), value));
    }
    if let Some((name, keys)) = OTHERS.iter().find(|(name, _)| *name == kind) {
        return Ok(Grant::Other(name, *keys, value));
    }
    match Capability::from_key(kind).filter(|capability| capability.offered()) {
        Some(Capability::Secrets) => Err(Failure::usage("say which secret").hint("secrets.NAME=VARIABLE --allow URL")),
        Some(capability) => Ok(Grant::Capability(capability, value)),
        None => {
            let known: Vec<&str> = kinds().collect();
            let failure = Failure::usage(format!("there is nothing called {kind:?} to grant"));
            Err(match config::nearest(kind, known.iter().copied()) {
                Some(nearest) => failure.hint(format!("did you mean `{nearest}`?")),
                None => failure.hint(format!("there is {}", known.join(", "))),
            })
        }
    }
}

fn kinds() -> impl Iterator<Item = &'static str> {
    let capabilities = Capability::all().filter(|capability| capability.offered()).map(Capability::key);
    capabilities.chain(OTHERS.iter().map(|(name, _)| *name))
}

/// A grant that the plugin has no use for would look like one that it has.
fn require_use(id: &PluginId, report: Option<&PluginReport>, grant: &Grant) -> Result<(), Failure> {
    let capability = match grant {
        Grant::Capability(capability, _) => *capability,
        Grant::Secret(..) => Capability::Secrets,
        Grant::Other(..) => return Ok(()),
    };
    let Some((manifest, component)) = report.and_then(|report| report.manifest.as_ref().zip(report.component.as_ref())) else {
        return Err(not_found(id));
    };
    let is_used = manifest.capabilities.capabilities.contains(&capability)
        || component.inspection.capabilities().contains(&capability)
        // No import shows these: every language runtime imports what it uses.
        || matches!(capability, Capability::Fs | Capability::Env);
    if is_used {
        return Ok(());
    }
    let key = capability.key();
    Err(Failure::usage(format!("plugin `{id}` neither asks for {key} nor imports it, so the grant would have no effect"))
        .hint("--force writes it all the same"))
}

fn not_found(id: &PluginId) -> Failure {
    Failure::usage(format!("plugin `{id}` cannot be read, so what it asks for is not known"))
        .hint("name what it gets, with --force; `creel plugins list` says what is wrong with it")
}

fn nothing_named(id: &PluginId, subject: Option<Subject<'_>>) -> Failure {
    let failure = Failure::usage("name what is granted, or grant all that the plugin asks for with --all");
    let wanted = subject.map(|subject| subject.wanted()).unwrap_or_default();
    if wanted.is_empty() {
        return failure.hint(format!("plugin `{id}` has all that it asks for"));
    }
    failure.hint(format!("plugin `{id}` asks for:\n{}", super::wanted::entry(id.as_str(), &wanted, "    ")))
}

/// Writes a grant. Lists are added to; what is granted without limits stays so.
fn add(edit: &mut EntryEdit<'_>, report: Option<&PluginReport>, grant: &Grant, allow: &[String]) -> Result<(), Failure> {
    match grant {
        Grant::Secret(name, value) => {
            let (Some(variable), false) = (value, allow.is_empty()) else {
                return Err(Failure::usage(format!("secret `{name}`: say which variable holds it and where it may go"))
                    .hint(format!("secrets.{name}=VARIABLE --allow https://api.example.com")));
            };
            edit.set(&["capabilities", "secrets", name], json!({ "value": { "env": variable }, "allow": allow }))
        }
        Grant::Other(name, keys, value) => edit.set(keys, other_value(name, value.as_deref())?),
        Grant::Capability(capability, value) => {
            let key = capability.key();
            let Some(text) = value else {
                let asked = report.and_then(|report| report.manifest.as_ref());
                let value = asked.and_then(|manifest| manifest.capabilities.grant_value(*capability));
                let value = value.or_else(|| needs_no_words(*capability).then_some(Value::Bool(true)));
                let value = value.ok_or_else(|| {
                    Failure::usage(format!("say what of {key} is granted")).hint(format!("{key}={}", example(*capability)))
                })?;
                return edit.set(&["capabilities", key], value);
            };
            match short_form(*capability, text)? {
                Written::Value(value) => edit.set(&["capabilities", key], value),
                Written::Names(names) => {
                    let keys: &[&str] =
                        if *capability == Capability::Http { &["capabilities", "http", "allow"] } else { &["capabilities", key] };
                    match edit.written(keys) {
                        Some(Value::Bool(true)) => Ok(()),
                        Some(Value::Array(there)) => {
                            let new = names.into_iter().map(Value::from).filter(|name| !there.contains(name)).collect::<Vec<_>>();
                            edit.set(keys, there.iter().cloned().chain(new).collect())
                        }
                        _ => edit.set(keys, names.into()),
                    }
                }
            }
        }
    }
}

/// Removes a grant, or some names of one.
fn take(edit: &mut EntryEdit<'_>, grant: &Grant) -> Result<(), Failure> {
    match grant {
        Grant::Secret(name, _) => edit.remove(&["capabilities", "secrets", name]),
        Grant::Other(_, keys, _) => edit.remove(keys),
        Grant::Capability(capability, None) => edit.remove(&["capabilities", capability.key()]),
        Grant::Capability(capability, Some(text)) => {
            let key = capability.key();
            let Written::Names(names) = short_form(*capability, text)? else {
                return Err(Failure::usage(format!("{key} is taken back as a whole")).hint(format!("name it without `={text}`")));
            };
            let keys: &[&str] =
                if *capability == Capability::Http { &["capabilities", "http", "allow"] } else { &["capabilities", key] };
            let there = match edit.written(keys) {
                Some(Value::Array(there)) => there,
                Some(Value::Bool(true)) => {
                    return Err(Failure::usage(format!("all of {key} is granted, so a part of it cannot be taken back"))
                        .hint(format!("grant what is to stay in its place: revoke {key}, then grant {key}=…")));
                }
                _ => Vec::new(),
            };
            let is_named = |value: &Value| {
                let url = value.as_str().or_else(|| value["url"].as_str());
                url.is_some_and(|url| names.iter().any(|name| name == url))
            };
            if let Some(missing) = names.iter().find(|name| !there.iter().any(|value| value == *name || value["url"] == **name)) {
                return Err(Failure::usage(format!("{key} does not hold {missing:?}, so nothing was taken back")));
            }
            edit.set(keys, there.into_iter().filter(|value| !is_named(value)).collect())
        }
    }
}

/// What a short form says.
#[derive(Debug, PartialEq)]
enum Written {
    Value(Value),
    Names(Vec<String>),
}

/// The value of a capability: as the configuration has it, or names with commas, or the one thing that is mostly said.
fn short_form(capability: Capability, text: &str) -> Result<Written, Failure> {
    let wrong = |problem: String| {
        let key = capability.key();
        Failure::usage(format!("{key}={text}: {problem}")).hint(format!("for example {key}={}", example(capability)))
    };
    if text.trim().is_empty() {
        return Err(wrong("there is nothing behind `=`".to_owned()));
    }
    if text.starts_with(['{', '[', '"', '\'']) || text == "true" || text == "false" {
        let value = config::parse_value(text).map_err(&wrong)?;
        return Ok(match value {
            Value::Array(names) if names.iter().all(Value::is_string) => {
                Written::Names(names.iter().filter_map(Value::as_str).map(str::to_owned).collect())
            }
            value => Written::Value(value),
        });
    }
    Ok(match capability {
        Capability::Kv | Capability::SessionExtension => {
            let size = text.parse::<u64>().map_or_else(|_| Value::from(text), Value::from);
            Written::Value(json!({ "maxBytes": size }))
        }
        Capability::Fs => Written::Value(json!({ "mode": text })),
        _ => Written::Names(text.split(',').map(|name| name.trim().to_owned()).collect()),
    })
}

fn needs_no_words(capability: Capability) -> bool {
    !matches!(capability, Capability::Http | Capability::Env | Capability::ToolsInvoke | Capability::Secrets)
}

fn example(capability: Capability) -> &'static str {
    match capability {
        Capability::Http => "https://api.example.com",
        Capability::Env => "LANG,TZ",
        Capability::ToolsInvoke => "read,write",
        Capability::MessagesSend => "terminal",
        Capability::SessionsRead => "main",
        Capability::Fs => "read",
        _ => "1mb",
    }
}

fn other_value(name: &str, value: Option<&str>) -> Result<Value, Failure> {
    let wrong = |expected: &str| Failure::usage(format!("{name}: expected {expected}"));
    match (name, value) {
        ("clock", Some(word @ ("real" | "frozen"))) => Ok(Value::from(word)),
        ("clock", _) => Err(wrong("clock=real or clock=frozen")),
        ("random", Some("real")) => Ok(Value::from("real")),
        ("random", Some(seed)) => {
            let seed: u64 = seed.parse().map_err(|_| wrong("random=real or random=SEED, a whole number"))?;
            Ok(json!({ "seed": seed }))
        }
        ("random", None) => Err(wrong("random=real or random=SEED, a whole number")),
        (_, None) => Ok(Value::Bool(true)),
        (_, Some(_)) => Err(wrong("no value; it is granted or not")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn short_forms_say_what_is_mostly_said() {
        let names = |names: &[&str]| Written::Names(names.iter().map(ToString::to_string).collect());
        for (capability, text, expected) in [
            (Capability::Kv, "1mb", Written::Value(json!({ "maxBytes": "1mb" }))),
            (Capability::Kv, "4096", Written::Value(json!({ "maxBytes": 4096 }))),
            (Capability::Kv, "{ maxKeys: 3 }", Written::Value(json!({ "maxKeys": 3 }))),
            (Capability::Fs, "read", Written::Value(json!({ "mode": "read" }))),
            (Capability::Env, "LANG, TZ", names(&["LANG", "TZ"])),
            (Capability::Http, "['https://a', 'https://b']", names(&["https://a", "https://b"])),
            (Capability::MessagesSend, "true", Written::Value(json!(true))),
        ] {
            assert_eq!(short_form(capability, text).unwrap(), expected, "{text}");
        }
        for text in ["", " ", "{ maxKeys: "] {
            assert!(short_form(Capability::Kv, text).unwrap_err().hints[0].contains("kv=1mb"), "{text}");
        }
    }

    #[test]
    fn what_is_granted_has_a_name() {
        assert_eq!(parse("kv").unwrap(), Grant::Capability(Capability::Kv, None));
        assert_eq!(parse("secrets.key=KEY").unwrap(), Grant::Secret("key".to_owned(), Some("KEY".to_owned())));
        assert!(matches!(parse("conversation").unwrap(), Grant::Other("conversation", ..)));
        assert!(parse("htp=x").unwrap_err().hints[0].contains("`http`"));
        assert!(parse("secrets").unwrap_err().hints[0].contains("--allow"));
        assert!(parse("nextTurn").is_err(), "this version does not offer it");
    }

    #[test]
    fn other_grants_take_what_they_can_hold() {
        assert_eq!(other_value("random", Some("7")).unwrap(), json!({ "seed": 7 }));
        assert_eq!(other_value("clock", Some("frozen")).unwrap(), json!("frozen"));
        assert_eq!(other_value("conversation", None).unwrap(), json!(true));
        for (name, value) in
            [("clock", None), ("clock", Some("x")), ("random", Some("x")), ("random", None), ("prompt", Some("x"))]
        {
            assert!(other_value(name, value).is_err(), "{name} {value:?}");
        }
    }
}
