//! What one call costs and takes, counted where the bytes pass.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use domain::model::CallFacts;
use reqwest::header::HeaderMap;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

/// Headers in which providers give a request its id; the first that is there counts.
const REQUEST_ID_HEADERS: [&str; 2] = ["x-request-id", "request-id"];

/// Counters of one request, shared by what sends and what reads.
#[derive(Debug, Clone)]
pub(crate) struct Meter(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    started: Instant,
    sent: u64,
    received: AtomicU64,
    first_byte_ms: OnceLock<u64>,
    request_id_hash: OnceLock<String>,
}

impl Meter {
    /// Starts with a request of so many bytes.
    pub(crate) fn start(sent: usize) -> Self {
        Self(Arc::new(Inner {
            started: Instant::now(),
            sent: sent as u64,
            received: AtomicU64::new(0),
            first_byte_ms: OnceLock::new(),
            request_id_hash: OnceLock::new(),
        }))
    }

    /// Notes the head of the answer.
    pub(crate) fn head(&self, headers: &HeaderMap) {
        if let Some(id) = REQUEST_ID_HEADERS.iter().find_map(|name| headers.get(*name)) {
            let digest = Sha256::digest(id.as_bytes());
            // 64 bits tell requests apart and say nothing else.
            let _ = self.0.request_id_hash.set(hex::encode(&digest[..8]));
        }
    }

    /// Notes a piece of the body, and answers the bytes so far.
    pub(crate) fn received(&self, bytes: usize) -> u64 {
        let elapsed = self.0.started.elapsed().as_millis();
        let _ = self.0.first_byte_ms.set(u64::try_from(elapsed).unwrap_or(u64::MAX));
        self.0.received.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64
    }

    /// The facts so far.
    pub(crate) fn facts(&self) -> CallFacts {
        let clamp = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        CallFacts {
            request_payload_bytes: Some(clamp(self.0.sent)),
            response_stream_bytes: Some(clamp(self.0.received.load(Ordering::Relaxed))),
            time_to_first_byte_ms: self.0.first_byte_ms.get().copied().map(clamp),
            upstream_request_id_hash: self.0.request_id_hash.get().cloned(),
        }
    }
}
