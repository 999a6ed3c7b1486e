//! Secrets at the host's edge: a guest writes a placeholder into a header value, and what it stands for is put in on the way out, only
//! for the hosts that the operator granted it for. The text never appears in an error, a log or a `Debug` output, and nothing that a
//! server answers is searched for it.

use std::fmt;

use http::{HeaderMap, HeaderValue, Method};
use thiserror::Error;

use crate::host::shown;
use crate::placeholder::{self, Placeholder};
use crate::rule::Rule;
use crate::target::Target;

/// The text of a secret. Shows itself to nobody.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretText(String);

impl SecretText {
    /// Takes a text over.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// One secret, and where it may go.
#[derive(Debug, Clone)]
pub struct Secret {
    name: String,
    placeholder: Placeholder,
    text: SecretText,
    rules: Vec<Rule>,
    key: String,
}

/// Why a text is no secret that could be sent.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SecretError {
    /// A line break, another control character, or nothing.
    #[error(
        "secret `{name}` cannot stand in a header: it is empty or holds a control character; check for a line break at its end"
    )]
    NotAHeaderValue {
        /// Its name.
        name: String,
    },
}

/// Why a request with placeholders is not sent.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SecretRefusal {
    /// The secret is not for this target or method.
    #[error("secret `{name}` is not granted for {method} requests to {target}; add `{target}` to `{key}` to allow it")]
    Target {
        /// Name of the secret.
        name: String,
        /// Method of the request.
        method: Method,
        /// Where it would have gone.
        target: Target,
        /// The list of rules of the secret.
        key: String,
    },
    /// A placeholder from before the last start, of another plugin, or invented.
    #[error("header `{header}` holds a placeholder that stands for no secret; ask for the secret again in each run")]
    Unknown {
        /// Name of the header.
        header: String,
    },
    /// In the path, the query or the name of a header.
    #[error("a placeholder of a secret stands in {0}; secrets are put into header values only")]
    Misplaced(&'static str),
}

impl Secret {
    /// A secret named `name`, for requests that one of `rules` allows. `key` is the list of these rules in the configuration.
    ///
    /// # Errors
    /// The text can be no header value.
    pub fn new(
        name: &str,
        placeholder: Placeholder,
        text: SecretText,
        rules: impl IntoIterator<Item = Rule>,
        key: &str,
    ) -> Result<Self, SecretError> {
        if text.0.is_empty() || HeaderValue::from_str(&text.0).is_err() {
            return Err(SecretError::NotAHeaderValue { name: name.to_owned() });
        }
        let (name, key) = (name.to_owned(), key.to_owned());
        Ok(Self { name, placeholder, text, rules: rules.into_iter().collect(), key })
    }

    /// The token that the guest gets.
    pub fn placeholder(&self) -> &Placeholder {
        &self.placeholder
    }

    fn check(&self, method: &Method, target: &Target) -> Result<(), SecretRefusal> {
        if self.rules.iter().any(|rule| rule.names(target) && rule.allows(method)) {
            return Ok(());
        }
        let (name, method, target, key) = (self.name.clone(), method.clone(), target.clone(), self.key.clone());
        Err(SecretRefusal::Target { name, method, target, key })
    }
}

/// The secrets of one guest.
#[derive(Debug, Clone, Default)]
pub struct Secrets(Vec<Secret>);

impl FromIterator<Secret> for Secrets {
    fn from_iter<I: IntoIterator<Item = Secret>>(secrets: I) -> Self {
        Self(secrets.into_iter().collect())
    }
}

impl Secrets {
    /// These, and one more.
    #[must_use]
    pub fn and(mut self, secret: Secret) -> Self {
        self.0.push(secret);
        self
    }

    /// Refuses placeholders where none is ever replaced: sent as they are, they could only confuse.
    pub(crate) fn check_places(path_and_query: &str, headers: &HeaderMap) -> Result<(), SecretRefusal> {
        if placeholder::find(path_and_query.as_bytes()).is_some() {
            return Err(SecretRefusal::Misplaced("the URL"));
        }
        if headers.keys().any(|name| placeholder::find(name.as_str().as_bytes()).is_some()) {
            return Err(SecretRefusal::Misplaced("the name of a header"));
        }
        Ok(())
    }

    /// Puts secrets in for the placeholders in all values.
    pub(crate) fn put_in(&self, method: &Method, target: &Target, headers: &mut HeaderMap) -> Result<(), SecretRefusal> {
        for (name, value) in headers.iter_mut() {
            if placeholder::find(value.as_bytes()).is_none() {
                continue;
            }
            let unknown = || SecretRefusal::Unknown { header: shown(name.as_str()) };
            let replaced = self.replaced(method, target, value.as_bytes(), unknown)?;
            // Both halves were header values, so this one is too.
            *value = HeaderValue::from_bytes(&replaced).map_err(|_| unknown())?;
            value.set_sensitive(true);
        }
        Ok(())
    }

