//! Rules between keys, and about values that a schema cannot tell: agent ids, tool lists, addresses, paths. It reads the loaded
//! types and changes nothing.

use std::collections::BTreeMap;
use std::path::Path;

use domain::AgentId;

use super::Finding;
use crate::environment::Environment;
use crate::keys::{Config, InstallPolicy, Provider, SecretInput};
use crate::problem::ProblemKind;
use crate::settings::DEFAULT_RUN_SECONDS;
use crate::text::key_path::KeyPath;
use crate::text::locate::Target;
use crate::warning::Warning;

/// Id of the built-in provider that needs neither key nor network.
const OFFLINE: &str = "offline";

/// All broken rules.
pub(crate) fn check(config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    agents(config, &mut findings);
    aliases(config, &mut findings);
    tool_lists(config, &mut findings);
    for (id, provider) in &config.models.providers {
        check_provider(id, provider, &mut findings);
    }
    install_policy(&config.security.install_policy, &mut findings);
    findings
}

fn rule(key: KeyPath, text: impl Into<String>) -> Finding {
    Finding::value(key, ProblemKind::Rule(text.into()))
}

/// Ids have the form of agent ids, and each is there once.
fn agents(config: &Config, findings: &mut Vec<Finding>) {
    let mut seen = BTreeMap::new();
    for (at, entry) in config.agents.list.iter().enumerate() {
        let key = KeyPath::of("agents.list").index(at).key("id");
        match AgentId::parse(&entry.id) {
            Err(error) => findings.push(rule(key, error.to_string())),
            Ok(id) => {
                if let Some(first) = seen.get(&id) {
                    findings.push(rule(
                        key,
                        format!("the id `{id}` belongs to agents.list[{first}] already; ids are compared in lower case"),
                    ));
                } else {
                    seen.insert(id, at);
                }
            }
        }
    }
}

/// An alias names one model.
fn aliases(config: &Config, findings: &mut Vec<Finding>) {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for (model, entry) in &config.agents.defaults.models {
        let Some(alias) = &entry.alias else { continue };
        if let Some(other) = seen.insert(alias.to_lowercase(), model) {
            let key = KeyPath::of("agents.defaults.models").key(model.as_str()).key("alias");
            findings.push(rule(key, format!("the alias `{alias}` belongs to `{other}` already; an alias names one model")));
        }
    }
}

/// `allow` and `alsoAllow` exclude each other in one scope (agent-loop 14.1.3).
fn tool_lists(config: &Config, findings: &mut Vec<Finding>) {
    let agents = config.agents.list.iter().enumerate();
    let scopes = agents
        .map(|(at, entry)| (KeyPath::of("agents.list").index(at).key("tools"), &entry.tools.allow, &entry.tools.also_allow))
        .chain([(KeyPath::of("tools"), &config.tools.allow, &config.tools.also_allow)]);
    for (scope, allow, also_allow) in scopes {
        if allow.is_some() && also_allow.is_some() {
            let text = "`allow` and `alsoAllow` cannot stand in one scope; put all names into `allow`, or use `profile` with `alsoAllow`";
            findings.push(Finding { key: scope.key("alsoAllow"), target: Target::Key, kind: ProblemKind::Rule(text.to_owned()) });
        }
    }
}

fn check_provider(id: &str, provider: &Provider, findings: &mut Vec<Finding>) {
    let key = KeyPath::of("models.providers").key(id);
    if id.is_empty() || id.contains('/') || id.contains(char::is_whitespace) {
        let text = "a provider id is not empty and has no `/` and no space, because it is the part of a model reference before the first `/`";
        findings.push(Finding::key(key.clone(), ProblemKind::Rule(text.to_owned())));
    }
    if provider.script.is_some() && id != OFFLINE {
        findings.push(Finding::key(
            key.key("script"),
            ProblemKind::Rule(format!(
                "only the built-in provider `{OFFLINE}` plays scripts; move it to models.providers.{OFFLINE}.script"
            )),
        ));
    }
    if provider.base_url.as_deref().is_some_and(|url| !is_http(url)) {
        findings.push(rule(key.key("baseUrl"), "an address begins with `http://` or `https://` and names a host"));
    }
    let mut seen = BTreeMap::new();
    for (at, model) in provider.models.iter().enumerate() {
        if let Some(first) = seen.insert(model.id.as_str(), at) {
            let text = format!("the model `{}` is in models[{first}] already; remove one of the two", model.id);
            findings.push(rule(key.key("models").index(at).key("id"), text));
        }
    }
}

