//! One request and its response over one connection, in HTTP/1.1. Times each phase, keeps the header of the response within its limits,
//! and hands the body on as it comes.

use std::pin::{Pin, pin};

use http::header::HeaderMap;
use http::{HeaderName, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout_at;
use tokio_util::task::AbortOnDropHandle;

use crate::budget::Schedule;
use crate::connector::Stream;
use crate::error::{EgressError, Part, Phase};
use crate::headers::{self, Outgoing};
use crate::limits::Limits;
use crate::request_body::{BodyFault, GuestBody, MeteredBody, Sent};
use crate::response_body::{CappedBody, Connection};
use crate::target::Target;

/// The smallest buffer that hyper takes; a smaller header limit bites all the same.
const MIN_BUFFER: usize = 8 << 10;

/// About the connection, which is ours: a guest that gets these could believe that it may use them.
const RESPONSE_ONLY: [HeaderName; 3] = [header::TRANSFER_ENCODING, header::UPGRADE, header::PROXY_AUTHENTICATE];

/// What an exchange is about.
pub(crate) struct Exchange<'a> {
    pub(crate) target: &'a Target,
    pub(crate) schedule: &'a Schedule,
    pub(crate) limits: &'a Limits,
}

type Answer = Result<Response<Incoming>, hyper::Error>;

impl Exchange<'_> {
    /// Sends the request and waits for the header of the response. `place` is given back when the response is read or dropped.
    pub(crate) async fn run(
        &self,
        stream: Box<dyn Stream>,
        outgoing: Outgoing,
        body: GuestBody,
        place: OwnedSemaphorePermit,
    ) -> Result<Response<CappedBody>, EgressError> {
        let (body, sent) = MeteredBody::new(body, outgoing.body_length, self.limits.request_body_bytes);
        let end = self.schedule.end();
        let handshake = self.http().handshake::<_, MeteredBody>(TokioIo::new(stream));
        let (mut sender, connection) =
            end.run(Phase::Send, self.target, handshake).await?.map_err(|source| self.failed(source))?;
        let driver = AbortOnDropHandle::new(tokio::spawn(async move {
            // What goes wrong is told to whoever waits for header or body. The deadline closes connections that nobody reads.
            let _ = timeout_at(end.at, connection).await;
        }));
        let request = outgoing.head.map(|()| body);
        let response = self.answer(pin!(sender.send_request(request)), sent).await?;
        let connection = Connection { _driver: driver, _place: place };
        self.accept(response, connection)
    }

    fn http(&self) -> http1::Builder {
        let bytes = usize::try_from(self.limits.response_header_bytes).unwrap_or(usize::MAX);
        let mut http = http1::Builder::new();
        http.max_headers(self.limits.response_header_fields).max_header_size(bytes).max_buf_size(bytes.max(MIN_BUFFER));
        http
    }

    /// Waits for the end of sending, then for the response; a server may answer before it has read all.
    async fn answer(
        &self,
        mut answer: Pin<&mut impl Future<Output = Answer>>,
        mut sent: Sent,
    ) -> Result<Response<Incoming>, EgressError> {
        let sending = async {
            tokio::select! {
                biased;
                answer = &mut answer => Some(answer),
                outcome = &mut sent => match outcome {
                    Ok(Err(fault)) => return Err(self.faulty(fault)),
                    // Sent, or no longer wanted.
                    Ok(Ok(())) | Err(_) => None,
                },
            }
            .map_or(Ok(None), |answer| answer.map(Some).map_err(|source| self.fault_or_failure(&mut sent, source)))
        };
        if let Some(early) = self.schedule.end().run(Phase::Send, self.target, sending).await?? {
            return Ok(early);
        }
        let answered = self.schedule.answered().run(Phase::FirstByte, self.target, answer).await?;
        answered.map_err(|source| self.failed(source))
    }

    fn accept(&self, response: Response<Incoming>, connection: Connection) -> Result<Response<CappedBody>, EgressError> {
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            return Err(EgressError::Upgrade { target: self.target.clone() });
        }
        let (target, schedule, limits) = (self.target.clone(), *self.schedule, *self.limits);
        let mut response = response.map(|body| CappedBody::new(body, connection, target, schedule, limits));
        remove_connection_headers(response.headers_mut());
        Ok(response)
    }

    /// A body that broke off breaks the connection too; the body is the cause then.
    fn fault_or_failure(&self, sent: &mut Sent, source: hyper::Error) -> EgressError {
        match sent.try_recv() {
            Ok(Err(fault)) => self.faulty(fault),
            Ok(Ok(())) | Err(_) => self.failed(source),
        }
    }

    fn faulty(&self, fault: BodyFault) -> EgressError {
        let target = self.target.clone();
        match fault {
            BodyFault::TooLarge => {
                EgressError::TooLarge { target, part: Part::RequestBody, limit: self.limits.request_body_bytes }
            }
            BodyFault::Length => EgressError::RequestLength { target },
            BodyFault::Broken(source) => EgressError::RequestBody { target, source },
        }
    }

    fn failed(&self, source: hyper::Error) -> EgressError {
        let target = self.target.clone();
        let end = self.schedule.end();
        if source.is_parse_too_large() {
            let (bytes, fields) = (self.limits.response_header_bytes, self.limits.response_header_fields);
            return EgressError::ResponseHead { target, bytes, fields };
        }
        // The driver ends with the deadline and may be first.
        if end.is_over() { end.error(Phase::FirstByte, self.target) } else { EgressError::Protocol { target, source } }
    }
}

fn remove_connection_headers(headers: &mut HeaderMap) {
    headers::remove_connection_headers(headers);
    for name in &RESPONSE_ONLY {
        headers.remove(name);
    }
    headers.remove("proxy-connection");
}
