//! The part of a plugin manifest that says where a plugin goes. The host checks the rest when it loads the plugin.

use std::path::Path;

use serde::Deserialize;

use crate::discovery::DiscoveryError;

/// The two keys that matter here.
#[derive(Debug, Deserialize)]
pub(crate) struct PluginManifest {
    pub(crate) id: String,
    pub(crate) component: String,
}

impl PluginManifest {
    /// Reads `text`, the content of the file at `path`.
    pub(crate) fn parse(text: &[u8], path: &Path) -> Result<Self, DiscoveryError> {
        let manifest: Self = serde_json::from_slice(text)
            .map_err(|source| DiscoveryError::ManifestInvalid { manifest: path.to_owned(), source })?;
        for (key, value) in [("id", &manifest.id), ("component", &manifest.component)] {
            if !is_file_name(value) {
                return Err(DiscoveryError::NotAFileName { manifest: path.to_owned(), key, value: value.clone() });
            }
        }
        Ok(manifest)
    }
}

/// One visible name, so that nothing is written outside the plugin's folder.
fn is_file_name(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('.') && !text.contains(['/', '\\', '\0', ':'])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn manifest_cannot_write_outside_its_folder() {
        for text in [r#"{"id": "../x", "component": "a.wasm"}"#, r#"{"id": "x", "component": "/tmp/a.wasm"}"#] {
            let error = PluginManifest::parse(text.as_bytes(), Path::new("m.json")).unwrap_err();
            assert!(matches!(error, DiscoveryError::NotAFileName { .. }), "{error}");
        }
        let error = PluginManifest::parse(br#"{"id": "x"}"#, Path::new("m.json")).unwrap_err();
        assert_eq!(error.to_string(), "the plugin manifest m.json needs the keys `id` and `component`");
    }
}
