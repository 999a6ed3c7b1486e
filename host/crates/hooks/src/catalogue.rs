//! One row per hook point: kind, default budget, failure policy, gates, and the types that it carries (plugin-hooks, parts B and C).
//! The macro makes everything that must name every hook from this one list.

use std::time::Duration;

use crate::context::{
    AgentContext, GatewayContext, InstallContext, MessageContext, SessionContext, ToolContext, TranscriptContext,
};
use crate::events as e;
use crate::fault::{Fault, FaultKind};
use crate::fields::{Field, Fields};
use crate::point::{HookPoint, Observe};

/// How handlers of a hook run (plugin-hooks 1.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One after another, answers merged.
    Modify,
    /// As modify, and a terminal decision ends it.
    Gate,
    /// One after another until one claims.
    Claim,
    /// All together, answers none.
    Observe,
    /// One after another, each with the newest message, with a short budget, awaited by the append.
    Sync,
}

/// What a fault of a handler means (plugin-hooks 1.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailurePolicy {
    /// The operation is blocked.
    Closed,
    /// The handler is skipped.
    Open,
    /// The handler is skipped; a placeholder is stored if its plugin is required.
    OpenOrPlaceholder,
}

/// Which access an operator must have left open for a registration (plugin-hooks 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// None.
    Free,
    /// Conversation access, 2.1.
    Conversation,
    /// Conversation access and prompt mutation, 2.1 and 2.2.
    ConversationAndPrompt,
    /// Conversation access; without prompt mutation the prompt fields of answers are dropped.
    ConversationPromptStripped,
}

impl Gate {
    /// Whether conversation access is needed.
    pub fn needs_conversation(self) -> bool {
        !matches!(self, Self::Free)
    }
}

/// One row.
#[derive(Debug, Clone, Copy)]
pub struct HookRow {
    /// The hook.
    pub id: HookId,
    /// Its name in manifests and configuration.
    pub name: &'static str,
    /// How handlers run.
    pub kind: Kind,
    /// Default budget of one handler; none: only the safety ceiling.
    pub budget: Option<Duration>,
    /// What a fault means.
    pub policy: FailurePolicy,
    /// Who may register.
    pub gate: Gate,
}

const NONE: Option<Duration> = None;
const fn secs(seconds: u64) -> Option<Duration> {
    Some(Duration::from_secs(seconds))
}

