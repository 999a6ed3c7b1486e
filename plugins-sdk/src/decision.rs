//! What handlers answer: one type per hook that has an answer, built by constructors that cannot contradict themselves.
//!
//! Every type starts as `pass()`, no opinion, which is also its default. How the answers of several plugins merge is the host's.

mod agent;
mod approval;
mod install;
mod message;
mod prompt;
mod tool;

pub use agent::{FinalizeDecision, ModelOverride, ReplyDecision, RunDecision};
pub use approval::{
    Approval, ApprovalChoice, ApprovalScope, ApprovalSeverity, ScopeAudience, ScopeMessage, ScopePayment, ScopePost,
    ScopeVisibility,
};
pub use install::InstallDecision;
pub use message::{PayloadDecision, PersistDecision, SendDecision, WriteDecision};
pub use prompt::{AgentStartChanges, PromptChanges, TurnText};
pub use tool::{ExecEnv, ToolDecision};

/// Defines the type around the answer of one hook: absent until something is said. `$empty` is an answer that says nothing yet.
macro_rules! decision {
    ($(#[$doc:meta])* $name:ident, $hook:ident, $empty:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Default)]
        #[must_use = "a decision counts when the handler returns it"]
        pub struct $name(Option<crate::bindings::$hook::Answer>);

        impl $name {
            /// No opinion.
            pub const fn pass() -> Self {
                Self(None)
            }

            /// The answer as the host gets it; for tests. None: no opinion.
            #[must_use]
            pub fn answer(&self) -> Option<&crate::bindings::$hook::Answer> {
                self.0.as_ref()
            }

            /// The answer with one more thing said.
            #[allow(dead_code, reason = "not every decision grows")]
            fn with(mut self, say: impl FnOnce(&mut crate::bindings::$hook::Answer)) -> Self {
                say(self.0.get_or_insert_with(|| $empty));
                self
            }
        }

        impl From<$name> for Option<crate::bindings::$hook::Answer> {
            fn from(decision: $name) -> Self {
                decision.0
            }
        }
    };
}

use decision;
