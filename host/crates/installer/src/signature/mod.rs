//! Ed25519 signatures of plugins. What is signed is one text with the plugin's id and version and the digests of component, manifest and
//! every other file, so that a signature fits exactly one plugin and nothing of it can be exchanged. Whose keys count is the operator's
//! matter, see [`TrustStore`].

mod key;
mod trust;

use std::io;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{ED25519, UnparsedPublicKey};
use serde::{Deserialize, Serialize};

use crate::check::Package;
use crate::digest::{Files, read_file, sha256};
use crate::stage::optional;

pub use key::{KeyError, KeyId, PublicKey, SigningKey};
pub use trust::{TrustError, TrustStore, TrustedKey};

/// Name of the signature in a plugin's directory.
pub const FILE_NAME: &str = "creel.plugin.sig";

/// Largest signature file, in bytes.
pub(crate) const MAX_BYTES: u64 = 16 << 10;

/// First line of what is signed: this form of it, so that no other text of the same key can be taken for one.
const FORM: &str = "creel plugin signature 1";

/// Version of the signature file.
const VERSION: u32 = 1;

/// A signature file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Signature {
    signature_version: u32,
    /// Key that made it.
    pub key_id: KeyId,
    /// The signature, in base64.
    signature: String,
}

/// Why a signature does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// There is none, and the operator wants one.
    #[error(
        "it is not signed, and a signature is required; sign it with `creel plugins sign`, or leave `plugins.install.requireSignature` out"
    )]
    Missing,
    /// Nobody trusts its key.
    #[error(
        "it is signed by the key {0}, which is not trusted; if you know whose key it is, add it with `creel plugins trust add`"
    )]
    Untrusted(KeyId),
    /// It is for something else, or damaged.
    #[error("its signature by the trusted key {0} does not fit: the plugin was changed after it was signed")]
    Invalid(KeyId),
    /// It is no signature file.
    #[error("its signature cannot be read: {0}")]
    Unreadable(String),
}

/// Who signed a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signer {
    /// Nobody.
    Nobody,
    /// A key that the operator does not know. It says nothing.
    Unknown(KeyId),
    /// A trusted key, and the signature fits.
    Trusted(KeyId),
}

impl Signer {
    /// The key that vouches for the plugin.
    pub fn trusted(&self) -> Option<&KeyId> {
        match self {
            Self::Trusted(key) => Some(key),
            Self::Nobody | Self::Unknown(_) => None,
        }
    }
}

/// The text that is signed.
fn payload(package: &Package) -> String {
    // The version is free text, as JSON it stays on its line.
    let version = serde_json::Value::from(package.version.clone());
    format!(
        "{FORM}\nid {}\nversion {version}\ncomponent sha256:{}\nmanifest sha256:{}\nresources sha256:{}\n",
        package.id,
        package.component_sha256,
        package.manifest_sha256,
        resources(package)
    )
}

/// One digest for all files beside component and manifest.
fn resources(package: &Package) -> String {
    let mut list = String::new();
    for (path, digest) in other_files(package) {
        list.push_str(&format!("{digest} {}\n", serde_json::Value::from(path.as_str())));
    }
    sha256(list.as_bytes())
}

fn other_files(package: &Package) -> Files {
    let mut files = package.files.clone();
    let own =
        [Some(package.component.as_str()), package.manifest_file.as_deref(), Some(FILE_NAME), package.added_file.as_deref()];
    own.into_iter().flatten().for_each(|name| drop(files.remove(name)));
    files
}

impl Signature {
    /// Signs a plugin.
    pub fn make(package: &Package, key: &SigningKey) -> Self {
        let signature = STANDARD.encode(key.sign(payload(package).as_bytes()));
        Self { signature_version: VERSION, key_id: key.public().id(), signature }
    }

    /// Reads a signature file.
    ///
    /// # Errors
    /// [`SignatureError::Unreadable`] when it is none, or of a version that this host does not know.
    pub fn parse(text: &[u8]) -> Result<Self, SignatureError> {
        let unreadable = |problem: String| SignatureError::Unreadable(problem);
        let signature: Self = serde_json::from_slice(text).map_err(|error| unreadable(error.to_string()))?;
        if signature.signature_version != VERSION {
            return Err(unreadable(format!("it has version {}; this host knows {VERSION}", signature.signature_version)));
        }
        Ok(signature)
    }

    /// As it is written.
    pub fn to_text(&self) -> String {
        serde_json::to_string_pretty(self).map(|text| text + "\n").unwrap_or_default()
    }

    fn fits(&self, package: &Package, key: &PublicKey) -> bool {
        let Ok(signature) = STANDARD.decode(&self.signature) else { return false };
        UnparsedPublicKey::new(&ED25519, key.as_bytes()).verify(payload(package).as_bytes(), &signature).is_ok()
    }
}

/// Who signed a plugin, by the keys that the operator trusts. A signature by a trusted key that does not fit refuses the plugin whatever
/// is required: somebody changed it.
pub(crate) fn verify(
    package: &Package,
    signature: Option<&[u8]>,
    trust: &TrustStore,
    required: bool,
) -> Result<Signer, SignatureError> {
    let Some(text) = signature else {
        return if required { Err(SignatureError::Missing) } else { Ok(Signer::Nobody) };
    };
    let signature = Signature::parse(text)?;
    match trust.key(&signature.key_id) {
        Some(key) if signature.fits(package, &key.key) => Ok(Signer::Trusted(signature.key_id)),
        Some(_) => Err(SignatureError::Invalid(signature.key_id)),
        None if required => Err(SignatureError::Untrusted(signature.key_id)),
        None => Ok(Signer::Unknown(signature.key_id)),
    }
}

/// Where the signature of a single file is.
pub fn path_beside(file: &Path) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".sig");
    file.with_file_name(name)
}

/// The signature of a single file, if there is one.
pub(crate) fn beside(file: &Path) -> io::Result<Option<Vec<u8>>> {
    optional(read_file(&path_beside(file), MAX_BYTES))
}
