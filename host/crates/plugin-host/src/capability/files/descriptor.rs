//! The functions of `wasi:filesystem/types`. What changes nothing, or makes nothing larger, is done by wasmtime's implementation as it
//! is; what adds something is counted first.

use std::fs::File;
use std::sync::Arc;

use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    self, Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, DirectoryEntryStream, ErrorCode, Filesize,
    HostDescriptor, HostDirectoryEntryStream, MetadataHashValue, NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult};

use super::ledger::{ChangeError, Ledger, Place, Refusal};
use super::output::Output;
use super::{FilesView, FsMode};

/// Listings of directories that one instance may hold; each is in memory as a whole.
const MAX_LISTINGS: u32 = 8;

type Fd = Resource<Descriptor>;

/// The same descriptor once more.
fn again(fd: &Fd) -> Fd {
    Resource::new_borrow(fd.rep())
}

impl FilesView<'_> {
    /// The ledger, for a change. Files that are granted for reading only are not changed.
    fn for_change(&self) -> FsResult<Arc<Ledger>> {
        match self.directory {
            Some(directory) if directory.mode == FsMode::ReadWrite => Ok(Arc::clone(&directory.ledger)),
            _ => {
                self.teller().read_only();
                Err(ErrorCode::NotPermitted.into())
            }
        }
    }

    fn refused(&self, refusal: Refusal) -> FsError {
        self.teller().refused(&refusal);
        code_of(&refusal).into()
    }

    fn failed(&self, error: ChangeError) -> FsError {
        match error {
            ChangeError::Refused(refusal) => self.refused(refusal),
            ChangeError::File(error) => error.into(),
        }
    }

    fn file(&self, fd: &Fd) -> FsResult<Arc<File>> {
        match self.wasi.table.get(fd)? {
            Descriptor::File(file) => Ok(Arc::clone(&file.file)),
            Descriptor::Dir(_) => Err(ErrorCode::BadDescriptor.into()),
        }
    }

    /// Counts files and bytes of links that are about to be made.
    async fn adding(&mut self, files: u64, bytes: u64) -> FsResult<()> {
        self.for_change()?.add(files, bytes).await.map_err(|refusal| self.refused(refusal))
    }

    fn output(&mut self, fd: &Fd, place: Place) -> FsResult<Resource<DynOutputStream>> {
        let output: DynOutputStream = Box::new(Output::new(self.file(fd)?, place, self.for_change()?, self.teller()));
        Ok(self.wasi.table.push(output)?)
    }
}

fn code_of(refusal: &Refusal) -> ErrorCode {
    match refusal {
        Refusal::Bytes { .. } | Refusal::Files { .. } => ErrorCode::Quota,
        Refusal::Unreadable(_) => ErrorCode::Io,
    }
}

impl types::Host for FilesView<'_> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        self.wasi.convert_error_code(error)
    }

    fn filesystem_error_code(&mut self, error: Resource<wasmtime::Error>) -> wasmtime::Result<Option<ErrorCode>> {
        match self.wasi.table.get(&error)?.downcast_ref::<ChangeError>() {
            Some(ChangeError::Refused(refusal)) => Ok(Some(code_of(refusal))),
            Some(ChangeError::File(error)) => Ok(Some(ErrorCode::from(error))),
            None => self.wasi.filesystem_error_code(error),
        }
    }
}

