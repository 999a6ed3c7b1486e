//! Faults and crashes at every change of the disk. Whatever the moment: either the old or the new version is whole, and the next start
//! leaves nothing lying about.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use domain::PluginId;
use proptest::prelude::*;
use serde_json::json;

use crate::disk::SystemDisk;
use crate::test_support::{Bed, Fault, FaultyDisk};
use crate::{InstallError, Request, recover, recover_all};

/// What is done while the disk fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    Install,
    Update,
    /// An update to a version with the same files.
    Again,
    Remove,
}

impl Doing {
    const ALL: [Self; 4] = [Self::Install, Self::Update, Self::Again, Self::Remove];

    fn before(self) -> Option<&'static str> {
        (self != Self::Install).then_some("1")
    }

    fn after(self) -> Option<&'static str> {
        match self {
            Self::Install | Self::Update => Some("2"),
            Self::Again => Some("1"),
            Self::Remove => None,
        }
    }

    async fn run(self, bed: &Bed) -> Result<(), InstallError> {
        let (id, installer) = (PluginId::new("guard"), bed.installer());
        match self {
            Self::Install => installer.install(Request::install(bed.source("guard", "2", json!({})))).await.map(drop),
            Self::Update => installer.install(Request::update(id, bed.source("guard", "2", json!({})))).await.map(drop),
            Self::Again => installer.install(Request::update(id, bed.source("guard", "1", json!({})))).await.map(drop),
            Self::Remove => installer.remove(&id).await.map(drop),
        }
    }

    async fn bed(self) -> Bed {
        let bed = Bed::new();
        if self.before().is_some() { bed.with("guard", "1").await } else { bed }
    }
}

/// How many changes a run makes on a disk without faults.
async fn changes(doing: Doing, exchanges: bool) -> usize {
    let mut bed = doing.bed().await;
    let disk = Arc::new(FaultyDisk::new(usize::MAX, Fault::Once, exchanges));
    bed.ports.disk = Arc::clone(&disk) as _;
    doing.run(&bed).await.unwrap();
    assert_eq!(bed.whole_version("guard").unwrap().as_deref(), doing.after());
    disk.changes()
}

/// Runs on a disk with a fault, and then starts anew with a disk that works.
async fn run(doing: Doing, at: usize, fault: Fault, exchanges: bool) {
    let case = format!("{doing:?}, {fault:?} at change {at}, exchanges: {exchanges}");
    let mut bed = doing.bed().await;
    bed.ports.disk = Arc::new(FaultyDisk::new(at, fault, exchanges));
    let ended = doing.run(&bed).await;
    if fault == Fault::Once {
        // No crash: without any recovery everything is as it was, or as it should be.
        let expected = if ended.is_ok() { doing.after() } else { doing.before() };
        assert_eq!(bed.whole_version("guard").as_ref().map(Option::as_deref), Ok(expected), "{case}: {ended:?}");
    }
    bed.ports.disk = Arc::new(SystemDisk);
    recover_all(bed.layout(), &SystemDisk, &*bed.forgotten).await.unwrap_or_else(|error| panic!("{case}: {error}"));
    let whole = bed.whole_version("guard").unwrap_or_else(|problem| panic!("{case}: {problem}"));
    let expected: &[Option<&str>] = if ended.is_ok() { &[doing.after()] } else { &[doing.before(), doing.after()] };
    assert!(expected.contains(&whole.as_deref()), "{case}: {whole:?}");
    assert_eq!(bed.litter(), [""; 0], "{case}");
    let forgot = bed.forgotten.take().contains(&"plugin guard".to_owned());
    assert_eq!(forgot, doing == Doing::Remove && whole.is_none(), "{case}");
    // And everything can be done from here.
    let id = PluginId::new("guard");
    let third = bed.source("guard", "3", json!({}));
    let request = if whole.is_some() { Request::update(id.clone(), third) } else { Request::install(third) };
    bed.installer().install(request).await.unwrap_or_else(|error| panic!("{case}: {error}"));
    assert_eq!(bed.whole_version("guard"), Ok(Some("3".to_owned())), "{case}");
}

#[tokio::test]
async fn every_fault_at_every_change_leaves_one_whole_version() {
    for doing in Doing::ALL {
        for exchanges in [true, false] {
            let all = changes(doing, exchanges).await;
            assert!(all >= 6, "{doing:?} makes {all} changes");
            for at in 0..all {
                for fault in [Fault::Once, Fault::Death, Fault::DeathAfter] {
                    run(doing, at, fault, exchanges).await;
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// A crash, then crashes in the recovery from it.
    #[test]
    fn crashes_during_recovery_change_nothing(
        doing in prop::sample::select(Doing::ALL.to_vec()), at in 0..60usize, later in prop::collection::vec(0..12usize, 0..4),
        exchanges in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut bed = doing.bed().await;
            bed.ports.disk = Arc::new(FaultyDisk::new(at, Fault::Death, exchanges));
            let ended = doing.run(&bed).await;
            for at in later {
                let _ = recover_all(bed.layout(), &FaultyDisk::new(at, Fault::Death, true), &*bed.forgotten).await;
            }
            recover_all(bed.layout(), &SystemDisk, &*bed.forgotten).await.unwrap();
            let whole = bed.whole_version("guard").unwrap();
            let expected: &[Option<&str>] = if ended.is_ok() { &[doing.after()] } else { &[doing.before(), doing.after()] };
            prop_assert!(expected.contains(&whole.as_deref()), "{:?}", whole);
            prop_assert_eq!(bed.litter(), [""; 0]);
            Ok(())
        })?;
    }
}

#[tokio::test]
async fn what_cannot_be_forgotten_now_is_forgotten_later() {
    let bed = Bed::new().with("guard", "1").await;
    bed.forgotten.fails.store(true, Ordering::SeqCst);
    let (_, remarks) = bed.installer().remove(&PluginId::new("guard")).await.unwrap();
    assert!(remarks[0].contains("the store is closed") && remarks[0].contains("next start"), "{remarks:?}");
    assert_eq!(bed.whole_version("guard"), Ok(None));
    // A start that has no stores finishes the files and leaves the note.
    assert_eq!(recover(bed.layout(), &SystemDisk).unwrap().finished, [PluginId::new("guard")]);
    bed.forgotten.fails.store(false, Ordering::SeqCst);
    recover_all(bed.layout(), &SystemDisk, &*bed.forgotten).await.unwrap();
    assert_eq!(bed.forgotten.take()[0], "plugin guard");
    assert_eq!(bed.litter(), [""; 0]);
}

#[tokio::test]
async fn an_installer_that_lives_is_not_recovered_from() {
    let bed = Bed::new().with("guard", "1").await;
    let alive = crate::guard::try_installer(bed.layout()).unwrap().unwrap();
    let work = crate::journal::Work::begin(bed.layout(), &SystemDisk).unwrap();
    assert!(recover(bed.layout(), &SystemDisk).unwrap().undone.is_empty());
    assert!(work.path().is_dir());
    drop(alive);
    recover(bed.layout(), &SystemDisk).unwrap();
    assert!(!work.path().exists());
}
