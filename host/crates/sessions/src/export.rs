//! A transcript as JSON lines (sessions 5): the header first, then every row in the order in which it was stored, other branches
//! included, so that the export loses nothing. Written page by page: memory stays bounded and no append waits for it.

use domain::session::StoreError;
use domain::{AgentId, SessionId};
use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::event;
use crate::failure::PortError;
use crate::store::SqliteSessions;
use crate::transcript;

/// Rows that are read at once. A row is rarely above some ten kilobytes.
const PAGE_ROWS: u32 = 128;

/// Why an export ended early. What was written before is whole lines.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The receiver does not take the lines.
    #[error("could not write the export")]
    Write(#[from] std::io::Error),
}

impl SqliteSessions {
    /// Writes a transcript as UTF-8 lines of JSON, each ended by a line feed, and returns how many rows that were. Rows that are
    /// appended meanwhile are left out.
    ///
    /// # Errors
    /// [`ExportError::Store`] when there is no such transcript, or a row is damaged (the error names it); [`ExportError::Write`] when
    /// `out` fails.
    pub async fn export<W>(&self, agent: &AgentId, session_id: &SessionId, out: &mut W) -> Result<u64, ExportError>
    where
        W: AsyncWrite + Unpin,
    {
        let database = self.database::<StoreError>(agent)?;
        let Some(database) = database.existing::<StoreError>().await? else {
            return Err(StoreError::NotFound(session_id.to_string()).into());
        };
        let id = session_id.clone();
        let last = database.read(move |tx| Ok(transcript::tip(tx, id.as_str())?.seq)).await?;
        let mut next = 0;
        while next <= last {
            let id = session_id.clone();
            let page = database.read(move |tx| transcript::raw_page(tx, id.as_str(), next, PAGE_ROWS)).await?;
            for row in page.into_iter().filter(|row| row.seq <= last) {
                let seq = row.seq;
                let path = database.path();
                if seq != next {
                    return Err(StoreError::damaged(path, session_id.to_string(), next, "it is not stored".to_owned()).into());
                }
                let mut line = event::line(row)
                    .map_err(|message| StoreError::damaged(path, session_id.to_string(), seq, message))?
                    .into_bytes();
                line.push(b'\n');
                out.write_all(&line).await?;
                next += 1;
            }
        }
        out.flush().await?;
        Ok(next)
    }
}