macro_rules! hook_points {
    ($($(#[$doc:meta])* $point:ident = $name:literal: $kind:ident, $budget:expr, $policy:ident, $gate:ident, $event:ty, $context:ty, $answer:ty;)*) => {
        /// A hook point.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum HookId {
            $($(#[$doc])* $point,)*
        }

        /// All rows, in the order of [`HookId`].
        pub const CATALOGUE: &[HookRow] = &[
            $(HookRow {
                id: HookId::$point,
                name: $name,
                kind: Kind::$kind,
                budget: $budget,
                policy: FailurePolicy::$policy,
                gate: Gate::$gate,
            },)*
        ];

        /// Event and context of one call.
        #[derive(Debug, Clone, Copy)]
        pub enum HookCall<'a> {
            $($(#[$doc])* $point(&'a $event, &'a $context),)*
        }

        /// Answer of one call; `None`: no opinion. Boxed, because most calls have none, and a reply passes through many hands: each
        /// would copy the room of the largest answer.
        #[derive(Debug)]
        pub enum HookReply {
            $($(#[$doc])* $point(Option<Box<$answer>>),)*
        }

        impl HookCall<'_> {
            /// The hook that is called.
            pub fn id(&self) -> HookId {
                match self {
                    $(Self::$point(..) => HookId::$point,)*
                }
            }
        }

        impl HookId {
            /// The fields of its event, and those of its context.
            pub fn fields(self) -> (&'static [Field], &'static [Field]) {
                match self {
                    $(Self::$point => (<$event as Fields>::FIELDS, <$context as Fields>::FIELDS),)*
                }
            }
        }

        impl HookReply {
            /// The hook that was called.
            pub fn id(&self) -> HookId {
                match self {
                    $(Self::$point(..) => HookId::$point,)*
                }
            }
        }

        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy)]
            pub struct $point;

            impl HookPoint for $point {
                const ID: HookId = HookId::$point;
                type Event = $event;
                type Context = $context;
                type Answer = $answer;

                fn call<'a>(event: &'a $event, context: &'a $context) -> HookCall<'a> {
                    HookCall::$point(event, context)
                }

                fn answer(reply: HookReply) -> Result<Option<Box<$answer>>, Fault> {
                    match reply {
                        HookReply::$point(answer) => Ok(answer),
                        other => Err(wrong_reply(HookId::$point, other.id())),
                    }
                }
            }
        )*
    };
}

hook_points! {
    /// Chooses provider and model of a run (4.1).
    BeforeModelResolve = "before_model_resolve": Modify, NONE, Open, Conversation, e::before_model_resolve::Event, AgentContext, e::before_model_resolve::Answer;
    /// Adds text after queued injections were drained (5.1).
    AgentTurnPrepare = "agent_turn_prepare": Modify, NONE, Open, ConversationAndPrompt, e::agent_turn_prepare::Event, AgentContext, e::agent_turn_prepare::Answer;
    /// Shapes the prompt (4.2).
    BeforePromptBuild = "before_prompt_build": Modify, secs(15), Open, ConversationAndPrompt, e::before_prompt_build::Event, AgentContext, e::before_prompt_build::Answer;
    /// Old combined hook (4.3).
    BeforeAgentStart = "before_agent_start": Modify, secs(15), Open, ConversationPromptStripped, e::before_agent_start::Event, AgentContext, e::before_agent_start::Answer;
    /// Answers or silences a turn (4.4).
    BeforeAgentReply = "before_agent_reply": Claim, NONE, Open, Conversation, e::before_agent_reply::Event, AgentContext, e::before_agent_reply::Answer;
    /// Last gate before the model (5.3).
    BeforeAgentRun = "before_agent_run": Gate, secs(15), Closed, Conversation, e::before_agent_run::Event, AgentContext, e::before_agent_run::Answer;
    /// Asks for one more pass (5.4).
    BeforeAgentFinalize = "before_agent_finalize": Modify, secs(15), Open, Conversation, e::before_agent_finalize::Event, AgentContext, e::before_agent_finalize::Answer;
    /// A run is over (4.5).
    AgentEnd = "agent_end": Observe, secs(30), Open, Conversation, e::observed::AgentEnd, AgentContext, ();
    /// A request goes to a model (5.5).
    LlmInput = "llm_input": Observe, NONE, Open, Conversation, e::observed::LlmInput, AgentContext, ();
    /// A response came back (5.6).
    LlmOutput = "llm_output": Observe, NONE, Open, Conversation, e::observed::LlmOutput, AgentContext, ();
    /// A model call starts (5.7).
    ModelCallStarted = "model_call_started": Observe, NONE, Open, Free, e::observed::ModelCallStarted, AgentContext, ();
    /// A model call ended (5.7).
    ModelCallEnded = "model_call_ended": Observe, NONE, Open, Free, e::observed::ModelCallEnded, AgentContext, ();
    /// Rewrites, blocks or asks approval for a tool call (4.9).
    BeforeToolCall = "before_tool_call": Gate, secs(15), Closed, Free, e::before_tool_call::Event, ToolContext, e::before_tool_call::Answer;
    /// An approval that the plugin asked for ended (4.9.5).
    ApprovalResolved = "approval_resolved": Observe, secs(15), Open, Free, e::observed::ApprovalResolved, ToolContext, ();
    /// A tool call is over (4.8).
    AfterToolCall = "after_tool_call": Observe, NONE, Open, Free, e::observed::AfterToolCall, ToolContext, ();
    /// Adds variables to a command (5.11).
    ResolveExecEnv = "resolve_exec_env": Modify, secs(15), Open, Free, e::resolve_exec_env::Event, AgentContext, e::resolve_exec_env::Answer;
    /// Rewrites a tool result before it is stored (4.11).
    ToolResultPersist = "tool_result_persist": Sync, NONE, OpenOrPlaceholder, Free, e::tool_result_persist::Event, TranscriptContext, e::tool_result_persist::Answer;
    /// A message was accepted (4.12).
    MessageReceived = "message_received": Observe, NONE, Open, Free, e::observed::MessageReceived, MessageContext, ();
    /// Rewrites or cancels a reply payload (5.10).
    ReplyPayloadSending = "reply_payload_sending": Gate, secs(15), Open, Free, e::reply_payload_sending::Event, MessageContext, e::reply_payload_sending::Answer;
    /// Rewrites or cancels an outgoing text (4.13).
    MessageSending = "message_sending": Gate, secs(15), Open, Free, e::message_sending::Event, MessageContext, e::message_sending::Answer;
    /// A delivery attempt ended (4.14).
    MessageSent = "message_sent": Observe, NONE, Open, Free, e::observed::MessageSent, MessageContext, ();
    /// A session generation became current (4.15).
    SessionStart = "session_start": Observe, NONE, Open, Free, e::observed::SessionStart, SessionContext, ();
    /// A session generation ended (4.16).
    SessionEnd = "session_end": Observe, NONE, Open, Free, e::observed::SessionEnd, SessionContext, ();
    /// A reset is about to take effect (5.8).
    BeforeReset = "before_reset": Observe, NONE, Open, Free, e::observed::BeforeReset, AgentContext, ();
    /// History is about to be compacted (4.6).
    BeforeCompaction = "before_compaction": Observe, secs(30), Open, Free, e::observed::BeforeCompaction, AgentContext, ();
    /// A compaction was committed (4.7).
    AfterCompaction = "after_compaction": Observe, secs(30), Open, Free, e::observed::AfterCompaction, AgentContext, ();
    /// Rewrites or drops any row before it is stored (5.9).
    BeforeMessageWrite = "before_message_write": Sync, NONE, OpenOrPlaceholder, Free, e::before_message_write::Event, TranscriptContext, e::before_message_write::Answer;
    /// The gateway listens (4.17).
    GatewayStart = "gateway_start": Observe, NONE, Open, Free, e::observed::GatewayStart, GatewayContext, ();
    /// The gateway stops (4.18).
    GatewayStop = "gateway_stop": Observe, secs(5), Open, Free, e::observed::GatewayStop, GatewayContext, ();
    /// Judges an installation (4.10).
    BeforeInstall = "before_install": Gate, secs(15), Closed, Free, e::before_install::Event, InstallContext, e::before_install::Answer;
}

macro_rules! plain_observers {
    ($($point:ident),*) => { $(impl Observe for $point {})* };
}

plain_observers!(
    AgentEnd,
    LlmInput,
    LlmOutput,
    ModelCallStarted,
    ModelCallEnded,
    ApprovalResolved,
    MessageReceived,
    MessageSent,
    SessionStart,
    SessionEnd,
    BeforeReset,
    BeforeCompaction,
    AfterCompaction,
    GatewayStart,
    GatewayStop
);

fn wrong_reply(asked: HookId, got: HookId) -> Fault {
    Fault::new(FaultKind::Host, format!("BUG: handler of {} answered for {}", asked.name(), got.name()))
}

impl HookId {
    /// Its row.
    pub fn row(self) -> &'static HookRow {
        &CATALOGUE[self as usize]
    }

    /// Its name in manifests and configuration, for example `before_tool_call`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The hook of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        CATALOGUE.iter().find(|row| row.name == name).map(|row| row.id)
    }

    /// The hook whose name is nearest, for messages about names that do not exist.
    pub fn nearest(name: &str) -> &'static str {
        CATALOGUE.iter().map(|row| row.name).min_by_key(|known| distance(name, known)).unwrap_or("before_tool_call")
    }
}

