//! Hooks around a run: `before-agent-reply`, `before-agent-run`, `before-agent-finalize`, `agent-end`.

use hooks::Fault;
use hooks::events::observed::AgentEnd;
use hooks::events::{before_agent_finalize as finalize, before_agent_reply as reply, before_agent_run as run};

use super::{Arena, FromAnswer, ToRecord, json};
use crate::bindings::exports::creel::plugin::{
    agent_end, before_agent_finalize as wit_finalize, before_agent_reply as wit_reply, before_agent_run as wit_run,
};

impl<'a> ToRecord<'a> for reply::Event {
    type Record = wit_reply::Event<'a>;

    fn to_record(&'a self, _arena: &'a Arena) -> Self::Record {
        wit_reply::Event {
            cleaned_body: &self.cleaned_body,
            heartbeat_event_queue_session_key: self.heartbeat_event_queue_session_key.as_deref(),
        }
    }
}

impl FromAnswer for reply::Answer {
    type Wit = wit_reply::Answer;

    fn from_answer(answer: wit_reply::Answer) -> Result<Self, Fault> {
        // What does not claim replies with nothing, so a broken reply beside it is not looked at.
        let reply = if answer.handled { json::optional("reply", answer.reply, json::payload)? } else { None };
        Ok(Self { handled: answer.handled, reply, reason: answer.reason })
    }
}

impl<'a> ToRecord<'a> for run::Event {
    type Record = wit_run::Event<'a>;

    fn to_record(&'a self, arena: &'a Arena) -> Self::Record {
        wit_run::Event {
            prompt: &self.prompt,
            messages: arena.jsons(&self.messages),
            system_prompt: self.system_prompt.as_deref(),
            sender_is_owner: self.sender_is_owner,
        }
    }
}

impl FromAnswer for run::Answer {
    type Wit = wit_run::Answer;

    fn from_answer(answer: wit_run::Answer) -> Result<Self, Fault> {
        let wit_run::Answer::Block(block) = answer else { return Ok(Self::Pass) };
        let metadata = block.metadata.map(|text| json::object_text("block.metadata", &text)).transpose()?;
        Ok(Self::Block(run::Block { reason: block.reason, message: block.message, category: block.category, metadata }))
    }
}

impl<'a> ToRecord<'a> for finalize::Event {
    type Record = wit_finalize::Event<'a>;

    fn to_record(&'a self, arena: &'a Arena) -> Self::Record {
        wit_finalize::Event {
            stop_hook_active: self.stop_hook_active,
            turn_id: self.turn_id.as_deref(),
            provider: self.provider.as_deref(),
            model: self.model.as_deref(),
            cwd: self.cwd.as_deref(),
            transcript_path: self.transcript_path.as_deref(),
            last_assistant_message: self.last_assistant_message.as_deref(),
            messages: self.messages.as_ref().map(|messages| arena.jsons(messages)),
        }
    }
}

impl FromAnswer for finalize::Answer {
    type Wit = wit_finalize::Answer;

    fn from_answer(answer: wit_finalize::Answer) -> Result<Self, Fault> {
        Ok(Self {
            action: answer.action.map(|action| match action {
                wit_finalize::Action::Continue => finalize::Action::Continue,
                wit_finalize::Action::Revise => finalize::Action::Revise,
                wit_finalize::Action::Finalize => finalize::Action::Finalize,
            }),
            reason: answer.reason,
            retry: answer.retry.map(|retry| finalize::Retry {
                instruction: retry.instruction,
                idempotency_key: retry.idempotency_key,
                max_attempts: retry.max_attempts,
            }),
        })
    }
}

impl<'a> ToRecord<'a> for AgentEnd {
    type Record = agent_end::Event<'a>;

    fn to_record(&'a self, arena: &'a Arena) -> Self::Record {
        agent_end::Event {
            messages: arena.jsons(&self.messages),
            success: self.success,
            error: self.error.as_deref(),
            duration_ms: self.duration_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn claim(handled: bool, reply: &str) -> Result<reply::Answer, Fault> {
        reply::Answer::from_answer(wit_reply::Answer { handled, reply: Some(reply.to_owned()), reason: None })
    }

    #[test]
    fn a_claim_needs_a_payload_and_nothing_else_does() {
        assert_eq!(claim(true, r#"{"text":"hi"}"#).unwrap().reply.unwrap().text.unwrap(), "hi");
        assert!(claim(true, r#""hi""#).unwrap_err().text().starts_with("reply: expected a JSON object"));
        assert_eq!(claim(false, "broken").unwrap(), reply::Answer::default());
        assert_eq!(claim(true, "null").unwrap().reply, None);
    }

    #[test]
    fn metadata_of_a_block_is_an_object() {
        let block = |metadata: &str| {
            run::Answer::from_answer(wit_run::Answer::Block(wit_run::Block {
                reason: "no".to_owned(),
                message: None,
                category: None,
                metadata: Some(metadata.to_owned()),
            }))
        };
        assert!(block("{}").is_ok());
        assert!(block("null").is_err() && block("7").is_err());
        assert_eq!(run::Answer::from_answer(wit_run::Answer::Pass), Ok(run::Answer::Pass));
    }
}
