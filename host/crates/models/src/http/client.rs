//! Where requests of one provider go, and the connection pool that carries them.

use std::sync::OnceLock;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url};

use super::failure::Blame;
use super::redact::Redactor;
use crate::endpoint;
use crate::problem::ProviderProblem;
use crate::settings::ProviderSettings;

/// The HTTP client could not be built; in its words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no HTTP client: {0}; are the certificates of the system installed (package `ca-certificates`)?")]
pub(crate) struct ClientError(String);

/// One address with its headers.
#[derive(Debug)]
pub(crate) struct Target {
    base: Url,
    url: Url,
    headers: HeaderMap,
    connect: Option<Duration>,
    blame: Blame,
    client: OnceLock<Result<Client, ClientError>>,
}

impl Target {
    /// Checks address, key and headers.
    ///
    /// # Errors
    /// The first that cannot be used, with the key to correct. Values are not repeated.
    pub(crate) fn new(settings: &ProviderSettings, path: &str) -> Result<Self, ProviderProblem> {
        let base = base_url(settings)?;
        let mut url = base.clone();
        url.set_path(&format!("{}{path}", base.path().trim_end_matches('/')));
        let connect = settings.timeouts.unwrap_or_else(|| endpoint::EndpointClass::Cloud.timeouts()).connect;
        let secrets = settings.api_key.iter().chain(settings.headers.values()).cloned();
        let blame = Blame::new(&settings.id, Redactor::new(secrets));
        Ok(Self { base, url, headers: headers(settings)?, connect, blame, client: OnceLock::new() })
    }

    /// The configured address.
    pub(crate) fn base_url(&self) -> &Url {
        &self.base
    }

    /// Who is to blame for what goes wrong here.
    pub(crate) fn blame(&self) -> &Blame {
        &self.blame
    }

    /// A request without a body. The client is built at the first one: reading the certificates of the system takes longer than the
    /// rest of a start.
    pub(crate) fn post(&self) -> Result<reqwest::RequestBuilder, ClientError> {
        let client = self.client.get_or_init(|| self.build()).as_ref().map_err(Clone::clone)?;
        Ok(client.post(self.url.clone()).headers(self.headers.clone()))
    }

    fn build(&self) -> Result<Client, ClientError> {
        // Fails only if a provider is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder()
            .user_agent(concat!("creel/", env!("CARGO_PKG_VERSION")))
            // A redirect would carry the operator's own headers to a host that the operator did not name.
            .redirect(reqwest::redirect::Policy::none());
        if let Some(limit) = self.connect {
            builder = builder.connect_timeout(limit);
        }
        if endpoint::is_local(&self.base) {
            builder = builder.no_proxy();
        }
        if self.base.scheme() == "http" {
            // Without TLS no certificate is needed, and none may be there.
            builder = builder.tls_certs_only([]);
        }
        builder.build().map_err(|error| {
            let cause = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
            ClientError(cause)
        })
    }
}

fn base_url(settings: &ProviderSettings) -> Result<Url, ProviderProblem> {
    let id = &settings.id;
    let bad = |reason: &str| ProviderProblem::BadBaseUrl { id: id.clone(), reason: reason.to_owned() };
    let text = settings.base_url.as_deref().map(str::trim).filter(|text| !text.is_empty());
    let url = Url::parse(text.ok_or_else(|| ProviderProblem::NoBaseUrl { id: id.clone() })?);
    let url = url.map_err(|error| bad(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad("it must begin with `http://` or `https://`"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad("it must not hold credentials, which belong into `apiKey`"));
    }
    if url.fragment().is_some() {
        return Err(bad("it must not hold a fragment"));
    }
    Ok(url)
}

fn headers(settings: &ProviderSettings) -> Result<HeaderMap, ProviderProblem> {
    let mut headers = HeaderMap::new();
    if let Some(key) = &settings.api_key {
        let value = sensitive(&format!("Bearer {}", key.reveal()));
        headers.insert(AUTHORIZATION, value.ok_or_else(|| ProviderProblem::BadKey { id: settings.id.clone() })?);
    }
    for (name, value) in &settings.headers {
        let bad = || ProviderProblem::BadHeader { id: settings.id.clone(), name: name.clone() };
        let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        headers.insert(parsed, sensitive(value.reveal()).ok_or_else(bad)?);
    }
    Ok(headers)
}

fn sensitive(value: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::settings::Secret;

    fn target(url: &str) -> Result<Target, ProviderProblem> {
        Target::new(&ProviderSettings::new("acme", url), "/chat/completions")
    }

    #[test]
    fn the_path_is_added_and_the_query_kept() {
        for (base, url) in [
            ("http://h/v1", "http://h/v1/chat/completions"),
            (" http://h/v1/ ", "http://h/v1/chat/completions"),
            ("https://h", "https://h/chat/completions"),
            ("https://h/v1?api-version=2", "https://h/v1/chat/completions?api-version=2"),
        ] {
            assert_eq!(target(base).unwrap().url.as_str(), url, "{base}");
        }
    }

    #[test]
    fn unusable_addresses_name_the_key() {
        for bad in ["", "h/v1", "ftp://h", "http://", "http://user:pw@h/v1", "http://h/v1#x"] {
            let problem = target(bad).unwrap_err().to_string();
            assert!(problem.contains("models.providers.acme.baseUrl"), "{bad}: {problem}");
            assert!(!problem.contains("pw"), "{problem}");
        }
    }

    #[test]
    fn unusable_keys_and_headers_are_not_repeated() {
        let mut settings = ProviderSettings::new("acme", "http://h");
        settings.api_key = Some(Secret::new("sk-hidden\n"));
        let problem = Target::new(&settings, "").unwrap_err().to_string();
        assert!(problem.contains("models.providers.acme.apiKey") && !problem.contains("hidden"), "{problem}");
        settings.api_key = None;
        settings.headers.insert("x y".to_owned(), Secret::new("hidden"));
        let problem = Target::new(&settings, "").unwrap_err().to_string();
        assert!(problem.contains("models.providers.acme.headers") && !problem.contains("hidden"), "{problem}");
    }

    #[test]
    fn a_header_takes_the_place_of_the_key() {
        let mut settings = ProviderSettings::new("acme", "http://h");
        settings.api_key = Some(Secret::new("sk-1"));
        settings.headers.insert("Authorization".to_owned(), Secret::new("Token 2"));
        assert_eq!(headers(&settings).unwrap().get(AUTHORIZATION).unwrap(), "Token 2");
    }

    #[test]
    fn a_client_can_be_built_for_either_scheme() {
        for url in ["http://127.0.0.1:1", "https://example.com"] {
            // Where the system has no certificates the error says so; a panic would be the fault.
            if let Err(error) = target(url).unwrap().post() {
                assert!(url.starts_with("https") && error.to_string().contains("certificates"), "{url}: {error}");
            }
        }
    }
}