    /// From left to right, once: a secret that looks like a placeholder is not replaced again.
    fn replaced(
        &self,
        method: &Method,
        target: &Target,
        value: &[u8],
        unknown: impl Fn() -> SecretRefusal,
    ) -> Result<Vec<u8>, SecretRefusal> {
        let mut replaced = Vec::with_capacity(value.len());
        let mut rest = value;
        while let Some(place) = placeholder::find(rest) {
            let token = &rest[place.clone()];
            let secret = self.0.iter().find(|secret| secret.placeholder.as_str().as_bytes() == token).ok_or_else(&unknown)?;
            secret.check(method, target)?;
            replaced.extend_from_slice(&rest[..place.start]);
            replaced.extend_from_slice(secret.text.0.as_bytes());
            rest = &rest[place.end..];
        }
        replaced.extend_from_slice(rest);
        Ok(replaced)
    }
}

/// Whether a header value holds a placeholder, known or not.
pub(crate) fn has_placeholder(value: &HeaderValue) -> bool {
    placeholder::find(value.as_bytes()).is_some()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use http::header::{AUTHORIZATION, COOKIE};
    use http::{HeaderName, Uri};

    use super::*;

    fn secret(text: &str) -> Secret {
        let rule = Rule::parse("https://api.test").unwrap().with_methods(["GET"]).unwrap();
        Secret::new("API_KEY", Placeholder::random().unwrap(), SecretText::new(text), [rule], "secrets.API_KEY.hosts").unwrap()
    }

    fn put_in(secrets: &Secrets, method: &Method, url: &str, value: &str) -> Result<String, SecretRefusal> {
        let target = Target::from_uri(&url.parse::<Uri>().unwrap()).unwrap();
        let mut headers = HeaderMap::from_iter([(AUTHORIZATION, value.parse().unwrap()), (COOKIE, "plain".parse().unwrap())]);
        secrets.put_in(method, &target, &mut headers)?;
        assert_eq!(headers[COOKIE], "plain");
        Ok(headers[AUTHORIZATION].to_str().unwrap().to_owned())
    }

    #[test]
    fn placeholders_in_values_are_replaced_where_the_secret_may_go() {
        let (one, other) = (secret("hunter2"), secret("s3same"));
        let (p, q) = (one.placeholder().clone(), other.placeholder().clone());
        let secrets = Secrets::from_iter([one, other]);
        for (value, expected) in [
            (format!("Bearer {p}"), "Bearer hunter2"),
            (format!("{p}"), "hunter2"),
            (format!("{p}{q}{p}"), "hunter2s3samehunter2"),
            (format!("a {q} b"), "a s3same b"),
            ("creel-secret-of-mine".to_owned(), "creel-secret-of-mine"),
        ] {
            assert_eq!(put_in(&secrets, &Method::GET, "https://api.test/x", &value).as_deref(), Ok(expected), "{value}");
        }
    }

    #[test]
    fn a_secret_goes_nowhere_else() {
        let secret = secret("hunter2");
        let value = format!("Bearer {}", secret.placeholder());
        let secrets = Secrets::from_iter([secret]);
        for (method, url) in [
            (Method::GET, "https://evil.test"),
            (Method::GET, "https://api.test.evil.test"),
            (Method::GET, "http://api.test"),
            (Method::GET, "https://api.test:8443"),
            (Method::POST, "https://api.test"),
        ] {
            let refusal = put_in(&secrets, &method, url, &value).unwrap_err();
            assert!(matches!(refusal, SecretRefusal::Target { .. }), "{method} {url}: {refusal}");
            let text = format!("{refusal} {refusal:?}");
            assert!(text.contains("secrets.API_KEY.hosts") && !text.contains("hunter2"), "{text}");
        }
        let stale = Placeholder::random().unwrap().to_string();
        let refusal = put_in(&secrets, &Method::GET, "https://api.test", &stale).unwrap_err();
        assert_eq!(refusal, SecretRefusal::Unknown { header: "authorization".to_owned() });
    }

    #[test]
    fn a_secret_that_looks_like_a_placeholder_is_sent_as_it_is() {
        let inner = secret("hunter2");
        let outer = secret(inner.placeholder().as_str());
        let (value, expected) = (outer.placeholder().to_string(), inner.placeholder().to_string());
        let secrets = Secrets::from_iter([inner, outer]);
        assert_eq!(put_in(&secrets, &Method::GET, "https://api.test", &value), Ok(expected));
    }

    #[test]
    fn a_placeholder_outside_header_values_is_refused() {
        let token = Placeholder::random().unwrap().to_string();
        let name = HeaderName::try_from(format!("x-{token}")).unwrap();
        let headers = HeaderMap::from_iter([(name, HeaderValue::from_static("1"))]);
        assert!(Secrets::check_places("/", &headers).is_err());
        assert!(Secrets::check_places(&format!("/?key={token}"), &HeaderMap::new()).is_err());
        assert!(Secrets::check_places("/?key=creel-secret", &HeaderMap::new()).is_ok());
    }

    #[test]
    fn nothing_prints_the_text() {
        let secrets = Secrets::from_iter([secret("hunter2")]);
        assert!(!format!("{secrets:?} {:?}", SecretText::new("hunter2")).contains("hunter2"));
        for text in ["", "hunter2\n", "hun\rter2", "\u{0}hunter2"] {
            let outcome = Secret::new("A", Placeholder::random().unwrap(), SecretText::new(text), [], "key");
            let error = outcome.unwrap_err();
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{text}");
        }
    }
}
