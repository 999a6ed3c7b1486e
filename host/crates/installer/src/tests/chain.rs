//! Each link of the chain, in its order, and what each of them stops.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use domain::PluginId;
use serde_json::json;

use crate::gate::NoGate;
use crate::material::{Mode, Target};
use crate::policy::InstallPolicy;
use crate::stage::Source;
use crate::test_support::{Bed, Spy, component, manifest, write_plugin};
use crate::{InstallError, Lock, Request};

fn id(text: &str) -> PluginId {
    PluginId::new(text)
}

#[tokio::test]
async fn a_directory_becomes_an_installed_plugin() {
    let bed = Bed::new();
    let source = bed.source("guard", "1", json!({ "capabilities": { "kv": true } }));
    let outcome = bed.install(source.clone()).await.unwrap();
    assert_eq!(outcome.directory, bed.layout().plugins().join("guard"));
    assert_eq!(bed.whole_version("guard"), Ok(Some("1".to_owned())));
    let lock = Lock::read(bed.layout()).unwrap();
    let entry = lock.entry(&id("guard")).unwrap();
    assert_eq!((entry.source.path.clone(), entry.source.kind.as_str()), (source.path.clone(), "directory"));
    assert_eq!(entry.installed_at, "2023-11-14T22:13:20Z");
    assert!(entry.accepted.0.contains_key("capability kv") && entry.accepted.0.contains_key("hook before_tool_call"));
    let digest = |name: &str| crate::sha256(&fs::read(source.path.join(name)).unwrap());
    assert_eq!(entry.component.sha256, digest("plugin.wasm"));
    assert_eq!(entry.manifest.sha256, digest("creel.plugin.json"));
    assert_eq!(entry.files.keys().collect::<Vec<_>>(), ["creel.plugin.json", "plugin.wasm", "skills/how.md"]);
    assert_eq!(bed.litter(), [""; 0]);
    let mode = |path: &Path| std::os::unix::fs::PermissionsExt::mode(&fs::metadata(path).unwrap().permissions()) & 0o777;
    assert_eq!((mode(&outcome.directory), mode(&outcome.directory.join("plugin.wasm"))), (0o700, 0o600));
}

#[tokio::test]
async fn what_is_there_is_updated_and_not_installed_again() {
    let bed = Bed::new().with("guard", "1").await;
    let second = bed.source("guard", "2", json!({}));
    assert!(matches!(bed.install(second.clone()).await, Err(InstallError::Installed(_))));
    let outcome = bed.installer().install(Request::update(id("guard"), second)).await.unwrap();
    assert_eq!(outcome.replaced.unwrap().version.as_deref(), Some("1"));
    assert_eq!(bed.whole_version("guard"), Ok(Some("2".to_owned())));
    let other = bed.source("other", "1", json!({}));
    let refused = bed.installer().install(Request::update(id("guard"), other.clone())).await.unwrap_err();
    assert!(matches!(refused, InstallError::OtherPlugin { .. }), "{refused}");
    let refused = bed.installer().install(Request::update(id("other"), other)).await.unwrap_err();
    assert!(matches!(refused, InstallError::NotInstalled(_)), "{refused}");
    assert_eq!(bed.litter(), [""; 0]);
}

#[tokio::test]
async fn what_was_put_there_by_hand_is_left_alone() {
    let bed = Bed::new();
    for name in ["guard", "my-copy"] {
        let place = write_plugin(&bed.layout().plugins().join(name), "guard", "0", json!({}));
        let refused = bed.install(bed.source("guard", "1", json!({}))).await.unwrap_err();
        assert!(matches!(&refused, InstallError::ByHand { place: found, .. } if *found == place), "{refused}");
        assert!(place.join("plugin.wasm").exists());
        fs::remove_dir_all(place).unwrap();
    }
    write_plugin(&bed.layout().plugins().join("guard"), "guard", "0", json!({}));
    assert!(matches!(bed.installer().remove(&id("guard")).await, Err(InstallError::ByHand { .. })));
    assert!(matches!(bed.installer().remove(&id("nobody")).await, Err(InstallError::NotInstalled(_))));
}

#[tokio::test]
async fn a_removal_takes_everything_along() {
    let bed = Bed::new().with("guard", "1").await.with("other", "1").await;
    let (entry, remarks) = bed.installer().remove(&id("guard")).await.unwrap();
    assert_eq!((bed.whole_version("guard"), bed.whole_version("other")), (Ok(None), Ok(Some("1".to_owned()))));
    // The two have the same component, so what was made of it is still needed.
    assert_eq!((bed.forgotten.take(), remarks), (vec!["plugin guard".to_owned()], Vec::new()));
    let (_, _) = bed.installer().remove(&id("other")).await.unwrap();
    assert_eq!(bed.forgotten.take(), ["plugin other".to_owned(), format!("component {}", entry.component.sha256)]);
    assert_eq!(bed.litter(), [""; 0]);
}

