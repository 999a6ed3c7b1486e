//! Circuits in memory, with a count of what was written.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;

use crate::PluginId;
use crate::circuit::{CircuitRecord, CircuitStore};
use crate::ports::StateError;

/// A store of circuits in memory.
#[derive(Debug, Default)]
pub struct MemoryCircuits(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    records: BTreeMap<(PluginId, String), CircuitRecord>,
    writes: usize,
    is_broken: bool,
}

impl MemoryCircuits {
    /// How often something was saved or forgotten.
    pub fn writes(&self) -> usize {
        self.kept().writes
    }

    /// What is kept.
    pub fn records(&self) -> Vec<CircuitRecord> {
        self.kept().records.values().cloned().collect()
    }

    /// From now on every operation fails.
    pub fn break_down(&self) {
        self.kept().is_broken = true;
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn working(&self) -> Result<std::sync::MutexGuard<'_, Kept>, StateError> {
        let kept = self.kept();
        if kept.is_broken { Err(StateError::Unavailable("the disk is gone".to_owned())) } else { Ok(kept) }
    }
}

#[async_trait]
impl CircuitStore for MemoryCircuits {
    async fn load(&self) -> Result<Vec<CircuitRecord>, StateError> {
        Ok(self.working()?.records.values().cloned().collect())
    }

    async fn save(&self, record: CircuitRecord) -> Result<(), StateError> {
        let mut kept = self.working()?;
        kept.writes += 1;
        kept.records.insert((record.plugin.clone(), record.hook.clone()), record);
        Ok(())
    }

    async fn forget(&self, plugin: &PluginId, hook: Option<&str>) -> Result<u64, StateError> {
        let mut kept = self.working()?;
        kept.writes += 1;
        let before = kept.records.len();
        kept.records.retain(|(of, at), _| of != plugin || hook.is_some_and(|hook| hook != at));
        Ok((before - kept.records.len()) as u64)
    }
}
