//! The body of an answer: watched for silence, bounded in size, counted.

use bytes::Bytes;
use futures_util::stream::{BoxStream, StreamExt};

use super::meter::Meter;
use super::watch::{Expired, Watch};

/// Why a body could not be read to its end.
#[derive(Debug)]
pub(crate) enum BodyFault {
    /// The connection failed.
    Transport(reqwest::Error),
    /// A clock ran out.
    Expired(Expired),
    /// One event is larger than this many bytes.
    EventTooLarge(usize),
    /// The body is larger than this many bytes.
    StreamTooLarge(usize),
    /// The event parser refused a line; in its words.
    Unreadable(String),
}

/// A body that is read piece by piece.
pub(crate) struct Body {
    pieces: BoxStream<'static, Result<Bytes, reqwest::Error>>,
    watch: Watch,
    meter: Meter,
    max_bytes: usize,
}

impl Body {
    /// Takes the answer of which the head has arrived.
    pub(crate) fn new(response: reqwest::Response, watch: Watch, meter: Meter, max_bytes: usize) -> Self {
        Self { pieces: response.bytes_stream().boxed(), watch, meter, max_bytes }
    }

    /// The next piece; none at the end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, BodyFault> {
        let waited = self.watch.within(self.pieces.next()).await.map_err(BodyFault::Expired)?;
        let Some(piece) = waited.transpose().map_err(BodyFault::Transport)? else { return Ok(None) };
        if self.meter.received(piece.len()) > self.max_bytes as u64 {
            return Err(BodyFault::StreamTooLarge(self.max_bytes));
        }
        Ok(Some(piece))
    }

    /// The whole body.
    pub(crate) async fn read_all(&mut self) -> Result<Vec<u8>, BodyFault> {
        let mut all = Vec::new();
        while let Some(piece) = self.chunk().await? {
            all.extend_from_slice(&piece);
        }
        Ok(all)
    }

    /// As much of the body as comes before `limit` bytes, a fault or the end; for texts of errors, where part is better than none.
    pub(crate) async fn read_some(&mut self, limit: usize) -> Vec<u8> {
        let mut some = Vec::new();
        while some.len() < limit {
            match self.chunk().await {
                Ok(Some(piece)) => some.extend_from_slice(&piece),
                Ok(None) | Err(_) => break,
            }
        }
        some.truncate(limit);
        some
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::time::Duration;

    use futures_util::stream;
    use tokio::time::sleep;

    use super::*;

    /// A body that gives one byte after each of these waits, in seconds.
    fn body(waits: Vec<u64>, watch: Watch, max_bytes: usize) -> Body {
        let pieces = stream::iter(waits).then(|wait| async move {
            sleep(Duration::from_secs(wait)).await;
            Ok(Bytes::from_static(b"x"))
        });
        Body { pieces: pieces.boxed(), watch, meter: Meter::start(0), max_bytes }
    }

    fn watch(idle: u64, total: Option<u64>) -> Watch {
        Watch::start(Some(Duration::from_secs(idle)), total.map(Duration::from_secs))
    }

    #[tokio::test(start_paused = true)]
    async fn every_piece_starts_the_silence_anew() {
        let mut slow = body(vec![119; 20], watch(120, None), 100);
        assert_eq!(slow.read_all().await.unwrap().len(), 20);
        let fault = body(vec![119, 121], watch(120, None), 100).read_all().await.unwrap_err();
        assert!(matches!(fault, BodyFault::Expired(Expired::Idle(limit)) if limit == Duration::from_secs(120)), "{fault:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_whole_time_is_bounded_too() {
        let fault = body(vec![10; 20], watch(120, Some(55)), 100).read_all().await.unwrap_err();
        assert!(matches!(fault, BodyFault::Expired(Expired::Total(_))), "{fault:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_size_is_bounded_and_part_of_it_can_be_read() {
        let fault = body(vec![0; 4], watch(1, None), 3).read_all().await.unwrap_err();
        assert!(matches!(fault, BodyFault::StreamTooLarge(3)), "{fault:?}");
        assert_eq!(body(vec![0; 9], watch(1, None), 100).read_some(4).await.len(), 4);
        assert_eq!(body(vec![0, 0, 9], watch(1, None), 100).read_some(4).await.len(), 2);
        assert_eq!(body(vec![0; 9], watch(1, None), 3).read_some(8).await.len(), 3);
    }
}
