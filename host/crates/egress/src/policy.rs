//! What the operator allows: rules for targets and methods, opened networks for addresses. Decides, and says with each refusal which
//! line of the configuration would allow it. Does no I/O.

use std::net::IpAddr;

use http::Method;
use thiserror::Error;

use crate::address::AddressClass;
use crate::host::{Host, shown};
use crate::private_network::PrivateNetwork;
use crate::rule::{self, Rule};
use crate::target::Target;

/// Where in the configuration a policy comes from, for what refusals say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigKeys {
    /// The list of rules.
    pub rules: String,
    /// The list of opened networks.
    pub private_networks: String,
}

impl ConfigKeys {
    /// `<prefix>.allow` and `<prefix>.privateNetworks`, for example with prefix `plugins.entries.weather.capabilities.http`.
    pub fn below(prefix: &str) -> Self {
        Self { rules: format!("{prefix}.allow"), private_networks: format!("{prefix}.privateNetworks") }
    }
}

/// What is allowed. A policy without rules allows nothing.
#[derive(Debug, Clone)]
pub struct Policy {
    keys: ConfigKeys,
    rules: Vec<Rule>,
    private_networks: Vec<PrivateNetwork>,
}

/// Why a request may not be sent at all.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// No rule names the target.
    #[error("no rule allows {target}; add `{target}` to `{key}` to allow it")]
    Target {
        /// Where it would have gone.
        target: Target,
        /// The list of rules.
        key: String,
    },
    /// A rule names the target, for other methods.
    #[error("`{key}` allows {target}, but not {method}; add `{method}` to the methods of its rule `{rule}` to allow it")]
    Method {
        /// The method.
        method: Method,
        /// Where it would have gone.
        target: Target,
        /// The rule that comes closest.
        rule: String,
        /// The list of rules.
        key: String,
    },
    /// `CONNECT`, `TRACE`, or longer than any method that exists.
    #[error("{0} requests are never sent; use another method")]
    NeverSent(String),
}

/// Why an address may not be connected to.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{host} is at {address}, a {class} address; add `{address}` to `{key}` to allow it")]
pub struct AddressRefusal {
    /// The host.
    pub host: Host,
    /// The first of its addresses that is refused, in its plain form.
    pub address: IpAddr,
    /// What kind of place that is.
    pub class: AddressClass,
    /// The list of opened networks.
    pub key: String,
}

impl Policy {
    /// A policy of rules and opened networks.
    pub fn new(
        keys: ConfigKeys,
        rules: impl IntoIterator<Item = Rule>,
        private_networks: impl IntoIterator<Item = PrivateNetwork>,
    ) -> Self {
        Self { keys, rules: rules.into_iter().collect(), private_networks: private_networks.into_iter().collect() }
    }

    /// Whether a request may be sent, as far as its URL and method tell.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub fn check_request(&self, method: &Method, target: &Target) -> Result<(), Refusal> {
        if !rule::is_sendable(method) {
            return Err(Refusal::NeverSent(shown(method.as_str())));
        }
        let mut naming = self.rules.iter().filter(|rule| rule.names(target)).peekable();
        let key = || self.keys.rules.clone();
        let Some(closest) = naming.peek().copied() else {
            return Err(Refusal::Target { target: target.clone(), key: key() });
        };
        if naming.any(|rule| rule.allows(method)) {
            return Ok(());
        }
        Err(Refusal::Method { method: method.clone(), target: target.clone(), rule: closest.to_string(), key: key() })
    }

    /// Whether every address that a target resolved to may be connected to. One that may not refuses all: a name with a public and a
    /// private address is how rebinding looks.
    ///
    /// # Errors
    /// The first address that is refused.
    pub fn check_addresses(&self, target: &Target, addresses: &[IpAddr]) -> Result<(), AddressRefusal> {
        let plain = addresses.iter().map(IpAddr::to_canonical);
        let refused = plain
            .map(|address| (address, AddressClass::of(address)))
            .find(|&(address, class)| class != AddressClass::Public && !self.opens(target, address, class));
        let Some((address, class)) = refused else { return Ok(()) };
        Err(AddressRefusal { host: target.host.clone(), address, class, key: self.keys.private_networks.clone() })
    }

    /// A network that is opened, or a rule that spells the place out: an address, or `localhost`, which names one (RFC 6761).
    fn opens(&self, target: &Target, address: IpAddr, class: AddressClass) -> bool {
        let by_network = || self.private_networks.iter().any(|network| network.opens(&target.host, address, class));
        let by_rule = || self.rules.iter().any(|rule| rule.names(target) && rule.spells_out(&target.host));
        (is_the_place_itself(&target.host, address, class) && by_rule()) || by_network()
    }
}

