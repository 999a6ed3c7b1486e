//! One builder at a time: a lock on a file, which the system gives back when the builder ends, however it ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

use crate::GuestBuildError;
use crate::progress::{Progress, Report};

/// Held until it is dropped.
#[derive(Debug)]
pub(crate) struct BuildLock(#[expect(dead_code, reason = "closing the file releases the lock")] File);

/// Waits until no other builder holds the lock at `path`.
pub(crate) fn acquire(path: &Path, report: Report<'_>) -> Result<BuildLock, GuestBuildError> {
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(path);
    let file = file.map_err(GuestBuildError::file("open", path))?;
    match file.try_lock() {
        Ok(()) => Ok(BuildLock(file)),
        Err(TryLockError::WouldBlock) => {
            report(Progress::Step("waiting for another build of the guests"));
            file.lock().map_err(GuestBuildError::file("lock", path))?;
            Ok(BuildLock(file))
        }
        Err(TryLockError::Error(source)) => Err(GuestBuildError::file("lock", path)(source)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn second_builder_waits_for_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".lock");
        let first = acquire(&path, &|_| {}).unwrap();

        let (events, heard) = mpsc::channel();
        let second = thread::spawn({
            let path = path.clone();
            move || {
                let report = |_: Progress<'_>| events.send("waiting").unwrap();
                let lock = acquire(&path, &report).unwrap();
                events.send("locked").unwrap();
                drop(lock);
            }
        });
        assert_eq!(heard.recv().unwrap(), "waiting");
        assert!(heard.try_recv().is_err(), "the second builder must not get the lock while the first holds it");
        drop(first);
        assert_eq!(heard.recv().unwrap(), "locked");
        second.join().unwrap();
    }
}
