//! The manifest inside a component: reading it from arbitrary sections, and packing one into whatever counts as a component.

use plugin_host::embedded::{EmbeddedError, read, write};
use plugin_host::inspect::inspect;
use plugin_host::manifest::Manifest;

use crate::message::assert_is_one_short_line;
use crate::wasm::binary;

/// What every component begins with.
const PREAMBLE: &[u8] = b"\0asm\x0d\0\x01\0";

const MANIFEST: &[u8] = br#"{"id":"fuzzed","configSchema":{}}"#;

/// Takes the input as a component, as the sections of one, and as a manifest to pack.
pub fn run(input: &[u8]) {
    let component = binary(input);
    pack(&component, MANIFEST);
    if !component.starts_with(PREAMBLE) {
        pack(&[PREAMBLE, &*component].concat(), MANIFEST);
    }
    if Manifest::parse(input, "fuzzed").is_ok() {
        pack(PREAMBLE, input);
    }
}

fn pack(component: &[u8], manifest: &[u8]) {
    let there = read(component);
    if let Ok(Some(text)) = there {
        let _ = Manifest::parse(text, "fuzzed");
    }
    match (write(component, manifest), there) {
        (Ok(packed), Ok(_) | Err(EmbeddedError::Several { .. })) => {
            assert_eq!(read(&packed), Ok(Some(manifest)), "what was packed is not what is read");
            assert_eq!(write(&packed, manifest).as_ref(), Ok(&packed), "packing twice is not packing once");
            assert_is_same(component, &packed);
        }
        (Err(error), Err(_)) => assert_is_one_short_line(&error.to_string()),
        (written, there) => panic!("reading and writing disagree: {:?}, {there:?}", written.map(|packed| packed.len())),
    }
}

/// A manifest changes nothing of what a component says about itself.
fn assert_is_same(component: &[u8], packed: &[u8]) {
    match (inspect(component), inspect(packed)) {
        (Ok(before), Ok(after)) => {
            assert_eq!((before.counts, before.exports, before.imports), (after.counts, after.exports, after.imports));
        }
        (Err(_), Err(_)) => {}
        (before, after) => panic!("packing changed whether a component can be inspected: {before:?}, {after:?}"),
    }
}
