//! Why a request failed, in kinds that never change and sentences for whoever has to mend it. Texts name scheme, host and port at most:
//! no path, no query, no header value, no secret.

use std::fmt;
use std::io;
use std::time::Duration;

use thiserror::Error;

use crate::headers::HeaderRefusal;
use crate::policy::{AddressRefusal, Refusal};
use crate::secret::SecretRefusal;
use crate::target::{Target, UrlError};

/// Why a request failed, as far as a caller may want to tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The request itself is not allowed. Nothing was resolved or sent.
    RefusedByPolicy,
    /// The host is at an address that is not allowed. Nothing was sent.
    RefusedAddress,
    /// The host has no address that could be found.
    Dns,
    /// No connection.
    Connect,
    /// No TLS, in most cases because of the certificate.
    Tls,
    /// The time is over.
    Timeout,
    /// Request or response is larger than allowed.
    TooLarge,
    /// One side does not speak HTTP as it must, or breaks off.
    Protocol,
}

impl Kind {
    /// Its name in logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RefusedByPolicy => "refused-by-policy",
            Self::RefusedAddress => "refused-address",
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Timeout => "timeout",
            Self::TooLarge => "too-large",
            Self::Protocol => "protocol",
        }
    }
}

/// Why a request failed.
#[derive(Debug, Error)]
pub enum EgressError {
    /// The URL.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// No rule.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A header.
    #[error(transparent)]
    Header(#[from] HeaderRefusal),
    /// A secret.
    #[error(transparent)]
    Secret(#[from] SecretRefusal),
    /// An address.
    #[error(transparent)]
    Address(#[from] AddressRefusal),
    /// Resolution failed.
    #[error("cannot resolve the host of {target}; check its spelling and the name server of this machine")]
    Dns {
        /// Where the request would have gone.
        target: Target,
        /// Cause.
        source: io::Error,
    },
    /// Resolution gave nothing.
    #[error("the host of {target} has no address; check its spelling")]
    NoAddress {
        /// Where the request would have gone.
        target: Target,
    },
    /// No address of the host took the connection.
    #[error("cannot connect to {target}; check that the server runs and that this machine reaches it")]
    Connect {
        /// Where the request would have gone.
        target: Target,
        /// Cause at the last address that was tried.
        source: io::Error,
    },
    /// No TLS.
    #[error("cannot agree on TLS with {target}; check its certificate")]
    Tls {
        /// Where the request would have gone.
        target: Target,
        /// Cause.
        source: io::Error,
    },
    /// This machine trusts no certificates.
    #[error("cannot read the certificates that this machine trusts; install them (package `ca-certificates` on most systems)")]
    Roots(#[source] io::Error),
    /// The time is over.
    #[error("{target}: time is over while {phase}: {bound}")]
    Timeout {
        /// Where the request went.
        target: Target,
        /// What it was waiting for.
        phase: Phase,
        /// What ended it.
        bound: Bound,
    },
    /// Larger than allowed.
    #[error("{target}: {part} is larger than {limit} {}", part.unit())]
    TooLarge {
        /// Where the request went.
        target: Target,
        /// What is too large.
        part: Part,
        /// How large it may be.
        limit: u64,
    },
    /// The header of the response, or its trailers, are larger than allowed.
    #[error("{target}: the header of the response is larger than {bytes} bytes or has more than {fields} fields")]
    ResponseHead {
        /// Where the request went.
        target: Target,
        /// How large it may be.
        bytes: u64,
        /// How many fields it may have.
        fields: usize,
    },
    /// The response is no HTTP, breaks off, or contradicts itself.
    #[error("{target} does not answer as HTTP demands")]
    Protocol {
        /// Where the request went.
        target: Target,
        /// Cause.
        source: hyper::Error,
    },
    /// The server asks for another protocol.
    #[error("{target} asks to switch to another protocol, which is not done here")]
    Upgrade {
        /// Where the request went.
        target: Target,
    },
    /// The body of the request is not as long as its `content-length`.
    #[error("the request to {target} has a body of another length than its `content-length` says")]
    RequestLength {
        /// Where the request would have gone.
        target: Target,
    },
    /// The body of the request ended in an error.
    #[error("the body of the request to {target} broke off")]
    RequestBody {
        /// Where the request would have gone.
        target: Target,
        /// Cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl EgressError {
    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Url(_) | Self::Refused(_) | Self::Header(_) | Self::Secret(_) => Kind::RefusedByPolicy,
            Self::Address(_) => Kind::RefusedAddress,
            Self::Dns { .. } | Self::NoAddress { .. } => Kind::Dns,
            Self::Connect { .. } => Kind::Connect,
            Self::Tls { .. } | Self::Roots(_) => Kind::Tls,
            Self::Timeout { .. } => Kind::Timeout,
            Self::TooLarge { .. } | Self::ResponseHead { .. } => Kind::TooLarge,
            Self::Protocol { .. } | Self::Upgrade { .. } | Self::RequestLength { .. } | Self::RequestBody { .. } => {
                Kind::Protocol
            }
        }
    }
}

/// What a request was waiting for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// A free place among the concurrent requests.
    Queue,
    /// Resolution of the host.
    Resolve,
    /// A connection.
    Connect,
    /// TLS.
    Tls,
    /// The server to take the request, or the guest to write its body.
    Send,
    /// The header of the response.
    FirstByte,
    /// More of the response.
    Body,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Queue => "waiting for other requests to end",
            Self::Resolve => "resolving",
            Self::Connect => "connecting",
            Self::Tls => "agreeing on TLS",
            Self::Send => "sending",
            Self::FirstByte => "waiting for the response",
            Self::Body => "reading the response",
        })
    }
}

/// What ends a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// The caller's absolute deadline.
    Deadline,
    /// A limit for the phase, or for the request as a whole.
    Limit(Duration),
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deadline => f.write_str("the deadline of the call has come"),
            Self::Limit(limit) => write!(f, "the limit is {limit:?}"),
        }
    }
}

/// What can be too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Request line and headers.
    RequestHeaders,
    /// Request body.
    RequestBody,
    /// Response body.
    ResponseBody,
    /// Number of redirects.
    Redirects,
}

impl Part {
    fn unit(self) -> &'static str {
        match self {
            Self::Redirects => "hops",
            _ => "bytes",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RequestHeaders => "the header of the request",
            Self::RequestBody => "the body of the request",
            Self::ResponseBody => "the body of the response",
            Self::Redirects => "the chain of redirects",
        })
    }
}
