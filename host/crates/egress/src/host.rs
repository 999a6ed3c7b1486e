//! A host in canonical form: a name in lower-case ASCII, or an IP address. Names are brought into that form by the URL standard's own
//! algorithm; what it would quietly turn into something else is refused. Resolves nothing.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use thiserror::Error;

/// Longest name that DNS can carry, in characters.
const MAX_NAME: usize = 253;

/// Longest label of a name, in characters.
const MAX_LABEL: usize = 63;

/// A host in canonical form. Two hosts are the same if and only if they are equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Host {
    /// A name: lower-case ASCII, international labels as punycode, no dot at the end, never an IP address in disguise.
    Name(String),
    /// An IPv4 address.
    V4(Ipv4Addr),
    /// An IPv6 address.
    V6(Ipv6Addr),
}

/// Why a text is no host.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HostError {
    /// Nothing.
    #[error("the host is empty; write one, for example `api.example.com`")]
    Empty,
    /// A character that no host name has, percent-encoded ones included.
    #[error("host `{0}` holds a character that host names do not have; use letters, digits, hyphens and dots")]
    Character(String),
    /// `[fe80::1%eth0]`.
    #[error("host `{0}` names a zone; write the address without it")]
    Zone(String),
    /// Brackets around something else than an IPv6 address, or such an address without them.
    #[error("host `{0}` is no IPv6 address; write it in brackets, for example `[2001:db8::1]`")]
    NotV6(String),
    /// `2130706433`, `0x7f.1`, `0177.0.0.1`, `127.1`, full-width digits.
    #[error("host `{text}` is another way of writing {address}; write `{address}`")]
    OddNumber {
        /// As it was written.
        text: String,
        /// What it stands for.
        address: Ipv4Addr,
    },
    /// `api.example.com.`
    #[error("host `{0}` ends with a dot; write it without")]
    TrailingDot(String),
    /// Anything else that the standard refuses: empty or overlong labels, wrong punycode, numbers that are no address.
    #[error("host `{0}` is no valid host name; check its spelling")]
    Malformed(String),
}

impl Host {
    /// Reads a host as it stands in a URL, so an IPv6 address in brackets.
    ///
    /// # Errors
    /// See [`HostError`].
    pub fn parse(text: &str) -> Result<Self, HostError> {
        if text.is_empty() {
            return Err(HostError::Empty);
        }
        if text.starts_with('[') || text.contains(':') {
            return parse_v6(text);
        }
        if text.bytes().any(|byte| byte.is_ascii_control() || byte == b' ' || b"%\\/?#@*".contains(&byte)) {
            return Err(HostError::Character(shown(text)));
        }
        if text.ends_with('.') {
            return Err(HostError::TrailingDot(shown(text)));
        }
        match url::Host::parse(text) {
            Ok(url::Host::Domain(name)) => checked_name(text, name),
            Ok(url::Host::Ipv4(address)) if text == address.to_string() => Ok(Self::V4(address)),
            Ok(url::Host::Ipv4(address)) => Err(HostError::OddNumber { text: shown(text), address }),
            Ok(url::Host::Ipv6(_)) | Err(_) => Err(HostError::Malformed(shown(text))),
        }
    }

    /// The address, if the host is one.
    pub fn address(&self) -> Option<IpAddr> {
        match self {
            Self::Name(_) => None,
            Self::V4(address) => Some(IpAddr::V4(*address)),
            Self::V6(address) => Some(IpAddr::V6(*address)),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::V4(address) => address.fmt(f),
            Self::V6(address) => write!(f, "[{address}]"),
        }
    }
}

impl From<IpAddr> for Host {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::V4(address),
            IpAddr::V6(address) => Self::V6(address),
        }
    }
}

fn parse_v6(text: &str) -> Result<Host, HostError> {
    let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let Some(inner) = inner else { return Err(HostError::NotV6(shown(text))) };
    if inner.contains('%') {
        return Err(HostError::Zone(shown(text)));
    }
    inner.parse().map(Host::V6).map_err(|_| HostError::NotV6(shown(text)))
}

