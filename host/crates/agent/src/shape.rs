//! Builds the payloads of a reply from what the run left (agent-loop 16). A pure function; delivery and its hooks come after.

use domain::message::{AssistantMessage, ContentBlock, StopReason, text_of};
use domain::payload::ReplyPayload;
use domain::silent;

/// What shaping needs to know.
#[derive(Debug, Clone, Default)]
pub struct ShapeInput<'a> {
    /// The last answer of the model, perhaps half of one.
    pub answer: Option<&'a AssistantMessage>,
    /// Payload of a claimed turn, or of a blocked run.
    pub synthetic: Option<&'a ReplyPayload>,
    /// What went wrong with the run, for the user.
    pub error: Option<&'a str>,
    /// What the user is told only if nothing else is left to say: that the time was up (21.2.3).
    pub notice: Option<&'a str>,
    /// Name of the last tool that failed and whose failure no later call made good.
    pub failed_tool: Option<&'a str>,
    /// Whether a failed tool may be told (16.4.3).
    pub report_tool_errors: bool,
}

/// The payloads, in the order in which they go out (16.2.1).
pub fn shape(input: &ShapeInput<'_>) -> Vec<ReplyPayload> {
    let mut payloads = Vec::new();
    if let Some(error) = input.error {
        payloads.push(ReplyPayload::error(error));
    }
    if let Some(synthetic) = input.synthetic {
        payloads.extend(without_token(synthetic.clone()));
    }
    let answer = input.answer.map(answer_text).unwrap_or_default();
    let chose_silence = silent::is_silent(&answer);
    payloads.extend(without_token(ReplyPayload::text(answer)));
    payloads.retain(ReplyPayload::is_renderable);
    let was_claimed = input.synthetic.is_some();
    let nothing_to_say = payloads.is_empty() && !chose_silence && !was_claimed;
    if nothing_to_say {
        payloads.extend(fallback(input));
    }
    payloads
}

/// What is said instead of nothing.
fn fallback(input: &ShapeInput<'_>) -> Option<ReplyPayload> {
    if let Some(notice) = input.notice {
        return Some(ReplyPayload::error(notice));
    }
    let tool = input.failed_tool.filter(|_| input.report_tool_errors)?;
    Some(ReplyPayload::error(format!("The tool `{tool}` failed, and there is no answer beside that.")))
}

/// The text of an answer. Of half an answer, nothing that could have become the silent token (16.3.5).
fn answer_text(message: &AssistantMessage) -> String {
    let text_blocks: Vec<ContentBlock> =
        message.content.iter().filter(|block| block.as_text().is_some_and(|text| !text.trim().is_empty())).cloned().collect();
    let text = text_of(&text_blocks);
    let is_half = matches!(message.stop_reason, StopReason::Error | StopReason::Aborted);
    if is_half && silent::may_become_silent(&text) { String::new() } else { text }
}

/// Applies the silent token to one payload (16.3): alone it goes, with media the media stays, at the end of longer text it is cut.
fn without_token(mut payload: ReplyPayload) -> Option<ReplyPayload> {
    payload.text = payload.text.filter(|text| !silent::is_silent(text)).map(|text| silent::strip_trailing(&text).to_owned());
    payload.is_renderable().then_some(payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str) -> AssistantMessage {
        AssistantMessage { content: vec![ContentBlock::text(text)], ..AssistantMessage::default() }
    }

    fn texts(input: &ShapeInput<'_>) -> Vec<String> {
        shape(input).into_iter().filter_map(|payload| payload.text).collect()
    }

    #[test]
    fn the_silent_token_is_filtered_and_media_stays() {
        let silent = answer("  no_reply\n");
        assert_eq!(shape(&ShapeInput { answer: Some(&silent), ..ShapeInput::default() }), []);
        let with_media = ReplyPayload { text: Some("NO_REPLY".into()), media_url: Some("u".into()), ..ReplyPayload::default() };
        let shaped = shape(&ShapeInput { synthetic: Some(&with_media), ..ShapeInput::default() });
        assert_eq!(shaped, [ReplyPayload { media_url: Some("u".into()), ..ReplyPayload::default() }]);
        let silenced = ReplyPayload::text("NO_REPLY");
        let input = ShapeInput { synthetic: Some(&silenced), notice: Some("time is up"), ..ShapeInput::default() };
        assert_eq!(shape(&input), [], "silence was intended");
    }

    #[test]
    fn a_failed_tool_is_told_only_when_nothing_else_is_left() {
        let empty = answer(" ");
        let base =
            ShapeInput { answer: Some(&empty), failed_tool: Some("exec"), report_tool_errors: true, ..ShapeInput::default() };
        assert_eq!(texts(&base).len(), 1);
        assert!(texts(&ShapeInput { report_tool_errors: false, ..base.clone() }).is_empty());
        let silent = answer("NO_REPLY");
        assert!(texts(&ShapeInput { answer: Some(&silent), ..base.clone() }).is_empty(), "silence was intended");
        let spoken = answer("done");
        assert_eq!(texts(&ShapeInput { answer: Some(&spoken), ..base }), ["done"]);
    }

    #[test]
    fn half_a_silent_token_is_not_sent() {
        let half = AssistantMessage { stop_reason: StopReason::Aborted, ..answer("NO_RE") };
        assert!(texts(&ShapeInput { answer: Some(&half), ..ShapeInput::default() }).is_empty());
        assert_eq!(texts(&ShapeInput { answer: Some(&answer("NO_RE")), ..ShapeInput::default() }), ["NO_RE"]);
    }

    #[test]
    fn a_notice_is_told_only_when_nothing_else_is_left() {
        let base = ShapeInput {
            notice: Some("time is up"),
            failed_tool: Some("exec"),
            report_tool_errors: true,
            ..ShapeInput::default()
        };
        assert_eq!(texts(&base), ["time is up"]);
        let spoken = answer("half an answer");
        assert_eq!(texts(&ShapeInput { answer: Some(&spoken), ..base }), ["half an answer"]);
    }

    #[test]
    fn an_error_comes_first() {
        let spoken = answer("half an answer");
        assert_eq!(
            texts(&ShapeInput { answer: Some(&spoken), error: Some("boom"), ..ShapeInput::default() }),
            ["boom", "half an answer"]
        );
    }
}
