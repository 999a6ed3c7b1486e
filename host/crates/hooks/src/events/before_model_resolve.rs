//! `before_model_resolve` (plugin-hooks 4.1): each field is taken from the first handler that gives it.

use crate::catalogue::BeforeModelResolve;
use crate::point::{Fold, Who};

/// The run that needs a model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Event {
    /// User prompt of this run.
    pub prompt: String,
    /// Attachments, described only.
    pub attachments: Vec<Attachment>,
}

/// One attachment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// What it is.
    pub kind: AttachmentKind,
    /// Media type.
    pub mime_type: Option<String>,
}

/// What an attachment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttachmentKind {
    /// A picture.
    Image,
    /// A film.
    Video,
    /// Sound.
    Audio,
    /// A document.
    Document,
    /// Anything else.
    Other,
}

/// Overrides for this run; the merged answer has the same form.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// Provider id.
    pub provider_override: Option<String>,
    /// Model id; alone it keeps the provider.
    pub model_override: Option<String>,
}

impl Fold for BeforeModelResolve {
    type Decision = Answer;

    fn fold(so_far: Answer, answer: Answer, _who: Who<'_>) -> Answer {
        Answer {
            provider_override: so_far.provider_override.or(answer.provider_override),
            model_override: so_far.model_override.or(answer.model_override),
        }
    }

    fn describe(answer: &Answer) -> Option<String> {
        match (&answer.provider_override, &answer.model_override) {
            (None, None) => None,
            (Some(provider), Some(model)) => Some(format!("model {provider}/{model}")),
            (Some(provider), None) => Some(format!("provider {provider}")),
            (None, Some(model)) => Some(format!("model {model}")),
        }
    }
}
