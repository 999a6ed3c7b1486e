//! What the operator granted, in the words of the plugin host: addresses are parsed here, and secrets and variables are looked up in the
//! environment. An address that does not parse grants nothing; [`problems`] tells it with its key before anything is started.

use std::sync::Arc;
use std::time::Duration;

use config::keys::{Capabilities, ClockGrant, FsMode, Grant, HttpGrant, HttpRule, NamesGrant, RandomGrant, SecretGrant, Seed};
use config::{Config, Environment, KeyPath};
use egress::{PrivateNetwork, Rule, RuleError, SecretText};
use plugin_host::grant::{self, Clocks, FsQuota, KvQuota, Names, OperatorGrants, Quota, Randomness};

/// The grants of one plugin.
pub(super) fn of(capabilities: &Capabilities, environment: &Environment) -> OperatorGrants {
    let bytes = |quantity: Option<u64>| Quota { max_bytes: quantity };
    let session_extension = Grant::granted(capabilities.session_extension.as_ref());
    OperatorGrants {
        kv: Grant::granted(capabilities.kv.as_ref())
            .map(|grant| KvQuota { max_bytes: grant.max_bytes.map(|bytes| bytes.get()), max_keys: grant.max_keys }),
        session_extension: session_extension.map(|grant| bytes(grant.max_bytes.map(|bytes| bytes.get()))),
        fs: Grant::granted(capabilities.fs.as_ref()).map(|grant| FsQuota {
            mode: match grant.mode {
                FsMode::Read => grant::FsMode::Read,
                FsMode::ReadWrite => grant::FsMode::ReadWrite,
            },
            max_bytes: grant.max_bytes.map(|bytes| bytes.get()),
            max_files: grant.max_files,
        }),
        http: capabilities.http.as_ref().map(|grant| Arc::new(http(grant))),
        secrets: capabilities
            .secrets
            .as_ref()
            .map(|secrets| secrets.iter().map(|(name, grant)| secret(name, grant, environment)).collect()),
        tools_invoke: capabilities.tools_invoke.as_ref().map(|names| Names::Only(names.clone().into())),
        messages_send: names(capabilities.messages_send.as_ref()),
        sessions_read: names(capabilities.sessions_read.as_ref()),
        env: capabilities.env.as_ref().map(|names| variables(names, environment)),
        clocks: match capabilities.clock {
            ClockGrant::Real => Clocks::Real,
            ClockGrant::Frozen => Clocks::Frozen,
        },
        randomness: match capabilities.random {
            RandomGrant::Named(_) => Randomness::Real,
            RandomGrant::Seeded(Seed { seed }) => Randomness::Seeded(seed),
        },
    }
}

fn names(grant: Option<&NamesGrant>) -> Option<Names> {
    match grant? {
        NamesGrant::Switch(is_granted) => is_granted.then_some(Names::All),
        NamesGrant::Only(names) => Some(Names::Only(names.clone().into())),
    }
}

fn http(grant: &HttpGrant) -> plugin_host::grant::HttpGrant {
    let defaults = egress::Limits::default();
    let timeout = |standard: Duration| grant.timeout_ms.map_or(standard, |time| Duration::from_millis(time.get()));
    let header_bytes = grant.header_bytes.map(|bytes| bytes.get());
    plugin_host::grant::HttpGrant {
        rules: grant.allow.iter().filter_map(|written| rule(written).ok()).collect(),
        networks: grant.private_networks.iter().filter_map(|text| PrivateNetwork::parse(text).ok()).collect(),
        limits: egress::Limits {
            request_header_bytes: header_bytes.unwrap_or(defaults.request_header_bytes),
            response_header_bytes: header_bytes.unwrap_or(defaults.response_header_bytes),
            request_body_bytes: grant.request_body_bytes.map_or(defaults.request_body_bytes, |bytes| bytes.get()),
            response_body_bytes: grant.response_body_bytes.map_or(defaults.response_body_bytes, |bytes| bytes.get()),
            concurrent_requests: grant.concurrent_requests.map_or(defaults.concurrent_requests, |number| number as usize),
            timeouts: egress::Timeouts { total: timeout(defaults.timeouts.total), ..defaults.timeouts },
            ..defaults
        },
    }
}

fn rule(written: &HttpRule) -> Result<Rule, RuleError> {
    let limited = match written {
        HttpRule::Url(url) => return Rule::parse(url),
        HttpRule::Limited(limited) => limited,
    };
    let mut rule = Rule::parse(&limited.url)?;
    if let Some(ports) = &limited.ports {
        rule = rule.with_ports(ports.iter().copied())?;
    }
    if let Some(methods) = &limited.methods {
        rule = rule.with_methods(methods.iter().map(String::as_str))?;
    }
    Ok(rule)
}

fn secret(name: &str, grant: &SecretGrant, environment: &Environment) -> plugin_host::grant::SecretGrant {
    // A variable that is not set is the operator's to mend; the plugin hears that the secret has no value.
    let text = grant.value.resolve(environment).ok().map(|secret| SecretText::new(secret.reveal()));
    let rules = grant.allow.iter().filter_map(|written| rule(written).ok()).collect();
    plugin_host::grant::SecretGrant { name: name.to_owned(), text, rules }
}

fn variables(names: &[String], environment: &Environment) -> Arc<[(String, String)]> {
    names.iter().filter_map(|name| Some((name.clone(), environment.get(name)?.to_owned()))).collect()
}

/// Every grant that cannot be understood, each with its key and one phrase.
pub fn problems(config: &Config) -> Vec<(KeyPath, String)> {
    let mut problems = Vec::new();
    for (id, entry) in &config.plugins.entries {
        let capabilities = KeyPath::of("plugins.entries").key(id).key("capabilities");
        if let Some(http) = &entry.capabilities.http {
            check_rules(&http.allow, &capabilities.clone().key("http").key("allow"), &mut problems);
            for (index, text) in http.private_networks.iter().enumerate() {
                if let Err(error) = PrivateNetwork::parse(text) {
                    let key = capabilities.clone().key("http").key("privateNetworks").index(index);
                    problems.push((key, error.to_string()));
                }
            }
        }
        for (name, secret) in entry.capabilities.secrets.iter().flatten() {
            check_rules(&secret.allow, &capabilities.clone().key("secrets").key(name).key("allow"), &mut problems);
        }
    }
    problems
}

fn check_rules(rules: &[HttpRule], key: &KeyPath, problems: &mut Vec<(KeyPath, String)>) {
    for (index, written) in rules.iter().enumerate() {
        if let Err(error) = rule(written) {
            let cause = std::error::Error::source(&error).map_or_else(String::new, |cause| format!(": {cause}"));
            problems.push((key.clone().index(index), format!("{error}{cause}")));
        }
    }
}
