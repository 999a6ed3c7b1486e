//! What guests return, from the conversion to the merged decision. The input is text, one field per line; see the corpus.

/// Plays one input.
pub fn run(input: &[u8]) {
    if let Ok(script) = std::str::from_utf8(input) {
        plugin_host::fuzzing::play(script);
    }
}
