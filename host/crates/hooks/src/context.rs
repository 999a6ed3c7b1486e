//! For whom a hook fires (plugin-hooks 3). Built by the emitter, shared by all handlers of a dispatch, never changed by one.
//! A field that is `None` is unknown, which proves nothing.

use domain::{AgentId, JsonText, RunId, SessionId, SessionKey};

/// Fields that a later contract version will name, as (name, JSON) pairs.
pub type Extra = Vec<(String, JsonText)>;

/// What started a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trigger {
    /// A message from a person.
    User,
    /// A scheduled job.
    Cron,
    /// The heartbeat.
    Heartbeat,
    /// Any other kind, by its name.
    Other(String),
}

impl Trigger {
    /// The name that manifests use.
    pub fn as_str(&self) -> &str {
        match self {
            Self::User => "user",
            Self::Cron => "cron",
            Self::Heartbeat => "heartbeat",
            Self::Other(name) => name,
        }
    }
}

/// Kind of origin of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProvenanceKind {
    /// A person outside the host.
    ExternalUser,
    /// Another session of this host.
    InterSession,
    /// The host itself.
    InternalSystem,
}

/// Where the text that started a run came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputProvenance {
    /// Kind of origin.
    pub kind: ProvenanceKind,
    /// Session generation that it came from.
    pub origin_session_id: Option<String>,
    /// Session key that it came from.
    pub source_session_key: Option<String>,
    /// Channel that it came from.
    pub source_channel: Option<String>,
    /// Tool that produced it.
    pub source_tool: Option<String>,
}

/// Origin of a context budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextWindowSource {
    /// The model's own description.
    Model,
    /// The configured model entry.
    ModelsConfig,
    /// The agent's own limit.
    AgentContextTokens,
    /// The host's default.
    Default,
}

/// How much the model of a run can read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContextWindow {
    /// Tokens that the run may fill.
    pub token_budget: Option<u32>,
    /// Where the budget comes from.
    pub source: Option<ContextWindowSource>,
    /// Window of the model itself, in tokens, when the budget is smaller.
    pub reference_tokens: Option<u32>,
}

/// For whom an agent hook runs.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentContext {
    /// The agent.
    pub agent_id: AgentId,
    /// The conversation.
    pub session_key: SessionKey,
    /// The session generation.
    pub session_id: SessionId,
    /// The run; none: outside a run.
    pub run_id: Option<RunId>,
    /// The scheduled job.
    pub job_id: Option<String>,
    /// What started the run.
    pub trigger: Option<Trigger>,
    /// The agent's workspace directory; a name to show or compare.
    pub workspace_dir: Option<String>,
    /// Provider chosen for the run; none: not resolved yet.
    pub model_provider_id: Option<String>,
    /// Model chosen for the run; none: not resolved yet.
    pub model_id: Option<String>,
    /// Surface that the message came through.
    pub message_provider: Option<String>,
    /// Id of the channel plugin.
    pub channel: Option<String>,
    /// Conversation target inside the channel.
    pub channel_id: Option<String>,
    /// Account of the channel.
    pub account_id: Option<String>,
    /// Chat inside the channel.
    pub chat_id: Option<String>,
    /// Sender inside the channel.
    pub sender_id: Option<String>,
    /// Where the input came from.
    pub input_provenance: Option<InputProvenance>,
    /// How much the model can read.
    pub context_window: Option<ContextWindow>,
    /// Open object filled by the channel.
    pub channel_context: Option<JsonText>,
    /// Projects that are active in the conversation.
    pub active_project_keys: Vec<String>,
    /// Whether tools work inside the host's sandbox.
    pub sandboxed: Option<bool>,
    /// Opaque value that memory plugins use.
    pub memory_audience: Option<JsonText>,
    /// Later fields.
    pub extra: Extra,
}

