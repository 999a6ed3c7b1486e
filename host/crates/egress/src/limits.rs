//! How large and how long a request may be. Numbers only; the places that they are about enforce them.

use std::time::Duration;

/// Sizes, counts and times of one guest's requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Request line and headers, secrets put in, in bytes.
    pub request_header_bytes: u64,
    /// Request body, in bytes.
    pub request_body_bytes: u64,
    /// Status line and headers of the response, and its trailers, in bytes each.
    pub response_header_bytes: u64,
    /// Header fields of the response, and trailer fields, each.
    pub response_header_fields: usize,
    /// Response body as it comes over the wire, in bytes. The bytes below the limit are handed out before the error.
    pub response_body_bytes: u64,
    /// Requests whose response is not read to its end, at the same time. Further ones wait, at most until their deadline.
    pub concurrent_requests: usize,
    /// Times.
    pub timeouts: Timeouts,
}

/// Times of one request. Each also ends with the deadline of the request, whichever comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Waiting for a free place, resolving, connecting and TLS, all together.
    pub connect: Duration,
    /// From the last byte of the request to the last byte of the response's header.
    pub first_byte: Duration,
    /// Between two pieces of the response body, counted while somebody waits for it.
    pub between_bytes: Duration,
    /// From start to the last byte of the response. A server that drips does not extend it.
    pub total: Duration,
}

impl Default for Limits {
    /// Enough for an API call with a document or a picture in either direction; 64 KiB of header are what browsers and servers take.
    fn default() -> Self {
        Self {
            request_header_bytes: 64 << 10,
            request_body_bytes: 8 << 20,
            response_header_bytes: 64 << 10,
            response_header_fields: 128,
            response_body_bytes: 8 << 20,
            concurrent_requests: 8,
            timeouts: Timeouts::default(),
        }
    }
}

impl Default for Timeouts {
    /// Long enough for a slow API; a hook's own deadline is usually far shorter.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(60),
            between_bytes: Duration::from_secs(30),
            total: Duration::from_secs(300),
        }
    }
}
