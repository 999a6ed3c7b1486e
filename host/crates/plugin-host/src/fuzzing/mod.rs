//! The way in for fuzzing (`cargo xtask fuzz`): what the crate does not show, driven by bytes. The bytes stand for what a guest returns,
//! or for a component. A rule of the host that does not hold is a panic here, because that is how a fuzzer is told; nothing of this is
//! in a host that serves.

mod answer;
mod lines;
mod load;
mod play;

use hooks::Fault;
use hooks::fault::MAX_FAULT_BYTES;

pub use load::{Loading, MAX_BYTES as MAX_LOADED_BYTES};

/// Plays what `script` makes guests return: through the conversion, the check, the description, the merge and what the next handler
/// sees, as a dispatch does it. The first line names the hook or a type; each further line is one field, as `lines` says. A name that
/// nothing has plays nothing.
///
/// # Panics
/// When a rule does not hold that must hold whatever guests return.
pub fn play(script: &str) {
    play::play(&mut lines::Lines::of(script));
}

/// A fault is shown and logged, so it is one line of bounded length.
fn assert_fault_is_one_bounded_line(fault: &Fault) {
    assert!(fault.text().len() <= MAX_FAULT_BYTES, "a fault has {} bytes", fault.text().len());
    assert!(!fault.text().chars().any(char::is_control), "a fault has control characters: {:?}", fault.text());
}
