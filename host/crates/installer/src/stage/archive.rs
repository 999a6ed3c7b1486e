//! Unpacks archives. Only files and directories come out: links, devices and everything else is refused, and so is an archive that
//! unpacks to more than the limits, however it was packed.

use std::io::{Read, Seek};

use flate2::read::MultiGzDecoder;
use tar::EntryType;
use zip::CompressionMethod;

use super::StageError;
use super::tree::{Tree, refuse};

/// Bytes of headers that a tar archive may have for each entry, on top of the files' own: its header, its padding, a long name.
const TAR_OVERHEAD: u64 = 8 << 10;

/// The stream in a gzip file.
pub(super) fn gunzip(file: impl Read) -> impl Read {
    MultiGzDecoder::new(file)
}

/// Unpacks a tar archive. Long names and other extension records are held in memory, so the whole stream is bounded.
pub(super) fn unpack_tar(stream: impl Read, tree: &mut Tree<'_>) -> Result<(), StageError> {
    let limits = *tree.limits();
    let bound = limits.bytes.saturating_add(TAR_OVERHEAD.saturating_mul(limits.entries as u64));
    let mut archive = tar::Archive::new(stream.take(bound));
    let mut is_empty = true;
    for entry in archive.entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        is_empty = false;
        let name = entry.path_bytes().into_owned();
        match entry.header().entry_type() {
            EntryType::Regular | EntryType::Continuous => tree.file(&name, &mut entry)?,
            EntryType::Directory => tree.directory(&name)?,
            EntryType::XGlobalHeader => {}
            EntryType::Symlink | EntryType::Link => return Err(refuse(&name, "is a link")),
            _ => return Err(refuse(&name, "is neither a file nor a directory")),
        }
    }
    if is_empty { Err(StageError::Archive("it holds nothing".to_owned())) } else { Ok(()) }
}

fn damaged(error: std::io::Error) -> StageError {
    StageError::Archive(error.to_string())
}

/// Unpacks a zip archive.
pub(super) fn unpack_zip(file: impl Read + Seek, tree: &mut Tree<'_>) -> Result<(), StageError> {
    let broken = |error: zip::result::ZipError| StageError::Archive(error.to_string());
    let mut archive = zip::ZipArchive::new(file).map_err(broken)?;
    if archive.has_duplicate_names() {
        return Err(StageError::Archive("two of its entries have one name".to_owned()));
    }
    if archive.is_empty() {
        return Err(StageError::Archive("it holds nothing".to_owned()));
    }
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(broken)?;
        let name = entry.name_raw().to_vec();
        if entry.encrypted() {
            return Err(refuse(&name, "is encrypted"));
        }
        if !matches!(entry.compression(), CompressionMethod::Stored | CompressionMethod::Deflated) {
            return Err(refuse(&name, "is compressed in another way than deflate"));
        }
        // The upper bits of the mode say what an entry is, if the archive was made on a Unix.
        match entry.unix_mode().map_or(0, |mode| mode & 0o170_000) {
            0 | 0o100_000 if !entry.is_dir() => tree.file(&name, &mut entry)?,
            0 | 0o040_000 if entry.is_dir() => tree.directory(&name)?,
            0o120_000 => return Err(refuse(&name, "is a link")),
            _ => return Err(refuse(&name, "is neither a file nor a directory")),
        }
    }
    Ok(())
}
