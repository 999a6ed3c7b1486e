//! `wasi:http`: outgoing requests, sent by `egress` as far as the operator granted it. It is linked for every plugin, because language
//! runtimes import it whether or not they use it; without a grant each request is refused. No incoming requests.

use std::future::Future;
use std::sync::Arc;

use domain::PluginId;
use egress::{Budget, ConfigKeys, Egress, EgressError, Kind, Network, Policy};
use http_body_util::BodyExt;
use tokio::time::Instant;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks, WasiHttpView};

use crate::grant::{Capability, HttpGrant};
use crate::state::State;
use crate::told::Told;

/// Headers of one message in memory, in bytes: what `wasi:http` lets a guest collect before anything is sent.
const FIELDS_BYTES: usize = 128 << 10;

/// Key of the grant in the configuration.
pub(crate) fn key(plugin: &PluginId) -> String {
    format!("plugins.entries.{plugin}.capabilities.http")
}

/// The way out of a plugin, for all its instances. None: not granted.
pub(crate) fn egress(plugin: &PluginId, grant: Option<&Arc<HttpGrant>>, network: &Network) -> Option<Egress> {
    let grant = grant?;
    let policy = Policy::new(ConfigKeys::below(&key(plugin)), grant.rules.clone(), grant.networks.clone());
    Some(Egress::new(network.clone(), policy, grant.limits))
}

/// What one instance keeps for its requests.
pub(crate) struct HttpState {
    context: WasiHttpCtx,
    sender: Sender,
}

impl HttpState {
    pub(crate) fn new(told: &Told, surface: &'static str, deadline: Instant) -> Self {
        let mut context = WasiHttpCtx::new();
        context.set_field_size_limit(FIELDS_BYTES);
        Self { context, sender: Sender { egress: None, plugin: None, told: told.clone(), surface, deadline } }
    }
}

/// Sends the requests of one call.
struct Sender {
    egress: Option<Egress>,
    plugin: Option<PluginId>,
    told: Told,
    surface: &'static str,
    deadline: Instant,
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        let egress = self.plugin.egress.as_ref().map(|egress| egress.clone().with_secrets(self.secrets.in_use()));
        let sender = &mut self.http.sender;
        sender.egress = egress;
        sender.plugin = Some(self.plugin.id.clone());
        sender.surface = self.call.surface;
        // Whatever the guest asks for, a request ends with the call that makes it.
        sender.deadline = self.call.deadline;
        WasiHttpCtxView { hooks: sender, table: &mut self.table, ctx: &mut self.http.context }
    }
}

type Sent = Result<(http::Response<WasiBody>, Box<dyn Future<Output = Result<(), Error>> + Send>), Error>;

impl WasiHttpHooks for Sender {
    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
        _fut: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Sent> + Send> {
        let (told, surface, plugin) = (self.told.clone(), self.surface, self.plugin.clone());
        let options = options.unwrap_or_default();
        let budget = Budget::until(self.deadline)
            .connect(options.connect_timeout)
            .first_byte(options.first_byte_timeout)
            .between_bytes(options.between_bytes_timeout);
        let egress = self.egress.clone();
        Box::new(async move {
            let refused = |sentence: &str| {
                if let Some(plugin) = &plugin {
                    told.refused(plugin, surface, Capability::Http, sentence);
                }
            };
            let Some(egress) = egress else {
                let key = plugin.as_ref().map_or_else(String::new, key);
                refused(&format!("HTTP requests are not granted; to allow them set {key}.allow: [\"https://…\"]"));
                return Err(Error::HttpRequestDenied);
            };
            match egress.send(request, budget).await {
                Ok(response) => {
                    let response = response.map(|body| body.map_err(|error| of_egress(&error)).boxed_unsync());
                    Ok((response, Box::new(async { Ok(()) }) as Box<_>))
                }
                Err(error) => {
                    if matches!(error.kind(), Kind::RefusedByPolicy | Kind::RefusedAddress) {
                        refused(&sentence(&error));
                    }
                    Err(of_egress(&error))
                }
            }
        })
    }
}

/// The error with its causes.
fn sentence(error: &EgressError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(next) = cause {
        text.push_str(&format!(": {next}"));
        cause = next.source();
    }
    text
}

/// The error in the guest's terms. Kinds only: texts name addresses inside the operator's network.
fn of_egress(error: &EgressError) -> Error {
    match error.kind() {
        Kind::RefusedByPolicy => Error::HttpRequestDenied,
        Kind::RefusedAddress => Error::DestinationIpProhibited,
        Kind::Dns => Error::DestinationNotFound,
        Kind::Connect => Error::ConnectionRefused,
        Kind::Tls => Error::TlsProtocolError,
        Kind::Timeout => Error::ConnectionTimeout,
        Kind::TooLarge => match error {
            EgressError::TooLarge { part: egress::Part::RequestBody, limit, .. } => Error::HttpRequestBodySize(Some(*limit)),
            EgressError::TooLarge { part: egress::Part::ResponseBody, limit, .. } => Error::HttpResponseBodySize(Some(*limit)),
            EgressError::ResponseHead { .. } => Error::HttpResponseHeaderSectionSize(None),
            _ => Error::HttpRequestHeaderSectionSize(None),
        },
        Kind::Protocol => Error::HttpProtocolError,
    }
}
