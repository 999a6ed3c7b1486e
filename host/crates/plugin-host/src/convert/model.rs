//! Hooks around the choice of a model and around model calls: `before-model-resolve`, `llm-input`, `llm-output`,
//! `model-call-started`, `model-call-ended`.

use domain::message::Usage;
use domain::model::ConnectionFailure;
use hooks::Fault;
use hooks::events::before_model_resolve::{Answer, Attachment, AttachmentKind, Event};
use hooks::events::observed::{LlmInput, LlmOutput, ModelCallEnded, ModelCallStarted};

use super::{Arena, FromAnswer, ToRecord};
use crate::bindings::creel::plugin::types;
use crate::bindings::exports::creel::plugin::{
    before_model_resolve as resolve, llm_input, llm_output, model_call_ended, model_call_started,
};

impl<'a> ToRecord<'a> for Event {
    type Record = resolve::Event<'a>;

    fn to_record(&'a self, arena: &'a Arena) -> Self::Record {
        resolve::Event { prompt: &self.prompt, attachments: arena.list(self.attachments.iter().map(attachment)) }
    }
}

fn attachment(attachment: &Attachment) -> resolve::Attachment<'_> {
    resolve::Attachment {
        kind: match attachment.kind {
            AttachmentKind::Image => resolve::AttachmentKind::Image,
            AttachmentKind::Video => resolve::AttachmentKind::Video,
            AttachmentKind::Audio => resolve::AttachmentKind::Audio,
            AttachmentKind::Document => resolve::AttachmentKind::Document,
            AttachmentKind::Other => resolve::AttachmentKind::Other,
        },
        mime_type: attachment.mime_type.as_deref(),
    }
}

impl FromAnswer for Answer {
    type Wit = resolve::Answer;

    fn from_answer(answer: resolve::Answer) -> Result<Self, Fault> {
        Ok(Self { provider_override: answer.provider_override, model_override: answer.model_override })
    }
}

impl<'a> ToRecord<'a> for LlmInput {
    type Record = llm_input::Event<'a>;

    fn to_record(&'a self, arena: &'a Arena) -> Self::Record {
        llm_input::Event {
            provider: &self.provider,
            model: &self.model,
            system_prompt: self.system_prompt.as_deref(),
            prompt: &self.prompt,
            history_messages: arena.jsons(&self.history_messages),
            images_count: self.images_count,
            tools: self.tools.as_ref().map(|tools| arena.jsons(tools)),
        }
    }
}

impl<'a> ToRecord<'a> for LlmOutput {
    type Record = llm_output::Event<'a>;

    fn to_record(&'a self, arena: &'a Arena) -> Self::Record {
        llm_output::Event {
            provider: &self.provider,
            model: &self.model,
            assistant_texts: arena.texts(&self.assistant_texts),
            resolved_ref: self.resolved_ref.as_deref(),
            harness_id: self.harness_id.as_deref(),
            prompt: self.prompt.as_deref(),
            last_assistant: self.last_assistant.as_ref().map(|json| json.as_str()),
            usage: self.usage.map(usage),
            reasoning_effort: self.reasoning_effort.as_deref(),
            fast_mode: self.fast_mode,
        }
    }
}

fn usage(usage: Usage) -> types::Usage {
    types::Usage {
        input: usage.input,
        output: usage.output,
        cache_read: usage.cache_read,
        cache_write: usage.cache_write,
        total: usage.total,
    }
}

impl<'a> ToRecord<'a> for ModelCallStarted {
    type Record = model_call_started::Event<'a>;

    fn to_record(&'a self, _arena: &'a Arena) -> Self::Record {
        model_call_started::Event {
            call_id: self.call_id.as_str(),
            provider: &self.provider,
            model: &self.model,
            api: self.api.as_deref(),
            transport: self.transport.as_deref(),
        }
    }
}

impl<'a> ToRecord<'a> for ModelCallEnded {
    type Record = model_call_ended::Event<'a>;

    fn to_record(&'a self, _arena: &'a Arena) -> Self::Record {
        model_call_ended::Event {
            call_id: self.call_id.as_str(),
            provider: &self.provider,
            model: &self.model,
            api: self.api.as_deref(),
            transport: self.transport.as_deref(),
            duration_ms: self.duration_ms,
            outcome: if self.completed { model_call_ended::Outcome::Completed } else { model_call_ended::Outcome::Error },
            error_category: self.error_category.as_deref(),
            failure_kind: self.failure_kind.map(failure),
            request_payload_bytes: self.request_payload_bytes,
            response_stream_bytes: self.response_stream_bytes,
            time_to_first_byte_ms: self.time_to_first_byte_ms,
            upstream_request_id_hash: self.upstream_request_id_hash.as_deref(),
        }
    }
}

fn failure(failure: ConnectionFailure) -> model_call_ended::FailureKind {
    match failure {
        ConnectionFailure::Aborted => model_call_ended::FailureKind::Aborted,
        ConnectionFailure::Closed => model_call_ended::FailureKind::ConnectionClosed,
        ConnectionFailure::Reset => model_call_ended::FailureKind::ConnectionReset,
        ConnectionFailure::Terminated => model_call_ended::FailureKind::Terminated,
        ConnectionFailure::Timeout => model_call_ended::FailureKind::Timeout,
    }
}
