//! Where an endpoint stands, and which silence it is allowed (agent-loop 21.3). The run's own limits are not known here; they end a
//! call by cancelling it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use reqwest::Url;

use crate::settings::Timeouts;

/// Longest wait for a connection when nothing is configured: a host that answers at all does so within seconds.
const CONNECT: Duration = Duration::from_secs(30);
const CLOUD_IDLE: Duration = Duration::from_secs(120);
const SELF_HOSTED_IDLE: Duration = Duration::from_secs(300);

/// Server products that people run themselves; as provider ids, alone or before a `-`.
const SELF_HOSTED: [&str; 5] = ["ollama", "lmstudio", "vllm", "sglang", "llama-cpp"];
/// Names of the machine around a container.
const CONTAINER_HOSTS: [&str; 3] = ["host.docker.internal", "host.containers.internal", "host.lima.internal"];

/// Where an endpoint stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointClass {
    /// This machine or a private network.
    Local,
    /// A server product on another machine.
    SelfHosted,
    /// Everything else.
    Cloud,
}

impl EndpointClass {
    /// The class of a provider's address. Hosted variants of server products, models that end in `:cloud`, are cloud.
    pub fn of(provider: &str, base_url: &Url, model: &str) -> Self {
        if model.ends_with(":cloud") {
            Self::Cloud
        } else if is_local(base_url) {
            Self::Local
        } else if is_self_hosted(provider, base_url) {
            Self::SelfHosted
        } else {
            Self::Cloud
        }
    }

    /// Longest silence when nothing is configured; none: any.
    pub fn idle_window(self) -> Option<Duration> {
        match self {
            Self::Local => None,
            Self::SelfHosted => Some(SELF_HOSTED_IDLE),
            Self::Cloud => Some(CLOUD_IDLE),
        }
    }

    /// Time limits when nothing is configured.
    pub fn timeouts(self) -> Timeouts {
        Timeouts { connect: Some(CONNECT), headers: None, idle: self.idle_window(), total: None }
    }
}

/// Whether an address names this machine or a private network.
pub(crate) fn is_local(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let host = host.trim_matches(|c| c == '[' || c == ']');
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => is_local_v4(address),
        Ok(IpAddr::V6(address)) => is_local_v6(address),
        Err(_) => {
            let name = host.trim_end_matches('.');
            name == "localhost" || name.ends_with(".localhost") || name.ends_with(".local")
        }
    }
}

fn is_local_v4(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    let shared = first == 100 && (64..128).contains(&second);
    address.is_loopback() || address.is_unspecified() || address.is_private() || address.is_link_local() || shared
}

fn is_local_v6(address: Ipv6Addr) -> bool {
    match address.to_ipv4_mapped() {
        Some(mapped) => is_local_v4(mapped),
        None => {
            let private = address.is_unique_local() || address.is_unicast_link_local();
            address.is_loopback() || address.is_unspecified() || private
        }
    }
}

fn is_self_hosted(provider: &str, url: &Url) -> bool {
    let product = SELF_HOSTED.iter().any(|name| {
        let rest = provider.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    });
    product || url.host_str().is_some_and(|host| CONTAINER_HOSTS.contains(&host))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn class(provider: &str, url: &str, model: &str) -> EndpointClass {
        EndpointClass::of(provider, &Url::parse(url).unwrap(), model)
    }

    #[test]
    fn local_addresses_have_no_idle_window() {
        for host in [
            "localhost",
            "nas.local",
            "127.8.8.8",
            "0.0.0.0",
            "10.1.2.3",
            "172.31.0.1",
            "192.168.1.1",
            "100.64.0.1",
            "169.254.1.1",
            "[::1]",
            "[::]",
            "[fd00::1]",
            "[fe80::1]",
            "[::ffff:10.0.0.1]",
        ] {
            assert_eq!(class("acme", &format!("http://{host}:8080/v1"), "m"), EndpointClass::Local, "{host}");
        }
        assert_eq!(EndpointClass::Local.timeouts().idle, None);
    }

    #[test]
    fn public_addresses_are_cloud_unless_a_server_product_runs_there() {
        for host in ["api.example.com", "8.8.8.8", "172.32.0.1", "100.128.0.1", "[2001:db8::1]", "notlocalhost"] {
            assert_eq!(class("acme", &format!("https://{host}/v1"), "m"), EndpointClass::Cloud, "{host}");
        }
        for provider in ["vllm", "ollama-gpu", "llama-cpp"] {
            assert_eq!(class(provider, "https://gpu.example.com/v1", "m"), EndpointClass::SelfHosted, "{provider}");
        }
        assert_eq!(class("vllmish", "https://gpu.example.com/v1", "m"), EndpointClass::Cloud);
        assert_eq!(class("acme", "http://host.docker.internal:1/v1", "m"), EndpointClass::SelfHosted);
        assert_eq!(class("ollama", "http://localhost:11434/v1", "big:cloud"), EndpointClass::Cloud);
    }

    #[test]
    fn windows_follow_the_class() {
        assert_eq!(EndpointClass::Cloud.idle_window(), Some(Duration::from_secs(120)));
        assert_eq!(EndpointClass::SelfHosted.idle_window(), Some(Duration::from_secs(300)));
        let uniform = Timeouts::uniform(Duration::from_secs(7));
        assert_eq!([uniform.connect, uniform.headers, uniform.idle, uniform.total], [Some(Duration::from_secs(7)); 4]);
    }
}