impl std::fmt::Display for HookId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Edit distance, by characters.
pub(crate) fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().take(128).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let next = (diagonal + usize::from(ca != *cb)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = row[j + 1];
            row[j + 1] = next;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_stands_at_its_id() {
        for row in CATALOGUE {
            assert_eq!(row.id.row().name, row.name);
            assert_eq!(HookId::from_name(row.name), Some(row.id));
        }
    }

    #[test]
    fn budgets_and_policies_are_those_of_the_rules() {
        let closed: Vec<&str> = CATALOGUE.iter().filter(|r| r.policy == FailurePolicy::Closed).map(|r| r.name).collect();
        assert_eq!(closed, ["before_agent_run", "before_tool_call", "before_install"]);
        let gated: Vec<&str> = CATALOGUE.iter().filter(|r| r.gate.needs_conversation()).map(|r| r.name).collect();
        assert_eq!(
            gated,
            [
                "before_model_resolve",
                "agent_turn_prepare",
                "before_prompt_build",
                "before_agent_start",
                "before_agent_reply",
                "before_agent_run",
                "before_agent_finalize",
                "agent_end",
                "llm_input",
                "llm_output"
            ]
        );
        assert_eq!(HookId::GatewayStop.row().budget, Some(Duration::from_secs(5)));
        assert_eq!(HookId::MessageReceived.row().budget, None);
    }

    #[test]
    fn a_misspelt_name_finds_its_neighbour() {
        assert_eq!(HookId::nearest("before_toolcall"), "before_tool_call");
        assert_eq!(HookId::nearest("message:sent"), "message_sent");
    }
}