impl HostDescriptor for FilesView<'_> {
    async fn write(&mut self, fd: Fd, buffer: Vec<u8>, offset: Filesize) -> FsResult<Filesize> {
        let (ledger, file) = (self.for_change()?, self.file(&fd)?);
        let written = ledger.write(file, Place::At(offset), buffer).await;
        written.map(|bytes| bytes as Filesize).map_err(|error| self.failed(error))
    }

    fn write_via_stream(&mut self, fd: Fd, offset: Filesize) -> FsResult<Resource<DynOutputStream>> {
        self.output(&fd, Place::At(offset))
    }

    fn append_via_stream(&mut self, fd: Fd) -> FsResult<Resource<DynOutputStream>> {
        self.output(&fd, Place::End)
    }

    async fn set_size(&mut self, fd: Fd, size: Filesize) -> FsResult<()> {
        let (ledger, file) = (self.for_change()?, self.file(&fd)?);
        ledger.set_size(file, size).await.map_err(|error| self.failed(error))
    }

    async fn open_at(
        &mut self,
        fd: Fd,
        path_flags: PathFlags,
        path: String,
        open_flags: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Fd> {
        let Some(directory) = self.directory else { return Err(ErrorCode::NotPermitted.into()) };
        if !directory.in_use.has_room() {
            return Err(ErrorCode::Quota.into());
        }
        if open_flags.intersects(OpenFlags::CREATE | OpenFlags::TRUNCATE) || flags.contains(DescriptorFlags::WRITE) {
            self.for_change()?;
        }
        // A file that another instance removes between this look and the next is missed, until the directory is looked at again.
        if open_flags.contains(OpenFlags::CREATE) && self.wasi.stat_at(again(&fd), path_flags, path.clone()).await.is_err() {
            self.adding(1, 0).await?;
        }
        let opened = self.wasi.open_at(fd, path_flags, path, open_flags, flags).await?;
        directory.in_use.add(match self.wasi.table.get(&opened)? {
            Descriptor::File(file) => &file.file,
            Descriptor::Dir(dir) => &dir.dir,
        });
        Ok(opened)
    }

    async fn create_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.adding(1, 0).await?;
        self.wasi.create_directory_at(fd, path).await
    }

    async fn symlink_at(&mut self, fd: Fd, old_path: String, new_path: String) -> FsResult<()> {
        self.adding(1, old_path.len() as u64).await?;
        self.wasi.symlink_at(fd, old_path, new_path).await
    }

    async fn link_at(&mut self, fd: Fd, flags: PathFlags, old_path: String, new_fd: Fd, new_path: String) -> FsResult<()> {
        self.adding(1, 0).await?;
        self.wasi.link_at(fd, flags, old_path, new_fd, new_path).await
    }

    async fn rename_at(&mut self, fd: Fd, old_path: String, new_fd: Fd, new_path: String) -> FsResult<()> {
        self.for_change()?;
        self.wasi.rename_at(fd, old_path, new_fd, new_path).await
    }

    async fn remove_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.for_change()?;
        self.wasi.remove_directory_at(fd, path).await
    }

    async fn unlink_file_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.for_change()?;
        self.wasi.unlink_file_at(fd, path).await
    }

    async fn set_times(&mut self, fd: Fd, accessed: NewTimestamp, modified: NewTimestamp) -> FsResult<()> {
        self.for_change()?;
        self.wasi.set_times(fd, accessed, modified).await
    }

    async fn set_times_at(
        &mut self,
        fd: Fd,
        flags: PathFlags,
        path: String,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        self.for_change()?;
        self.wasi.set_times_at(fd, flags, path, accessed, modified).await
    }

    async fn read_directory(&mut self, fd: Fd) -> FsResult<Resource<DirectoryEntryStream>> {
        if *self.listings >= MAX_LISTINGS {
            return Err(ErrorCode::Quota.into());
        }
        let listing = self.wasi.read_directory(fd).await?;
        *self.listings += 1;
        Ok(listing)
    }

    async fn advise(&mut self, fd: Fd, offset: Filesize, length: Filesize, advice: Advice) -> FsResult<()> {
        self.wasi.advise(fd, offset, length, advice).await
    }

    async fn sync_data(&mut self, fd: Fd) -> FsResult<()> {
        self.wasi.sync_data(fd).await
    }

    async fn sync(&mut self, fd: Fd) -> FsResult<()> {
        self.wasi.sync(fd).await
    }

    async fn get_flags(&mut self, fd: Fd) -> FsResult<DescriptorFlags> {
        self.wasi.get_flags(fd).await
    }

    async fn get_type(&mut self, fd: Fd) -> FsResult<DescriptorType> {
        self.wasi.get_type(fd).await
    }

    async fn read(&mut self, fd: Fd, length: Filesize, offset: Filesize) -> FsResult<(Vec<u8>, bool)> {
        self.wasi.read(fd, length, offset).await
    }

    fn read_via_stream(&mut self, fd: Fd, offset: Filesize) -> FsResult<Resource<DynInputStream>> {
        self.wasi.read_via_stream(fd, offset)
    }

    async fn stat(&mut self, fd: Fd) -> FsResult<DescriptorStat> {
        self.wasi.stat(fd).await
    }

    async fn stat_at(&mut self, fd: Fd, flags: PathFlags, path: String) -> FsResult<DescriptorStat> {
        self.wasi.stat_at(fd, flags, path).await
    }

    async fn readlink_at(&mut self, fd: Fd, path: String) -> FsResult<String> {
        self.wasi.readlink_at(fd, path).await
    }

    async fn is_same_object(&mut self, a: Fd, b: Fd) -> wasmtime::Result<bool> {
        self.wasi.is_same_object(a, b).await
    }

    async fn metadata_hash(&mut self, fd: Fd) -> FsResult<MetadataHashValue> {
        self.wasi.metadata_hash(fd).await
    }

    async fn metadata_hash_at(&mut self, fd: Fd, flags: PathFlags, path: String) -> FsResult<MetadataHashValue> {
        self.wasi.metadata_hash_at(fd, flags, path).await
    }

    fn drop(&mut self, fd: Fd) -> wasmtime::Result<()> {
        HostDescriptor::drop(&mut self.wasi, fd)
    }
}

impl HostDirectoryEntryStream for FilesView<'_> {
    async fn read_directory_entry(&mut self, listing: Resource<DirectoryEntryStream>) -> FsResult<Option<DirectoryEntry>> {
        self.wasi.read_directory_entry(listing).await
    }

    fn drop(&mut self, listing: Resource<DirectoryEntryStream>) -> wasmtime::Result<()> {
        *self.listings = self.listings.saturating_sub(1);
        HostDirectoryEntryStream::drop(&mut self.wasi, listing)
    }
}