#[tokio::test]
async fn an_update_forgets_what_was_made_of_the_old_component() {
    let bed = Bed::new().with("guard", "1").await;
    let old = Lock::read(bed.layout()).unwrap().entry(&id("guard")).unwrap().component.sha256.clone();
    bed.installer().install(Request::update(id("guard"), bed.source("guard", "2", json!({})))).await.unwrap();
    assert_eq!(bed.forgotten.take(), [format!("component {old}")]);
}

#[tokio::test]
async fn an_update_that_asks_for_more_waits_for_consent() {
    let bed = Bed::new().with("guard", "1").await;
    let more = bed.source("guard", "2", json!({ "capabilities": { "kv": true } }));
    let mut request = Request::update(id("guard"), more);
    let refused = bed.installer().install(request.clone()).await.unwrap_err().to_string();
    assert!(refused.contains("capability kv") && refused.contains("--accept-capabilities"), "{refused}");
    assert_eq!(bed.whole_version("guard"), Ok(Some("1".to_owned())));
    request.accept_capabilities = true;
    let outcome = bed.installer().install(request).await.unwrap();
    assert_eq!(outcome.wider.len(), 1);
    // Accepted once, it is not asked for again.
    let third = bed.source("guard", "3", json!({ "capabilities": { "kv": true } }));
    bed.installer().install(Request::update(id("guard"), third)).await.unwrap();
    assert_eq!(bed.whole_version("guard"), Ok(Some("3".to_owned())));
}

