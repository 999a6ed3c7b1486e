//! The manifest inside a component: a plugin that is one file (plugin-hooks 7). It stands in a custom section of the outermost
//! component, which the component model ignores. Reading looks at section headers only, so it is cheap for large components.

use std::ops::Range;

use wasmparser::BinaryReader;

use crate::inspect::{InspectError, check_start};
use crate::manifest::{FILE_NAME, Manifest, ManifestError};

/// Magic number, version and layer of a component, in bytes.
const PREAMBLE_BYTES: usize = 8;

/// Id of custom sections.
const CUSTOM: u8 = 0;

/// Why an embedded manifest cannot be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbeddedError {
    /// The bytes are no component.
    #[error("{0}")]
    Component(InspectError),
    /// Section headers do not add up.
    #[error("is damaged: a section starts at byte {offset} and does not end inside the file")]
    Damaged {
        /// Where the section starts.
        offset: usize,
    },
    /// It is there more than once.
    #[error("has {count} embedded manifests; pack it again, so that it has one")]
    Several {
        /// How often.
        count: usize,
    },
    /// What is to be embedded is no manifest.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
}

/// The text of the manifest in a component. `None`: it has none.
///
/// # Errors
/// When the bytes are no component, or hold several manifests.
pub fn read(component: &[u8]) -> Result<Option<&[u8]>, EmbeddedError> {
    let sections = manifests(component)?;
    match sections.as_slice() {
        [] => Ok(None),
        [section] => Ok(Some(&component[section.text.clone()])),
        several => Err(EmbeddedError::Several { count: several.len() }),
    }
}

/// A copy of the component with this manifest in it, and no other.
///
/// # Errors
/// When the text is no manifest, or the bytes are no component.
pub fn write(component: &[u8], manifest: &[u8]) -> Result<Vec<u8>, EmbeddedError> {
    Manifest::parse(manifest, FILE_NAME)?;
    let mut packed = Vec::with_capacity(component.len() + manifest.len() + FILE_NAME.len() + 16);
    let mut copied = 0;
    for section in manifests(component)? {
        packed.extend_from_slice(&component[copied..section.whole.start]);
        copied = section.whole.end;
    }
    packed.extend_from_slice(&component[copied..]);
    let mut body = leb128(FILE_NAME.len());
    body.extend_from_slice(FILE_NAME.as_bytes());
    body.extend_from_slice(manifest);
    packed.push(CUSTOM);
    packed.extend(leb128(body.len()));
    packed.extend(body);
    Ok(packed)
}

/// Where a manifest stands in a component.
struct Section {
    whole: Range<usize>,
    text: Range<usize>,
}

/// The sections of the outermost component that hold manifests.
fn manifests(component: &[u8]) -> Result<Vec<Section>, EmbeddedError> {
    check_start(component).map_err(EmbeddedError::Component)?;
    let mut reader = BinaryReader::new(&component[PREAMBLE_BYTES..], PREAMBLE_BYTES);
    let mut found = Vec::new();
    while !reader.eof() {
        let start = reader.original_position();
        let section = section(&mut reader).map_err(|_| EmbeddedError::Damaged { offset: start })?;
        found.extend(section.map(|text| Section { whole: start..reader.original_position(), text }));
    }
    Ok(found)
}

/// Reads over one section. Gives the place of its text if it holds a manifest.
fn section(reader: &mut BinaryReader<'_>) -> Result<Option<Range<usize>>, wasmparser::BinaryReaderError> {
    let id = reader.read_u8()?;
    let size = reader.read_var_u32()? as usize;
    let start = reader.original_position();
    let body = reader.read_bytes(size)?;
    if id != CUSTOM {
        return Ok(None);
    }
    let mut body = BinaryReader::new(body, start);
    let is_manifest = body.read_string()? == FILE_NAME;
    Ok(is_manifest.then(|| body.original_position()..start + size))
}

/// An unsigned number in the variable-length form of WebAssembly.
fn leb128(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = (number & 0x7f) as u8;
        number >>= 7;
        if number == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use proptest::prelude::*;

    use super::*;
    use crate::inspect::inspect;

    const MANIFEST: &[u8] = br#"{"id":"guard","configSchema":{}}"#;

    fn component() -> Vec<u8> {
        // The same section inside a nested component must not be found.
        let text = format!(
            r#"(component
                (component (@custom "{FILE_NAME}" "inner"))
                (core module (@custom "{FILE_NAME}" "core"))
                (instance $i) (export "creel:plugin/agent-end@0.1.0" (instance $i)))"#
        );
        wat::parse_str(text).unwrap()
    }

    #[test]
    fn what_is_written_is_read_and_the_component_is_the_same() {
        let plain = component();
        assert_eq!(read(&plain), Ok(None));
        let packed = write(&plain, MANIFEST).unwrap();
        assert_eq!(read(&packed), Ok(Some(MANIFEST)));
        assert_eq!(inspect(&packed).unwrap().exports, inspect(&plain).unwrap().exports);
        let long = format!(r#"{{"id":"guard","configSchema":{{}},"description":"{}"}}"#, "x".repeat(100_000));
        let again = write(&packed, long.as_bytes()).unwrap();
        assert_eq!(read(&again), Ok(Some(long.as_bytes())));
        assert_eq!(write(&again, MANIFEST).unwrap(), packed);
    }

    #[test]
    fn two_manifests_are_refused_and_replaced() {
        let text = format!(r#"(component (@custom "{FILE_NAME}" "a") (@custom "{FILE_NAME}" "b"))"#);
        let twice = wat::parse_str(text).unwrap();
        assert_eq!(read(&twice), Err(EmbeddedError::Several { count: 2 }));
        assert_eq!(read(&write(&twice, MANIFEST).unwrap()), Ok(Some(MANIFEST)));
    }

    #[test]
    fn only_a_manifest_goes_into_a_component_only() {
        let refused = write(&component(), b"{}").unwrap_err().to_string();
        assert!(refused.contains("`id` is missing"), "{refused}");
        let module = wat::parse_str("(module)").unwrap();
        assert_eq!(write(&module, MANIFEST), Err(EmbeddedError::Component(InspectError::CoreModule)));
        assert_eq!(read(&module), Err(EmbeddedError::Component(InspectError::CoreModule)));
    }

    #[test]
    fn a_file_cut_in_half_has_a_place() {
        let packed = write(&component(), MANIFEST).unwrap();
        let section = packed.len() - MANIFEST.len() - FILE_NAME.len() - 3;
        assert_eq!(read(&packed[..packed.len() - 1]), Err(EmbeddedError::Damaged { offset: section }));
    }

    proptest! {
        #[test]
        fn damage_never_panics(cut in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), flip in 1..=255u8) {
            let mut packed = write(&component(), MANIFEST).unwrap();
            let at = at.index(packed.len());
            packed[at] ^= flip;
            let cut = &packed[..cut.index(packed.len())];
            for bytes in [packed.as_slice(), cut] {
                if let Ok(Some(text)) = read(bytes) {
                    let _ = Manifest::parse(text, "damaged");
                }
                let _ = write(bytes, MANIFEST);
            }
        }
    }
}
