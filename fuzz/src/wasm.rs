//! Components as inputs: the committed ones are text, so that they can be read; what the engine changes are their bytes.

use std::borrow::Cow;

/// The bytes of a component in text form; other bytes as they are.
pub fn binary(input: &[u8]) -> Cow<'_, [u8]> {
    if input.starts_with(b"(") || input.starts_with(b";") {
        // With options that take no files: text can name none.
        if let Ok(bytes) = wat::parse_bytes(input) {
            return Cow::Owned(bytes.into_owned());
        }
    }
    Cow::Borrowed(input)
}

/// Makes an input that the engine is about to change binary, in place; gives its new length. What does not fit stays as it is.
pub fn make_binary(input: &mut [u8], length: usize, most: usize) -> usize {
    let Cow::Owned(bytes) = binary(&input[..length]) else { return length };
    match input.get_mut(..bytes.len()) {
        Some(place) if bytes.len() <= most => {
            place.copy_from_slice(&bytes);
            bytes.len()
        }
        _ => length,
    }
}
