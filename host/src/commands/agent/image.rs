//! Pictures that go with a message. What a file is, its content says, whatever its name; the picture itself is never changed.

use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use domain::message::ImageBlock;
use serde_json::Map;
use tokio::io::AsyncReadExt;

use crate::exit::Failure;

/// Largest picture file, in bytes. Providers refuse larger ones, and every later request of the conversation sends them again.
const MAX_IMAGE_BYTES: u64 = 5 * 1024 * 1024;

/// Most pictures of one message.
const MAX_IMAGES: usize = 10;

/// The pictures, checked before anything is loaded.
pub(super) async fn read_all(paths: &[PathBuf]) -> Result<Vec<ImageBlock>, Failure> {
    if paths.len() > MAX_IMAGES {
        let message = format!("{} pictures are too many for one message; at most {MAX_IMAGES}", paths.len());
        return Err(Failure::usage(message).hint("send the others with a further message of the same session"));
    }
    let mut images = Vec::with_capacity(paths.len());
    for path in paths {
        let name = path.display().to_string();
        images.push(block(&name, &read(&name, path).await?)?);
    }
    Ok(images)
}

async fn read(name: &str, path: &Path) -> Result<Vec<u8>, Failure> {
    let unreadable = |error: std::io::Error| Failure::usage(format!("the picture {name} cannot be read: {error}"));
    let file = tokio::fs::File::open(path).await.map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(MAX_IMAGE_BYTES + 1).read_to_end(&mut bytes).await.map_err(unreadable)?;
    Ok(bytes)
}

fn block(name: &str, bytes: &[u8]) -> Result<ImageBlock, Failure> {
    if bytes.len() as u64 > MAX_IMAGE_BYTES {
        return Err(Failure::usage(format!("the picture {name} is larger than {} MiB", MAX_IMAGE_BYTES >> 20))
            .hint("make it smaller, for example with `magick large.png -resize 1200x1200 small.png`"));
    }
    let mime_type = mime_type(bytes).ok_or_else(|| {
        Failure::usage(format!("the picture {name} is none by its content: PNG, JPEG, GIF and WebP are known"))
            .hint("convert it, for example with `magick picture.tiff picture.png`")
    })?;
    Ok(ImageBlock { data: BASE64_STANDARD.encode(bytes), mime_type: mime_type.to_owned(), extra: Map::new() })
}

/// The type that the first bytes tell.
fn mime_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn the_content_says_what_a_picture_is() {
        for (bytes, expected) in [
            (&b"\x89PNG\r\n\x1a\nrest"[..], Some("image/png")),
            (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            (b"GIF87a", Some("image/gif")),
            (b"GIF89a...", Some("image/gif")),
            (b"RIFF\x01\x02\x03\x04WEBPVP8 ", Some("image/webp")),
            (b"RIFF\x01\x02\x03\x04WAVE", None),
            (b"GIF88a", None),
            (b"<svg/>", None),
            (b"\x89PNG", None),
            (b"", None),
        ] {
            assert_eq!(mime_type(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn the_size_of_a_picture_has_a_limit() {
        let mut bytes = b"GIF89a".to_vec();
        bytes.resize(usize::try_from(MAX_IMAGE_BYTES).unwrap(), 0);
        assert_eq!(BASE64_STANDARD.decode(block("p", &bytes).unwrap().data).unwrap(), bytes);
        bytes.push(0);
        assert!(block("p", &bytes).unwrap_err().message.contains("larger than 5 MiB"));
    }
}
