//! Following redirects, for callers that want the page and not the hop. Every hop is a request of its own: its URL, its addresses and
//! its secrets are checked again, and what was meant for one origin does not reach another.

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full};

use crate::budget::Budget;
use crate::egress::Egress;
use crate::error::{EgressError, Part};
use crate::response_body::CappedBody;
use crate::secret;
use crate::target::{Target, UrlError, parse_url};

/// Meant for the origin that they were written for.
const CREDENTIALS: [HeaderName; 2] = [header::AUTHORIZATION, header::COOKIE];

/// Describe a body that a `GET` does not have.
const ABOUT_BODY: [HeaderName; 5] =
    [header::CONTENT_LENGTH, header::CONTENT_TYPE, header::CONTENT_ENCODING, header::CONTENT_LANGUAGE, header::CONTENT_LOCATION];

/// How redirects are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Redirects {
    /// Redirects that are followed before the request fails.
    pub max_hops: u8,
}

impl Default for Redirects {
    /// Longer chains than five are loops in practice.
    fn default() -> Self {
        Self { max_hops: 5 }
    }
}

/// Where a followed response came from, among its extensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinalUri(pub Uri);

impl Egress {
    /// Sends a request and follows its redirects, all within one budget. `authorization`, `cookie` and every header with a secret in it
    /// are left out from the first hop to another origin on. The response has a [`FinalUri`].
    ///
    /// # Errors
    /// As for [`Egress::send`], for any hop; [`EgressError::TooLarge`] if there are too many.
    pub async fn send_following(
        &self,
        request: Request<Bytes>,
        budget: impl Into<Budget> + Send,
        redirects: Redirects,
    ) -> Result<Response<CappedBody>, EgressError> {
        let schedule = self.begin(budget.into());
        let (mut parts, mut body) = request.into_parts();
        for _ in 0..=redirects.max_hops {
            let content = Full::new(body.clone()).map_err(|never| match never {}).boxed_unsync();
            let mut response = self.send_by(&parts, content, &schedule).await?;
            let Some(next) = next(&parts, &response)? else {
                response.extensions_mut().insert(FinalUri(parts.uri));
                return Ok(response);
            };
            redirect(&mut parts, &mut body, response.status(), next)?;
        }
        let limit = u64::from(redirects.max_hops);
        Err(EgressError::TooLarge { target: Target::from_uri(&parts.uri)?, part: Part::Redirects, limit })
    }
}

/// Where a response sends its reader, if it does.
fn next(parts: &Parts, response: &Response<CappedBody>) -> Result<Option<Uri>, UrlError> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = response.headers().get(header::LOCATION) else { return Ok(None) };
    let location = std::str::from_utf8(location.as_bytes()).map_err(|_| UrlError::Malformed)?;
    parse_url(location, Some(&parts.uri)).map(Some)
}

/// Makes the request of the next hop out of that of the last one.
fn redirect(parts: &mut Parts, body: &mut Bytes, status: StatusCode, next: Uri) -> Result<(), UrlError> {
    if becomes_get(status, &parts.method) {
        parts.method = Method::GET;
        *body = Bytes::new();
        ABOUT_BODY.iter().for_each(|name| drop(parts.headers.remove(name)));
    }
    if Target::from_uri(&next)? != Target::from_uri(&parts.uri)? {
        remove_credentials(&mut parts.headers);
    }
    parts.headers.remove(header::HOST);
    parts.uri = next;
    Ok(())
}

fn becomes_get(status: StatusCode, method: &Method) -> bool {
    match status.as_u16() {
        303 => *method != Method::GET && *method != Method::HEAD,
        301 | 302 => *method == Method::POST,
        _ => false,
    }
}

fn remove_credentials(headers: &mut HeaderMap) {
    let secret = |(name, value): (&HeaderName, _)| secret::has_placeholder(value).then(|| name.clone());
    let names: Vec<_> = headers.iter().filter_map(secret).chain(CREDENTIALS).collect();
    names.iter().for_each(|name| drop(headers.remove(name)));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use super::*;

    fn after(method: Method, status: u16, headers: &[(&str, &str)], next: &'static str) -> (Parts, Bytes) {
        let mut request = Request::builder().method(method).uri("https://a.test/x");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (mut parts, mut body) = request.body(Bytes::from_static(b"body")).unwrap().into_parts();
        redirect(&mut parts, &mut body, StatusCode::from_u16(status).unwrap(), Uri::from_static(next)).unwrap();
        (parts, body)
    }

    #[test]
    fn methods_change_as_browsers_change_them() {
        for (method, status, expected) in [
            (Method::POST, 301, Method::GET),
            (Method::POST, 302, Method::GET),
            (Method::POST, 303, Method::GET),
            (Method::POST, 307, Method::POST),
            (Method::POST, 308, Method::POST),
            (Method::PUT, 301, Method::PUT),
            (Method::PUT, 303, Method::GET),
            (Method::HEAD, 303, Method::HEAD),
            (Method::GET, 302, Method::GET),
        ] {
            let changed = method != expected;
            let (parts, body) = after(method.clone(), status, &[("content-type", "text/plain")], "https://a.test/y");
            assert_eq!(parts.method, expected, "{method} {status}");
            assert_eq!(body.is_empty(), changed, "{method} {status}");
            assert_eq!(parts.headers.contains_key("content-type"), !changed, "{method} {status}");
        }
    }

    #[test]
    fn credentials_stay_with_their_origin() {
        let placeholder = crate::Placeholder::random().unwrap().to_string();
        let headers = [
            ("authorization", "Bearer x"),
            ("cookie", "a=b"),
            ("x-api-key", placeholder.as_str()),
            ("accept", "*/*"),
            ("host", "a.test"),
        ];
        for (next, kept) in [
            ("https://a.test/y", 4),
            ("https://a.test:443/y", 4),
            ("https://A.test/y", 4),
            ("http://a.test/y", 1),
            ("https://a.test:8443/y", 1),
            ("https://sub.a.test/y", 1),
            ("https://b.test/y", 1),
        ] {
            let (parts, _) = after(Method::GET, 302, &headers, next);
            assert_eq!(parts.headers.len(), kept, "{next}");
            assert!(parts.headers.contains_key("accept") && !parts.headers.contains_key("host"), "{next}");
        }
    }
}
