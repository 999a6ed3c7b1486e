//! The header of an outgoing request: what a guest may not say is refused, what belongs to the connection is left out, the host is
//! written by us, secrets are put in, and the size is checked. Judges no target.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{Request, Uri};
use thiserror::Error;

use crate::error::{EgressError, Part};
use crate::host::shown;
use crate::secret::Secrets;
use crate::target::Target;

/// About the connection or the framing: both are ours, so a guest's word is dropped. `content-length` is checked against the body and
/// written again; without `trailer`, no trailers are sent.
const DROPPED: [HeaderName; 5] = [header::CONNECTION, header::TE, header::TRAILER, header::EXPECT, header::CONTENT_LENGTH];

/// Would change what the bytes behind them mean, or speak to a proxy.
const REFUSED: [HeaderName; 2] = [header::TRANSFER_ENCODING, header::UPGRADE];

/// What a line needs beside name and value: `: ` and the line break.
const LINE_OVERHEAD: usize = 4;

/// A header that a guest may not send.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HeaderRefusal {
    /// `transfer-encoding`, `upgrade`, `http2-settings`, `proxy-*`.
    #[error("header `{0}` cannot be sent by a guest; leave it out, the host writes what the connection needs")]
    Name(String),
    /// A `host` that is not the one of the URL.
    #[error("header `host` says another host than the URL; leave it out")]
    Host,
    /// Several or none that is a number.
    #[error("header `content-length` is no number of bytes; leave it out or correct it")]
    ContentLength,
}

/// The header as it goes over the wire, and the length of the body that the guest announced.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) head: Request<()>,
    pub(crate) body_length: Option<u64>,
}

/// Makes the header of a request to `target`, at most `limit` bytes of it.
pub(crate) fn outgoing(parts: &Parts, target: &Target, secrets: &Secrets, limit: u64) -> Result<Outgoing, EgressError> {
    let too_large = || EgressError::TooLarge { target: target.clone(), part: Part::RequestHeaders, limit };
    let path = parts.uri.path_and_query().map_or("/", PathAndQuery::as_str);
    let path = if path.is_empty() { "/" } else { path };
    let line = parts.method.as_str().len() + path.len();
    // Twice: before, because nothing of a guest is searched without a bound; after, because secrets are longer or shorter than tokens.
    if size(line, &parts.headers) > limit {
        return Err(too_large());
    }
    check_names(&parts.headers, target)?;
    let body_length = content_length(&parts.headers)?;
    Secrets::check_places(path, &parts.headers)?;

    let mut headers = parts.headers.clone();
    remove_connection_headers(&mut headers);
    secrets.put_in(&parts.method, target, &mut headers)?;
    let authority = HeaderValue::try_from(target.authority()).map_err(|_| HeaderRefusal::Host)?;
    headers.insert(header::HOST, authority);
    if size(line, &headers) > limit {
        return Err(too_large());
    }
    let mut head = Request::new(());
    *head.method_mut() = parts.method.clone();
    *head.uri_mut() = Uri::try_from(path).map_err(|_| crate::target::UrlError::Malformed)?;
    *head.headers_mut() = headers;
    Ok(Outgoing { head, body_length })
}

/// Removes what only concerns one connection, from a request of a guest or a response for it.
pub(crate) fn remove_connection_headers(headers: &mut HeaderMap) {
    for name in DROPPED.iter().filter(|name| **name != header::CONTENT_LENGTH) {
        headers.remove(name);
    }
    headers.remove("keep-alive");
}

/// Bytes of header lines as they go over the wire.
pub(crate) fn lines_size(headers: &HeaderMap) -> u64 {
    size(0, headers)
}

fn size(line: usize, headers: &HeaderMap) -> u64 {
    let lines = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + LINE_OVERHEAD);
    u64::try_from(lines.sum::<usize>() + line).unwrap_or(u64::MAX)
}

