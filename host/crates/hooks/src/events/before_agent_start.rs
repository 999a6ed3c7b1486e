//! `before_agent_start` (plugin-hooks 4.3): the old combined hook. Its answer is the union of the two newer hooks' answers, with
//! their merge rules; where both speak, the newer hooks win.

use super::{Messages, before_model_resolve, before_prompt_build};
use crate::catalogue::BeforeAgentStart;
use crate::point::{Fold, Who};

/// The run that starts.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// User prompt of this run.
    pub prompt: String,
    /// Session messages; none: called in the model phase.
    pub messages: Option<Messages>,
}

/// Overrides and changes to the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// The model part.
    pub model: before_model_resolve::Answer,
    /// The prompt part.
    pub prompt: before_prompt_build::Answer,
}

/// The merged answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decision {
    /// The model part.
    pub model: before_model_resolve::Answer,
    /// The prompt part.
    pub prompt: before_prompt_build::Decision,
    /// Whether any handler answered; if none did in the model phase, the prompt phase asks again (4.3 c).
    pub answered: bool,
}

impl Fold for BeforeAgentStart {
    type Decision = Decision;

    fn fold(so_far: Decision, answer: Answer, who: Who<'_>) -> Decision {
        let prompt = if who.options.strip_prompt_fields { before_prompt_build::Answer::default() } else { answer.prompt };
        let said_nothing =
            answer.model == before_model_resolve::Answer::default() && prompt == before_prompt_build::Answer::default();
        if said_nothing {
            return so_far;
        }
        Decision {
            model: before_model_resolve::Answer {
                provider_override: so_far.model.provider_override.or(answer.model.provider_override),
                model_override: so_far.model.model_override.or(answer.model.model_override),
            },
            prompt: so_far.prompt.with(prompt),
            answered: true,
        }
    }

    fn describe(answer: &Answer) -> Option<String> {
        let model = <crate::catalogue::BeforeModelResolve as Fold>::describe(&answer.model);
        let prompt = before_prompt_build::describe_answer(&answer.prompt);
        match (model, prompt) {
            (Some(model), Some(prompt)) => Some(format!("{model}, {prompt}")),
            (model, prompt) => model.or(prompt),
        }
    }
}
