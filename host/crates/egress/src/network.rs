//! What requests go out through: resolver, connector and trusted certificates, shared by the guests of a host.

use std::sync::Arc;

use rustls::RootCertStore;

use crate::connector::{Connect, TcpConnector};
use crate::resolver::{Resolve, SystemResolver};
use crate::tls::Tls;

/// The way out. Cheap to clone; clones share resolver, connector and certificates.
#[derive(Clone)]
pub struct Network {
    pub(crate) resolver: Arc<dyn Resolve>,
    pub(crate) connector: Arc<dyn Connect>,
    pub(crate) tls: Arc<Tls>,
}

impl Network {
    /// This machine's: its resolver, TCP, the certificates that it trusts (read when first needed). No proxy, whatever the environment
    /// says.
    pub fn system() -> Self {
        Self::new(Arc::new(SystemResolver::default()), Arc::new(TcpConnector))
    }

    /// Through these ports, with the certificates that this machine trusts.
    pub fn new(resolver: Arc<dyn Resolve>, connector: Arc<dyn Connect>) -> Self {
        Self { resolver, connector, tls: Arc::default() }
    }

    /// The same, trusting these certificates instead of the machine's.
    ///
    /// # Errors
    /// TLS cannot be set up with them.
    pub fn with_roots(self, roots: RootCertStore) -> Result<Self, rustls::Error> {
        Ok(Self { tls: Arc::new(Tls::with_roots(roots)?), ..self })
    }
}

impl std::fmt::Debug for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Network").finish_non_exhaustive()
    }
}
