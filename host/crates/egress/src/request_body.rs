//! The body of an outgoing request, counted: no more than the limit, and exactly as long as the guest announced. Trailers are left out,
//! since none were announced to the server.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;
use thiserror::Error;
use tokio::sync::oneshot;

/// What a body may fail with.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A body of a guest, whatever it is made of.
pub(crate) type GuestBody = UnsyncBoxBody<Bytes, BoxError>;

/// What is wrong with the body.
#[derive(Debug, Error)]
pub(crate) enum BodyFault {
    #[error("the body is larger than allowed")]
    TooLarge,
    #[error("the body has another length than announced")]
    Length,
    #[error("the body broke off")]
    Broken(#[source] BoxError),
}

/// What HTTP sees of a fault: that there is one. The fault itself goes to whoever waits for the response.
#[derive(Debug, Error)]
#[error("the body of the request is faulty")]
pub(crate) struct Faulty;

/// Tells when the body is sent: `Ok` at its end, the fault if it has one, gone if the server did not want all of it.
pub(crate) type Sent = oneshot::Receiver<Result<(), BodyFault>>;

/// A body that is counted.
#[derive(Debug)]
pub(crate) struct MeteredBody {
    inner: GuestBody,
    announced: Option<u64>,
    limit: u64,
    sent: u64,
    report: Option<oneshot::Sender<Result<(), BodyFault>>>,
}

impl MeteredBody {
    pub(crate) fn new(inner: GuestBody, announced: Option<u64>, limit: u64) -> (Self, Sent) {
        let (report, sent) = oneshot::channel();
        (Self { inner, announced, limit, sent: 0, report: Some(report) }, sent)
    }

    fn count(&mut self, data: &Bytes) -> Result<(), BodyFault> {
        self.sent = self.sent.saturating_add(u64::try_from(data.len()).unwrap_or(u64::MAX));
        if self.sent > self.limit {
            return Err(BodyFault::TooLarge);
        }
        if self.announced.is_some_and(|announced| self.sent > announced) { Err(BodyFault::Length) } else { Ok(()) }
    }

    fn end(&mut self, outcome: Result<(), BodyFault>) -> Result<(), Faulty> {
        let seen = if outcome.is_ok() { Ok(()) } else { Err(Faulty) };
        if let Some(report) = self.report.take() {
            // Nobody waits any more if the response came first.
            let _ = report.send(outcome);
        }
        seen
    }

    fn end_of_inner(&mut self) -> Result<(), Faulty> {
        let complete = self.announced.is_none_or(|announced| announced == self.sent);
        self.end(if complete { Ok(()) } else { Err(BodyFault::Length) })
    }
}

impl Body for MeteredBody {
    type Data = Bytes;
    type Error = Faulty;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Faulty>>> {
        let this = self.get_mut();
        loop {
            let frame = match ready!(Pin::new(&mut this.inner).poll_frame(cx)) {
                None => return Poll::Ready(this.end_of_inner().err().map(Err)),
                Some(Err(error)) => return Poll::Ready(this.end(Err(BodyFault::Broken(error))).err().map(Err)),
                Some(Ok(frame)) => frame,
            };
            let Ok(data) = frame.into_data() else { continue };
            return Poll::Ready(Some(match this.count(&data) {
                Ok(()) => Ok(Frame::data(data)),
                Err(fault) => this.end(Err(fault)).map(|()| Frame::data(Bytes::new())),
            }));
        }
    }

    fn is_end_stream(&self) -> bool {
        // An empty body that was announced as more must be asked, so that it can say so.
        self.inner.is_end_stream() && self.announced.is_none_or(|announced| announced == self.sent)
    }

    fn size_hint(&self) -> SizeHint {
        match self.announced {
            Some(announced) => SizeHint::with_exact(announced.saturating_sub(self.sent)),
            None => self.inner.size_hint(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use std::collections::VecDeque;

    use http_body_util::BodyExt;

    use super::*;

    /// Gives its frames one by one and knows nothing of its length, like the stream of a guest.
    struct Pieces(VecDeque<Result<Frame<Bytes>, BoxError>>);

    impl Body for Pieces {
        type Data = Bytes;
        type Error = BoxError;

        fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
            Poll::Ready(self.get_mut().0.pop_front())
        }
    }

    fn pieces(texts: &[&'static str]) -> GuestBody {
        Pieces(texts.iter().map(|text| Ok(Frame::data(Bytes::from_static(text.as_bytes())))).collect()).boxed_unsync()
    }

    async fn outcome(inner: GuestBody, announced: Option<u64>, limit: u64) -> (Option<Bytes>, Option<Result<(), BodyFault>>) {
        let (body, mut sent) = MeteredBody::new(inner, announced, limit);
        let collected = body.collect().await.ok().map(http_body_util::Collected::to_bytes);
        (collected, sent.try_recv().ok())
    }

    #[tokio::test]
    async fn a_body_within_its_bounds_passes() {
        for announced in [None, Some(5)] {
            let (body, sent) = outcome(pieces(&["ab", "", "cde"]), announced, 5).await;
            assert_eq!(body.unwrap(), "abcde");
            assert!(matches!(sent, Some(Ok(()))));
        }
    }

    #[tokio::test]
    async fn a_body_outside_its_bounds_is_cut() {
        for (announced, limit) in [(None, 4), (Some(5), 4)] {
            let (body, sent) = outcome(pieces(&["ab", "cde"]), announced, limit).await;
            assert!(body.is_none() && matches!(sent, Some(Err(BodyFault::TooLarge))), "{announced:?} {limit}: {sent:?}");
        }
        for announced in [0, 4, 6] {
            let (body, sent) = outcome(pieces(&["ab", "cde"]), Some(announced), 100).await;
            assert!(body.is_none() && matches!(sent, Some(Err(BodyFault::Length))), "{announced}: {sent:?}");
        }
    }

    #[tokio::test]
    async fn a_broken_body_says_so_and_trailers_are_left_out() {
        let frames = [Ok(Frame::data(Bytes::from_static(b"a"))), Err("gone".into())];
        let (body, sent) = outcome(Pieces(frames.into()).boxed_unsync(), None, 100).await;
        assert!(body.is_none() && matches!(sent, Some(Err(BodyFault::Broken(_)))));

        let trailers = http::HeaderMap::from_iter([(http::header::TE, http::HeaderValue::from_static("x"))]);
        let frames = [Ok(Frame::data(Bytes::from_static(b"a"))), Ok(Frame::trailers(trailers))];
        let (body, _) = MeteredBody::new(Pieces(frames.into()).boxed_unsync(), None, 100);
        let collected = body.collect().await.unwrap();
        assert!(collected.trailers().is_none());
    }
}
