//! `creel plugins trust`: the public keys that may sign plugins.

use std::path::Path;

use installer::Layout;
use installer::signature::{KeyId, PublicKey, SigningKey, TrustError, TrustStore};
use serde_json::{Value, json};

use crate::args::TrustCommand;
use crate::commands::Context;
use crate::exit::{Code, Failure};
use crate::terminal::Output;

/// Largest file of a public key that is read, in bytes.
const MAX_KEY_BYTES: usize = 4 << 10;

pub(super) fn run(context: &Context, command: &TrustCommand, output: &Output) -> Result<Code, Failure> {
    let directory = Layout::new(context.locations.state_dir()).trust();
    match command {
        TrustCommand::Add { key, remark } => add(&directory, key, remark.as_deref(), output),
        TrustCommand::List { json } => list(context, &directory, *json, output),
        TrustCommand::Remove { key_id } => remove(&directory, key_id, output),
        TrustCommand::Keygen { output: file, remark } => keygen(file, remark.as_deref().unwrap_or_default(), output),
    }
}

fn add(directory: &Path, key: &str, remark: Option<&str>, output: &Output) -> Result<Code, Failure> {
    let (text, place) = match std::fs::read(key) {
        Ok(bytes) => (String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_KEY_BYTES)]).into_owned(), key),
        Err(_) => (key.to_owned(), "the argument"),
    };
    let (key, own_remark) = PublicKey::parse(&text, place).map_err(|error| Failure::usage(error.to_string()))?;
    let path = TrustStore::add(directory, &key, remark.unwrap_or(&own_remark)).map_err(failure)?;
    output.line(format!("trusted: the key {}, in {}", key.id(), path.display()));
    Ok(Code::Success)
}

fn list(context: &Context, directory: &Path, as_json: bool, output: &Output) -> Result<Code, Failure> {
    let configured = &context.loaded.config.plugins.install.trusted_keys;
    let store = TrustStore::read(directory, configured).map_err(failure)?;
    let line = |trusted: &installer::signature::TrustedKey| trusted.key.to_line(&trusted.remark).trim_end().to_owned();
    if as_json {
        let keys = store.keys().iter().map(
            |trusted| json!({ "keyId": trusted.key.id(), "remark": trusted.remark, "key": line(trusted), "file": trusted.file }),
        );
        output.value(&keys.collect::<Vec<Value>>());
    } else if store.keys().is_empty() {
        output.note("No key is trusted.");
        output.hint("`creel plugins trust add` adds one");
    } else {
        store.keys().iter().for_each(|trusted| output.line(format!("{}  {}", trusted.key.id(), line(trusted))));
    }
    Ok(Code::Success)
}

fn remove(directory: &Path, key_id: &str, output: &Output) -> Result<Code, Failure> {
    let id =
        KeyId::try_from(key_id.to_owned()).map_err(|problem| Failure::usage(format!("`{key_id}` is no key id: {problem}")))?;
    TrustStore::remove(directory, &id).map_err(failure)?;
    output.line(format!("no longer trusted: the key {id}"));
    Ok(Code::Success)
}

fn keygen(file: &Path, remark: &str, output: &Output) -> Result<Code, Failure> {
    let key = SigningKey::generate(file).map_err(|error| Failure::usage(error.to_string()))?;
    output.note(format!("{} holds the private key {}; whoever has it can sign in your name", file.display(), key.public().id()));
    output.line(key.public().to_line(remark).trim_end());
    Ok(Code::Success)
}

fn failure(error: TrustError) -> Failure {
    let code = if matches!(error, TrustError::NoSuchKey(_)) { Code::Usage } else { Code::Config };
    Failure::new(code, error.to_string())
}
