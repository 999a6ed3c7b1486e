//! What the tests share: a place to run the binary in, running processes, and plugins.

mod bed;
mod plugins;
mod provider;
mod staged;

pub(crate) use bed::{Bed, json_of, stderr, stdout};
pub(crate) use plugins::{CORE_MODULE, component_exporting, example, examples, test_guest, write_plugin};
pub(crate) use provider::Provider;
pub(crate) use staged::{Bell, Ended, Staged};

use std::time::Duration;

/// Longest wait for anything that a test waits for. Far above what it takes: a machine that runs other builds is slow.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);
