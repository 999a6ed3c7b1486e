//! Outgoing HTTP requests for code that is not trusted: plugins, and tools that follow addresses which a model wrote. It decides where
//! such a request may go, connects only to addresses that it checked, and cuts time and sizes. It never serves the host's own requests
//! to providers, honours no proxy variables, keeps no connection and no cookie, and decodes no content.
//!
//! What happens to one request, in this order; nothing is sent before the first five are done:
//!
//! 1. [`Target`]: scheme, host and port in canonical form, or refused.
//! 2. [`Policy`]: a rule must name target and method.
//! 3. Headers: those that belong to the connection are dropped or refused; [`Secrets`] are put in where they may go.
//! 4. [`Resolve`]: once; **every** address is checked against [`AddressClass`] and the granted [`PrivateNetwork`]s.
//! 5. [`Connect`]: to one of those addresses, so a name that answers differently the next time (DNS rebinding) gains nothing.
//! 6. TLS by the certificates that this machine trusts, then HTTP/1.1 on a connection of its own.
//! 7. [`CappedBody`]: the response, cut at its limits.
//!
//! One absolute deadline ([`Budget`]) holds for all of it. A response is never followed by itself: [`Egress::send`] hands a redirect
//! out, [`Egress::send_following`] walks all seven steps again for each hop.

mod address;
mod authority;
mod budget;
mod connector;
mod dial;
mod egress;
mod error;
mod exchange;
mod headers;
mod host;
mod limits;
mod network;
mod pattern;
mod placeholder;
mod policy;
mod private_network;
mod redirect;
mod request_body;
mod resolver;
mod response_body;
mod rule;
mod secret;
mod target;
#[cfg(any(test, feature = "test-support"))]
pub mod test_support;
mod tls;

pub use address::AddressClass;
pub use budget::Budget;
pub use connector::{Connect, Stream, TcpConnector};
pub use egress::Egress;
pub use error::{Bound, EgressError, Kind, Part, Phase};
pub use headers::HeaderRefusal;
pub use host::{Host, HostError};
pub use limits::{Limits, Timeouts};
pub use network::Network;
pub use pattern::HostPattern;
pub use placeholder::Placeholder;
pub use policy::{AddressRefusal, ConfigKeys, Policy, Refusal};
pub use private_network::{PrivateNetwork, PrivateNetworkError};
pub use redirect::{FinalUri, Redirects};
pub use resolver::{Resolve, SystemResolver};
pub use response_body::CappedBody;
pub use rule::{Rule, RuleError};
pub use secret::{Secret, SecretError, SecretRefusal, SecretText, Secrets};
pub use target::{Scheme, Target, UrlError, parse_url};
