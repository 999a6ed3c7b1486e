//! The host functions as a guest calls them, without one. What a language's library makes of them is in the system tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use tempfile::TempDir;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::p2::bindings::filesystem::preopens::Host as _;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, ErrorCode, Host as _, HostDescriptor, HostDirectoryEntryStream, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{FsResult, StreamError};

use super::*;
use crate::test_support::Captured;

type Fd = Resource<Descriptor>;

/// A plugin with files, and one instance of it.
struct Bed {
    dir: TempDir,
    shared: Arc<DataDirectory>,
    table: ResourceTable,
    state: FilesState,
    told: Told,
    plugin: PluginId,
}

impl Bed {
    fn new(max_bytes: u64, max_files: u64) -> Self {
        Self::with(FsGrant { mode: FsMode::ReadWrite, max_bytes, max_files })
    }

    fn with(grant: FsGrant) -> Self {
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join("secret"), "outside").unwrap();
        let shared = Arc::new(DataDirectory::new(dir.path().join("data/p"), grant));
        Self {
            dir,
            shared,
            table: ResourceTable::new(),
            state: FilesState::default(),
            told: Told::default(),
            plugin: PluginId::new("p"),
        }
    }

    /// Another instance of the same plugin.
    fn another(&self) -> Self {
        Self { dir: TempDir::new().unwrap(), shared: Arc::clone(&self.shared), ..Self::new(0, 0) }
    }

    fn place(&self, path: &str) -> PathBuf {
        self.dir.path().join("data/p").join(path)
    }

    fn view(&mut self) -> FilesView<'_> {
        FilesView {
            wasi: WasiFilesystemCtxView { ctx: &mut self.state.wasi, table: &mut self.table },
            directory: Some(&self.shared),
            listings: &mut self.state.listings,
            plugin: &self.plugin,
            told: &self.told,
            surface: "agent_end",
        }
    }

    fn root(&mut self) -> Fd {
        self.view().get_directories().unwrap().pop().unwrap().0
    }

    async fn open(&mut self, path: &str, open_flags: OpenFlags, flags: DescriptorFlags) -> Result<Fd, ErrorCode> {
        let root = self.root();
        let opened = self.view().open_at(root, PathFlags::SYMLINK_FOLLOW, path.to_owned(), open_flags, flags).await;
        self.code(opened)
    }

    async fn make(&mut self, path: &str) -> Result<Fd, ErrorCode> {
        self.open(path, OpenFlags::CREATE, DescriptorFlags::READ | DescriptorFlags::WRITE).await
    }

    async fn write(&mut self, fd: &Fd, bytes: usize, offset: u64) -> Result<u64, ErrorCode> {
        let written = self.view().write(Resource::new_borrow(fd.rep()), vec![7; bytes], offset).await;
        self.code(written)
    }

    fn code<T>(&mut self, result: FsResult<T>) -> Result<T, ErrorCode> {
        result.map_err(|error| self.view().convert_error_code(error).unwrap())
    }

    /// Writes through a stream; the code of the error that a guest would ask for.
    async fn stream(&mut self, fd: &Fd, bytes: usize, offset: Option<u64>) -> Result<(), ErrorCode> {
        let fd = Resource::new_borrow(fd.rep());
        let stream = match offset {
            Some(offset) => self.view().write_via_stream(fd, offset),
            None => self.view().append_via_stream(fd),
        };
        let stream = self.code(stream)?;
        let written = self.table.get_mut(&stream).unwrap().blocking_write_and_flush(vec![8; bytes].into()).await;
        let Err(StreamError::LastOperationFailed(error)) = written else {
            assert!(written.is_ok(), "{written:?}");
            return Ok(());
        };
        assert!(matches!(self.table.get_mut(&stream).unwrap().check_write(), Err(StreamError::Closed)));
        let error = self.table.push(error).unwrap();
        Err(self.view().filesystem_error_code(error).unwrap().unwrap())
    }
}

