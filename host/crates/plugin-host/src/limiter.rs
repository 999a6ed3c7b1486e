//! Counts what the instances of one store use, and refuses what is above its limits. Memory and table elements are summed over the
//! whole store, so that many small memories get no more than one large one.

use wasmtime::ResourceLimiter;

use crate::limits::{CORE_INSTANCES, MEMORIES, TABLE_ELEMENTS, TABLES};

/// What a guest was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Linear memory; the limit in bytes.
    Memory(usize),
    /// Table elements; the limit.
    TableElements(usize),
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Memory(bytes) => {
                write!(f, "its memory limit of {} MiB is reached (limits.memoryBytes)", bytes.div_ceil(1 << 20))
            }
            Self::TableElements(elements) => write!(f, "its limit of {elements} table elements is reached"),
        }
    }
}

/// Counter of one store.
pub(crate) struct Limiter {
    memory_limit: usize,
    memory: usize,
    table_elements: usize,
    /// Growth that was allowed last, to be taken back if it fails after all.
    pending: Pending,
    refused: Option<Refused>,
}

#[derive(Clone, Copy)]
enum Pending {
    Nothing,
    Memory(usize),
    Table(usize),
}

impl Limiter {
    pub(crate) fn new(memory_limit: usize) -> Self {
        Self { memory_limit, memory: 0, table_elements: 0, pending: Pending::Nothing, refused: None }
    }

    /// What was refused since the last look. A guest that cannot grow usually traps next, and this says why.
    pub(crate) fn take_refusal(&mut self) -> Option<Refused> {
        self.refused.take()
    }

    fn take_back(&mut self) {
        match std::mem::replace(&mut self.pending, Pending::Nothing) {
            Pending::Nothing => {}
            Pending::Memory(bytes) => self.memory = self.memory.saturating_sub(bytes),
            Pending::Table(elements) => self.table_elements = self.table_elements.saturating_sub(elements),
        }
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        self.pending = Pending::Nothing;
        let growth = desired.saturating_sub(current);
        let sum = self.memory.saturating_add(growth);
        if sum > self.memory_limit {
            self.refused = Some(Refused::Memory(self.memory_limit));
            return Ok(false);
        }
        // Growth beyond the guest's own maximum fails without another word.
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
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
        let growth = desired.saturating_sub(current);
        let sum = self.table_elements.saturating_add(growth);
        if sum > TABLE_ELEMENTS {
            self.refused = Some(Refused::TableElements(TABLE_ELEMENTS));
            return Ok(false);
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
        CORE_INSTANCES
    }

    fn memories(&self) -> usize {
        MEMORIES
    }

    fn tables(&self) -> usize {
        TABLES
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn memories_share_one_limit() {
        let mut limiter = Limiter::new(2 * MIB);
        assert!(limiter.memory_growing(0, MIB, None).unwrap());
        assert!(limiter.memory_growing(0, MIB, None).unwrap());
        assert!(!limiter.memory_growing(0, 65536, None).unwrap());
        assert_eq!(limiter.take_refusal(), Some(Refused::Memory(2 * MIB)));
        assert_eq!(limiter.take_refusal(), None);
    }

    #[test]
    fn growth_that_fails_is_taken_back() {
        let mut limiter = Limiter::new(2 * MIB);
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
        let mut limiter = Limiter::new(MIB);
        assert!(limiter.table_growing(0, TABLE_ELEMENTS, None).unwrap());
        assert!(!limiter.table_growing(0, 1, None).unwrap());
        assert_eq!(limiter.take_refusal(), Some(Refused::TableElements(TABLE_ELEMENTS)));
    }
}
