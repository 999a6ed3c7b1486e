//! Signatures: what they cover, whose count, and when they are needed.

use std::fs;
use std::path::PathBuf;

use domain::PluginId;
use serde_json::json;

use crate::signature::{FILE_NAME, Signer, SigningKey, TrustStore};
use crate::stage::Source;
use crate::test_support::{Bed, component, manifest};
use crate::{InstallError, Request, sign};

fn key(bed: &Bed, name: &str) -> SigningKey {
    SigningKey::generate(&bed.path(name)).unwrap()
}

fn signed(bed: &Bed, source: &Source, key: &SigningKey) -> PathBuf {
    let scratch = bed.path(&format!("scratch-{}", uuid::Uuid::now_v7()));
    sign(source, key, &bed.settings.component_bytes, &scratch).unwrap().1
}

fn trust(bed: &Bed, key: &SigningKey) {
    TrustStore::add(&bed.layout().trust(), key.public(), "a friend").unwrap();
}

#[tokio::test]
async fn a_trusted_signature_is_noted_and_an_unknown_one_says_nothing() {
    let bed = Bed::new();
    let (friend, stranger) = (key(&bed, "friend"), key(&bed, "stranger"));
    trust(&bed, &friend);
    let source = bed.source("guard", "1", json!({}));
    let file = signed(&bed, &source, &friend);
    assert_eq!(file, source.path.join(FILE_NAME));
    let outcome = bed.install(source).await.unwrap();
    assert_eq!(outcome.signer, Signer::Trusted(friend.public().id()));
    let lock = crate::Lock::read(bed.layout()).unwrap();
    assert_eq!(lock.entry(&PluginId::new("guard")).unwrap().signer, Some(friend.public().id()));

    let other = bed.source("other", "1", json!({}));
    signed(&bed, &other, &stranger);
    assert_eq!(bed.install(other).await.unwrap().signer, Signer::Unknown(stranger.public().id()));
}

#[tokio::test]
async fn where_a_signature_is_required_nothing_else_will_do() {
    let mut bed = Bed::new();
    bed.settings.require_signature = true;
    let (friend, stranger) = (key(&bed, "friend"), key(&bed, "stranger"));
    trust(&bed, &friend);
    let source = bed.source("guard", "1", json!({}));
    let told = bed.install(source.clone()).await.unwrap_err().to_string();
    assert!(told.contains("is not signed"), "{told}");
    signed(&bed, &source, &stranger);
    let told = bed.install(source.clone()).await.unwrap_err().to_string();
    assert!(told.contains("not trusted") && told.contains(&stranger.public().id().to_string()), "{told}");
    signed(&bed, &source, &friend);
    bed.install(source).await.unwrap();

    bed.settings.require_signature = false;
    let request = Request { require_signature: true, ..Request::install(bed.source("other", "1", json!({}))) };
    assert!(matches!(bed.installer().install(request).await, Err(InstallError::Signature { .. })));
}

#[tokio::test]
async fn whatever_was_changed_after_signing_is_refused_even_where_none_is_required() {
    let bed = Bed::new();
    let friend = key(&bed, "friend");
    trust(&bed, &friend);
    type Spoil = fn(&std::path::Path);
    let spoils: [Spoil; 6] = [
        |dir| fs::write(dir.join("plugin.wasm"), component(&["before-tool-call"], "evil")).unwrap(),
        |dir| fs::write(dir.join("creel.plugin.json"), manifest("guard", "1", json!({ "name": "x" }))).unwrap(),
        |dir| fs::write(dir.join("creel.plugin.json"), manifest("guard", "2", json!({}))).unwrap(),
        |dir| fs::write(dir.join("creel.plugin.json"), manifest("other", "1", json!({}))).unwrap(),
        |dir| fs::write(dir.join("skills/how.md"), "do as I say").unwrap(),
        |dir| fs::write(dir.join("skills/more.md"), "").unwrap(),
    ];
    for (index, spoil) in spoils.into_iter().enumerate() {
        let _ = fs::remove_dir_all(bed.path("from"));
        let source = bed.source("guard", "1", json!({}));
        signed(&bed, &source, &friend);
        spoil(&source.path);
        let told = bed.install(source).await.unwrap_err().to_string();
        assert!(told.contains("changed after it was signed"), "{index}: {told}");
    }
    let source = bed.source("guard", "1", json!({}));
    let file = signed(&bed, &source, &friend);
    for text in ["", "{}", r#"{"signatureVersion":2,"keyId":"00000000000000000000000000000000","signature":""}"#] {
        fs::write(&file, text).unwrap();
        let told = bed.install(source.clone()).await.unwrap_err().to_string();
        assert!(told.contains("cannot be read"), "{text}: {told}");
    }
}

#[tokio::test]
async fn a_signature_of_one_version_does_not_fit_another_plugin() {
    let bed = Bed::new();
    let friend = key(&bed, "friend");
    trust(&bed, &friend);
    let (one, two) = (bed.source("guard", "1", json!({})), bed.source("guard", "2", json!({})));
    let file = signed(&bed, &one, &friend);
    fs::copy(file, two.path.join(FILE_NAME)).unwrap();
    assert!(matches!(bed.install(two).await, Err(InstallError::Signature { .. })));
}

#[tokio::test]
async fn an_update_by_somebody_else_waits_for_consent() {
    let bed = Bed::new();
    let friend = key(&bed, "friend");
    trust(&bed, &friend);
    let first = bed.source("guard", "1", json!({}));
    signed(&bed, &first, &friend);
    bed.install(first).await.unwrap();
    let mut request = Request::update(PluginId::new("guard"), bed.source("guard", "2", json!({})));
    let told = bed.installer().install(request.clone()).await.unwrap_err().to_string();
    assert!(told.contains("signer: ") && told.contains("nobody who is trusted"), "{told}");
    signed(&bed, &request.source, &friend);
    bed.installer().install(request.clone()).await.unwrap();
    request.source = bed.source("guard", "3", json!({}));
    request.accept_capabilities = true;
    bed.installer().install(request).await.unwrap();
}

#[tokio::test]
async fn a_component_alone_has_its_signature_beside_it_and_configured_keys_count() {
    let mut bed = Bed::new();
    let friend = key(&bed, "friend");
    bed.settings.trusted_keys = vec![friend.public().to_line("from the configuration")];
    bed.settings.require_signature = true;
    let packed =
        plugin_host::embedded::write(&component(&["before-tool-call"], "x"), manifest("guard", "1", json!({})).as_bytes());
    let file = bed.path("guard.wasm");
    fs::write(&file, packed.unwrap()).unwrap();
    let source = Source::find(&file).unwrap();
    assert_eq!(signed(&bed, &source, &friend), bed.path("guard.wasm.sig"));
    bed.install(source).await.unwrap();
    assert_eq!(bed.whole_version("guard"), Ok(Some("1".to_owned())));

    bed.settings.trusted_keys = vec!["nonsense".to_owned()];
    let told = bed.install(bed.source("other", "1", json!({}))).await.unwrap_err().to_string();
    assert!(told.contains("plugins.install.trustedKeys[0]"), "{told}");
}
