//! One line of the operator's allow-list: scheme, hosts, ports, methods. Says nothing of addresses.

use std::fmt;

use http::Method;
use thiserror::Error;

use crate::authority::{self, AuthorityError};
use crate::host::{Host, HostError};
use crate::pattern::HostPattern;
use crate::target::{Scheme, Target};

/// Which requests are allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    scheme: Scheme,
    host: HostPattern,
    /// Never empty.
    ports: Vec<u16>,
    /// Absent: every method that may be sent at all.
    methods: Option<Vec<Method>>,
}

/// Why a text is no rule.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RuleError {
    /// `api.example.com`
    #[error("rule `{0}` names no scheme; write `https://{0}`")]
    NoScheme(String),
    /// `ftp://api.example.com`
    #[error("rule `{rule}` has scheme `{scheme}`; use `https` or `http`")]
    Scheme {
        /// The rule.
        rule: String,
        /// Its scheme.
        scheme: String,
    },
    /// `https://api.example.com/v1`
    #[error("rule `{rule}` names more than a host and a port; write `{shorter}`, which allows every path there")]
    Path {
        /// The rule.
        rule: String,
        /// What of it is a rule.
        shorter: String,
    },
    /// `https://user@api.example.com`. The text is not repeated: it may hold a password.
    #[error("a rule holds user-info before its host; take it out, credentials are granted as secrets")]
    UserInfo,
    /// Not a number from 1 to 65535.
    #[error("rule `{0}` has a port that is no number from 1 to 65535; correct it or leave it out")]
    Port(String),
    /// No ports.
    #[error("rule `{0}` has an empty list of ports; name one or leave the list out")]
    NoPorts(String),
    /// The host is none.
    #[error("rule `{rule}` names no valid host")]
    Host {
        /// The rule.
        rule: String,
        /// What is wrong.
        source: HostError,
    },
    /// `CONNECT`, `TRACE`, `GET,POST`, none.
    #[error("`{0}` is no method that can be allowed; name methods one by one, for example `GET`")]
    Method(String),
    /// No methods.
    #[error("rule `{0}` has an empty list of methods; name one or leave the list out")]
    NoMethods(String),
}

impl Rule {
    /// Reads `https://api.example.com`, `https://*.example.com:8443`, `http://127.0.0.1:9000` or `https://*`, for every method.
    ///
    /// # Errors
    /// See [`RuleError`].
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let (scheme, rest) = text.split_once("://").ok_or_else(|| RuleError::NoScheme(text.to_owned()))?;
        let known = Scheme::parse(scheme);
        let scheme = known.ok_or_else(|| RuleError::Scheme { rule: text.to_owned(), scheme: scheme.to_owned() })?;
        let (host, port) = split(text, scheme, rest)?;
        let host = HostPattern::parse(host).map_err(|source| RuleError::Host { rule: text.to_owned(), source })?;
        Ok(Self { scheme, host, ports: vec![port.unwrap_or_else(|| scheme.default_port())], methods: None })
    }

    /// The same rule for these ports instead of its own.
    ///
    /// # Errors
    /// [`RuleError::NoPorts`], [`RuleError::Port`] for port 0.
    pub fn with_ports(self, ports: impl IntoIterator<Item = u16>) -> Result<Self, RuleError> {
        let ports: Vec<_> = ports.into_iter().collect();
        if ports.is_empty() {
            return Err(RuleError::NoPorts(self.to_string()));
        }
        if ports.contains(&0) {
            return Err(RuleError::Port(self.to_string()));
        }
        Ok(Self { ports, ..self })
    }

    /// The same rule for these methods alone, in any case.
    ///
    /// # Errors
    /// [`RuleError::NoMethods`], [`RuleError::Method`].
    pub fn with_methods<'a>(self, methods: impl IntoIterator<Item = &'a str>) -> Result<Self, RuleError> {
        let methods = methods.into_iter().map(parse_method).collect::<Result<Vec<_>, _>>()?;
        if methods.is_empty() {
            return Err(RuleError::NoMethods(self.to_string()));
        }
        Ok(Self { methods: Some(methods), ..self })
    }

    /// Which hosts it means.
    pub fn host(&self) -> &HostPattern {
        &self.host
    }

    /// Whether it means this target, whatever the method.
    pub fn names(&self, target: &Target) -> bool {
        self.scheme == target.scheme && self.ports.contains(&target.port) && self.host.matches(&target.host)
    }

    /// Whether it allows the method.
    pub fn allows(&self, method: &Method) -> bool {
        is_sendable(method) && self.methods.as_ref().is_none_or(|methods| methods.contains(method))
    }

    /// Whether the operator wrote this host down itself, as one and not among others.
    pub(crate) fn spells_out(&self, host: &Host) -> bool {
        matches!(&self.host, HostPattern::Exact(exact) if exact == host)
    }
}

/// Longest method that is sent, in bytes; the longest registered one has 17.
const MAX_METHOD: usize = 32;

/// `CONNECT` would make a tunnel of the connection, and `TRACE` sends headers back that the guest must not see.
pub(crate) fn is_sendable(method: &Method) -> bool {
    *method != Method::CONNECT && *method != Method::TRACE && method.as_str().len() <= MAX_METHOD
}

fn parse_method(text: &str) -> Result<Method, RuleError> {
    let method = Method::from_bytes(text.to_ascii_uppercase().as_bytes()).ok();
    method.filter(is_sendable).ok_or_else(|| RuleError::Method(text.to_owned()))
}

