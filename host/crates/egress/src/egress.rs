//! The way out for one guest: what it may reach, with which secrets, how much at once. Joins the steps of a request; decides nothing
//! itself.

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{Request, Response};
use http_body::Body;
use http_body_util::BodyExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::budget::{Budget, Cut, Schedule};
use crate::dial::dial;
use crate::error::{EgressError, Phase};
use crate::exchange::Exchange;
use crate::headers;
use crate::limits::Limits;
use crate::network::Network;
use crate::policy::Policy;
use crate::request_body::{BoxError, GuestBody};
use crate::response_body::CappedBody;
use crate::secret::Secrets;
use crate::target::Target;

/// The way out for one guest. Clones share its places for concurrent requests.
#[derive(Debug, Clone)]
pub struct Egress {
    network: Network,
    policy: Arc<Policy>,
    secrets: Arc<Secrets>,
    limits: Limits,
    places: Arc<Semaphore>,
}

impl Egress {
    /// A way out through `network`, as far as `policy` and `limits` let, without secrets.
    pub fn new(network: Network, policy: Policy, limits: Limits) -> Self {
        let places = limits.concurrent_requests.min(Semaphore::MAX_PERMITS);
        Self { network, policy: Arc::new(policy), secrets: Arc::default(), limits, places: Arc::new(Semaphore::new(places)) }
    }

    /// The same way out with these secrets, for example those of one run.
    #[must_use]
    pub fn with_secrets(self, secrets: Secrets) -> Self {
        Self { secrets: Arc::new(secrets), ..self }
    }

    /// Sends a request and waits for the header of its response; the body comes as it is read. The URI is absolute. A redirect is a
    /// response like any other.
    ///
    /// Dropping the future, or later the body, closes the connection.
    ///
    /// # Errors
    /// See [`EgressError::kind`].
    pub async fn send<B>(
        &self,
        request: Request<B>,
        budget: impl Into<Budget> + Send,
    ) -> Result<Response<CappedBody>, EgressError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let schedule = self.begin(budget.into());
        let (parts, body) = request.into_parts();
        self.send_by(&parts, body.map_err(Into::into).boxed_unsync(), &schedule).await
    }

    /// Starts the clock of a request.
    pub(crate) fn begin(&self, budget: Budget) -> Schedule {
        Schedule::begin(budget, &self.limits.timeouts)
    }

    /// One request, all steps.
    pub(crate) async fn send_by(
        &self,
        parts: &Parts,
        body: GuestBody,
        schedule: &Schedule,
    ) -> Result<Response<CappedBody>, EgressError> {
        let target = Target::from_uri(&parts.uri)?;
        let outcome = self.send_to(&target, parts, body, schedule).await;
        match &outcome {
            Ok(response) => {
                tracing::debug!(%target, method = %parts.method, status = response.status().as_u16(), "request answered")
            }
            Err(error) => tracing::debug!(%target, kind = error.kind().as_str(), "request failed"),
        }
        outcome
    }

    async fn send_to(
        &self,
        target: &Target,
        parts: &Parts,
        body: GuestBody,
        schedule: &Schedule,
    ) -> Result<Response<CappedBody>, EgressError> {
        self.policy.check_request(&parts.method, target)?;
        let outgoing = headers::outgoing(parts, target, &self.secrets, self.limits.request_header_bytes)?;
        let connected = schedule.connected();
        let place = self.place(target, connected).await?;
        let stream = dial(&self.network, &self.policy, target, connected).await?;
        Exchange { target, schedule, limits: &self.limits }.run(stream, outgoing, body, place).await
    }

    async fn place(&self, target: &Target, cut: Cut) -> Result<OwnedSemaphorePermit, EgressError> {
        let place = cut.run(Phase::Queue, target, Arc::clone(&self.places).acquire_owned()).await?;
        // The semaphore is never closed; were it, there would be no place.
        place.map_err(|_| cut.error(Phase::Queue, target))
    }
}
