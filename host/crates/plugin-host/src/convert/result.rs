//! Results of a plugin's tool.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::message::ContentBlock;
use domain::tool::ToolResult;
use hooks::Fault;

use super::json;
use crate::bindings::creel::plugin::types as wit;

/// Takes a result, partial or final.
///
/// # Errors
/// A fault that names the field, when `details` is not JSON.
pub(crate) fn from_wit(result: wit::ToolResult) -> Result<ToolResult, Fault> {
    Ok(ToolResult {
        content: result.content.into_iter().map(block).collect(),
        details: json::optional("details", result.details, json::value)?,
        terminate: result.terminate,
    })
}

/// A result for a guest. What a tool said of ending the turn is not the guest's business.
pub(crate) fn to_wit(result: ToolResult) -> wit::ToolResult {
    wit::ToolResult {
        content: result.content.into_iter().filter_map(shown).collect(),
        details: result.details.map(|details| details.to_string()),
        terminate: false,
    }
}

fn shown(block: ContentBlock) -> Option<wit::ContentBlock> {
    match block {
        ContentBlock::Text(text) => Some(wit::ContentBlock::Text(text.text)),
        // What is not base64 can be shown to nobody.
        ContentBlock::Image(image) => {
            let data = STANDARD.decode(image.data).ok()?;
            Some(wit::ContentBlock::Image(wit::Image { data, mime_type: image.mime_type }))
        }
        ContentBlock::Thinking(_) | ContentBlock::ToolCall(_) | ContentBlock::Other(_) => None,
    }
}

fn block(block: wit::ContentBlock) -> ContentBlock {
    match block {
        wit::ContentBlock::Text(text) => ContentBlock::text(text),
        wit::ContentBlock::Image(image) => ContentBlock::image(STANDARD.encode(image.data), image.mime_type),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn pictures_become_base64_and_details_must_be_json() {
        let image = wit::ContentBlock::Image(wit::Image { data: vec![0x41], mime_type: "image/png".to_owned() });
        let result =
            |details: &str| wit::ToolResult { content: vec![image.clone()], details: Some(details.to_owned()), terminate: true };
        let taken = from_wit(result("[1]")).unwrap();
        assert_eq!(taken.content, [ContentBlock::image("QQ==", "image/png")]);
        assert_eq!((taken.details, taken.terminate), (Some(serde_json::json!([1])), true));
        let given = to_wit(from_wit(result("[1]")).unwrap());
        assert!(matches!(&given.content[..], [wit::ContentBlock::Image(image)] if image.data == [0x41]));
        assert_eq!((given.details.as_deref(), given.terminate), (Some("[1]"), false));
        assert!(from_wit(result("{")).unwrap_err().text().starts_with("details: not valid JSON"));
    }
}