#[tokio::test]
async fn the_directory_is_private_and_made_when_it_is_asked_for() {
    let mut bed = Bed::new(100, 10);
    assert!(!bed.place("").exists());
    let directories = bed.view().get_directories().unwrap();
    assert_eq!(directories.iter().map(|(_, path)| path.as_str()).collect::<Vec<_>>(), ["/data"]);
    assert_eq!(fs::metadata(bed.place("")).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(directory(Path::new("/d"), &PluginId::new("kit/guard")), Path::new("/d/kit.guard"));
}

#[tokio::test]
async fn a_link_in_its_place_is_not_followed() {
    let mut bed = Bed::new(100, 10);
    fs::create_dir(bed.dir.path().join("data")).unwrap();
    symlink(bed.dir.path(), bed.dir.path().join("data/p")).unwrap();
    assert!(bed.view().get_directories().unwrap().is_empty());
}

#[tokio::test]
async fn bytes_are_counted_by_what_a_file_grows() {
    let mut bed = Bed::new(100, 10);
    let file = bed.make("a").await.unwrap();
    assert_eq!(bed.write(&file, 60, 0).await, Ok(60));
    assert_eq!(bed.write(&file, 60, 0).await, Ok(60), "the same bytes once more");
    assert_eq!(bed.write(&file, 1, 100).await, Err(ErrorCode::Quota), "a hole counts, too");
    assert_eq!(bed.write(&file, 1, u64::MAX).await, Err(ErrorCode::Quota));
    let other = bed.make("b").await.unwrap();
    assert_eq!(bed.write(&other, 41, 0).await, Err(ErrorCode::Quota));
    assert_eq!(bed.stream(&other, 41, Some(0)).await, Err(ErrorCode::Quota));
    assert_eq!(bed.stream(&other, 41, None).await, Err(ErrorCode::Quota));
    let size = bed.view().set_size(Resource::new_borrow(other.rep()), 41).await;
    assert_eq!(bed.code(size), Err(ErrorCode::Quota));
    assert_eq!(fs::metadata(bed.place("b")).unwrap().len(), 0, "a refusal changes nothing");
    assert_eq!(bed.stream(&other, 30, None).await, Ok(()));
    assert_eq!(bed.stream(&other, 10, None).await, Ok(()));
    assert_eq!(bed.stream(&other, 1, None).await, Err(ErrorCode::Quota));
    assert_eq!(fs::read(bed.place("b")).unwrap(), [8; 40]);
    assert_eq!(fs::read(bed.place("a")).unwrap(), [7; 60]);
}

#[tokio::test]
async fn the_value_of_the_grant_decides() {
    for (max_bytes, max_files, expected) in [(10, 1, Ok(10)), (9, 1, Err(ErrorCode::Quota)), (10, 0, Err(ErrorCode::Quota))] {
        let mut bed = Bed::new(max_bytes, max_files);
        let written = match bed.make("a").await {
            Ok(file) => bed.write(&file, 10, 0).await,
            Err(code) => Err(code),
        };
        assert_eq!(written, expected, "{max_bytes} {max_files}");
    }
}

#[tokio::test]
async fn what_is_removed_can_be_used_again_once_nobody_has_it_open() {
    let mut bed = Bed::new(100, 2);
    let file = bed.make("a").await.unwrap();
    assert_eq!(bed.write(&file, 100, 0).await, Ok(100));
    let root = bed.root();
    bed.view().unlink_file_at(root, "a".to_owned()).await.unwrap();
    let other = bed.make("b").await.unwrap();
    assert_eq!(bed.write(&other, 1, 0).await, Err(ErrorCode::Quota), "the removed file still takes its place");
    HostDescriptor::drop(&mut bed.view(), file).unwrap();
    assert_eq!(bed.write(&other, 100, 0).await, Ok(100));
    let truncated = bed.open("b", OpenFlags::TRUNCATE, DescriptorFlags::WRITE).await.unwrap();
    assert_eq!(bed.write(&truncated, 50, 0).await, Ok(50));
    let third = bed.make("c").await.unwrap();
    assert_eq!(bed.write(&third, 50, 0).await, Ok(50), "truncating gives back");
    assert_eq!(bed.write(&third, 51, 0).await, Err(ErrorCode::Quota));
}

#[tokio::test]
async fn everything_with_a_name_is_counted() {
    let mut bed = Bed::new(100, 4);
    bed.make("file").await.unwrap();
    for _ in 0..20 {
        bed.make("file").await.unwrap();
    }
    let root = |bed: &mut Bed| bed.root();
    let made = {
        let fd = root(&mut bed);
        bed.view().create_directory_at(fd, "dir".to_owned()).await
    };
    bed.code(made).unwrap();
    let fd = root(&mut bed);
    let linked = bed.view().symlink_at(fd, "file".to_owned(), "link".to_owned()).await;
    bed.code(linked).unwrap();
    let (from, to) = (root(&mut bed), root(&mut bed));
    let linked = bed.view().link_at(from, PathFlags::empty(), "file".to_owned(), to, "hard".to_owned()).await;
    bed.code(linked).unwrap();
    let (from, to) = (root(&mut bed), root(&mut bed));
    let fifth = bed.view().link_at(from, PathFlags::empty(), "file".to_owned(), to, "fifth".to_owned()).await;
    assert_eq!(bed.code(fifth), Err(ErrorCode::Quota));
    let fd = root(&mut bed);
    let fifth = bed.view().create_directory_at(fd, "fifth".to_owned()).await;
    assert_eq!(bed.code(fifth), Err(ErrorCode::Quota));
    assert_eq!(bed.make("dir/fifth").await.err(), Some(ErrorCode::Quota));
    let fd = root(&mut bed);
    bed.view().remove_directory_at(fd, "dir".to_owned()).await.unwrap();
    bed.make("fifth").await.unwrap();
    let fd = root(&mut bed);
    let long = bed.view().symlink_at(fd, "x".repeat(101), "long".to_owned()).await;
    assert_eq!(bed.code(long), Err(ErrorCode::Quota), "the text of a link takes bytes");
}

#[tokio::test]
async fn instances_and_other_processes_share_the_quota() {
    let mut bed = Bed::new(1600, 10);
    let mut second = bed.another();
    let (one, two) = (bed.make("a").await.unwrap(), second.make("b").await.unwrap());
    assert_eq!(bed.write(&one, 800, 0).await, Ok(800));
    assert_eq!(second.write(&two, 801, 0).await, Err(ErrorCode::Quota));
    // Somebody else, behind the back of this process.
    fs::write(bed.place("c"), vec![0; 700]).unwrap();
    assert_eq!(second.write(&two, 101, 0).await, Err(ErrorCode::Quota));
    assert_eq!(second.write(&two, 100, 0).await, Ok(100));
}

#[tokio::test]
async fn no_path_and_no_link_leads_out() {
    let mut bed = Bed::new(1000, 50);
    bed.root();
    symlink(bed.dir.path().join("secret"), bed.place("absolute")).unwrap();
    symlink("../../secret", bed.place("relative")).unwrap();
    symlink("../..", bed.place("up")).unwrap();
    for path in ["../../secret", "../p/../../secret", "/etc/passwd", "absolute", "relative", "up/secret", "x/../../../secret"] {
        for (open_flags, flags) in [
            (OpenFlags::empty(), DescriptorFlags::READ),
            (OpenFlags::empty(), DescriptorFlags::WRITE),
            (OpenFlags::CREATE, DescriptorFlags::WRITE),
            (OpenFlags::CREATE | OpenFlags::TRUNCATE, DescriptorFlags::WRITE),
        ] {
            let opened = bed.open(path, open_flags, flags).await;
            assert!(opened.is_err(), "{path} {open_flags:?}");
        }
    }
    let (from, to) = (bed.root(), bed.root());
    assert!(bed.view().rename_at(from, "absolute".to_owned(), to, "../../moved".to_owned()).await.is_err());
    let (from, to) = (bed.root(), bed.root());
    assert!(bed.view().link_at(from, PathFlags::empty(), "../../secret".to_owned(), to, "mine".to_owned()).await.is_err());
    let fd = bed.root();
    assert!(bed.view().unlink_file_at(fd, "../../secret".to_owned()).await.is_err());
    let fd = bed.root();
    assert!(bed.view().symlink_at(fd, "/etc/passwd".to_owned(), "mine".to_owned()).await.is_err());
    assert_eq!(fs::read_to_string(bed.dir.path().join("secret")).unwrap(), "outside");
    assert_eq!(fs::read_dir(bed.dir.path()).unwrap().count(), 2);
}

#[tokio::test]
async fn a_grant_for_reading_reads_and_says_what_would_allow_more() {
    let grant = FsGrant { mode: FsMode::Read, max_bytes: 100, max_files: 10 };
    let captured = Captured::default();
    let guard = tracing::subscriber::set_default(captured.subscriber());
    let mut bed = Bed::with(grant);
    bed.root();
    fs::write(bed.place("a"), "text").unwrap();
    let file = bed.open("a", OpenFlags::empty(), DescriptorFlags::READ).await.unwrap();
    let read = bed.view().read(Resource::new_borrow(file.rep()), 10, 0).await.unwrap();
    assert_eq!(read.0, b"text");
    assert_eq!(bed.open("a", OpenFlags::empty(), DescriptorFlags::WRITE).await.err(), Some(ErrorCode::NotPermitted));
    assert_eq!(bed.make("b").await.err(), Some(ErrorCode::NotPermitted));
    assert_eq!(bed.open("a", OpenFlags::TRUNCATE, DescriptorFlags::READ).await.err(), Some(ErrorCode::NotPermitted));
    assert_eq!(bed.write(&file, 1, 0).await, Err(ErrorCode::NotPermitted));
    assert_eq!(bed.stream(&file, 1, None).await, Err(ErrorCode::NotPermitted));
    let fd = bed.root();
    assert!(bed.view().unlink_file_at(fd, "a".to_owned()).await.is_err());
    let fd = bed.root();
    assert!(bed.view().create_directory_at(fd, "d".to_owned()).await.is_err());
    assert_eq!(fs::read_to_string(bed.place("a")).unwrap(), "text");
    drop(guard);
    let text = captured.text();
    assert_eq!(text.matches("plugins.entries.p.capabilities.fs.mode: \"readWrite\"").count(), 1, "{text}");
}

#[tokio::test]
async fn a_quota_that_is_used_up_is_told_once_with_the_line_that_would_raise_it() {
    let captured = Captured::default();
    let guard = tracing::subscriber::set_default(captured.subscriber());
    let mut bed = Bed::new(10, 10);
    let file = bed.make("a").await.unwrap();
    for _ in 0..3 {
        assert_eq!(bed.stream(&file, 11, None).await, Err(ErrorCode::Quota));
    }
    drop(guard);
    let text = captured.text();
    assert_eq!(text.matches("would take 11 bytes, granted are 10").count(), 1, "{text}");
    assert!(text.contains("plugins.entries.p.capabilities.fs.maxBytes"), "{text}");
}

#[tokio::test]
async fn open_files_and_listings_are_bounded() {
    let mut bed = Bed::new(100, 10);
    let mut second = bed.another();
    bed.make("a").await.unwrap();
    let mut open = Vec::new();
    for _ in 1..MAX_OPEN {
        open.push(second.open("a", OpenFlags::empty(), DescriptorFlags::READ).await.unwrap());
    }
    assert_eq!(bed.open("a", OpenFlags::empty(), DescriptorFlags::READ).await.err(), Some(ErrorCode::Quota));
    HostDescriptor::drop(&mut second.view(), open.pop().unwrap()).unwrap();
    bed.open("a", OpenFlags::empty(), DescriptorFlags::READ).await.unwrap();

    let mut listings = Vec::new();
    loop {
        let root = bed.root();
        match bed.view().read_directory(root).await {
            Ok(listing) => listings.push(listing),
            Err(error) => {
                assert_eq!(bed.view().convert_error_code(error).unwrap(), ErrorCode::Quota);
                break;
            }
        }
    }
    assert_eq!(listings.len(), 8);
    HostDirectoryEntryStream::drop(&mut bed.view(), listings.pop().unwrap()).unwrap();
    let root = bed.root();
    bed.view().read_directory(root).await.unwrap();
}

#[tokio::test]
async fn nesting_beyond_measure_uses_up_everything() {
    let mut bed = Bed::new(100, 100);
    bed.root();
    fs::create_dir_all(bed.place(&"d/".repeat(32))).unwrap();
    bed.make("a").await.unwrap();
    fs::create_dir_all(bed.place(&"d/".repeat(33))).unwrap();
    let mut fresh = Bed { shared: Arc::new(DataDirectory::new(bed.place(""), bed_grant())), ..bed.another() };
    assert_eq!(fresh.make("b").await.err(), Some(ErrorCode::Quota));
    fs::remove_dir(bed.place(&"d/".repeat(33))).unwrap();
    fresh.make("b").await.unwrap();
}

fn bed_grant() -> FsGrant {
    FsGrant { mode: FsMode::ReadWrite, max_bytes: 100, max_files: 100 }
}
