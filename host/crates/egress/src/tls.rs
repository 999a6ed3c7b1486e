//! TLS to the host that the request names, trusted as this machine trusts. Offers HTTP/1.1 only; never turns verification off.

use std::io;
use std::sync::Arc;

use rustls::client::ClientConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::ServerName;
use rustls::{ConfigBuilder, RootCertStore, WantsVerifier};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;

use crate::connector::Stream;
use crate::host::Host;

/// The side of a client, made at the first use: reading the machine's certificates takes longer than most starts may.
#[derive(Debug, Default)]
pub(crate) struct Tls {
    config: OnceCell<Arc<ClientConfig>>,
}

impl Tls {
    /// Trusts these certificates instead of the machine's.
    pub(crate) fn with_roots(roots: RootCertStore) -> Result<Self, rustls::Error> {
        let config = builder()?.with_root_certificates(roots).with_no_client_auth();
        Ok(Self { config: OnceCell::new_with(Some(finished(config))) })
    }

    /// The configuration; a failure is not kept.
    pub(crate) async fn config(&self) -> io::Result<Arc<ClientConfig>> {
        let read = || async {
            let config = tokio::task::spawn_blocking(|| builder()?.with_platform_verifier().map(|it| it.with_no_client_auth()));
            config.await.map_err(io::Error::other)?.map(finished).map_err(io::Error::other)
        };
        self.config.get_or_try_init(read).await.cloned()
    }
}

/// A session with `host` over `stream`.
pub(crate) async fn handshake(config: Arc<ClientConfig>, host: &Host, stream: Box<dyn Stream>) -> io::Result<Box<dyn Stream>> {
    let name = match host {
        Host::Name(name) => ServerName::try_from(name.clone()).map_err(io::Error::other)?,
        Host::V4(address) => ServerName::from(std::net::IpAddr::from(*address)),
        Host::V6(address) => ServerName::from(std::net::IpAddr::from(*address)),
    };
    Ok(Box::new(TlsConnector::from(config).connect(name, stream).await?))
}

fn builder() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, rustls::Error> {
    let provider: Arc<CryptoProvider> = Arc::new(ring::default_provider());
    ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()
}

fn finished(mut config: ClientConfig) -> Arc<ClientConfig> {
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Arc::new(config)
}
