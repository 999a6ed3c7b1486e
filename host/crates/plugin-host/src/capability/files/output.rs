//! A stream of bytes into a file, counted like every other change of it.

use std::fs::File;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};
use wasmtime_wasi::runtime::{AbortOnDropJoinHandle, spawn};

use super::Teller;
use super::ledger::{ChangeError, Ledger, Place};

/// Bytes that one write may hold; the guest's library splits larger ones.
const WRITE_PERMIT: usize = 64 << 10;

/// The stream.
pub(super) struct Output {
    file: Arc<File>,
    place: Place,
    ledger: Arc<Ledger>,
    teller: Teller,
    state: OutputState,
}

enum OutputState {
    Ready,
    /// A write is under way; it gives the place of the next one.
    Busy(AbortOnDropJoinHandle<Result<Place, ChangeError>>),
    /// The last write failed, and nobody was told yet.
    Failed(ChangeError),
    Closed,
}

impl Output {
    pub(super) fn new(file: Arc<File>, place: Place, ledger: Arc<Ledger>, teller: Teller) -> Self {
        Self { file, place, ledger, teller, state: OutputState::Ready }
    }

    /// What a failed write left to be told; after it the stream is closed.
    fn checked(&mut self) -> StreamResult<()> {
        match std::mem::replace(&mut self.state, OutputState::Closed) {
            OutputState::Closed => Err(StreamError::Closed),
            OutputState::Failed(error) => {
                if let ChangeError::Refused(refusal) = &error {
                    self.teller.refused(refusal);
                }
                Err(StreamError::LastOperationFailed(error.into()))
            }
            open => {
                self.state = open;
                Ok(())
            }
        }
    }
}

/// Writes all of it; the place behind it.
async fn write_all(ledger: Arc<Ledger>, file: Arc<File>, mut place: Place, mut bytes: Bytes) -> Result<Place, ChangeError> {
    while !bytes.is_empty() {
        let written = match ledger.write(Arc::clone(&file), place, bytes.clone()).await {
            Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero).into()),
            Ok(written) => written,
            Err(ChangeError::File(error)) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        bytes = bytes.slice(written..);
        if let Place::At(offset) = &mut place {
            *offset += written as u64;
        }
    }
    Ok(place)
}

#[async_trait::async_trait]
impl OutputStream for Output {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.checked()?;
        if matches!(self.state, OutputState::Busy(_)) || bytes.len() > WRITE_PERMIT {
            return Err(StreamError::trap("the write is larger than check-write allowed"));
        }
        let work = write_all(Arc::clone(&self.ledger), Arc::clone(&self.file), self.place, bytes);
        self.state = OutputState::Busy(spawn(work));
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        // Nothing is held back but the write that is under way.
        self.checked()
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        self.checked()?;
        Ok(if matches!(self.state, OutputState::Busy(_)) { 0 } else { WRITE_PERMIT })
    }

    async fn cancel(&mut self) {
        if let OutputState::Busy(task) = std::mem::replace(&mut self.state, OutputState::Closed) {
            task.cancel().await;
        }
    }
}

#[async_trait::async_trait]
impl Pollable for Output {
    async fn ready(&mut self) {
        if let OutputState::Busy(task) = &mut self.state {
            self.state = match task.await {
                Ok(place) => {
                    self.place = place;
                    OutputState::Ready
                }
                Err(error) => OutputState::Failed(error),
            };
        }
    }
}
