//! Hooks that shape the prompt: `agent-turn-prepare`, `before-prompt-build`, and the old `before-agent-start`.

use hooks::Fault;
use hooks::events::{
    agent_turn_prepare as prepare, before_agent_start as start, before_model_resolve, before_prompt_build as build,
};

use super::{Arena, FromAnswer, ToRecord};
use crate::bindings::creel::plugin::types::Placement;
use crate::bindings::exports::creel::plugin::{
    agent_turn_prepare as wit_prepare, before_agent_start as wit_start, before_prompt_build as wit_build,
};

impl<'a> ToRecord<'a> for prepare::Event {
    type Record = wit_prepare::Event<'a>;

    fn to_record(&'a self, arena: &'a Arena) -> Self::Record {
        wit_prepare::Event {
            prompt: &self.prompt,
            messages: arena.jsons(&self.messages),
            queued_injections: arena.list(self.queued_injections.iter().map(injection)),
        }
    }
}

fn injection(injection: &prepare::QueuedInjection) -> wit_prepare::QueuedInjection<'_> {
    wit_prepare::QueuedInjection {
        id: &injection.id,
        plugin_id: injection.plugin_id.as_str(),
        plugin_name: injection.plugin_name.as_deref(),
        created_at: injection.created_at,
        placement: match injection.placement {
            prepare::Placement::Prepend => Placement::PrependContext,
            prepare::Placement::Append => Placement::AppendContext,
        },
        text: &injection.text,
        idempotency_key: injection.idempotency_key.as_deref(),
        ttl_ms: injection.ttl_ms,
        metadata: injection.metadata.as_ref().map(|json| json.as_str()),
    }
}

impl FromAnswer for prepare::Answer {
    type Wit = wit_prepare::Answer;

    fn from_answer(answer: wit_prepare::Answer) -> Result<Self, Fault> {
        Ok(Self { prepend_context: answer.prepend_context, append_context: answer.append_context })
    }
}

impl<'a> ToRecord<'a> for build::Event {
    type Record = wit_build::Event<'a>;

    fn to_record(&'a self, arena: &'a Arena) -> Self::Record {
        wit_build::Event {
            prompt: &self.prompt,
            messages: arena.jsons(&self.messages),
            current_user_message: self.current_user_message.as_deref(),
            current_user_message_id: self.current_user_message_id.as_deref(),
            tool_authority: self.tool_authority.as_deref(),
        }
    }
}

impl FromAnswer for build::Answer {
    type Wit = wit_build::Answer;

    fn from_answer(answer: wit_build::Answer) -> Result<Self, Fault> {
        Ok(Self {
            prepend_context: answer.prepend_context,
            append_context: answer.append_context,
            system_prompt: answer.system_prompt,
            prepend_system_context: answer.prepend_system_context,
            append_system_context: answer.append_system_context,
            tools_allow: answer.tools_allow,
        })
    }
}

impl<'a> ToRecord<'a> for start::Event {
    type Record = wit_start::Event<'a>;

    fn to_record(&'a self, arena: &'a Arena) -> Self::Record {
        wit_start::Event { prompt: &self.prompt, messages: self.messages.as_ref().map(|messages| arena.jsons(messages)) }
    }
}

impl FromAnswer for start::Answer {
    type Wit = wit_start::Answer;

    fn from_answer(answer: wit_start::Answer) -> Result<Self, Fault> {
        Ok(Self {
            model: before_model_resolve::Answer {
                provider_override: answer.provider_override,
                model_override: answer.model_override,
            },
            prompt: build::Answer {
                prepend_context: answer.prepend_context,
                append_context: answer.append_context,
                system_prompt: answer.system_prompt,
                prepend_system_context: answer.prepend_system_context,
                append_system_context: answer.append_system_context,
                tools_allow: answer.tools_allow,
            },
        })
    }
}
