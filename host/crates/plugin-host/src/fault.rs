//! Errors of wasmtime in the terms of the hooks: causes that stay apart. wasmtime has types for most of them and only a text for
//! some.

use std::any::Any;
use std::fmt::Write as _;

use hooks::{Fault, FaultKind};
use wasmtime::{Error, PoolConcurrencyLimitError, Trap, WasmBacktrace};
use wasmtime_wasi::I32Exit;

use crate::engine::Saturated;
use crate::limiter::Refused;
use crate::state::Stopped;

/// Frames of a backtrace in a fault text.
const FRAMES: usize = 4;

/// When the guest failed, for the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// While the instance was made.
    Start,
    /// While it served a call.
    Call,
}

/// What went wrong in a guest; `refused` is what a limit kept from it before, `tail` the end of what it printed.
pub(crate) fn of_guest(error: &Error, refused: Option<Refused>, tail: &str, phase: Phase) -> Fault {
    let (kind, text) = classify(error, refused);
    let mut place = frames(error);
    if !tail.is_empty() {
        let _ = write!(place, "; it printed last: {tail}");
    }
    let fault = match phase {
        Phase::Start => Fault::new(kind, format!("while it was started: {text}{place}")),
        Phase::Call => Fault::new(kind, format!("{text}{place}")),
    };
    // The pool of the host is shared: that it is used up says nothing about this plugin.
    if error.is::<PoolConcurrencyLimitError>() { fault.by_others() } else { fault }
}

fn classify(error: &Error, refused: Option<Refused>) -> (FaultKind, String) {
    if let Some(stopped) = error.downcast_ref::<Stopped>() {
        return of_stop(*stopped);
    }
    if error.is::<PoolConcurrencyLimitError>() {
        return (FaultKind::Limit, format!("the host's pool of instances is used up: {}", error.root_cause()));
    }
    // A guest that was refused memory mostly ends in its own panic; the refusal is the better explanation.
    if let Some(refused) = refused {
        return (FaultKind::Limit, refused.to_string());
    }
    if let Some(exit) = error.downcast_ref::<I32Exit>() {
        return (FaultKind::Trap, format!("it ended its own process with code {}", exit.0));
    }
    if let Some(trap) = error.downcast_ref::<Trap>() {
        return of_trap(*trap);
    }
    let text = error.root_cause().to_string();
    if is_limit(&text) {
        return (FaultKind::Limit, text);
    }
    // With a backtrace, a host function refused what the guest gave it; without, the host read what the guest returned.
    if error.is::<WasmBacktrace>() { (FaultKind::Trap, text) } else { (FaultKind::Malformed, text) }
}

fn of_trap(trap: Trap) -> (FaultKind, String) {
    match trap {
        Trap::StackOverflow => (FaultKind::Limit, "its call stack is exhausted".to_owned()),
        other => (FaultKind::Trap, other.to_string().trim_start_matches("wasm trap: ").to_owned()),
    }
}

/// Limits that wasmtime reports as text. The first three are met by tests; the others stand behind checks that come earlier, or need a
/// guest with resources of its own.
fn is_limit(text: &str) -> bool {
    [
        "fuel allocated for hostcalls has been exhausted",
        "resource table has no free keys",
        "exceeds limit",
        "store handle limit exceeded",
        "resource limit exceeded",
    ]
    .iter()
    .any(|limit| text.contains(limit))
}

fn of_stop(stopped: Stopped) -> (FaultKind, String) {
    let kind = match stopped {
        Stopped::Deadline(_) => FaultKind::Timeout,
        Stopped::Cancelled => FaultKind::Cancelled,
    };
    (kind, stopped.to_string())
}

/// Names of the innermost functions, if the component has names.
fn frames(error: &Error) -> String {
    let Some(backtrace) = error.downcast_ref::<WasmBacktrace>() else { return String::new() };
    let names: Vec<_> = backtrace.frames().iter().filter_map(|frame| frame.func_name()).take(FRAMES).collect();
    let mut out = String::new();
    for (at, name) in names.iter().enumerate() {
        let _ = write!(out, "{}`{name}`", if at == 0 { " in " } else { " < " });
    }
    out
}

impl From<Stopped> for Fault {
    fn from(stopped: Stopped) -> Self {
        let (kind, text) = of_stop(stopped);
        Self::new(kind, text)
    }
}

impl From<Saturated> for Fault {
    fn from(saturated: Saturated) -> Self {
        let kind = if saturated == Saturated::NoClock { FaultKind::Host } else { FaultKind::Limit };
        // The places of the host are shared: that they are taken says nothing about this plugin.
        Self::new(kind, saturated.to_string()).by_others()
    }
}

/// A panic of the host itself, caught at the edge of a call.
pub(crate) fn of_panic(panic: &(dyn Any + Send)) -> Fault {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Fault::new(FaultKind::Host, format!("BUG: the host panicked: {}", text.unwrap_or("no message")))
}