/// Host and port of what follows `://`; one slash at the end is forgiven.
fn split<'a>(text: &str, scheme: Scheme, rest: &'a str) -> Result<(&'a str, Option<u16>), RuleError> {
    // First, since the error for a path repeats the text, and a password may hold any character.
    if rest.contains('@') {
        return Err(RuleError::UserInfo);
    }
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if let Some(end) = rest.find(['/', '?', '#', '\\']) {
        return Err(RuleError::Path { rule: text.to_owned(), shorter: format!("{scheme}://{}", &rest[..end]) });
    }
    authority::split(rest).map_err(|error| match error {
        AuthorityError::UserInfo => RuleError::UserInfo,
        AuthorityError::Bracket => RuleError::Host { rule: text.to_owned(), source: HostError::NotV6(rest.to_owned()) },
        AuthorityError::Port => RuleError::Port(text.to_owned()),
    })
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.host)?;
        if self.ports != [self.scheme.default_port()] {
            let ports: Vec<_> = self.ports.iter().map(u16::to_string).collect();
            write!(f, ":{}", ports.join(","))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use http::Uri;
    use proptest::prelude::*;

    use super::*;

    fn names(rule: &str, url: &str) -> bool {
        Rule::parse(rule).unwrap().names(&Target::from_uri(&url.parse::<Uri>().unwrap()).unwrap())
    }

    #[test]
    fn scheme_host_and_port_must_all_be_named() {
        for (rule, url, expected) in [
            ("https://api.example.test", "https://api.example.test/any?path", true),
            ("https://api.example.test/", "https://api.example.test:443", true),
            ("https://api.example.test", "http://api.example.test", false),
            ("https://api.example.test", "http://api.example.test:443", false),
            ("https://api.example.test", "https://api.example.test:8443", false),
            ("https://api.example.test:8443", "https://api.example.test", false),
            ("http://127.0.0.1:9000", "http://127.0.0.1:9000", true),
            ("http://127.0.0.1:9000", "http://127.0.0.1:9001", false),
            ("https://*.example.test:8443", "https://a.example.test:8443", true),
            ("HTTPS://API.example.TEST", "https://api.example.test", true),
            ("https://[2001:db8::1]:99", "https://[2001:DB8:0::1]:99", true),
            ("https://*", "https://anything.test", true),
        ] {
            assert_eq!(names(rule, url), expected, "{rule} {url}");
        }
    }

    #[test]
    fn ports_and_methods_are_lists() {
        let rule = Rule::parse("https://a.test").unwrap().with_ports([443, 8443]).unwrap();
        assert_eq!(rule.to_string(), "https://a.test:443,8443");
        for (port, expected) in [(443, true), (8443, true), (80, false)] {
            let target = Target { scheme: Scheme::Https, host: Host::parse("a.test").unwrap(), port };
            assert_eq!(rule.names(&target), expected, "{port}");
        }
        let rule = rule.with_methods(["get", "HEAD"]).unwrap();
        for (method, expected) in [(Method::GET, true), (Method::HEAD, true), (Method::POST, false), (Method::TRACE, false)] {
            assert_eq!(rule.allows(&method), expected, "{method}");
        }
        let every = Rule::parse("https://a.test").unwrap();
        assert!(every.allows(&Method::DELETE) && !every.allows(&Method::CONNECT) && !every.allows(&Method::TRACE));
    }

    #[test]
    fn an_error_names_what_is_wrong_and_what_to_write() {
        for (text, parts) in [
            ("api.example.com", "`https://api.example.com`"),
            ("ftp://a.test", "use `https` or `http`"),
            ("https://a.test/v1", "write `https://a.test`, which allows every path"),
            ("https://a.test?x", "write `https://a.test`"),
            ("https://a.test:0", "no number from 1 to 65535"),
            ("https://a.test:8443x", "no number from 1 to 65535"),
            ("https://a.test:*", "no number from 1 to 65535"),
        ] {
            let error = Rule::parse(text).unwrap_err().to_string();
            assert!(error.contains(parts), "{text}: {error}");
        }
        for text in
            ["https://", "https://a..test", "https://127.1", "https://a.*.test", "https://[::1", "https://*.10.0.0.1", "*"]
        {
            assert!(Rule::parse(text).is_err(), "{text}");
        }
        for method in ["CONNECT", "TRACE", "GET,POST", "", "G T"] {
            let error = Rule::parse("https://a.test").unwrap().with_methods([method]).unwrap_err();
            assert_eq!(error, RuleError::Method(method.to_owned()));
        }
        let rule = || Rule::parse("https://a.test").unwrap();
        assert_eq!(rule().with_methods([]), Err(RuleError::NoMethods("https://a.test".to_owned())));
        assert_eq!(rule().with_ports([]), Err(RuleError::NoPorts("https://a.test".to_owned())));
        assert_eq!(rule().with_ports([0]), Err(RuleError::Port("https://a.test".to_owned())));
    }

    #[test]
    fn a_password_in_a_rule_is_not_repeated() {
        for text in ["https://me:hunter2@a.test", "https://me:hunter2/@a.test/x"] {
            let error = Rule::parse(text).unwrap_err();
            assert_eq!(error, RuleError::UserInfo);
            assert!(!format!("{error} {error:?}").contains("hunter2"));
        }
    }

    proptest! {
        #[test]
        fn any_text_gives_a_rule_that_prints_as_it_reads_or_an_error(text in "(https?://)?(\\*\\.)?\\PC{0,30}") {
            if let Ok(rule) = Rule::parse(&text) {
                prop_assert_eq!(Rule::parse(&rule.to_string()), Ok(rule));
            }
        }
    }
}
