//! The form in which a result is stored, and with that the form that the model sees from then on (agent-loop 14.4.6 to 14.4.8):
//! secrets masked, text within the share of the context window, details bounded. Runs before and after the hooks of persistence, so
//! doing it twice changes nothing more.

use domain::message::ContentBlock;
use serde_json::{Value, json};

use super::secrets::{mask_secrets, mask_value};
use crate::image::admit;
use crate::text::{cut_middle, head};

/// Largest limit that can be configured.
pub const RESULT_CAP_MAX_CHARS: usize = 1_000_000;
/// Most blocks of one result.
pub const MAX_RESULT_BLOCKS: usize = 256;
/// Most bytes of stored details, as JSON. They are for user interfaces, which show a page and not a file.
pub const MAX_DETAILS_BYTES: usize = 64 * 1024;
/// Average of English text and code; what a share of the window is counted with.
const CHARS_PER_TOKEN: u64 = 4;
/// Share of the window that one result may take, in percent.
const WINDOW_SHARE_PERCENT: u64 = 30;
/// Names of oversized details that the summary keeps.
const SUMMARY_NAMES: usize = 20;
/// Most characters of one such name.
const SUMMARY_NAME_CHARS: usize = 64;

/// The most characters of a result's text for a model with a context window of so many tokens; `explicit` is
/// `contextLimits.toolResultMaxChars`.
pub fn result_cap(window_tokens: u64, explicit: Option<usize>) -> usize {
    let automatic = match window_tokens {
        200_000.. => 64_000,
        100_000.. => 32_000,
        _ => 16_000,
    };
    let wanted = explicit.unwrap_or(automatic).min(RESULT_CAP_MAX_CHARS);
    let share = window_tokens.saturating_mul(CHARS_PER_TOKEN) / 100 * WINDOW_SHARE_PERCENT;
    wanted.min(usize::try_from(share).unwrap_or(usize::MAX))
}

/// Brings content and details of a result into stored form.
pub fn store_result(content: &mut Vec<ContentBlock>, details: &mut Option<Value>, cap: usize) {
    mask_content(content);
    cap_content(content, cap);
    if let Some(value) = details.take() {
        // A hook may have put anything here; what is too large is not worth masking.
        let bounded = bound_details(value);
        *details = Some(bound_details(mask_value(&bounded)));
    }
}

/// Masks the secrets of all blocks.
pub fn mask_content(content: &mut [ContentBlock]) {
    for block in content {
        match block {
            ContentBlock::Text(text) => text.text = mask_secrets(&text.text),
            ContentBlock::Other(value) => *value = mask_value(value),
            ContentBlock::Thinking(_) | ContentBlock::Image(_) | ContentBlock::ToolCall(_) => {}
        }
    }
}

/// Cuts the text to `cap` characters in all, and leaves out pictures that no provider would take. Each text gives up its middle, in
/// proportion to its length.
pub fn cap_content(content: &mut Vec<ContentBlock>, cap: usize) {
    drop_blocks(content);
    for block in content.iter_mut() {
        *block = match std::mem::replace(block, ContentBlock::text("")) {
            ContentBlock::Image(image) => admit(image),
            other => other,
        };
    }
    let total: usize = content.iter().map(chars).sum();
    if total <= cap {
        return;
    }
    for block in content.iter_mut() {
        let length = chars(block);
        // In 128 bits: both factors may be millions on a 32-bit machine.
        let share = usize::try_from(cap as u128 * length as u128 / total as u128).unwrap_or(cap);
        cut_block(block, length, share);
    }
}

fn drop_blocks(content: &mut Vec<ContentBlock>) {
    let surplus = content.len().saturating_sub(MAX_RESULT_BLOCKS);
    if surplus > 0 {
        // One more makes room for the note.
        content.truncate(MAX_RESULT_BLOCKS - 1);
        content.push(ContentBlock::text(format!("[{} more blocks left out]", surplus + 1)));
    }
}

/// What a block counts; pictures have a limit of their own.
fn chars(block: &ContentBlock) -> usize {
    match block {
        ContentBlock::Text(text) => text.text.chars().count(),
        ContentBlock::Image(_) => 0,
        other => json_bytes(other),
    }
}

fn cut_block(block: &mut ContentBlock, length: usize, share: usize) {
    match block {
        ContentBlock::Image(_) => {}
        ContentBlock::Text(text) => text.text = cut_middle(&text.text, share),
        // Part of an unknown block means nothing.
        other if length > share => *other = ContentBlock::text(head("[block left out]", share).0),
        _ => {}
    }
}

