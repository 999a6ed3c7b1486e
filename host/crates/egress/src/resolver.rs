//! From a name to addresses: the port, and the system's resolver behind it. Checks no address.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Semaphore;

/// Looks names up.
#[async_trait]
pub trait Resolve: Send + Sync {
    /// All addresses of a name, in the order in which they should be tried. Called once for each request that goes to a name.
    ///
    /// # Errors
    /// Whatever kept it from an answer.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// Lookups of all guests together at the same time. A lookup blocks a thread until the system gives up, even if nobody waits for it any
/// more; without a bound, names with dead servers would take every thread that the host has for blocking work.
const MAX_LOOKUPS: usize = 32;

/// The resolver of the operating system: hosts file, name servers, whatever it is set to.
#[derive(Debug, Clone)]
pub struct SystemResolver {
    places: Arc<Semaphore>,
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(MAX_LOOKUPS)) }
    }
}

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(io::Error::other)?;
        let name = name.to_owned();
        let lookup = move || {
            // Given back when the lookup ends, not when its caller gives up.
            let _place = place;
            let addresses = (name.as_str(), 0).to_socket_addrs()?;
            Ok(addresses.map(|address: SocketAddr| address.ip()).collect())
        };
        tokio::task::spawn_blocking(lookup).await.map_err(io::Error::other)?
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use super::*;

    #[tokio::test]
    async fn the_system_knows_this_machine() {
        let addresses = SystemResolver::default().resolve("localhost").await.unwrap();
        assert!(!addresses.is_empty() && addresses.iter().all(IpAddr::is_loopback), "{addresses:?}");
    }

    #[tokio::test]
    async fn lookups_beyond_the_bound_wait() {
        let resolver = SystemResolver::default();
        let all = Arc::clone(&resolver.places).acquire_many_owned(u32::try_from(MAX_LOOKUPS).unwrap()).await.unwrap();
        let mut waiting = Box::pin(resolver.resolve("localhost"));
        assert!(futures_are_pending(&mut waiting).await);
        drop(all);
        waiting.await.unwrap();
        assert_eq!(resolver.places.available_permits(), MAX_LOOKUPS);
    }

    async fn futures_are_pending(future: &mut (impl Future + Unpin)) -> bool {
        tokio::select! { biased; _ = future => false, () = std::future::ready(()) => true }
    }
}
