//! Sessions in memory that fail when a test says so.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use domain::session::{
    AppendRow, OpenSession, OpenedSession, RunSummary, SessionEntry, SessionStore, SessionSummary, StoreError, TranscriptRow,
};
use domain::test_support::MemorySessions;
use domain::{AgentId, RunId, SessionId, SessionKey};

/// An operation of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Op {
    Open,
    Begin,
    Rows,
    Append,
    End,
}

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Error,
    Panic,
    /// It is done, and the answer never comes.
    LosesAnswer,
}

/// Passes everything on except what is planned to fail.
pub(crate) struct FaultyStore {
    inner: Arc<MemorySessions>,
    plan: Mutex<Vec<(Op, usize, Fault)>>,
    counts: Mutex<BTreeMap<Op, usize>>,
}

impl FaultyStore {
    pub(crate) fn new(inner: Arc<MemorySessions>, plan: Vec<(Op, usize, Fault)>) -> Self {
        Self { inner, plan: Mutex::new(plan), counts: Mutex::default() }
    }

    /// The fault that is planned for this call of an operation; calls are counted from 1.
    fn fault(&self, op: Op) -> Option<Fault> {
        let nth = {
            let mut counts = self.counts.lock().unwrap();
            let count = counts.entry(op).or_default();
            *count += 1;
            *count
        };
        self.plan.lock().unwrap().iter().find(|(planned, at, _)| (*planned, *at) == (op, nth)).map(|(_, _, fault)| *fault)
    }

    async fn guarded<T>(&self, op: Op, work: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        match self.fault(op) {
            None => work.await,
            Some(Fault::Error) => {
                Err(StoreError::Database { path: "memory".to_owned(), message: format!("{op:?} failed as planned") })
            }
            Some(Fault::Panic) => panic!("{op:?} panics as planned"),
            Some(Fault::LosesAnswer) => {
                let _ = work.await;
                std::future::pending().await
            }
        }
    }
}

#[async_trait]
impl SessionStore for FaultyStore {
    async fn open(&self, open: OpenSession) -> Result<OpenedSession, StoreError> {
        self.guarded(Op::Open, self.inner.open(open)).await
    }

    async fn begin_run(&self, key: &SessionKey, session_id: &SessionId, run: &RunId, now: u64) -> Result<(), StoreError> {
        self.guarded(Op::Begin, self.inner.begin_run(key, session_id, run, now)).await
    }

    async fn end_run(&self, key: &SessionKey, run: &RunId, summary: RunSummary) -> Result<(), StoreError> {
        self.guarded(Op::End, self.inner.end_run(key, run, summary)).await
    }

    async fn append(&self, row: AppendRow) -> Result<TranscriptRow, StoreError> {
        self.guarded(Op::Append, self.inner.append(row)).await
    }

    async fn rows(&self, agent: &AgentId, session_id: &SessionId) -> Result<Vec<TranscriptRow>, StoreError> {
        self.guarded(Op::Rows, self.inner.rows(agent, session_id)).await
    }

    async fn entry(&self, key: &SessionKey) -> Result<Option<SessionEntry>, StoreError> {
        self.inner.entry(key).await
    }

    async fn list(&self, agent: &AgentId) -> Result<Vec<SessionSummary>, StoreError> {
        self.inner.list(agent).await
    }
}
