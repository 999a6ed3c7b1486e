//! One process, one command: runs it to its end, tells how it ended, and turns every way to end, a panic included, into an exit code.

use std::any::Any;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::exit::{Code, Failure};
use crate::terminal::Output;

/// Closes the memory of this process, its environment included, to other processes of the same user: else a command that a model wrote finds
/// the host's keys in `/proc/<pid>/environ`. The price is that there are no core dumps, and that a debugger needs root. It hides nothing from
/// root, and no file.
pub fn close_to_others() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable) {
        tracing::warn!("commands may be able to read the environment of this process: {error}");
    }
}

/// Runs a command on a runtime of its own.
pub fn run(output: &Output, command: impl Future<Output = Result<Code, Failure>>) -> Code {
    // Nothing of what panicked is used again: the process is about to end.
    let result = catch_unwind(AssertUnwindSafe(|| block_on(command)));
    output.end(result.unwrap_or_else(|panic| Err(panicked(panic.as_ref()))))
}

fn block_on(command: impl Future<Output = Result<Code, Failure>>) -> Result<Code, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::internal(format!("the runtime cannot start: {error}")))?;
    let result = runtime.block_on(command);
    // Blocking work of a command that was given up must not keep the process alive.
    runtime.shutdown_background();
    result
}

/// The panic itself, with its place, is on stderr already.
fn panicked(panic: &(dyn Any + Send)) -> Failure {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Failure::internal(format!("creel itself failed: {}", text.unwrap_or("it panicked")))
        .hint("this is a fault of creel and not of what it was asked to do; please report it with the lines above")
}

/// Prints what the command line asks for by itself (`--help`, `--version`), or what is wrong with it.
pub fn answer(output: &Output, parsed: &clap::Error) -> Code {
    match parsed.print() {
        Err(error) if !parsed.use_stderr() && error.kind() != ErrorKind::BrokenPipe => {
            output.end(Err(Failure::new(Code::RunFailed, format!("the help cannot be written to stdout: {error}"))))
        }
        _ if parsed.use_stderr() => Code::Usage,
        _ => Code::Success,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, reason = "tests")]
    use super::*;

    fn output() -> Output {
        Output::from_process(false)
    }

    #[test]
    fn a_panic_is_a_fault_of_creel_itself() {
        assert_eq!(run(&output(), async { panic!("on purpose, in a test") }), Code::Internal);
        let later = async {
            tokio::task::yield_now().await;
            panic!("{} purpose, in a test", "on")
        };
        assert_eq!(run(&output(), later), Code::Internal);
    }

    #[test]
    fn a_panic_says_what_it_says() {
        let failure = panicked(&"index out of bounds");
        assert!(failure.message.contains("index out of bounds") && failure.hints[0].contains("report"), "{failure:?}");
        assert!(panicked(&7_u8).message.contains("panicked"));
    }

    #[test]
    fn every_other_end_keeps_its_code() {
        assert_eq!(run(&output(), async { Ok(Code::Success) }), Code::Success);
        assert_eq!(run(&output(), async { Err(Failure::new(Code::Busy, "on purpose, in a test")) }), Code::Busy);
    }
}
