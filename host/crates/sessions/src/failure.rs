//! Why a transaction was given up, before it is known which port asks: the two ports have different errors, and inside a transaction
//! the path of the file is not at hand. Both are added at the edge.

use std::path::Path;

use domain::ports::StateError;
use domain::session::StoreError;
use rusqlite::{Error as SqliteError, ErrorCode};

use crate::database::BUSY_TIMEOUT;

/// Why a transaction was given up. It changed nothing.
#[derive(Debug)]
pub(crate) enum Failure<E> {
    /// What was asked for is refused, in the words of the port.
    Refused(E),
    /// SQLite failed.
    Sqlite(SqliteError),
    /// Something that is stored makes no sense.
    Content(String),
    /// A row of a transcript makes no sense.
    Row {
        /// Transcript.
        session_id: String,
        /// Row.
        seq: u64,
        /// What is wrong.
        message: String,
    },
}

impl<E> From<SqliteError> for Failure<E> {
    fn from(error: SqliteError) -> Self {
        Self::Sqlite(error)
    }
}

impl From<StoreError> for Failure<StoreError> {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

impl From<StateError> for Failure<StateError> {
    fn from(error: StateError) -> Self {
        Self::Refused(error)
    }
}

/// The error of a port whose data lies in a database.
pub(crate) trait PortError: Sized + Send + 'static {
    /// The database did not do its work.
    fn database(path: &Path, message: String) -> Self;

    /// A row of a transcript cannot be read.
    fn damaged(path: &Path, session_id: String, seq: u64, message: String) -> Self;

    /// Adds the file to a failure.
    fn from_failure(path: &Path, failure: Failure<Self>) -> Self {
        match failure {
            Failure::Refused(error) => error,
            Failure::Sqlite(error) => Self::database(path, describe(&error)),
            Failure::Content(message) => Self::database(path, message),
            Failure::Row { session_id, seq, message } => Self::damaged(path, session_id, seq, message),
        }
    }
}

impl PortError for StoreError {
    fn database(path: &Path, message: String) -> Self {
        Self::Database { path: path.display().to_string(), message }
    }

    fn damaged(path: &Path, session_id: String, seq: u64, message: String) -> Self {
        Self::Damaged { path: path.display().to_string(), session_id, seq, message }
    }
}

impl PortError for StateError {
    fn database(path: &Path, message: String) -> Self {
        Self::Unavailable(format!("the database {} failed: {message}", path.display()))
    }

    fn damaged(path: &Path, session_id: String, seq: u64, message: String) -> Self {
        Self::Unavailable(StoreError::damaged(path, session_id, seq, message).to_string())
    }
}

/// What SQLite says, with what can be done about it.
pub(crate) fn describe(error: &SqliteError) -> String {
    let remedy = match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => "; it was overwritten or belongs to another program: move it away or restore a backup",
        Some(ErrorCode::DatabaseCorrupt) => "; move it away or restore a backup",
        Some(ErrorCode::DiskFull) => "; free some space on this disk",
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::SystemIoFailure) => {
            "; check that it is a file, that it and its directory can be written, and that the disk is sound"
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            return format!("another process kept it locked for {} s; try again when it is done", BUSY_TIMEOUT.as_secs());
        }
        _ => "",
    };
    format!("{error}{remedy}")
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn what_sqlite_says_comes_with_a_remedy() {
        for (code, remedy) in [
            (ffi::SQLITE_BUSY, "another process kept it locked for 10 s; try again"),
            (ffi::SQLITE_FULL, "free some space"),
            (ffi::SQLITE_CORRUPT, "restore a backup"),
            (ffi::SQLITE_READONLY, "can be written"),
        ] {
            let text = describe(&SqliteError::SqliteFailure(ffi::Error::new(code), None));
            assert!(text.contains(remedy), "{text}");
        }
    }
}