fn is_the_place_itself(host: &Host, address: IpAddr, class: AddressClass) -> bool {
    match host {
        Host::Name(name) => name == "localhost" && class == AddressClass::Loopback,
        Host::V4(_) | Host::V6(_) => host.address().is_some_and(|written| written.to_canonical() == address),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use http::Uri;

    use super::*;

    fn policy(rules: &[&str], networks: &[&str]) -> Policy {
        let rules = rules.iter().map(|text| Rule::parse(text).unwrap());
        let networks = networks.iter().map(|text| PrivateNetwork::parse(text).unwrap());
        Policy::new(ConfigKeys::below("plugins.entries.weather.capabilities.http"), rules, networks)
    }

    fn target(url: &str) -> Target {
        Target::from_uri(&url.parse::<Uri>().unwrap()).unwrap()
    }

    fn addresses(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn an_empty_policy_allows_nothing() {
        let policy = policy(&[], &[]);
        assert!(policy.check_request(&Method::GET, &target("https://a.test")).is_err());
        assert!(policy.check_addresses(&target("https://a.test"), &addresses(&["127.0.0.1"])).is_err());
    }

    #[test]
    fn a_refusal_says_which_line_allows_it() {
        let methods = Rule::parse("https://api.test").unwrap().with_methods(["GET"]).unwrap();
        let policy = Policy::new(ConfigKeys::below("plugins.entries.weather.capabilities.http"), [methods], []);
        let refusal = |method, url| policy.check_request(&method, &target(url)).unwrap_err().to_string();
        assert_eq!(
            refusal(Method::GET, "https://other.test:8443/secret?path"),
            "no rule allows https://other.test:8443; add `https://other.test:8443` to \
             `plugins.entries.weather.capabilities.http.allow` to allow it"
        );
        assert_eq!(
            refusal(Method::POST, "https://api.test"),
            "`plugins.entries.weather.capabilities.http.allow` allows https://api.test, but not POST; add `POST` to the methods of \
             its rule `https://api.test` to allow it"
        );
        assert_eq!(refusal(Method::TRACE, "https://api.test"), "TRACE requests are never sent; use another method");
        let refusal = policy.check_addresses(&target("https://api.test"), &addresses(&["10.0.0.1"])).unwrap_err().to_string();
        assert_eq!(
            refusal,
            "api.test is at 10.0.0.1, a private address; add `10.0.0.1` to \
             `plugins.entries.weather.capabilities.http.privateNetworks` to allow it"
        );
    }

    #[test]
    fn no_method_makes_an_endless_error() {
        let method = Method::from_bytes(&[b'A'; 100_000]).unwrap();
        let refusal = policy(&["https://a.test"], &[]).check_request(&method, &target("https://a.test")).unwrap_err();
        assert!(matches!(refusal, Refusal::NeverSent(_)) && refusal.to_string().len() < 500);
    }

    #[test]
    fn the_line_that_a_refusal_names_allows_it() {
        let url = target("https://[2001:DB8::7]:8443");
        let Refusal::Target { target: named, .. } = policy(&[], &[]).check_request(&Method::GET, &url).unwrap_err() else {
            panic!()
        };
        policy(&[&named.to_string()], &[]).check_request(&Method::GET, &url).unwrap();

        for text in ["10.0.0.1", "169.254.169.254", "fd00:ec2::254", "::ffff:127.0.0.1", "::", "255.255.255.255", "ff02::1"] {
            let name = target("https://a.test");
            let refusal = policy(&[], &[]).check_addresses(&name, &addresses(&[text])).unwrap_err();
            let opened = policy(&[], &[&refusal.address.to_string()]);
            opened.check_addresses(&name, &addresses(&[text])).unwrap_or_else(|error| panic!("{error}"));
        }
    }

    #[test]
    fn a_second_rule_may_allow_the_method() {
        let rules = [("https://*.test", "GET"), ("https://a.test", "POST")];
        let rules = rules.map(|(rule, method)| Rule::parse(rule).unwrap().with_methods([method]).unwrap());
        let policy = Policy::new(ConfigKeys::below("http"), rules, []);
        assert!(policy.check_request(&Method::POST, &target("https://a.test")).is_ok());
        assert!(policy.check_request(&Method::POST, &target("https://b.test")).is_err());
    }

    #[test]
    fn all_addresses_must_be_allowed() {
        for (rules, networks, url, resolved, allowed) in [
            (&["https://a.test"][..], &[][..], "https://a.test", &["1.1.1.1", "2606:4700::1"][..], true),
            (&["https://a.test"], &[], "https://a.test", &["1.1.1.1", "10.0.0.1"], false),
            (&["https://a.test"], &["10.0.0.0/8"], "https://a.test", &["1.1.1.1", "10.0.0.1"], true),
            (&["https://a.test"], &["10.0.0.0/8"], "https://a.test", &["::ffff:10.0.0.1"], true),
            (&["https://a.test"], &["10.0.0.0/8"], "https://a.test", &["::10.0.0.1"], false),
            (&["https://a.test"], &["10.0.0.0/8"], "https://a.test", &["127.0.0.1"], false),
            (&["https://a.test"], &["a.test"], "https://a.test", &["10.0.0.1", "::1"], true),
            (&["https://a.test"], &["a.test"], "https://a.test", &["169.254.169.254"], false),
            (&["https://a.test"], &["b.test"], "https://a.test", &["10.0.0.1"], false),
            (&["http://127.0.0.1:9000"], &[], "http://127.0.0.1:9000", &["127.0.0.1"], true),
            (&["http://[::ffff:10.0.0.1]"], &[], "http://[::ffff:10.0.0.1]", &["::ffff:10.0.0.1"], true),
            (&["http://*"], &[], "http://127.0.0.1", &["127.0.0.1"], false),
            (&["http://*"], &["127.0.0.0/8"], "http://127.0.0.1", &["127.0.0.1"], true),
            // The address that is spelt out opens itself and nothing else, and only where the rule leads.
            (&["http://*", "http://127.0.0.1:9000"], &[], "http://127.0.0.1", &["127.0.0.1"], false),
            (&["http://*", "http://127.0.0.1:9000"], &[], "http://a.test", &["127.0.0.1"], false),
            (&["http://localhost:9000"], &[], "http://localhost:9000", &["127.0.0.1", "::1"], true),
            (&["http://localhost:9000"], &[], "http://localhost:9000", &["10.0.0.1"], false),
            (&["http://*"], &[], "http://localhost", &["127.0.0.1"], false),
            (&["http://a.localhost"], &[], "http://a.localhost", &["127.0.0.1"], false),
        ] {
            let outcome = policy(rules, networks).check_addresses(&target(url), &addresses(resolved));
            assert_eq!(outcome.is_ok(), allowed, "{rules:?} {networks:?} {url} {resolved:?}: {outcome:?}");
        }
    }
}
