//! One database file: a thread that writes and a thread that reads (sessions 3.5). Says how every connection is set up and nothing
//! about what is in the tables.
//!
//! Why it is set up this way:
//! - **WAL**: readers see the last commit while a writer works. A crash leaves the file as of the last commit.
//! - **`synchronous = FULL`**: each commit is synced to the disk before it is acknowledged. `NORMAL` would do against `kill -9`, since
//!   the system keeps what a dead process wrote; but after a power cut it may lose the last commits, and by then the tool call whose
//!   result is lost has already changed the world. A run commits a few rows per model answer, which takes seconds; a sync takes some
//!   milliseconds, and next to it the rest of an append does not show (`benches/append_row.rs`).
//! - **`BEGIN IMMEDIATE`** for writes: a transaction takes the write lock at its start, where the busy timeout applies, and never fails
//!   half way because another process wrote in between.
//! - **One writer thread**: within this process commits never compete. **A second connection that can only read**: loading a long
//!   transcript does not hold up the appends of other sessions.

use std::path::{Path, PathBuf};
use std::time::Duration;

use domain::AgentId;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
use tokio::sync::OnceCell;

use crate::failure::{Failure, PortError, describe};
use crate::schema::{self, Schema};
use crate::worker::Worker;

/// How long a connection waits for another process that holds the lock (at least 5 s, sessions 3.5).
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Pause between two attempts where SQLite does not wait by itself.
const RETRY_DELAY: Duration = Duration::from_millis(5);

/// Prepared statements that a connection keeps; more than this crate has.
const CACHED_STATEMENTS: usize = 64;

