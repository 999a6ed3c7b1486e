//! Starting a command in its own session, with its output in one pipe, and the guard that ends everything it started. Never waits.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group, setsid};
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};

use super::environment::Variables;

/// A running command.
pub(crate) struct Process {
    /// The shell.
    pub(crate) shell: Child,
    /// Everything that it started and that did not leave its session.
    pub(crate) group: Group,
    /// Standard output and standard error, in the order in which they were written.
    pub(crate) output: pipe::Receiver,
}

/// Starts `command` with `/bin/sh`.
pub(crate) fn spawn(command: &str, directory: &Path, variables: &Variables) -> io::Result<Process> {
    let (reader, writer) = io::pipe()?;
    let output = pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?;
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command).current_dir(directory).env_clear().envs(variables);
    // One pipe for both streams: two would lose the order between them.
    shell.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer).kill_on_drop(true);
    // A session of its own and not only a group: without a terminal, a command that asks for a password fails at once instead of
    // waiting for somebody who is not there.
    // SAFETY: between fork and exec only `setsid` runs, a bare system call that allocates nothing and takes no lock.
    unsafe { shell.pre_exec(|| setsid().map(drop).map_err(io::Error::from)) };
    let shell = shell.spawn()?;
    let group = Group::of(&shell)?;
    Ok(Process { shell, group, output })
}

/// A process group that is killed when this is dropped, on whatever way the call ends.
///
/// A process that makes a session of its own is no longer in the group and is not reached.
#[derive(Debug)]
pub(crate) struct Group(Pid);

impl Group {
    fn of(leader: &Child) -> io::Result<Self> {
        let id = leader.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        id.map(Self).ok_or_else(|| io::Error::other("the command ended before it could be watched"))
    }

    /// Signals every process of the group. That nobody is left is no error.
    pub(crate) fn signal(&self, signal: Signal) {
        // Once the leader was waited for, its number is free when the group is empty. It is signalled right after that and then
        // never again, and a system gives numbers out in turn, so the number cannot have a new owner yet.
        if let Err(error) = kill_process_group(self.0, signal)
            && error != rustix::io::Errno::SRCH
        {
            tracing::warn!(group = self.0.as_raw_nonzero().get(), %error, "cannot signal the processes of a command");
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
