//! Ed25519 keys as files: one line with the kind of the key, the key in base64 and a remark.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde::{Deserialize, Serialize};

use crate::digest::{read_file, sha256};

const PUBLIC_KIND: &str = "creel-ed25519";
const PRIVATE_KIND: &str = "creel-ed25519-private";

/// Bytes of a public key.
const KEY_BYTES: usize = 32;

/// Largest file of a key, in bytes.
const MAX_FILE_BYTES: u64 = 4 << 10;

/// Hex digits of a key id. Half a digest: nobody finds a second key for it.
const ID_DIGITS: usize = 32;

/// Names a public key: the first half of its SHA-256 digest, in hex digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct KeyId(String);

/// Why a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The text is no key.
    #[error("{place} is not a {expected} key of creel: expected the word `{expected_kind}` and the key in base64 on one line", expected_kind = kind_of(expected))]
    Form {
        /// Where it stands.
        place: String,
        /// `public` or `private`.
        expected: &'static str,
    },
    /// The file cannot be read or written.
    #[error("{} cannot be used: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Others can read the private key.
    #[error("{} can be read or changed by others; a private key must be for its owner alone (chmod 600)", path.display())]
    NotPrivate {
        /// The file.
        path: PathBuf,
    },
    /// The system gave no random bytes.
    #[error("the system gives no random bytes for a key")]
    NoRandom,
}

fn kind_of(expected: &str) -> &'static str {
    if expected == "private" { PRIVATE_KIND } else { PUBLIC_KIND }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for KeyId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let is_id = text.len() == ID_DIGITS && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        if is_id { Ok(Self(text)) } else { Err(format!("a key id has {ID_DIGITS} hex digits")) }
    }
}

/// A public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey([u8; KEY_BYTES]);

impl PublicKey {
    /// Reads the line of a key, and the remark behind it.
    ///
    /// # Errors
    /// [`KeyError::Form`] when it is none.
    pub fn parse(text: &str, place: &str) -> Result<(Self, String), KeyError> {
        let form = || KeyError::Form { place: place.to_owned(), expected: "public" };
        let (bytes, remark) = fields(text, PUBLIC_KIND).ok_or_else(form)?;
        let key = bytes.try_into().map_err(|_| form())?;
        Ok((Self(key), remark))
    }

    /// Names it.
    pub fn id(&self) -> KeyId {
        KeyId(sha256(&self.0)[..ID_DIGITS].to_owned())
    }

    /// The line of a file.
    pub fn to_line(&self, remark: &str) -> String {
        let line = format!("{PUBLIC_KIND} {} {}", STANDARD.encode(self.0), one_line(remark));
        format!("{}\n", line.trim_end())
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A key that signs. Its text is never shown.
pub struct SigningKey {
    pair: Ed25519KeyPair,
    public: PublicKey,
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("public", &self.public).finish_non_exhaustive()
    }
}

impl SigningKey {
    /// Makes a key and writes it into a new file that only its owner can read.
    ///
    /// # Errors
    /// When the file exists, or cannot be written.
    pub fn generate(path: &Path) -> Result<Self, KeyError> {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(|_| KeyError::NoRandom)?;
        let key = Self::from_pkcs8(document.as_ref()).ok_or(KeyError::NoRandom)?;
        let line = format!("{PRIVATE_KIND} {}\n", STANDARD.encode(document.as_ref()));
        let written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).and_then(|mut file| {
            file.write_all(line.as_bytes())?;
            file.sync_all()
        });
        written.map_err(|source| KeyError::File { path: path.to_owned(), source })?;
        Ok(key)
    }

    /// Reads a key.
    ///
    /// # Errors
    /// When others can read the file, or it holds no private key.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let failed = |source| KeyError::File { path: path.to_owned(), source };
        let metadata = std::fs::metadata(path).map_err(failed)?;
        if metadata.mode() & 0o077 != 0 {
            return Err(KeyError::NotPrivate { path: path.to_owned() });
        }
        let real = std::fs::canonicalize(path).map_err(failed)?;
        let text = read_file(&real, MAX_FILE_BYTES).map_err(failed)?;
        let form = || KeyError::Form { place: path.display().to_string(), expected: "private" };
        let (bytes, _) = std::str::from_utf8(&text).ok().and_then(|text| fields(text, PRIVATE_KIND)).ok_or_else(form)?;
        Self::from_pkcs8(&bytes).ok_or_else(form)
    }

    fn from_pkcs8(document: &[u8]) -> Option<Self> {
        let pair = Ed25519KeyPair::from_pkcs8(document).ok()?;
        let public = PublicKey(pair.public_key().as_ref().try_into().ok()?);
        Some(Self { pair, public })
    }

    /// Its public half.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    pub(super) fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.pair.sign(message).as_ref().to_vec()
    }
}

/// Key and remark of the first line.
fn fields(text: &str, kind: &str) -> Option<(Vec<u8>, String)> {
    let mut words = text.lines().next()?.split_whitespace();
    let bytes = (words.next()? == kind).then(|| words.next()).flatten().and_then(|word| STANDARD.decode(word).ok())?;
    Some((bytes, one_line(&words.collect::<Vec<_>>().join(" "))))
}

fn one_line(remark: &str) -> String {
    remark.chars().filter(|character| !character.is_control()).take(100).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_is_private_and_survives_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("own.key");
        let made = SigningKey::generate(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        let read = SigningKey::read(&path).unwrap();
        assert_eq!(read.public(), made.public());
        assert_eq!(read.sign(b"text"), made.sign(b"text"));
        assert!(matches!(SigningKey::generate(&path), Err(KeyError::File { .. })), "a key is never overwritten");
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(SigningKey::read(&path), Err(KeyError::NotPrivate { .. })));
        let shown = format!("{made:?}");
        assert!(!shown.contains("pair"), "{shown}");
    }

    #[test]
    fn public_keys_are_one_line_with_a_remark() {
        let dir = tempfile::tempdir().unwrap();
        let key = SigningKey::generate(&dir.path().join("k")).unwrap().public().clone();
        let line = key.to_line("the\u{1b}[1m team\n");
        let (read, remark) = PublicKey::parse(&line, "x").unwrap();
        assert_eq!((read, remark.as_str()), (key.clone(), "the[1m team"));
        assert_eq!(KeyId::try_from(key.id().to_string()), Ok(key.id()));
        let short = format!("creel-ed25519 {}", STANDARD.encode([0; 31]));
        for bad in ["", "creel-ed25519", "creel-ed25519 !", "ssh-ed25519 AAAA", &short] {
            let error = PublicKey::parse(bad, "file.pub").unwrap_err().to_string();
            assert!(error.starts_with("file.pub is not a public key"), "{error}");
        }
    }
}