fn check_names(headers: &HeaderMap, target: &Target) -> Result<(), HeaderRefusal> {
    for name in headers.keys() {
        let refused = REFUSED.contains(name) || name.as_str().starts_with("proxy-") || name == "http2-settings";
        if refused {
            return Err(HeaderRefusal::Name(shown(name.as_str())));
        }
    }
    let is_ours = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(target.authority().as_bytes());
    if headers.get_all(header::HOST).iter().all(is_ours) { Ok(()) } else { Err(HeaderRefusal::Host) }
}

fn content_length(headers: &HeaderMap) -> Result<Option<u64>, HeaderRefusal> {
    let mut values = headers.get_all(header::CONTENT_LENGTH).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let digits = value.to_str().ok().filter(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()));
    let length = digits.and_then(|digits| digits.parse().ok()).ok_or(HeaderRefusal::ContentLength)?;
    if values.next().is_some() { Err(HeaderRefusal::ContentLength) } else { Ok(Some(length)) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use super::*;

    fn made(headers: &[(&str, &str)], limit: u64) -> Result<Outgoing, EgressError> {
        let mut request = Request::get("https://a.test:8443/path?query");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let parts = request.body(()).unwrap().into_parts().0;
        outgoing(&parts, &Target::from_uri(&parts.uri).unwrap(), &Secrets::default(), limit)
    }

    #[test]
    fn the_head_is_for_an_origin_server() {
        let made = made(&[("x-a", "1"), ("x-a", "2"), ("host", "A.test:8443")], 1000).unwrap();
        assert_eq!(made.head.uri(), "/path?query");
        assert_eq!(made.head.headers()["host"], "a.test:8443");
        assert_eq!(made.head.headers().get_all("x-a").iter().count(), 2);
        assert_eq!(made.head.headers().len(), 3);
    }

    #[test]
    fn connection_headers_do_not_leave() {
        let names = ["connection", "keep-alive", "te", "trailer", "expect"];
        let made = made(&names.map(|name| (name, "x")), 1000).unwrap();
        assert_eq!(made.head.headers().keys().collect::<Vec<_>>(), ["host"]);
    }

    #[test]
    fn what_changes_framing_or_speaks_to_proxies_is_refused() {
        for name in ["Transfer-Encoding", "upgrade", "http2-settings", "proxy-authorization", "Proxy-Connection", "proxy-x"] {
            let error = made(&[(name, "x")], 1000).unwrap_err();
            assert!(matches!(error, EgressError::Header(HeaderRefusal::Name(_))), "{name}: {error}");
        }
        for value in ["b.test:8443", "a.test", "a.test:8443, b.test", ""] {
            let error = made(&[("host", value)], 1000).unwrap_err();
            assert!(matches!(error, EgressError::Header(HeaderRefusal::Host)), "{value}: {error}");
        }
        let error = made(&[("host", "a.test:8443"), ("host", "b.test")], 1000).unwrap_err();
        assert!(matches!(error, EgressError::Header(HeaderRefusal::Host)), "{error}");
    }

    #[test]
    fn content_length_is_one_number() {
        assert_eq!(made(&[], 1000).unwrap().body_length, None);
        assert_eq!(made(&[("content-length", "5")], 1000).unwrap().body_length, Some(5));
        for values in [&["x"][..], &["+5"], &["5, 5"], &["5", "5"], &["5", "6"], &["-1"], &[""], &["99999999999999999999"]] {
            let headers: Vec<_> = values.iter().map(|value| ("content-length", *value)).collect();
            let error = made(&headers, 1000).unwrap_err();
            assert!(matches!(error, EgressError::Header(HeaderRefusal::ContentLength)), "{values:?}: {error}");
        }
    }

    #[test]
    fn the_limit_counts_line_and_headers() {
        // GET and /path?query, host: a.test:8443, x: 1.
        let size = 3 + 11 + (4 + 11 + 4) + (1 + 1 + 4);
        assert!(made(&[("x", "1")], size).is_ok());
        assert!(matches!(made(&[("x", "1")], size - 1), Err(EgressError::TooLarge { part: Part::RequestHeaders, .. })));
    }
}
