//! The body of a response, cut: at its size, at pauses that are too long, and at the deadline. It holds the connection, so dropping it
//! closes that; it decodes nothing, so a compressed body is counted as it came.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Sleep, sleep_until};
use tokio_util::task::AbortOnDropHandle;

use crate::budget::{Cut, Schedule};
use crate::error::{EgressError, Part, Phase};
use crate::headers;
use crate::limits::Limits;
use crate::target::Target;

/// What a response needs until it is read.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Drives the connection; dropped, it closes it.
    pub(crate) _driver: AbortOnDropHandle<()>,
    /// The place among the concurrent requests.
    pub(crate) _place: OwnedSemaphorePermit,
}

/// The body of a response. Gives at most the allowed number of bytes, then [`EgressError::TooLarge`]; after an error it is at its end.
#[derive(Debug)]
pub struct CappedBody {
    inner: Incoming,
    /// Absent at the end and after an error.
    connection: Option<Connection>,
    target: Target,
    schedule: Schedule,
    limits: Limits,
    /// Bytes that may still come.
    left: u64,
    /// More came than may.
    overflown: bool,
    /// Set while somebody waits for a frame.
    waiting: Option<Cut>,
    timer: Pin<Box<Sleep>>,
}

impl CappedBody {
    pub(crate) fn new(inner: Incoming, connection: Connection, target: Target, schedule: Schedule, limits: Limits) -> Self {
        let timer = Box::pin(sleep_until(schedule.end().at));
        let left = limits.response_body_bytes;
        Self { inner, connection: Some(connection), target, schedule, limits, left, overflown: false, waiting: None, timer }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, EgressError>>> {
        // First: a server that never pauses would never let a timer be asked, and the connection ends with the deadline too.
        let end = self.schedule.end();
        if end.is_over() {
            return Poll::Ready(Some(Err(end.error(Phase::Body, &self.target))));
        }
        if self.overflown {
            return Poll::Ready(Some(Err(self.too_large())));
        }
        match Pin::new(&mut self.inner).poll_frame(cx) {
            Poll::Ready(frame) => {
                self.waiting = None;
                Poll::Ready(frame.map(|frame| {
                    self.capped(frame.map_err(|source| EgressError::Protocol { target: self.target.clone(), source })?)
                }))
            }
            Poll::Pending => self.poll_timer(cx).map(|error| Some(Err(error))),
        }
    }

    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<EgressError> {
        let cut = *self.waiting.get_or_insert_with(|| {
            let cut = self.schedule.continued();
            self.timer.as_mut().reset(cut.at);
            cut
        });
        self.timer.as_mut().poll(cx).map(|()| cut.error(Phase::Body, &self.target))
    }

    /// Cuts a frame at the limit. To reach it is no error; the byte behind it is.
    fn capped(&mut self, frame: Frame<Bytes>) -> Result<Frame<Bytes>, EgressError> {
        let mut data = match frame.into_data() {
            Ok(data) => data,
            Err(frame) => return self.checked_trailers(frame),
        };
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        if data.len() > left {
            self.overflown = true;
            data.truncate(left);
        }
        if data.is_empty() && self.overflown {
            return Err(self.too_large());
        }
        self.left = self.left.saturating_sub(u64::try_from(data.len()).unwrap_or(u64::MAX));
        Ok(Frame::data(data))
    }

    fn checked_trailers(&self, frame: Frame<Bytes>) -> Result<Frame<Bytes>, EgressError> {
        let (bytes, fields) = (self.limits.response_header_bytes, self.limits.response_header_fields);
        let fits = frame.trailers_ref().is_none_or(|it| headers::lines_size(it) <= bytes && it.len() <= fields);
        if fits { Ok(frame) } else { Err(EgressError::ResponseHead { target: self.target.clone(), bytes, fields }) }
    }

    fn too_large(&self) -> EgressError {
        let limit = self.limits.response_body_bytes;
        EgressError::TooLarge { target: self.target.clone(), part: Part::ResponseBody, limit }
    }
}

impl Body for CappedBody {
    type Data = Bytes;
    type Error = EgressError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, EgressError>>> {
        let this = self.get_mut();
        if this.connection.is_none() {
            return Poll::Ready(None);
        }
        let frame = this.poll(cx);
        if let Poll::Ready(None | Some(Err(_))) = frame {
            this.connection = None;
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.connection.is_none() || (self.inner.is_end_stream() && !self.overflown)
    }

    fn size_hint(&self) -> SizeHint {
        if self.connection.is_none() { SizeHint::with_exact(0) } else { self.inner.size_hint() }
    }
}
