//! Where a request goes: scheme, host and port in canonical form. The part of a URL that policy is about, and the only part that ever
//! appears in errors and logs, since path and query may hold what is confidential.

use std::fmt;

use http::Uri;
use thiserror::Error;
use url::Url;

use crate::authority::{self, AuthorityError};
use crate::host::{Host, HostError, shown};

/// The two schemes that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scheme {
    /// `http`
    Http,
    /// `https`
    Https,
}

impl Scheme {
    /// Its port, if none is written.
    pub fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    /// The scheme with that name, in any case.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        [Self::Http, Self::Https].into_iter().find(|scheme| text.eq_ignore_ascii_case(scheme.as_str()))
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where a request goes. Two targets are the same origin if and only if they are equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target {
    /// Scheme.
    pub scheme: Scheme,
    /// Host, canonical.
    pub host: Host,
    /// Port, never 0.
    pub port: u16,
}

/// Why a URL names no target. Texts quote the host at most, never user-info, path or query.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UrlError {
    /// No URL at all.
    #[error("this is no absolute URL; write one like `https://api.example.com/path`")]
    Malformed,
    /// `file:`, `ftp:`, `ws:`, none.
    #[error("URLs of scheme `{0}` are not fetched; use `https` or `http`")]
    Scheme(String),
    /// `https:///path`
    #[error("the URL names no host; write one like `https://api.example.com/path`")]
    NoHost,
    /// `https://user@host`
    #[error("the URL holds user-info before the host; send credentials in a header")]
    UserInfo,
    /// Not a number from 1 to 65535.
    #[error("the port of the URL is no number from 1 to 65535; correct it or leave it out")]
    Port,
    /// The host is none, or is written in a way that hides what it is.
    #[error(transparent)]
    Host(#[from] HostError),
}

impl Target {
    /// The target of an absolute URI.
    ///
    /// # Errors
    /// See [`UrlError`].
    pub fn from_uri(uri: &Uri) -> Result<Self, UrlError> {
        let scheme = uri.scheme_str().ok_or(UrlError::Malformed)?;
        let scheme = Scheme::parse(scheme).ok_or_else(|| UrlError::Scheme(scheme.to_owned()))?;
        let authority = uri.authority().ok_or(UrlError::NoHost)?;
        let (host, port) = authority::split(authority.as_str()).map_err(|error| match error {
            AuthorityError::UserInfo => UrlError::UserInfo,
            AuthorityError::Bracket => UrlError::Host(HostError::NotV6(authority.host().to_owned())),
            AuthorityError::Port => UrlError::Port,
        })?;
        let host = Host::parse(host)?;
        Ok(Self { scheme, host, port: port.unwrap_or_else(|| scheme.default_port()) })
    }

    /// `host`, or `host:port` if the port is not the scheme's own: what a `Host` header says.
    pub(crate) fn authority(&self) -> String {
        if self.port == self.scheme.default_port() { self.host.to_string() } else { format!("{}:{}", self.host, self.port) }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.authority())
    }
}

/// Reads a URL that people or servers wrote, by the URL standard and relative to `base` if there is one: a `Location`, an address in a
/// text. Number forms of addresses and international names become canonical here; [`Target::from_uri`] judges what comes out.
///
/// # Errors
/// See [`UrlError`].
pub fn parse_url(text: &str, base: Option<&Uri>) -> Result<Uri, UrlError> {
    let base = base.map(|uri| Url::parse(&uri.to_string())).transpose().map_err(|_| UrlError::Malformed)?;
    let mut url = Url::options().base_url(base.as_ref()).parse(text).map_err(|_| UrlError::Malformed)?;
    if Scheme::parse(url.scheme()).is_none() {
        return Err(UrlError::Scheme(shown(url.scheme())));
    }
    url.set_fragment(None);
    Uri::try_from(url.as_str()).map_err(|_| UrlError::Malformed)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use proptest::prelude::*;

    use super::*;

    fn target(text: &str) -> Result<String, UrlError> {
        let uri = Uri::try_from(text).map_err(|_| UrlError::Malformed)?;
        Target::from_uri(&uri).map(|target| target.to_string())
    }

    #[test]
    fn targets_are_canonical() {
        for (text, expected) in [
            ("https://a.test", "https://a.test"),
            ("HTTPS://A.TEST/x", "https://a.test"),
            ("https://a.test:443/", "https://a.test"),
            ("http://a.test:80/?q", "http://a.test"),
            ("http://a.test:443", "http://a.test:443"),
            ("https://[2001:DB8::1]:8443/", "https://[2001:db8::1]:8443"),
        ] {
            assert_eq!(target(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn an_endless_scheme_makes_no_endless_error() {
        let error = parse_url(&format!("{}:x", "a".repeat(100_000)), None).unwrap_err();
        assert!(error.to_string().len() < 500);
    }

    #[test]
    fn errors_keep_confidential_parts_to_themselves() {
        let error = target("https://user:hunter2@a.test/path?token=t0ken").unwrap_err();
        assert_eq!(error, UrlError::UserInfo);
        let text = format!("{error} {error:?}");
        assert!(!text.contains("hunter2") && !text.contains("t0ken"), "{text}");
    }

    #[test]
    fn urls_are_joined_by_the_standard() {
        let base = Uri::from_static("https://a.test/dir/page?q=1");
        for (text, expected) in [
            ("other", "https://a.test/dir/other"),
            ("/x", "https://a.test/x"),
            ("//b.test/x", "https://b.test/x"),
            ("?p=2", "https://a.test/dir/page?p=2"),
            ("http://2130706433/#part", "http://127.0.0.1/"),
            ("https://Bücher.example/ü", "https://xn--bcher-kva.example/%C3%BC"),
            ("\\\\b.test\\x", "https://b.test/x"),
        ] {
            assert_eq!(parse_url(text, Some(&base)).unwrap().to_string(), expected, "{text}");
        }
        for text in ["file:///etc/passwd", "javascript:alert(1)", "data:,x", "https://"] {
            assert!(parse_url(text, Some(&base)).is_err(), "{text}");
        }
        assert_eq!(parse_url("/x", None), Err(UrlError::Malformed));
    }

    proptest! {
        #[test]
        fn no_text_panics_and_targets_are_stable(text in "(https?://)?\\PC{0,30}") {
            if let Ok(printed) = target(&text) {
                prop_assert_eq!(target(&printed), Ok(printed));
            }
            let _ = parse_url(&text, Some(&Uri::from_static("https://a.test/")));
        }
    }
}
