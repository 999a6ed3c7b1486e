//! Pictures that a model may get: known formats only, told by their first bytes and never by a name or a claim, and small enough that
//! no provider refuses the whole conversation because of one. Nothing is decoded here but base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::message::{ContentBlock, ImageBlock};

/// Largest picture, bytes of the file. As base64 it has 5 MB, the least that a large provider accepts; a larger one would be refused
/// again on every later request, because it stays in the transcript.
pub const MAX_IMAGE_BYTES: usize = 3_750_000;

/// How many first bytes tell the format.
const MAGIC_BYTES: usize = 12;

/// The media type that the first bytes of a file tell, for the formats that models read.
pub(crate) fn sniff(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => Some("image/png"),
        [0xFF, 0xD8, 0xFF, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// A block of a picture's bytes.
pub(crate) fn block(bytes: &[u8], mime_type: &str) -> ContentBlock {
    ContentBlock::image(STANDARD.encode(bytes), mime_type)
}

/// Size of the file that a base64 text holds, without decoding it.
pub(crate) fn decoded_len(base64: &str) -> usize {
    let padding = base64.bytes().rev().take(2).take_while(|byte| *byte == b'=').count();
    (base64.len() / 4 * 3 + base64.len() % 4 * 3 / 4).saturating_sub(padding)
}

/// Lets a tool's picture through, with the media type that its bytes have; anything that a provider would refuse becomes a note.
pub fn admit(image: ImageBlock) -> ContentBlock {
    let size = decoded_len(&image.data);
    if size > MAX_IMAGE_BYTES {
        return note(&format!("it has {size} bytes, at most {MAX_IMAGE_BYTES} are allowed"));
    }
    // The whole text is checked: white space or a cut in the middle is what providers refuse.
    let Ok(bytes) = STANDARD.decode(&image.data) else { return note("its data is not base64") };
    match sniff(bytes.get(..MAGIC_BYTES).unwrap_or(&bytes)) {
        Some(mime_type) => ContentBlock::Image(ImageBlock { mime_type: mime_type.to_owned(), ..image }),
        None => note("it is not a png, jpeg, gif or webp picture"),
    }
}

fn note(reason: &str) -> ContentBlock {
    ContentBlock::text(format!("[picture left out: {reason}]"))
}

#[cfg(test)]
pub(crate) mod samples {
    //! Smallest files that count as pictures here.

    /// First bytes of a PNG file.
    pub(crate) const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;

    fn image(data: String, mime_type: &str) -> ImageBlock {
        ImageBlock { data, mime_type: mime_type.to_owned(), extra: Map::new() }
    }

    #[test]
    fn formats_are_told_by_their_first_bytes() {
        let rows: [(&[u8], Option<&str>); 7] = [
            (samples::PNG, Some("image/png")),
            (b"\xFF\xD8\xFF\xE0", Some("image/jpeg")),
            (b"GIF89a", Some("image/gif")),
            (b"RIFF\0\0\0\0WEBPVP8 ", Some("image/webp")),
            (b"RIFF\0\0\0\0WAVE", None),
            (b"<svg>", None),
            (b"", None),
        ];
        for (bytes, expected) in rows {
            assert_eq!(sniff(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn the_size_is_known_without_decoding() {
        for size in 0..20 {
            let bytes = vec![7; size];
            assert_eq!(decoded_len(&STANDARD.encode(&bytes)), size);
        }
    }

    #[test]
    fn what_a_provider_would_refuse_becomes_a_note() {
        let png = STANDARD.encode(samples::PNG);
        let rows = [
            (image("A".repeat(MAX_IMAGE_BYTES / 3 * 4 + 8), "image/png"), "are allowed"),
            (image(format!("{} {}", &png[..8], &png[8..]), "image/png"), "not base64"),
            (image(STANDARD.encode("plain text"), "image/png"), "not a png"),
        ];
        for (bad, reason) in rows {
            let block = admit(bad);
            assert!(block.as_text().is_some_and(|text| text.contains(reason)), "{reason}");
        }
    }

    #[test]
    fn a_wrong_media_type_is_corrected() {
        let admitted = admit(image(STANDARD.encode(b"\xFF\xD8\xFF\xE0"), "image/png"));
        assert!(matches!(admitted, ContentBlock::Image(block) if block.mime_type == "image/jpeg"));
    }
}
