//! Places that are not public and that the operator opened: a network, an address, or whatever a host name stands for.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use thiserror::Error;

use crate::address::AddressClass;
use crate::host::{Host, HostError};
use crate::pattern::HostPattern;

/// One opened place.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PrivateNetwork {
    /// Every address of the network, of whatever class. A metadata service only if the network is that one address.
    Net(IpNet),
    /// What the host resolves to, as far as it is a place where machines answer ([`AddressClass::is_inside`]).
    Host(HostPattern),
}

/// Why a text names no private network.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PrivateNetworkError {
    /// `10.0.0.1/8`.
    #[error("`{text}` has bits set behind its prefix; write `{net}`, or `{address}` if one address is meant")]
    HostBits {
        /// As it was written.
        text: String,
        /// The network that it may mean.
        net: IpNet,
        /// The address that it may mean.
        address: IpAddr,
    },
    /// `10.0.0.0/33`, `example.com/8`.
    #[error("`{0}` is no network; write an address and a prefix length, for example `10.0.0.0/8`")]
    Net(String),
    /// `*`.
    #[error("`*` would open every network; name the networks, for example `10.0.0.0/8`, or the hosts")]
    Everything,
    /// A scheme, a port or a path.
    #[error("`{0}` is more than a host; write the host alone, for example `printer.example.com`")]
    MoreThanHost(String),
    /// Not a host either.
    #[error(transparent)]
    Host(#[from] HostError),
}

impl PrivateNetwork {
    /// Reads `10.0.0.0/8`, `10.1.2.3`, `fd00::/8`, `::1`, `printer.example.com` or `*.lan`.
    ///
    /// # Errors
    /// See [`PrivateNetworkError`].
    pub fn parse(text: &str) -> Result<Self, PrivateNetworkError> {
        if text == "*" {
            return Err(PrivateNetworkError::Everything);
        }
        if let Ok(address) = text.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
            return Ok(Self::Net(IpNet::from(address)));
        }
        if text.contains("://") {
            return Err(PrivateNetworkError::MoreThanHost(text.to_owned()));
        }
        if text.contains('/') {
            return parse_net(text);
        }
        if text.contains(':') {
            return Err(PrivateNetworkError::MoreThanHost(text.to_owned()));
        }
        Ok(Self::Host(HostPattern::parse(text)?))
    }

    /// Whether a request to `host` may connect to `address`, which is of `class` and in its plain form (no IPv4-mapped one).
    pub(crate) fn opens(&self, host: &Host, address: IpAddr, class: AddressClass) -> bool {
        match self {
            Self::Net(net) if class == AddressClass::Metadata => *net == IpNet::from(address),
            Self::Net(net) => net.contains(&address),
            Self::Host(pattern) => class.is_inside() && pattern.matches(host),
        }
    }
}

fn parse_net(text: &str) -> Result<PrivateNetwork, PrivateNetworkError> {
    let net: IpNet = text.parse().map_err(|_| PrivateNetworkError::Net(text.to_owned()))?;
    if net == net.trunc() {
        return Ok(PrivateNetwork::Net(net));
    }
    Err(PrivateNetworkError::HostBits { text: text.to_owned(), net: net.trunc(), address: net.addr() })
}

impl fmt::Display for PrivateNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Net(net) => net.fmt(f),
            Self::Host(pattern) => pattern.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use super::*;

    fn opens(network: &str, host: &str, address: &str) -> bool {
        let address: IpAddr = address.parse().unwrap();
        let network = PrivateNetwork::parse(network).unwrap();
        network.opens(&Host::parse(host).unwrap(), address, AddressClass::of(address))
    }

    #[test]
    fn a_network_opens_what_it_names() {
        for (network, host, address, expected) in [
            ("10.0.0.0/8", "a.test", "10.1.2.3", true),
            ("10.0.0.0/8", "a.test", "11.0.0.1", false),
            ("10.1.2.3", "a.test", "10.1.2.3", true),
            ("10.1.2.3", "a.test", "10.1.2.4", false),
            ("::1", "a.test", "::1", true),
            ("[::1]", "a.test", "::1", true),
            ("fd00::/8", "a.test", "fd12::1", true),
            ("169.254.0.0/16", "a.test", "169.254.1.1", true),
            ("169.254.0.0/16", "a.test", "169.254.169.254", false),
            ("0.0.0.0/0", "a.test", "169.254.169.254", false),
            ("169.254.169.254", "a.test", "169.254.169.254", true),
            ("a.test", "a.test", "10.0.0.1", true),
            ("a.test", "a.test", "127.0.0.1", true),
            ("a.test", "b.test", "10.0.0.1", false),
            ("a.test", "a.test", "169.254.169.254", false),
            ("a.test", "a.test", "0.0.0.0", false),
            ("a.test", "a.test", "224.0.0.1", false),
            ("*.lan", "printer.lan", "192.168.0.2", true),
            ("*.lan", "lan", "192.168.0.2", false),
        ] {
            assert_eq!(opens(network, host, address), expected, "{network} {host} {address}");
        }
    }

    #[test]
    fn an_error_names_what_to_write() {
        for (text, part) in [
            ("10.0.0.1/8", "10.0.0.0/8"),
            ("10.0.0.0/33", "no network"),
            ("a.test/8", "no network"),
            ("*", "every network"),
            ("http://a.test", "host alone"),
            ("a.test:80", "host alone"),
            ("0x7f.1", "write `127.0.0.1`"),
            ("", "empty"),
        ] {
            let error = PrivateNetwork::parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
