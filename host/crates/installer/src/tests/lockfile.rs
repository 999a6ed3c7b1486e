//! What is on the disk against what was installed, and that what differs does not load.

use std::fs;
use std::path::Path;

use domain::PluginId;
use plugin_host::discovery::Sources;
use plugin_host::plan::{self, Plan, PluginState, PluginsSettings};
use serde_json::json;

use crate::test_support::{Bed, component, write_plugin};
use crate::{Changed, Layout, Lock, LockError, Standing, load, verify};

fn plan(layout: &Layout) -> Plan {
    let sources = Sources { installed: Some(layout.plugins()), ..Sources::default() };
    let mut plan = plan::survey(&sources, &PluginsSettings::default());
    load::enforce(&mut plan, layout);
    plan
}

fn state(plan: &Plan, id: &str) -> PluginState {
    plan.reports.iter().find(|report| report.id == Some(PluginId::new(id))).unwrap().state.clone()
}

#[tokio::test]
async fn every_change_on_the_disk_is_noticed_and_keeps_the_plugin_out() {
    type Case = (fn(&Path), fn(&Changed) -> bool);
    let cases: [Case; 6] = [
        (
            |place| fs::write(place.join("plugin.wasm"), component(&["before-tool-call"], "evil")).unwrap(),
            |changed| matches!(changed, Changed::File { file } if file == "plugin.wasm"),
        ),
        (
            |place| {
                let text = fs::read_to_string(place.join("creel.plugin.json")).unwrap();
                fs::write(place.join("creel.plugin.json"), text + "\n").unwrap();
            },
            |changed| matches!(changed, Changed::File { file } if file == "creel.plugin.json"),
        ),
        (
            |place| fs::write(place.join("skills/how.md"), "do as I say").unwrap(),
            |changed| matches!(changed, Changed::File { file } if file == "skills/how.md"),
        ),
        (|place| fs::remove_file(place.join("skills/how.md")).unwrap(), |changed| matches!(changed, Changed::Missing { .. })),
        (|place| fs::write(place.join("skills/more.md"), "").unwrap(), |changed| matches!(changed, Changed::Added { .. })),
        (
            |place| std::os::unix::fs::symlink("/etc/hostname", place.join("skills/link.md")).unwrap(),
            |changed| matches!(changed, Changed::Directory { .. }),
        ),
    ];
    for (index, (spoil, expected)) in cases.into_iter().enumerate() {
        let bed = Bed::new().with("guard", "1").await.with("other", "1").await;
        assert_eq!(state(&plan(bed.layout()), "guard"), PluginState::Loaded);
        let place = bed.layout().plugin(&PluginId::new("guard"));
        assert_eq!(Lock::read(bed.layout()).unwrap().check(&place), Ok(Standing::Locked));
        spoil(&place);
        let changed = Lock::read(bed.layout()).unwrap().check(&place).unwrap_err();
        assert!(expected(&changed), "{index}: {changed}");
        let planned = plan(bed.layout());
        assert!(matches!(state(&planned, "guard"), PluginState::Failed(why) if why.contains("install it again")), "{index}");
        let loaded: Vec<&str> = planned.plugins.iter().map(|plugin| plugin.id.as_str()).collect();
        assert_eq!(loaded, ["other"], "{index}");
        let verified = verify(bed.layout()).unwrap();
        assert_eq!((verified[0].changed.len(), verified[1].changed.len()), (1, 0), "{index}");
    }
}

#[tokio::test]
async fn a_directory_that_is_a_link_or_another_plugin_is_not_what_was_installed() {
    let bed = Bed::new().with("guard", "1").await;
    let place = bed.layout().plugin(&PluginId::new("guard"));
    fs::rename(&place, bed.path("moved")).unwrap();
    std::os::unix::fs::symlink(bed.path("moved"), &place).unwrap();
    assert!(matches!(state(&plan(bed.layout()), "guard"), PluginState::Failed(_)));
    fs::remove_file(&place).unwrap();
    write_plugin(&place, "impostor", "1", json!({}));
    assert!(matches!(state(&plan(bed.layout()), "impostor"), PluginState::Failed(_)));
}

#[tokio::test]
async fn what_was_put_there_by_hand_loads_and_is_marked() {
    let bed = Bed::new().with("guard", "1").await;
    write_plugin(&bed.layout().plugins().join("copied"), "by-hand", "1", json!({}));
    let planned = plan(bed.layout());
    assert_eq!(state(&planned, "by-hand"), PluginState::Loaded);
    let marked: Vec<&str> = planned
        .reports
        .iter()
        .filter(|report| report.diagnostics.iter().any(|text| text.contains("unlocked")))
        .map(|report| report.id.as_ref().unwrap().as_str())
        .collect();
    assert_eq!(marked, ["by-hand"]);
    let verified = verify(bed.layout()).unwrap();
    assert_eq!(
        verified.iter().map(|it| (it.id.as_str(), it.entry.is_some())).collect::<Vec<_>>(),
        [("by-hand", false), ("guard", true)]
    );
}

#[tokio::test]
async fn a_lockfile_that_cannot_be_used_lets_nothing_installed_load() {
    for (text, why) in [
        ("", "damaged"),
        ("{}", "damaged"),
        (r#"{"lockVersion":1,"plugins":{},"more":1}"#, "damaged"),
        (r#"{"lockVersion":2,"plugins":{}}"#, "version 2"),
    ] {
        let bed = Bed::new().with("guard", "1").await;
        fs::write(bed.layout().lock(), text).unwrap();
        let error = Lock::read(bed.layout()).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
        assert!(matches!(state(&plan(bed.layout()), "guard"), PluginState::Failed(_)), "{text}");
    }
    let bed = Bed::new().with("guard", "1").await;
    fs::rename(bed.layout().lock(), bed.path("lock")).unwrap();
    std::os::unix::fs::symlink(bed.path("lock"), bed.layout().lock()).unwrap();
    assert!(matches!(Lock::read(bed.layout()), Err(LockError::Read { .. })), "a link is no lockfile");
}

#[test]
fn without_a_lockfile_nothing_is_made() {
    let bed = Bed::new();
    write_plugin(&bed.layout().plugins().join("copied"), "by-hand", "1", json!({}));
    assert_eq!(state(&plan(bed.layout()), "by-hand"), PluginState::Loaded);
    assert!(crate::reading(bed.layout()).unwrap().is_none());
    crate::recover(bed.layout(), &crate::SystemDisk).unwrap();
    assert_eq!(fs::read_dir(bed.layout().state()).unwrap().count(), 1);
}
