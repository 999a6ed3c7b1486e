//! The built-in provider `offline`, which needs no key and no network: `echo` repeats, `script` and its lists play a file of turns.

mod echo;
mod player;
mod script;

pub(crate) use echo::EchoModel;
pub(crate) use script::ScriptModel;
pub use script::{Script, ScriptError};

use domain::message::{ContentBlock, Usage};
use domain::model::ModelRequest;

/// Id of the provider.
pub const PROVIDER: &str = "offline";
/// Protocol that its messages name.
pub(crate) const API: &str = "offline";
/// Nothing is transported.
pub(crate) const TRANSPORT: &str = "memory";

/// Characters that count as one token. An estimate: real tokenisers need three to five for English prose.
const CHARS_PER_TOKEN: usize = 4;

/// Tokens of a call, estimated: characters of the system prompt and of all texts of the messages, against those of the answer.
pub(crate) fn estimate_usage(request: &ModelRequest, answer_chars: usize) -> Usage {
    let texts = request.messages.iter().flat_map(|message| message.content()).filter_map(ContentBlock::as_text);
    let chars = texts.chain(request.system_prompt.as_deref()).map(|text| text.chars().count()).sum();
    let (input, output) = (tokens(chars), tokens(answer_chars));
    Usage { input: Some(input), output: Some(output), total: Some(input.saturating_add(output)), ..Usage::default() }
}

fn tokens(chars: usize) -> u32 {
    u32::try_from(chars.div_ceil(CHARS_PER_TOKEN)).unwrap_or(u32::MAX)
}

/// A text in word-sized pieces; joined they are the text.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_join_to_the_text() {
        let text = " two  words\nand a 你好 🙂";
        assert_eq!(words(text).collect::<String>(), text);
        assert_eq!(words("one two").collect::<Vec<_>>(), ["one ", "two"]);
        assert_eq!(words("").count(), 0);
    }
}
