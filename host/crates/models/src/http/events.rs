//! Server-sent events out of a body, whatever the places at which the network cut it.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use eventsource_stream::{EventStream, EventStreamError};
use futures_util::stream::{self, BoxStream, Stream, StreamExt};

use super::body::{Body, BodyFault};
use super::lines::LineDecoder;

type Lines = Pin<Box<dyn Stream<Item = Result<String, BodyFault>> + Send>>;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    /// Its data.
    pub(crate) data: String,
    /// The body ended before the empty line that completes an event, so that the data may be cut.
    pub(crate) maybe_cut: bool,
}

/// Reads events.
pub(crate) struct EventReader {
    events: EventStream<Lines>,
    ended: Arc<AtomicBool>,
}

impl EventReader {
    /// Reads a body.
    pub(crate) fn of_body(body: Body, max_event_bytes: usize) -> Self {
        let pieces = stream::unfold(Some(body), |body| async {
            let mut body = body?;
            match body.chunk().await {
                Ok(Some(piece)) => Some((Ok(piece), Some(body))),
                Ok(None) => None,
                Err(fault) => Some((Err(fault), None)),
            }
        });
        Self::new(pieces.boxed(), max_event_bytes)
    }

    /// Reads pieces of bytes; the first fault is the last piece.
    pub(crate) fn new(pieces: BoxStream<'static, Result<Bytes, BodyFault>>, max_event_bytes: usize) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let feed = Feed { pieces, lines: LineDecoder::new(max_event_bytes), max_event_bytes, ended: Arc::clone(&ended) };
        let lines = stream::unfold(Some(feed), |feed| async { feed?.next().await });
        Self { events: EventStream::new(Box::pin(lines)), ended }
    }

    /// The next event; none at the end of the body.
    pub(crate) async fn next(&mut self) -> Result<Option<Event>, BodyFault> {
        match self.events.next().await {
            None => Ok(None),
            Some(Ok(event)) => Ok(Some(Event { data: event.data, maybe_cut: self.ended.load(Ordering::Relaxed) })),
            Some(Err(EventStreamError::Transport(fault))) => Err(fault),
            Some(Err(other)) => Err(BodyFault::Unreadable(format!("{other:?}"))),
        }
    }
}

struct Feed {
    pieces: BoxStream<'static, Result<Bytes, BodyFault>>,
    lines: LineDecoder,
    max_event_bytes: usize,
    ended: Arc<AtomicBool>,
}

impl Feed {
    async fn next(mut self) -> Option<(Result<String, BodyFault>, Option<Self>)> {
        match self.pieces.next().await {
            Some(Ok(piece)) => match self.lines.push(&piece) {
                Ok(lines) => Some((Ok(lines), Some(self))),
                Err(_) => Some((Err(BodyFault::EventTooLarge(self.max_event_bytes)), None)),
            },
            Some(Err(fault)) => Some((Err(fault), None)),
            None => {
                self.ended.store(true, Ordering::Relaxed);
                Some((Ok(self.lines.finish()), None))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    async fn read(pieces: Vec<&'static [u8]>) -> Vec<(String, bool)> {
        let pieces = stream::iter(pieces.into_iter().map(|piece| Ok(Bytes::from_static(piece))));
        let mut reader = EventReader::new(pieces.boxed(), 100);
        let mut events = Vec::new();
        while let Some(event) = reader.next().await.unwrap() {
            events.push((event.data, event.maybe_cut));
        }
        events
    }

    fn whole(data: &str) -> (String, bool) {
        (data.to_owned(), false)
    }

    #[tokio::test]
    async fn the_standard_is_followed() {
        let text =
            b"\xef\xbb\xbfdata: a\n\n: ping\n\ndata:b\ndata: c\nid: 7\nevent: x\n\n\n\ndata\n\nretry: 5\n\ndata: d\r\n\r\n";
        let expected = vec![whole("a"), whole("b\nc"), whole(""), whole("d")];
        assert_eq!(read(vec![text]).await, expected);
        assert_eq!(read(text.chunks(1).collect()).await, expected);
    }

    #[tokio::test]
    async fn an_event_without_its_empty_line_is_marked() {
        assert_eq!(read(vec![b"data: a\n\ndata: b"]).await, [whole("a"), ("b".to_owned(), true)]);
        assert_eq!(read(vec![b"data: a\n\ndata: b\r"]).await, [whole("a"), ("b".to_owned(), true)]);
        assert_eq!(read(vec![b"data: a\n\n"]).await, [whole("a")]);
        assert_eq!(read(vec![]).await, []);
    }

    #[tokio::test]
    async fn a_large_event_is_refused() {
        let pieces = stream::iter([Ok(Bytes::from(vec![b'x'; 101]))]);
        let fault = EventReader::new(pieces.boxed(), 100).next().await;
        assert!(matches!(fault, Err(BodyFault::EventTooLarge(100))), "{fault:?}");
    }
}
