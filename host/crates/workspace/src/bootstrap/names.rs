//! Names of the bootstrap files, in the order in which they go into the prompt.

/// How to work.
pub const AGENTS: &str = "AGENTS.md";
/// How to speak.
pub const SOUL: &str = "SOUL.md";
/// What is special about the tools.
pub const TOOLS: &str = "TOOLS.md";
/// Who the agent is.
pub const IDENTITY: &str = "IDENTITY.md";
/// Whom it helps.
pub const USER: &str = "USER.md";
/// What to look after unasked.
pub const HEARTBEAT: &str = "HEARTBEAT.md";
/// First steps in a new workspace; it is deleted once they are done.
pub const BOOTSTRAP: &str = "BOOTSTRAP.md";
/// What is remembered.
pub const MEMORY: &str = "MEMORY.md";

/// All of them.
pub const ALL: [&str; 8] = [AGENTS, SOUL, TOOLS, IDENTITY, USER, HEARTBEAT, BOOTSTRAP, MEMORY];
