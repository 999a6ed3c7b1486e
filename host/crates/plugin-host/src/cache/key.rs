//! The key of this host's entries; made at the first start, and again when it is damaged or was not private.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use super::private::{self, Staged};
use super::{CacheError, HASH_BYTES};

pub(super) const KEY_FILE: &str = "cache.key";

pub(super) fn obtain(directory: &Path) -> Result<[u8; HASH_BYTES], CacheError> {
    let path = directory.join(KEY_FILE);
    let failed = |source| CacheError::Io { path: path.clone(), source };
    match read(&path) {
        Ok(key) => return Ok(key),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => {
            tracing::warn!(path = %path.display(), "the key of the compiled plugins is replaced, they are compiled again: {error}");
            fs::remove_file(&path).map_err(failed)?;
        }
    }
    let mut key = [0; HASH_BYTES];
    getrandom::fill(&mut key).map_err(|error| CacheError::NoRandom(error.to_string()))?;
    let staged = Staged::write(directory, &[&key]).map_err(failed)?;
    // Of two hosts that start at once, one sets the key and both use it.
    match fs::hard_link(staged.path(), &path) {
        Ok(()) => Ok(key),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => read(&path).map_err(failed),
        Err(error) => Err(failed(error)),
    }
}

fn read(path: &Path) -> io::Result<[u8; HASH_BYTES]> {
    let mut file = private::open(path)?;
    if file.metadata()?.len() != HASH_BYTES as u64 {
        return Err(io::Error::other("it has the wrong length"));
    }
    let mut key = [0; HASH_BYTES];
    file.read_exact(&mut key)?;
    Ok(key)
}