/// Replaces details that are too large by a short summary.
pub fn bound_details(details: Value) -> Value {
    let bytes = json_bytes(&details);
    if bytes <= MAX_DETAILS_BYTES {
        return details;
    }
    let names: Vec<&str> = match &details {
        Value::Object(map) => map.keys().take(SUMMARY_NAMES).map(|name| head(name, SUMMARY_NAME_CHARS).0).collect(),
        _ => Vec::new(),
    };
    json!({ "persistedDetailsTruncated": true, "bytes": bytes, "keys": names })
}

/// Length of the JSON text, without making it.
fn json_bytes(value: &impl serde::Serialize) -> usize {
    struct Counter(usize);
    impl std::io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    match serde_json::to_writer(&mut counter, value) {
        Ok(()) => counter.0,
        // Values of this crate always have a JSON form; if one had not, it could not be stored.
        Err(_) => usize::MAX,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
    use domain::message::text_of;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_cap_follows_the_window() {
        let rows = [
            (99_999, None, 16_000),
            (100_000, None, 32_000),
            (199_999, None, 32_000),
            (200_000, None, 64_000),
            (8_000, None, 9_600),
            (200_000, Some(1_000), 1_000),
            (200_000, Some(500_000), 240_000),
            (10_000_000, Some(5_000_000), RESULT_CAP_MAX_CHARS),
            (0, None, 0),
            (u64::MAX, Some(5), 5),
        ];
        for (window, explicit, expected) in rows {
            assert_eq!(result_cap(window, explicit), expected, "{window} {explicit:?}");
        }
    }

    #[test]
    fn a_long_text_keeps_beginning_and_end() {
        let mut content = vec![ContentBlock::text(format!("begin{}end", "x".repeat(50_000)))];
        cap_content(&mut content, 16_000);
        let text = text_of(&content);
        assert_eq!(text.chars().count(), 16_000);
        assert!(text.starts_with("begin") && text.ends_with("end") && text.contains("of 50008 characters left out"));
    }

    #[test]
    fn what_fits_is_not_touched() {
        let mut content = vec![ContentBlock::text("é".repeat(100)), ContentBlock::Other(json!({"type": "x"}))];
        let before = content.clone();
        cap_content(&mut content, 112);
        assert_eq!(content, before);
        cap_content(&mut content, 111);
        assert_ne!(content, before);
    }

    #[test]
    fn blocks_and_unknown_blocks_are_bounded() {
        let mut content = vec![ContentBlock::text("a"); 1000];
        cap_content(&mut content, 16_000);
        assert_eq!(content.len(), MAX_RESULT_BLOCKS);
        assert_eq!(content.last().unwrap().as_text(), Some("[745 more blocks left out]"));
        let mut content = vec![ContentBlock::Other(json!({"type": "blob", "data": "x".repeat(50_000)}))];
        cap_content(&mut content, 16_000);
        assert_eq!(content[0].as_text(), Some("[block left out]"));
    }

    #[test]
    fn a_picture_that_no_provider_takes_becomes_a_note() {
        let mut content = vec![ContentBlock::image("not base64!", "image/png")];
        cap_content(&mut content, 16_000);
        assert!(content[0].as_text().unwrap().contains("not base64"));
    }

    #[test]
    fn details_that_are_too_large_become_a_summary() {
        let details = json!({"log": "x".repeat(MAX_DETAILS_BYTES), "n".repeat(1000): 1});
        let bounded = bound_details(details);
        assert_eq!(bounded["persistedDetailsTruncated"], true);
        assert_eq!(bounded["keys"], json!(["log", "n".repeat(64)]));
        assert!(bounded.to_string().len() < 1000);
        let just_fits = json!("x".repeat(MAX_DETAILS_BYTES - 2));
        assert_eq!(bound_details(just_fits.clone()), just_fits);
        assert_ne!(bound_details(json!("x".repeat(MAX_DETAILS_BYTES - 1))), just_fits);
    }

    #[test]
    fn secrets_are_masked_in_stored_form() {
        let key = format!("ghp_{}", "a1B2".repeat(10));
        let mut content = vec![ContentBlock::text(format!("token {key}"))];
        let mut details = Some(json!({"env": {"API_KEY": "abc"}, "log": key}));
        store_result(&mut content, &mut details, 16_000);
        assert_eq!(text_of(&content), "token ghp_***");
        assert_eq!(details.unwrap(), json!({"env": {"API_KEY": "***"}, "log": "ghp_***"}));
    }

    proptest! {
        #[test]
        fn the_cap_holds_and_a_second_time_changes_nothing(texts in proptest::collection::vec("\\PC{0,200}", 0..6), cap in 0usize..400) {
            let mut content: Vec<ContentBlock> = texts.into_iter().map(ContentBlock::text).collect();
            cap_content(&mut content, cap);
            let total: usize = content.iter().map(chars).sum();
            prop_assert!(total <= cap);
            let once = content.clone();
            cap_content(&mut content, cap);
            prop_assert_eq!(content, once);
        }
    }
}