/// The standard tolerates more in a name than any registry does; what is left here can be compared and printed as it is.
fn checked_name(text: &str, name: String) -> Result<Host, HostError> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_' | b'.');
    if !name.bytes().all(plain) {
        return Err(HostError::Character(shown(text)));
    }
    let fits = name.len() <= MAX_NAME && name.split('.').all(|label| (1..=MAX_LABEL).contains(&label.len()));
    if fits { Ok(Host::Name(name)) } else { Err(HostError::Malformed(shown(text))) }
}

/// Text from outside, fit for one line of an error.
pub(crate) fn shown(text: &str) -> String {
    let line: String = text.chars().take(MAX_NAME).flat_map(char::escape_debug).collect();
    if text.chars().count() > MAX_NAME { line + "…" } else { line }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hosts_become_canonical() {
        for (text, canonical) in [
            ("api.example.test", "api.example.test"),
            ("API.Example.TEST", "api.example.test"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("XN--BCHER-KVA.example", "xn--bcher-kva.example"),
            ("a_b.example", "a_b.example"),
            ("localhost", "localhost"),
            ("127.0.0.1", "127.0.0.1"),
            ("[::1]", "[::1]"),
            ("[0:0:0:0:0:0:0:1]", "[::1]"),
            ("[2001:DB8::1]", "[2001:db8::1]"),
        ] {
            assert_eq!(Host::parse(text).unwrap().to_string(), canonical, "{text}");
        }
    }

    #[test]
    fn every_other_way_of_writing_an_ipv4_address_is_refused_by_name() {
        for text in [
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "0177.0.0.1",
            "127.1",
            "127.0.1",
            "0x7f.0x0.0x0.0x1",
            "0127.0.0.1",
            "127.0.0.01",
            "017700000001",
            "１２７.0.0.1",
            "127。0。0。1",
            "①②⑦.0.0.1",
        ] {
            assert!(matches!(Host::parse(text), Err(HostError::OddNumber { .. })), "{text}: {:?}", Host::parse(text));
        }
    }

    #[test]
    fn what_is_no_host_is_refused() {
        let overlong = format!("{}.test", "a".repeat(64));
        let many = "a.".repeat(130) + "test";
        for text in [
            "",
            "a b",
            "a%2eb",
            "a/b",
            "a\\b",
            "a?b",
            "a#b",
            "a@b",
            "*.test",
            "a..test",
            ".test",
            "a.test.",
            "127.0.0.1.",
            "1.2.3.4.5",
            "256.0.0.1",
            "4294967296",
            "a.0x7f",
            "[",
            "[]",
            "[::1",
            "::1",
            "[127.0.0.1]",
            "[fe80::1%25eth0]",
            "[::1]x",
            "xn--a.test",
            "a\u{0}.test",
            "a\n.test",
            "a\u{ad}\u{0}",
            "a!.test",
            "a'.test",
            &overlong,
            &many,
        ] {
            assert!(Host::parse(text).is_err(), "{text}: {:?}", Host::parse(text));
        }
    }

    #[test]
    fn an_error_fits_on_one_line() {
        let text = format!("a\n\u{1b}[31m{}", "b".repeat(10_000));
        let error = Host::parse(&text).unwrap_err().to_string();
        assert!(error.len() < 500 && !error.contains(['\n', '\u{1b}']), "{error}");
    }

    proptest! {
        #[test]
        fn any_text_gives_a_host_or_an_error_and_hosts_are_stable(text in "\\PC{0,40}") {
            if let Ok(host) = Host::parse(&text) {
                let printed = host.to_string();
                prop_assert_eq!(Host::parse(&printed), Ok(host));
            }
        }

        #[test]
        fn case_does_not_matter(text in "[a-zA-Z0-9]{1,8}(\\.[a-zA-Z]{1,8}){1,3}") {
            prop_assert_eq!(Host::parse(&text), Host::parse(&text.to_ascii_lowercase()));
        }

        #[test]
        fn a_number_is_never_a_name(number in any::<u32>(), form in 0..3) {
            let text = match form { 0 => number.to_string(), 1 => format!("{number:#x}"), _ => format!("0{number:o}") };
            prop_assert!(!matches!(Host::parse(&text), Ok(Host::Name(_))));
        }
    }
}