/// Why a database cannot be opened. Nothing in it was changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    /// The directory, the file or a thread cannot be made.
    #[error("{0}; check that its directory can be written")]
    Io(#[from] std::io::Error),
    /// What lies there is no file. Opening it could wait for ever.
    #[error("{which} is {kind}, not a file; move it away")]
    NotAFile {
        /// `it`, or the path of a file that belongs to it.
        which: String,
        /// What it is.
        kind: &'static str,
    },
    /// SQLite failed.
    #[error("{}", describe(.0))]
    Sqlite(#[from] rusqlite::Error),
    /// The file system cannot do what WAL needs.
    #[error("its file system cannot hold a write-ahead log (SQLite chose `{0}`); put the state directory on a local disk")]
    NoWal(String),
    /// It was written by a later version of this program (sessions 4.1).
    #[error("it has schema version {found}, and this version of creel knows {known} at most; use the newer creel that wrote it")]
    Newer {
        /// Version in the file.
        found: i64,
        /// Newest version known.
        known: i64,
    },
    /// It belongs to something else.
    #[error("it belongs to {found}, not to {wanted}; move it away or restore the right file")]
    Foreign {
        /// What the file says.
        found: String,
        /// What was looked for.
        wanted: String,
    },
}

/// An open database.
#[derive(Debug)]
pub(crate) struct Database {
    path: PathBuf,
    writer: Worker,
    reader: Worker,
}

impl Database {
    /// Opens the file; makes it, its directory and its tables if there are none, and brings older tables up to date.
    pub(crate) async fn open(path: &Path, schema: Schema, agent: Option<AgentId>) -> Result<Self, OpenError> {
        let writer = Worker::start("sqlite-writer", path, move |path| open_writer(path, &schema, agent.as_ref())).await?;
        let reader = Worker::start("sqlite-reader", path, open_reader).await?;
        Ok(Self { path: path.to_owned(), writer, reader })
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Runs one write transaction and syncs it. Nothing is stored when `work` fails. A caller that goes away after the transaction was
    /// queued does not take it back.
    pub(crate) async fn write<T, E, F>(&self, work: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: PortError,
        F: FnOnce(&Transaction<'_>) -> Result<T, Failure<E>> + Send + 'static,
    {
        let job = move |connection: &mut Connection| {
            let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let done = work(&tx)?;
            tx.commit()?;
            Ok(done)
        };
        self.answer(self.writer.call(job).await)
    }

    /// Runs queries against one state of the database.
    pub(crate) async fn read<T, E, F>(&self, work: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: PortError,
        F: FnOnce(&Transaction<'_>) -> Result<T, Failure<E>> + Send + 'static,
    {
        let job = move |connection: &mut Connection| work(&connection.transaction()?);
        self.answer(self.reader.call(job).await)
    }

    /// Works off what was asked for before, then closes the file.
    pub(crate) async fn close(&self) {
        self.reader.close().await;
        // The last connection that closes folds the write-ahead log into the file; that must be one that may write.
        self.writer.close().await;
    }

    fn answer<T, E: PortError>(&self, answer: Result<Result<T, Failure<E>>, crate::worker::NoAnswer>) -> Result<T, E> {
        match answer {
            Ok(result) => result.map_err(|failure| E::from_failure(&self.path, failure)),
            Err(no_answer) => Err(E::database(&self.path, no_answer.to_string())),
        }
    }
}

/// A database that is opened when it is first needed, so that a program that needs no state makes no files.
#[derive(Debug)]
pub(crate) struct LazyDatabase {
    path: PathBuf,
    schema: Schema,
    agent: Option<AgentId>,
    cell: OnceCell<Database>,
}

impl LazyDatabase {
    /// Opens nothing yet.
    pub(crate) fn new(path: PathBuf, schema: Schema, agent: Option<AgentId>) -> Self {
        Self { path, schema, agent, cell: OnceCell::new() }
    }

    /// The database; made if there is none. A failure is not remembered: the next call tries again.
    pub(crate) async fn get<E: PortError>(&self) -> Result<&Database, E> {
        let open = || Database::open(&self.path, self.schema, self.agent.clone());
        self.cell.get_or_try_init(open).await.map_err(|error| E::database(&self.path, error.to_string()))
    }

    /// The database; none if there is no file, for callers that only read.
    pub(crate) async fn existing<E: PortError>(&self) -> Result<Option<&Database>, E> {
        if self.cell.get().is_none() && !tokio::fs::try_exists(&self.path).await.unwrap_or(true) {
            return Ok(None);
        }
        self.get().await.map(Some)
    }

    /// Closes it if it is open.
    pub(crate) async fn close(&self) {
        if let Some(database) = self.cell.get() {
            database.close().await;
        }
    }
}

fn open_writer(path: &Path, schema: &Schema, agent: Option<&AgentId>) -> Result<Connection, OpenError> {
    refuse_other_than_file(path, "it".to_owned())?;
    for file in ["-wal", "-shm", "-journal"].map(|suffix| side_file(path, suffix)) {
        refuse_other_than_file(&file, file.display().to_string())?;
    }
    warn_of_emptiness(path);
    create_private_file(path)?;
    refuse_newer(path, schema)?;
    let mut connection = Connection::open_with_flags(path, flags(OpenFlags::SQLITE_OPEN_READ_WRITE))?;
    prepare(&connection)?;
    schema::check_owner(&mut connection, schema, agent)?;
    switch_to_wal(&connection)?;
    connection.pragma_update(None, "synchronous", "full")?;
    schema::migrate(&mut connection, schema, agent)?;
    Ok(connection)
}

fn open_reader(path: &Path) -> Result<Connection, OpenError> {
    let connection = Connection::open_with_flags(path, flags(OpenFlags::SQLITE_OPEN_READ_ONLY))?;
    prepare(&connection)?;
    Ok(connection)
}

/// Refuses what is there and is no file: SQLite would open a pipe, and wait.
fn refuse_other_than_file(file: &Path, which: String) -> Result<(), OpenError> {
    use std::os::unix::fs::FileTypeExt;
    // What is not there is made, and what cannot be looked at cannot be opened either.
    let Ok(metadata) = file.metadata() else { return Ok(()) };
    let kind = match metadata.file_type() {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_dir() => "a directory",
        kind if kind.is_fifo() => "a named pipe",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    };
    Err(OpenError::NotAFile { which, kind })
}

/// SQLite takes a file that was truncated to nothing for a new one. Somebody may miss what was in it.
fn warn_of_emptiness(path: &Path) {
    let is_empty = path.metadata().is_ok_and(|metadata| metadata.len() == 0);
    if is_empty && !side_file(path, "-wal").exists() {
        tracing::warn!(
            "the database {} is empty, and a new one is begun in it; restore a backup if it held something",
            path.display()
        );
    }
}

/// Looks at the version through a connection that cannot write, so that a refused file is left exactly as it was. Without a
/// write-ahead log nobody has the file open, and it can be read without making one.
fn refuse_newer(path: &Path, schema: &Schema) -> Result<(), OpenError> {
    let has_log = side_file(path, "-wal").exists();
    let uri = format!("file:{}{}", percent_encoded(path), if has_log { "" } else { "?immutable=1" });
    let connection = Connection::open_with_flags(uri, flags(OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI))?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    schema::check_version(&connection, schema).map(drop)
}

fn side_file(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn percent_encoded(path: &Path) -> String {
    use std::fmt::Write as _;
    use std::os::unix::ffi::OsStrExt;
    path.as_os_str().as_bytes().iter().fold(String::new(), |mut encoded, byte| {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => encoded.push(char::from(*byte)),
            // Writing to a text never fails.
            other => drop(write!(encoded, "%{other:02X}")),
        }
        encoded
    })
}

/// Two processes that open a new database at once both switch it. SQLite answers one of them at once that it is locked, without the
/// busy timeout, because each could wait for the other; asking again is safe.
fn switch_to_wal(connection: &Connection) -> Result<(), OpenError> {
    let mut waited = Duration::ZERO;
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get::<_, String>(0)) {
            Ok(mode) if mode.eq_ignore_ascii_case("wal") => return Ok(()),
            Ok(mode) => return Err(OpenError::NoWal(mode)),
            Err(error) if is_busy(&error) && waited < BUSY_TIMEOUT => {
                std::thread::sleep(RETRY_DELAY);
                waited += RETRY_DELAY;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// A connection is used by one thread, so SQLite need not lock it.
fn flags(access: OpenFlags) -> OpenFlags {
    access | OpenFlags::SQLITE_OPEN_NO_MUTEX
}

fn prepare(connection: &Connection) -> Result<(), OpenError> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    connection.pragma_update(None, "foreign_keys", true)?;
    // The file may come from anywhere; its schema must not call anything that has effects.
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(())
}

/// Transcripts hold what people said and secrets hide in them: only the owner may read the file. SQLite gives its side files the same
/// mode. Never opens a file that exists: closing it would drop the locks that SQLite holds on it in this process.
fn create_private_file(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
    if path.exists() {
        return Ok(());
    }
    if let Some(directory) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    match std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map(drop),
    }
}