#[tokio::test]
async fn plugins_are_asked_after_the_policy_while_the_material_waits() {
    let mut bed = Bed::new().with("guard", "1").await;
    let spy = |refuses| Arc::new(Spy { layout: bed.settings.layout.clone(), refuses, seen: Mutex::default() });
    let (silent, refusing) = (spy(None), spy(Some("not this one")));
    bed.ports.review.gate = Arc::clone(&refusing) as _;
    let update = Request::update(id("guard"), bed.source("guard", "2", json!({})));
    let refused = bed.installer().install(update.clone()).await.unwrap_err().to_string();
    assert!(refused.contains("`guard` is not installed: the plugin `spy` refuses it: not this one"), "{refused}");
    let seen = refusing.seen.lock().unwrap().remove(0);
    assert_eq!((seen.is_staged, seen.active.as_deref()), (true, Some("how, version 1")));
    assert_eq!((seen.material.mode, seen.material.request_kind), (Mode::Update, "plugin-dir"));
    let Target::Plugin(plugin) = &seen.material.target else { panic!("a plugin") };
    assert_eq!((plugin.plugin_id.as_str(), plugin.version.as_deref()), ("guard", Some("2")));
    assert!(!seen.material.staged.exists(), "what was refused is gone");
    assert_eq!(bed.whole_version("guard"), Ok(Some("1".to_owned())));

    // A policy without a command blocks everything, and plugins never see it.
    bed.ports.review.policy = Some(InstallPolicy::default());
    bed.ports.review.gate = Arc::clone(&silent) as _;
    let refused = bed.installer().install(update.clone()).await.unwrap_err();
    assert!(matches!(&refused, InstallError::Policy(policy) if policy.code() == "security_scan_failed"), "{refused}");
    assert!(silent.seen.lock().unwrap().is_empty());
    bed.ports.review.policy = None;
    bed.installer().install(update).await.unwrap();
    assert_eq!(silent.seen.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_dry_run_asks_everybody_and_changes_nothing() {
    let mut bed = Bed::new();
    let spy = Arc::new(Spy { layout: bed.settings.layout.clone(), refuses: None, seen: Mutex::default() });
    bed.ports.review.gate = Arc::clone(&spy) as _;
    let request = Request { dry_run: true, ..Request::install(bed.source("guard", "1", json!({}))) };
    let outcome = bed.installer().install(request).await.unwrap();
    assert_eq!(outcome.package.id, id("guard"));
    assert_eq!(spy.seen.lock().unwrap().len(), 1);
    assert_eq!((bed.whole_version("guard"), bed.litter()), (Ok(None), Vec::new()));
    assert!(!bed.layout().lock().exists());
}

/// A gate that changes what it judges.
struct Meddler;

#[async_trait::async_trait]
impl crate::Gate for Meddler {
    async fn judge(&self, staged: &crate::Material) -> crate::Verdict {
        fs::write(staged.staged.join("skills/how.md"), "do as I say").unwrap();
        crate::Verdict::default()
    }
}

#[tokio::test]
async fn what_was_judged_is_what_is_installed() {
    let mut bed = Bed::new();
    bed.ports.review.gate = Arc::new(Meddler);
    let refused = bed.install(bed.source("guard", "1", json!({}))).await.unwrap_err();
    assert!(matches!(refused, InstallError::Tampered { .. }), "{refused}");
    bed.ports.review.gate = Arc::new(NoGate);
    assert_eq!((bed.whole_version("guard"), bed.litter()), (Ok(None), Vec::new()));
}

#[tokio::test]
async fn two_installers_never_work_at_once() {
    let bed = Bed::new();
    crate::guard::prepare(bed.layout(), &crate::SystemDisk).unwrap();
    let other = crate::guard::try_installer(bed.layout()).unwrap().unwrap();
    assert!(matches!(bed.install(bed.source("guard", "1", json!({}))).await, Err(InstallError::Busy)));
    assert!(matches!(bed.installer().remove(&id("guard")).await, Err(InstallError::Busy)));
    drop(other);
    bed.install(bed.source("guard", "1", json!({}))).await.unwrap();
}

#[tokio::test]
async fn a_directory_of_changes_that_others_reach_is_refused() {
    let bed = Bed::new();
    let work = bed.layout().work();
    fs::create_dir_all(&work).unwrap();
    fs::set_permissions(&work, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let refused = bed.install(bed.source("guard", "1", json!({}))).await.unwrap_err().to_string();
    assert!(refused.contains("not a private directory"), "{refused}");
}

#[tokio::test]
async fn what_is_no_plugin_for_this_host_is_refused() {
    let bed = Bed::new();
    let refused = |name: &str, text: &str, wasm: Vec<u8>| {
        let dir = bed.path(name);
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("creel.plugin.json"), text).unwrap();
        fs::write(dir.join("plugin.wasm"), wasm).unwrap();
        bed.install(Source::find(&dir).unwrap())
    };
    let good = component(&["before-tool-call"], "x");
    let plain = manifest("p", "1", json!({}));
    let import = |name: &str| wat::parse_str(format!(r#"(component (import "{name}" (instance)))"#)).unwrap();
    let large = component(&["before-tool-call"], &"x".repeat(2 << 20));
    for (name, text, wasm, why) in [
        ("manifest", "{".to_owned(), good.clone(), "creel.plugin.json"),
        ("id", manifest("NO", "1", json!({})), good.clone(), "`id`"),
        ("schema", manifest("p", "1", json!({ "configSchema": { "type": 7 } })), good.clone(), "configSchema"),
        ("none", plain.clone(), b"text".to_vec(), "plugin.wasm"),
        ("core", plain.clone(), wat::parse_str("(module)").unwrap(), "core WebAssembly module"),
        ("cut", plain.clone(), good[..good.len() - 3].to_vec(), "plugin.wasm"),
        ("contract", plain.clone(), import("creel:plugin/kv@0.9.0"), "was built for creel:plugin 0.9.0"),
        ("import", plain.clone(), import("evil:corp/shell@1.0.0"), "unknown import"),
        ("large", plain.clone(), large, "may have 1048576"),
        ("hook", manifest("p", "1", json!({ "hooks": [{ "hook": "llm_input" }] })), good.clone(), "`llm_input`"),
        ("outside", manifest("p", "1", json!({ "component": "../plugin.wasm" })), good.clone(), "../plugin.wasm"),
    ] {
        let told = refused(name, &text, wasm).await.unwrap_err().to_string();
        assert!(told.contains(why), "{name}: {told}");
        assert_eq!((bed.litter(), bed.layout().lock().exists()), (Vec::new(), false), "{name}");
    }
    // Asking for what the operator may grant later is no reason.
    refused("ungranted", &plain, import("creel:plugin/kv@0.1.0")).await.unwrap();
}

#[tokio::test]
async fn several_plugins_are_not_one() {
    let bed = Bed::new();
    for name in ["one", "two"] {
        write_plugin(&bed.path("several").join(name), name, "1", json!({}));
    }
    let told = bed.install(Source::find(&bed.path("several")).unwrap()).await.unwrap_err().to_string();
    assert!(told.contains("`one`, `two`") && told.contains("by itself"), "{told}");
    fs::create_dir(bed.path("nothing")).unwrap();
    assert!(bed.install(Source::find(&bed.path("nothing")).unwrap()).await.is_err());
}

#[tokio::test]
async fn a_component_alone_is_a_plugin() {
    let bed = Bed::new();
    let packed = plugin_host::embedded::write(
        &component(&["before-tool-call"], "x"),
        manifest("kit/guard", "1", json!({ "component": "other.wasm" })).as_bytes(),
    );
    let file = bed.path("guard-1.wasm");
    fs::write(&file, packed.unwrap()).unwrap();
    let outcome = bed.install(Source::find(&file).unwrap()).await.unwrap();
    assert_eq!(outcome.directory, bed.layout().plugins().join("kit.guard"));
    assert_eq!(bed.whole_version("kit/guard"), Ok(Some("1".to_owned())));
    let found = plugin_host::discovery::locate(&bed.layout().plugins()).found;
    let plugin_host::discovery::Found::Plugin(candidate) = &found[0] else { panic!("{found:?}") };
    assert_eq!(candidate.manifest.id, id("kit/guard"));
    bed.installer().remove(&id("kit/guard")).await.unwrap();
    assert_eq!(fs::read_dir(bed.layout().plugins()).unwrap().count(), 1, "only the private directory is left");
}
