//! What this process holds, and how much of it may be left behind.

use std::fs;

use plugin_host::Usage;

/// What is held at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Footprint {
    /// Plugin instances, each with a store of its own.
    pub(crate) instances: u32,
    /// Linear memory of guests, in bytes.
    pub(crate) guest_bytes: u64,
    /// Open file descriptors.
    pub(crate) descriptors: u64,
    /// Resident memory of the process, in bytes.
    pub(crate) resident_bytes: u64,
}

impl Footprint {
    /// Now; `usage` is what the host counts.
    pub(crate) fn now(usage: &Usage) -> Self {
        Self {
            instances: usage.instances,
            guest_bytes: usage.memory_bytes(),
            descriptors: fs::read_dir("/proc/self/fd").unwrap().count() as u64,
            resident_bytes: resident_bytes(),
        }
    }

    /// The larger of each.
    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            instances: self.instances.max(other.instances),
            guest_bytes: self.guest_bytes.max(other.guest_bytes),
            descriptors: self.descriptors.max(other.descriptors),
            resident_bytes: self.resident_bytes.max(other.resident_bytes),
        }
    }
}

fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line for resident memory");
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// What must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bar {
    /// No instance and no descriptor more; at most a tenth more resident memory than after the first thousand.
    Full,
    /// No instance and no descriptor more; too little was done to say anything about memory.
    Counts,
}

impl Bar {
    /// Whether it held.
    ///
    /// # Errors
    /// What did not.
    pub(crate) fn verdict(self, before: &Footprint, most: &Footprint) -> Result<(), String> {
        if (most.instances, most.guest_bytes) != (0, 0) {
            return Err(format!("{} instances with {} bytes of memory are left", most.instances, most.guest_bytes));
        }
        if most.descriptors > before.descriptors {
            return Err(format!("{} file descriptors are left", most.descriptors - before.descriptors));
        }
        if self == Self::Full && most.resident_bytes * 10 > before.resident_bytes * 11 {
            return Err("resident memory grew by more than a tenth".to_owned());
        }
        Ok(())
    }
}
