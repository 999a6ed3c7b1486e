//! From a target to a connection: resolve once, check every address, connect to one of those, agree on TLS. The only place that opens
//! connections.

use std::io;
use std::net::{IpAddr, SocketAddr};

use tokio::time::Instant;

use crate::budget::Cut;
use crate::connector::Stream;
use crate::error::{EgressError, Phase};
use crate::host::Host;
use crate::network::Network;
use crate::policy::Policy;
use crate::target::{Scheme, Target};
use crate::tls;

/// Addresses that are tried, if the first ones do not answer.
const MAX_ATTEMPTS: usize = 8;

/// A connection to `target` that stands before `cut`.
pub(crate) async fn dial(network: &Network, policy: &Policy, target: &Target, cut: Cut) -> Result<Box<dyn Stream>, EgressError> {
    let addresses = cut.run(Phase::Resolve, target, resolve(network, target)).await??;
    policy.check_addresses(target, &addresses)?;
    let stream = connect(network, target, &addresses, cut).await?;
    if target.scheme == Scheme::Http {
        return Ok(stream);
    }
    let config = cut.run(Phase::Tls, target, network.tls.config()).await?.map_err(EgressError::Roots)?;
    let session = cut.run(Phase::Tls, target, tls::handshake(config, &target.host, stream)).await?;
    session.map_err(|source| EgressError::Tls { target: target.clone(), source })
}

async fn resolve(network: &Network, target: &Target) -> Result<Vec<IpAddr>, EgressError> {
    let name = match &target.host {
        Host::Name(name) => name,
        Host::V4(address) => return Ok(vec![IpAddr::from(*address)]),
        Host::V6(address) => return Ok(vec![IpAddr::from(*address)]),
    };
    let addresses = network.resolver.resolve(name).await;
    let addresses = addresses.map_err(|source| EgressError::Dns { target: target.clone(), source })?;
    if addresses.is_empty() { Err(EgressError::NoAddress { target: target.clone() }) } else { Ok(addresses) }
}

/// Tries one address after the other. Each gets its share of the time that is left, so that a dead one leaves some for the next.
async fn connect(network: &Network, target: &Target, addresses: &[IpAddr], cut: Cut) -> Result<Box<dyn Stream>, EgressError> {
    let attempts = addresses.len().min(MAX_ATTEMPTS);
    let mut last = EgressError::NoAddress { target: target.clone() };
    for (index, address) in addresses.iter().take(attempts).enumerate() {
        let address = SocketAddr::new(address.to_canonical(), target.port);
        let share = u32::try_from(attempts - index).unwrap_or(1);
        let left = cut.at.saturating_duration_since(Instant::now()) / share;
        let attempt = cut.or_at(Instant::now() + left);
        match attempt.run(Phase::Connect, target, network.connector.connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(source)) => last = refused(target, source),
            Err(timeout) => last = timeout,
        }
    }
    Err(last)
}

fn refused(target: &Target, source: io::Error) -> EgressError {
    EgressError::Connect { target: target.clone(), source }
}