fn is_http(url: &str) -> bool {
    let lowered = url.to_ascii_lowercase();
    let rest = lowered.strip_prefix("http://").or_else(|| lowered.strip_prefix("https://"));
    rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_alphanumeric() || c == '[')) && !url.contains(char::is_whitespace)
}

/// Paths of the policy are absolute, so that nobody's working directory decides what runs (plugin-hooks 10).
fn install_policy(policy: &InstallPolicy, findings: &mut Vec<Finding>) {
    let Some(exec) = &policy.exec else { return };
    let key = KeyPath::of("security.installPolicy.exec");
    if !Path::new(&exec.command).is_absolute() {
        findings.push(rule(key.key("command"), "the command is not an absolute path; write it out, without `~`"));
    }
    for (at, dir) in exec.trusted_dirs.iter().enumerate() {
        if !Path::new(dir).is_absolute() {
            findings
                .push(rule(key.key("trustedDirs").index(at), "the directory is not an absolute path; write it out, without `~`"));
        }
    }
}

/// What loads and does not have the effect that it seems to have.
pub(crate) fn warnings(config: &Config, environment: &Environment) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if config.agents.list.iter().filter(|entry| entry.default).count() > 1 {
        warnings.push(Warning::SeveralDefaults { chosen: config.default_agent().to_string() });
    }
    if config.session.main_key.as_deref().is_some_and(|key| key != "main") {
        warnings.push(Warning::MainKey);
    }
    let run_seconds = config.agents.defaults.timeout_seconds.map_or(DEFAULT_RUN_SECONDS, |value| value.get());
    for (id, provider) in &config.models.providers {
        let key = KeyPath::of("models.providers").key(id.as_str());
        warnings.extend(provider_warnings(&key, provider, run_seconds));
        let secrets = provider.api_key.iter().map(|secret| (key.key("apiKey"), secret));
        let headers = provider.headers.iter().map(|(name, secret)| (key.key("headers").key(name.as_str()), secret));
        warnings.extend(secrets.chain(headers).filter_map(|(key, secret)| not_set(key, secret, environment)));
    }
    if let Some(exec) = &config.security.install_policy.exec {
        let key = KeyPath::of("security.installPolicy.exec.env");
        warnings.extend(exec.env.iter().filter_map(|(name, secret)| not_set(key.key(name.as_str()), secret, environment)));
    } else if config.security.install_policy.enabled {
        warnings.push(Warning::PolicyWithoutCommand);
    }
    warnings
}

fn provider_warnings(key: &KeyPath, provider: &Provider, run_seconds: u64) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if let Some(api) = provider.effective_api().filter(|api| !api.is_supported()) {
        warnings.push(Warning::UnsupportedApi { key: key.key("api"), api });
    }
    let provider_seconds = provider.timeout_seconds.map_or(0, |value| value.get());
    if run_seconds != 0 && provider_seconds > run_seconds {
        warnings.push(Warning::TimeoutAboveRun { key: key.key("timeoutSeconds"), provider_seconds, run_seconds });
    }
    warnings
}

fn not_set(key: KeyPath, secret: &SecretInput, environment: &Environment) -> Option<Warning> {
    secret.resolve(environment).err().map(|missing| Warning::VariableNotSet { key, name: missing.name })
}
