//! Counts what the instances of one store use, and refuses what is above its limits. Memory and table elements are summed over the
//! whole store, so that many small memories get no more than one large one; memory is summed over all stores of the plugin too.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use wasmtime::ResourceLimiter;

use crate::limits::{Limits, size};

/// What a guest was refused, each with the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Linear memory of the instance, in bytes.
    Memory(u64),
    /// Linear memory of all instances of the plugin, in bytes.
    TotalMemory(u64),
    /// Table elements.
    TableElements(u64),
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Memory(bytes) => {
                write!(f, "its memory limit of {} MiB is reached (limits.memoryBytes)", bytes.div_ceil(1 << 20))
            }
            Self::TotalMemory(bytes) => write!(
                f,
                "all its instances together have reached their memory limit of {} MiB (limits.totalMemoryBytes)",
                bytes.div_ceil(1 << 20)
            ),
            Self::TableElements(elements) => {
                write!(f, "its limit of {elements} table elements is reached (limits.tableElements)")
            }
        }
    }
}

/// Memory of all instances of one plugin.
#[derive(Debug, Default)]
pub(crate) struct TotalMemory(AtomicU64);

impl TotalMemory {
    /// Takes `bytes`, unless that would be more than `limit`.
    fn take(&self, bytes: u64, limit: u64) -> bool {
        let sum = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= limit);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum).is_ok()
    }

    fn give_back(&self, bytes: u64) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// What is taken, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counter of one store. What it counts is given back when it is dropped, which is when the store is.
pub(crate) struct Limiter {
    limits: Limits,
    total: Arc<TotalMemory>,
    memory: u64,
    table_elements: u64,
    /// Growth that was allowed last, to be taken back if it fails after all.
    pending: Pending,
    refused: Option<Refused>,
}

#[derive(Clone, Copy)]
enum Pending {
    Nothing,
    Memory(u64),
    Table(u64),
}

impl Limiter {
    pub(crate) fn new(limits: Limits, total: Arc<TotalMemory>) -> Self {
        Self { limits, total, memory: 0, table_elements: 0, pending: Pending::Nothing, refused: None }
    }

    /// What was refused since the last look. A guest that cannot grow usually traps next, and this says why.
    pub(crate) fn take_refusal(&mut self) -> Option<Refused> {
        self.refused.take()
    }

    fn take_back(&mut self) {
        match std::mem::replace(&mut self.pending, Pending::Nothing) {
            Pending::Nothing => {}
            Pending::Memory(bytes) => {
                self.memory = self.memory.saturating_sub(bytes);
                self.total.give_back(bytes);
            }
            Pending::Table(elements) => self.table_elements = self.table_elements.saturating_sub(elements),
        }
    }

    fn refuse(&mut self, what: Refused) -> wasmtime::Result<bool> {
        self.refused = Some(what);
        Ok(false)
    }
}

impl Drop for Limiter {
    fn drop(&mut self) {
        self.total.give_back(self.memory);
    }
}

/// By how much something grows.
fn growth(current: usize, desired: usize) -> u64 {
    desired.saturating_sub(current) as u64
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        self.pending = Pending::Nothing;
        let growth = growth(current, desired);
        let sum = self.memory.saturating_add(growth);
        if sum > self.limits.memory_bytes {
            return self.refuse(Refused::Memory(self.limits.memory_bytes));
        }
        // Growth beyond the guest's own maximum fails without another word.
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        if !self.total.take(growth, self.limits.total_memory_bytes) {
            return self.refuse(Refused::TotalMemory(self.limits.total_memory_bytes));
        }
        self.memory = sum;
        self.pending = Pending::Memory(growth);
        Ok(true)
    }

    fn memory_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.take_back();
        Ok(())
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        self.pending = Pending::Nothing;
        let growth = growth(current, desired);
        let sum = self.table_elements.saturating_add(growth);
        if sum > self.limits.table_elements {
            return self.refuse(Refused::TableElements(self.limits.table_elements));
        }
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        self.table_elements = sum;
        self.pending = Pending::Table(growth);
        Ok(true)
    }

    fn table_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.take_back();
        Ok(())
    }

    fn instances(&self) -> usize {
        size(self.limits.core_instances)
    }

    fn memories(&self) -> usize {
        size(self.limits.memories)
    }

    fn tables(&self) -> usize {
        size(self.limits.tables)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    const MIB: usize = 1 << 20;

    fn limiter(memory: usize) -> Limiter {
        Limiter::new(Limits { memory_bytes: memory as u64, ..Limits::default() }, Arc::default())
    }

    #[test]
    fn memories_share_one_limit() {
        let mut limiter = limiter(2 * MIB);
        assert!(limiter.memory_growing(0, MIB, None).unwrap());
        assert!(limiter.memory_growing(0, MIB, None).unwrap());
        assert!(!limiter.memory_growing(0, 65536, None).unwrap());
        assert_eq!(limiter.take_refusal(), Some(Refused::Memory(2 << 20)));
        assert_eq!(limiter.take_refusal(), None);
    }

    #[test]
    fn instances_share_a_limit_and_give_back_what_they_had() {
        let limits = Limits { total_memory_bytes: 3 << 20, ..Limits::default() };
        let total = Arc::new(TotalMemory::default());
        let mut limiters = [(); 2].map(|()| Limiter::new(limits, Arc::clone(&total)));
        assert!(limiters[0].memory_growing(0, 2 * MIB, None).unwrap());
        assert!(!limiters[1].memory_growing(0, 2 * MIB, None).unwrap());
        assert_eq!(limiters[1].take_refusal(), Some(Refused::TotalMemory(3 << 20)));
        assert!(limiters[1].memory_growing(0, MIB, None).unwrap());
        limiters[1].memory_grow_failed(wasmtime::format_err!("no memory")).unwrap();
        let [first, mut second] = limiters;
        drop(first);
        assert!(second.memory_growing(0, 3 * MIB, None).unwrap());
        drop(second);
        assert_eq!(total.bytes(), 0);
    }

    #[test]
    fn growth_that_fails_is_taken_back() {
        let mut limiter = limiter(2 * MIB);
        assert!(limiter.memory_growing(0, 2 * MIB, None).unwrap());
        limiter.memory_grow_failed(wasmtime::format_err!("no memory")).unwrap();
        assert!(limiter.memory_growing(0, MIB, None).unwrap());
        // The guest's own maximum refuses; that is no reason to blame the limit, and takes nothing back.
        assert!(!limiter.memory_growing(MIB, 2 * MIB, Some(MIB)).unwrap());
        assert_eq!(limiter.take_refusal(), None);
        limiter.memory_grow_failed(wasmtime::format_err!("no memory")).unwrap();
        assert!(!limiter.memory_growing(MIB, 3 * MIB, None).unwrap());
        assert!(limiter.memory_growing(MIB, 2 * MIB, None).unwrap());
    }

    #[test]
    fn table_elements_are_summed() {
        let elements = size(Limits::default().table_elements);
        let mut limiter = limiter(MIB);
        assert!(limiter.table_growing(0, elements, None).unwrap());
        assert!(!limiter.table_growing(0, 1, None).unwrap());
        assert_eq!(limiter.take_refusal(), Some(Refused::TableElements(elements as u64)));
    }
}
