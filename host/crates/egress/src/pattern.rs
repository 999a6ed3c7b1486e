//! Which hosts a rule means: one, all below a suffix, or all. One matcher for targets, private networks and secrets; it compares
//! canonical forms only and knows nothing of addresses behind a name.

use std::fmt;

use crate::host::{Host, HostError};

/// Which hosts are meant.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum HostPattern {
    /// `*`: every host. Addresses that are not public stay refused.
    Any,
    /// One host.
    Exact(Host),
    /// `*.example.com`: every name below `example.com`, at any depth, and not `example.com` itself. Holds the part after `*.`.
    Below(String),
}

impl HostPattern {
    /// Reads `host`, `*.suffix` or `*`.
    ///
    /// # Errors
    /// [`HostError`]; a star anywhere else is a wrong character.
    pub fn parse(text: &str) -> Result<Self, HostError> {
        if text == "*" {
            return Ok(Self::Any);
        }
        let Some(suffix) = text.strip_prefix("*.") else { return Host::parse(text).map(Self::Exact) };
        match Host::parse(suffix)? {
            Host::Name(name) => Ok(Self::Below(name)),
            // Nothing is below an address.
            Host::V4(_) | Host::V6(_) => Err(HostError::Malformed(text.to_owned())),
        }
    }

    /// Whether `host` is one of those that are meant.
    pub fn matches(&self, host: &Host) -> bool {
        match self {
            Self::Any => true,
            Self::Exact(exact) => exact == host,
            Self::Below(suffix) => matches!(host, Host::Name(name) if is_below(name, suffix)),
        }
    }
}

/// `a.b.c` is below `b.c` and `c`; the dot before the suffix makes the difference to `xb.c`.
fn is_below(name: &str, suffix: &str) -> bool {
    let above = name.strip_suffix(suffix).and_then(|rest| rest.strip_suffix('.'));
    above.is_some_and(|above| !above.is_empty())
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Exact(host) => host.fmt(f),
            Self::Below(suffix) => write!(f, "*.{suffix}"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, host: &str) -> bool {
        HostPattern::parse(pattern).unwrap().matches(&Host::parse(host).unwrap())
    }

    #[test]
    fn hosts_match_whole_or_below_a_dot() {
        for (pattern, host, expected) in [
            ("api.example.test", "api.example.test", true),
            ("api.example.test", "API.EXAMPLE.TEST", true),
            ("api.example.test", "api.example.test.evil.test", false),
            ("api.example.test", "evil-api.example.test", false),
            ("api.example.test", "a.api.example.test", false),
            ("api.example.test", "example.test", false),
            ("*.example.test", "api.example.test", true),
            ("*.example.test", "a.b.example.test", true),
            ("*.example.test", "example.test", false),
            ("*.example.test", "badexample.test", false),
            ("*.example.test", "api.example.test.evil.test", false),
            ("*.Bücher.example", "a.xn--bcher-kva.example", true),
            ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1", "[::ffff:127.0.0.1]", false),
            ("[::1]", "[0:0::1]", true),
            ("*", "anything.test", true),
            ("*", "10.0.0.1", true),
        ] {
            assert_eq!(matches(pattern, host), expected, "{pattern} {host}");
        }
    }

    #[test]
    fn a_star_stands_only_for_the_first_labels() {
        for text in ["**", "*example.test", "api.*.test", "*.*", "*.", "*.127.0.0.1", "*.[::1]", "a*", ""] {
            assert!(HostPattern::parse(text).is_err(), "{text}");
        }
    }

    fn labels() -> impl Strategy<Value = Vec<String>> {
        // Few letters, so that names often share labels and ends.
        prop::collection::vec("[abx][ab]{0,2}", 1..5)
    }

    proptest! {
        #[test]
        fn a_suffix_means_whole_labels_and_at_least_one_more(host in labels(), suffix in labels()) {
            let expected = host.len() > suffix.len() && host.ends_with(&suffix);
            prop_assert_eq!(matches(&format!("*.{}", suffix.join(".")), &host.join(".")), expected);
        }

        #[test]
        fn an_exact_pattern_means_one_host(host in labels(), pattern in labels()) {
            prop_assert_eq!(matches(&pattern.join("."), &host.join(".")), host == pattern);
        }

        #[test]
        fn nothing_appended_or_prepended_matches(host in labels(), junk in "[a-z0-9-]{1,6}") {
            let name = host.join(".");
            let (behind, before, appended) = (format!("{name}{junk}"), format!("{junk}{name}"), format!("{name}.{junk}"));
            prop_assume!(Host::parse(&behind).is_ok() && Host::parse(&before).is_ok());
            prop_assert!(!matches(&name, &behind) && !matches(&name, &before));
            prop_assert!(Host::parse(&appended).is_err() || !matches(&name, &appended));
        }

        #[test]
        fn patterns_print_as_they_read(host in labels(), below in any::<bool>()) {
            let text = if below { format!("*.{}", host.join(".")) } else { host.join(".") };
            let pattern = HostPattern::parse(&text).unwrap();
            prop_assert_eq!(HostPattern::parse(&pattern.to_string()), Ok(pattern));
        }
    }
}
