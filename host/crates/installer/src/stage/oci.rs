//! Unpacks an OCI image layout in a directory, as `oras copy --to-oci-layout` and `wkg` leave it. Accepted is one artifact:
//!
//! - `oci-layout` with `imageLayoutVersion` `1.0.0`, and `index.json` with exactly one manifest;
//! - an image manifest with exactly one layer of type `application/wasm`, the component;
//! - a config of type [`MANIFEST_TYPE`], which is the plugin's manifest; with any other type of config the component must have its manifest in it;
//! - at most one layer of type [`SIGNATURE_TYPE`]. Other layers are refused.
//!
//! Every blob is compared with its digest and size before anything is made of it. Nothing is fetched.

use std::path::Path;

use plugin_host::manifest;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::directory::optional_file;
use super::tree::Tree;
use super::{COMPONENT_FILE, Limits, StageError};
use crate::digest::sha256;
use crate::signature;

/// Media type of a config that is the plugin's manifest.
pub(super) const MANIFEST_TYPE: &str = "application/vnd.creel.plugin.manifest.v1+json";

/// Media type of a layer that is the plugin's signature.
pub(super) const SIGNATURE_TYPE: &str = "application/vnd.creel.plugin.signature.v1+json";

const COMPONENT_TYPE: &str = "application/wasm";
const IMAGE_MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
const LAYOUT_VERSION: &str = "1.0.0";

/// Largest JSON document of a layout, in bytes.
const MAX_JSON_BYTES: u64 = 1 << 20;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LayoutFile {
    image_layout_version: String,
}

#[derive(Deserialize)]
struct Index {
    manifests: Vec<Descriptor>,
}

#[derive(Deserialize)]
struct ImageManifest {
    config: Descriptor,
    layers: Vec<Descriptor>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    media_type: String,
    digest: String,
    size: u64,
}

/// Unpacks the artifact, and gives its signature if it has one.
pub(super) fn unpack(directory: &Path, tree: &mut Tree<'_>, limits: &Limits) -> Result<Option<Vec<u8>>, StageError> {
    let layout = Oci { directory, limits };
    let version: LayoutFile = layout.file("oci-layout")?;
    if version.image_layout_version != LAYOUT_VERSION {
        return Err(refused(format!("its version is {:?}; this host reads {LAYOUT_VERSION}", version.image_layout_version)));
    }
    let index: Index = layout.file("index.json")?;
    let [only] = index.manifests.as_slice() else {
        let count = index.manifests.len();
        return Err(refused(format!("index.json lists {count} manifests; copy the one plugin into a layout of its own")));
    };
    if only.media_type != IMAGE_MANIFEST_TYPE {
        return Err(refused(format!("index.json lists a {:?}; this host reads {IMAGE_MANIFEST_TYPE}", only.media_type)));
    }
    let image: ImageManifest = parse(&layout.blob(only, MAX_JSON_BYTES)?, &only.digest)?;
    layout.artifact(&image, tree)
}

struct Oci<'a> {
    directory: &'a Path,
    limits: &'a Limits,
}

impl Oci<'_> {
    fn artifact(&self, image: &ImageManifest, tree: &mut Tree<'_>) -> Result<Option<Vec<u8>>, StageError> {
        let of = |media_type: &str| image.layers.iter().filter(|layer| layer.media_type == media_type).collect::<Vec<_>>();
        let (components, signatures) = (of(COMPONENT_TYPE), of(SIGNATURE_TYPE));
        if components.len() != 1 || signatures.len() > 1 || components.len() + signatures.len() != image.layers.len() {
            let found: Vec<&str> = image.layers.iter().map(|layer| layer.media_type.as_str()).collect();
            let expected = format!("one {COMPONENT_TYPE}, and at most one {SIGNATURE_TYPE}");
            return Err(refused(format!("its layers are {found:?}; expected {expected}")));
        }
        let component = self.blob(components[0], self.limits.bytes)?;
        let mut file = COMPONENT_FILE.to_owned();
        if image.config.media_type == MANIFEST_TYPE {
            let text = self.blob(&image.config, manifest::MAX_BYTES as u64)?;
            file = component_name(&text)?;
            tree.file(manifest::FILE_NAME.as_bytes(), &mut text.as_slice())?;
        }
        tree.file(file.as_bytes(), &mut component.as_slice())?;
        signatures.first().map(|layer| self.blob(layer, signature::MAX_BYTES)).transpose()
    }

    fn file<T: DeserializeOwned>(&self, name: &str) -> Result<T, StageError> {
        match optional_file(&self.directory.join(name), MAX_JSON_BYTES)? {
            Some(text) => parse(&text, name),
            None => Err(refused(format!("{name} does not exist"))),
        }
    }

    /// A blob whose size and digest are those of its descriptor.
    fn blob(&self, descriptor: &Descriptor, max: u64) -> Result<Vec<u8>, StageError> {
        let Descriptor { digest, size, .. } = descriptor;
        let hex = digest.strip_prefix("sha256:").filter(|hex| is_sha256(hex));
        let hex = hex.ok_or_else(|| refused(format!("{digest:?} is not a sha256 digest")))?;
        if *size > max {
            return Err(refused(format!("{digest} has {size} bytes; it may have {max}")));
        }
        let bytes = optional_file(&self.directory.join("blobs/sha256").join(hex), *size)?;
        let bytes = bytes.ok_or_else(|| refused(format!("the blob {digest} does not exist")))?;
        if bytes.len() as u64 != *size || sha256(&bytes) != hex {
            return Err(refused(format!("the blob {digest} does not have this digest and {size} bytes")));
        }
        Ok(bytes)
    }
}

/// Where the manifest wants its component.
fn component_name(manifest_text: &[u8]) -> Result<String, StageError> {
    let manifest = manifest::Manifest::parse(manifest_text, "its config").map_err(|error| refused(error.to_string()))?;
    Ok(manifest.component.unwrap_or_else(|| COMPONENT_FILE.to_owned()))
}

fn is_sha256(hex: &str) -> bool {
    hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

fn parse<T: DeserializeOwned>(text: &[u8], place: &str) -> Result<T, StageError> {
    serde_json::from_slice(text).map_err(|error| refused(format!("{place}: {error}")))
}

fn refused(problem: String) -> StageError {
    StageError::Oci(problem)
}
