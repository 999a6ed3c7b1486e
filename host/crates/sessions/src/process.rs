//! Which process is meant by a process id that was written down: ids are reused, so the start of the process and of the machine count
//! too (sessions 3.3). Sends no signals and reads nothing but this.

/// What tells one process from every other that had or will have its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessIdentity {
    /// Process id.
    pub(crate) pid: u32,
    /// Start of the process, in ticks since the machine started; 0 where the system does not tell.
    pub(crate) start: u64,
    /// Identity of this start of the machine; empty where the system does not tell.
    pub(crate) boot: String,
}

impl ProcessIdentity {
    /// This process.
    pub(crate) fn own() -> Self {
        Self::running(std::process::id()).unwrap_or_else(|| Self { pid: std::process::id(), start: 0, boot: boot() })
    }

    /// The process that has this id now, if there is one that can still do something.
    pub(crate) fn running(pid: u32) -> Option<Self> {
        Some(Self { pid, start: start_of(pid)?, boot: boot() })
    }

    /// Whether this very process still runs. A process that ended and waits for its parent does not count.
    pub(crate) fn is_running(&self) -> bool {
        Self::running(self.pid).as_ref() == Some(self)
    }
}

#[cfg(target_os = "linux")]
fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
}

#[cfg(target_os = "linux")]
fn start_of(pid: u32) -> Option<u64> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse_stat(&String::from_utf8_lossy(&stat))
}

/// Reads the start time out of `/proc/<pid>/stat`; none for a process that is dead already. The second field is the program's name in
/// parentheses and may hold anything, so fields count from the last parenthesis.
#[cfg(target_os = "linux")]
fn parse_stat(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    // Field 22 of the whole line; `state` was field 3.
    let start = fields.nth(18)?.parse().ok()?;
    (!matches!(state, "Z" | "X" | "x")).then_some(start)
}

#[cfg(not(target_os = "linux"))]
fn boot() -> String {
    String::new()
}

#[cfg(all(unix, not(target_os = "linux")))]
fn start_of(pid: u32) -> Option<u64> {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).ok()?)?;
    match rustix::process::test_kill_process(pid) {
        Err(rustix::io::Errno::SRCH) => None,
        _ => Some(0),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn this_process_runs_and_its_id_alone_is_not_its_identity() {
        let own = ProcessIdentity::own();
        assert!(own.is_running());
        assert!(!ProcessIdentity { start: own.start.wrapping_add(1), ..own.clone() }.is_running());
        assert!(!ProcessIdentity { boot: "another start of the machine".to_owned(), ..own }.is_running());
    }

    #[test]
    fn a_process_that_ended_does_not_run_even_before_it_is_waited_for() {
        let mut child = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let identity = ProcessIdentity::running(child.id()).unwrap();
        assert!(identity.is_running());
        child.kill().unwrap();
        // The signal needs a moment; the process stays a zombie until `wait`.
        while identity.is_running() {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(!identity.is_running());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_program_name_cannot_forge_the_fields() {
        let line = "7 (a) Z 1 (b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20";
        assert_eq!(parse_stat(line), Some(4242));
        assert_eq!(parse_stat("7 (a) S 1 2"), None);
        assert_eq!(parse_stat(""), None);
    }
}