impl AgentContext {
    /// A context with its three ids; everything else unknown.
    pub fn new(agent_id: AgentId, session_key: SessionKey, session_id: SessionId) -> Self {
        Self {
            agent_id,
            session_key,
            session_id,
            run_id: None,
            job_id: None,
            trigger: None,
            workspace_dir: None,
            model_provider_id: None,
            model_id: None,
            message_provider: None,
            channel: None,
            channel_id: None,
            account_id: None,
            chat_id: None,
            sender_id: None,
            input_provenance: None,
            context_window: None,
            channel_context: None,
            active_project_keys: Vec::new(),
            sandboxed: None,
            memory_audience: None,
            extra: Vec::new(),
        }
    }
}

/// Who caused a tool call, as far as the host can prove it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Requester {
    /// Id of the channel plugin.
    pub channel: Option<String>,
    /// Account of the channel.
    pub account_id: Option<String>,
    /// The sender.
    pub sender_id: Option<String>,
    /// Whether the sender owns this host; none: unproven, which is not the same as no.
    pub sender_is_owner: Option<bool>,
    /// Roles of the sender; none: unproven.
    pub role_ids: Option<Vec<String>>,
}

/// For whom a tool runs.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolContext {
    /// The agent.
    pub agent_id: AgentId,
    /// The conversation.
    pub session_key: SessionKey,
    /// The session generation.
    pub session_id: SessionId,
    /// The run.
    pub run_id: RunId,
    /// Conversation target inside the channel.
    pub channel_id: Option<String>,
    /// Who caused the call; none: unproven, policy code must then refuse.
    pub requester: Option<Requester>,
    /// Whether this is the early check of a native harness, where rewrites are refused.
    pub is_preflight: bool,
    /// Later fields.
    pub extra: Extra,
}

/// The message that another one answers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplyRef {
    /// Short id.
    pub id: Option<String>,
    /// Full id, where the channel has a longer form.
    pub id_full: Option<String>,
    /// Text.
    pub body: Option<String>,
    /// Sender, as the channel shows it.
    pub sender: Option<String>,
    /// Whether only a quoted part was answered.
    pub is_quote: Option<bool>,
}

/// Which conversation a message hook is about.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageContext {
    /// The channel.
    pub channel_id: String,
    /// Account of the channel.
    pub account_id: Option<String>,
    /// Conversation inside the channel.
    pub conversation_id: Option<String>,
    /// Session that the conversation belongs to; none: not routed yet.
    pub session_key: Option<SessionKey>,
    /// The run; none on most outbound paths.
    pub run_id: Option<RunId>,
    /// The inbound message.
    pub message_id: Option<String>,
    /// Sender of the inbound message.
    pub sender_id: Option<String>,
    /// What the inbound message answers.
    pub reply_to: Option<ReplyRef>,
    /// Later fields.
    pub extra: Extra,
}

impl MessageContext {
    /// A context that knows the channel and nothing else.
    pub fn new(channel_id: impl Into<String>) -> Self {
        Self {
            channel_id: channel_id.into(),
            account_id: None,
            conversation_id: None,
            session_key: None,
            run_id: None,
            message_id: None,
            sender_id: None,
            reply_to: None,
            extra: Vec::new(),
        }
    }
}

/// Which session a session hook is about.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionContext {
    /// The agent.
    pub agent_id: AgentId,
    /// The conversation.
    pub session_key: SessionKey,
    /// The session generation.
    pub session_id: SessionId,
    /// Later fields.
    pub extra: Extra,
}

/// Which transcript a row is about to be written to. Small on purpose: it is built for every row.
#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptContext {
    /// The agent.
    pub agent_id: AgentId,
    /// The conversation.
    pub session_key: SessionKey,
}

/// The gateway that a gateway hook is about.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GatewayContext {
    /// TCP port that it listens on; none: not listening.
    pub port: Option<u16>,
    /// The configuration with every secret replaced; none: not granted to this plugin.
    pub config: Option<JsonText>,
    /// Default workspace directory; a name.
    pub workspace_dir: Option<String>,
    /// Later fields.
    pub extra: Extra,
}

/// Which installation it is; everything that is known stands in the event.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct InstallContext {
    /// Later fields.
    pub extra: Extra,
}
