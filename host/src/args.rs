//! The command line. Only its form: nothing here acts.

mod grant;
mod install;

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Args, Parser, Subcommand, ValueHint};
use config::keys::ThinkingLevel;

pub use grant::{GrantArgs, RevokeArgs};
pub use install::{ChainArgs, InstallArgs, RemoveArgs, SignArgs, TrustCommand, UpdateArgs, VerifyArgs};

/// Runs AI agents whose plugins are sandboxed WebAssembly components.
#[derive(Debug, Parser)]
#[command(name = "creel", version, about, propagate_version = true, after_help = AFTER_HELP)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,

    /// Configuration file, instead of CREEL_CONFIG_PATH or creel.json in the state directory.
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = EVERYWHERE)]
    pub config: Option<PathBuf>,

    /// State directory, instead of CREEL_STATE_DIR or ~/.creel.
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = EVERYWHERE)]
    pub state_dir: Option<PathBuf>,

    /// Say more on stderr: once for how things happen, twice for every step.
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = EVERYWHERE)]
    pub verbose: u8,
}

/// Heading of the options that every command has.
const EVERYWHERE: &str = "Everywhere";

const AFTER_HELP: &str = "Exit codes: 0 success, 1 the run failed, 2 wrong usage or input, 3 configuration, 4 plugin, 5 session busy, \
6 run timed out, 7 installation refused, 70 internal fault, 130 interrupted.";

/// Commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run one turn of the agent.
    Agent(AgentArgs),
    /// Talk with the agent, turn by turn; plugins are loaded again when their files change.
    Chat(ChatArgs),
    /// See and manage plugins.
    #[command(subcommand)]
    Plugins(PluginsCommand),
    /// Look at sessions and transcripts.
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// Check the configuration.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Play a scripted conversation in which every example plugin acts; no key, no network.
    Demo(DemoArgs),
    /// Compile one component from standard input to standard output; started by creel itself.
    #[command(hide = true)]
    CompileComponent,
    /// Print completions for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

impl Command {
    /// Whether JSON was asked for, so that stdout must hold it and nothing else, errors included.
    pub fn wants_json(&self) -> bool {
        match self {
            Self::Agent(AgentArgs { conversation, .. }) | Self::Chat(ChatArgs { conversation }) => conversation.json,
            Self::Plugins(command) => command.wants_json(),
            Self::Sessions(command) => command.wants_json(),
            Self::Config(ConfigCommand::Check { json }) => *json,
            Self::Config(ConfigCommand::Schema { .. }) => false,
            Self::Demo(args) => args.json,
            Self::Completions { .. } | Self::CompileComponent => false,
        }
    }
}

/// `creel agent`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").args(["message", "message_file"]).required(true))]
pub struct AgentArgs {
    /// The message.
    #[arg(short, long, value_name = "TEXT")]
    pub message: Option<String>,

    /// File that holds the message: UTF-8; `-` reads stdin.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub message_file: Option<PathBuf>,

    /// Picture that goes with the message: PNG, JPEG, GIF or WebP; may be given several times.
    #[arg(long = "image", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub images: Vec<PathBuf>,

    /// Where the run takes place.
    #[command(flatten)]
    pub conversation: ConversationArgs,
}

/// `creel chat`.
#[derive(Debug, Args)]
pub struct ChatArgs {
    /// Where the runs take place.
    #[command(flatten)]
    pub conversation: ConversationArgs,
}

/// The conversation of a run, and what it is run with.
#[derive(Debug, Args)]
pub struct ConversationArgs {
    /// Conversation, for example `agent:main:main`. A bare key is put below the agent.
    #[arg(long, value_name = "KEY")]
    pub session_key: Option<String>,

    /// Begin a new transcript in that conversation.
    #[arg(long)]
    pub new_session: bool,

    /// Agent to run; the default agent if left out.
    #[arg(long, value_name = "ID")]
    pub agent: Option<String>,

    /// Model for this run, for example `offline/echo`, or an alias of one.
    #[arg(long, value_name = "PROVIDER/MODEL")]
    pub model: Option<String>,

    /// Thinking level for this run.
    #[arg(long, value_name = "LEVEL", value_parser = thinking_levels())]
    pub thinking: Option<ThinkingLevel>,

    /// Seconds that the run may take; 0: no limit.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub timeout: Option<u64>,

    /// Print one JSON object for each run instead of text.
    #[arg(long)]
    pub json: bool,

    /// Directory with further plugins; may be given several times.
    #[arg(long = "plugin-dir", value_name = "DIR", value_hint = ValueHint::AnyPath)]
    pub plugin_dirs: Vec<PathBuf>,
}

fn thinking_levels() -> impl TypedValueParser<Value = ThinkingLevel> {
    PossibleValuesParser::new(ThinkingLevel::ALL.map(ThinkingLevel::as_str)).try_map(|word| {
        let level = ThinkingLevel::ALL.into_iter().find(|level| level.as_str() == word);
        level.ok_or("no such level")
    })
}

fn seconds(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "expected a whole number of seconds, 0 for no limit".to_owned())
}

/// `creel plugins`.
#[derive(Debug, Subcommand)]
pub enum PluginsCommand {
    /// List plugins with their state.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        /// Directory with further plugins; may be given several times.
        #[arg(long = "plugin-dir", value_name = "DIR", value_hint = ValueHint::AnyPath)]
        plugin_dirs: Vec<PathBuf>,
    },
    /// Show what a plugin is, hooks into and asks for, without running any of its code.
    Inspect {
        /// A plugin's id, its directory, or its component file.
        plugin: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Check a plugin as loading would, with everything granted that it asks for, and compile it; runs none of its code.
    Validate {
        /// A plugin's directory or component file.
        #[arg(value_hint = ValueHint::AnyPath)]
        path: PathBuf,
        /// With what the configuration grants, and no more.
        #[arg(long)]
        as_configured: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Install a plugin: check it, ask the install policy and plugins about it, lock it.
    Install(InstallArgs),
    /// Replace an installed plugin by another version.
    Update(UpdateArgs),
    /// Remove an installed plugin and everything that is kept for it.
    Remove(RemoveArgs),
    /// Compare installed plugins with creel.lock.
    Verify(VerifyArgs),
    /// Sign a plugin, so that others can tell that it is yours.
    Sign(SignArgs),
    /// See and manage the keys that may sign plugins.
    #[command(subcommand)]
    Trust(TrustCommand),
    /// Show what plugins ask for, and what they were granted.
    Grants {
        /// The plugin's id; all plugins if left out.
        id: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Grant a plugin something: write it into the configuration.
    Grant(GrantArgs),
    /// Take back what a plugin was granted: remove it from the configuration.
    Revoke(RevokeArgs),
    /// Write `plugins.entries.<id>.enabled: true` into the configuration.
    Enable {
        /// The plugin's id.
        id: String,
    },
    /// Write `plugins.entries.<id>.enabled: false` into the configuration.
    Disable {
        /// The plugin's id.
        id: String,
    },
    /// Tell the processes that run to load their plugins again.
    Reload {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Call a plugin again at once that failed too often: closes its circuits.
    Reset {
        /// The plugin's id.
        id: String,
        /// Only at this hook, for example before_tool_call.
        #[arg(long, value_name = "HOOK")]
        hook: Option<String>,
    },
    /// Put a manifest into its component, so that the plugin is one file.
    Pack {
        /// Directory that holds creel.plugin.json and the component.
        #[arg(value_hint = ValueHint::DirPath)]
        dir: PathBuf,
        /// Component to take in place of the one that the manifest names, for example the file that cargo made.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        component: Option<PathBuf>,
        /// File to write; `<id>.wasm` in the working directory if left out.
        #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: Option<PathBuf>,
        /// Replace the file to write if it exists.
        #[arg(long)]
        force: bool,
    },
}

impl PluginsCommand {
    fn wants_json(&self) -> bool {
        match self {
            Self::List { json, .. } | Self::Inspect { json, .. } | Self::Validate { json, .. } => *json,
            Self::Install(InstallArgs { chain, .. }) | Self::Update(UpdateArgs { chain, .. }) => chain.json,
            Self::Grants { json, .. } => *json,
            Self::Verify(VerifyArgs { json, .. }) | Self::Trust(TrustCommand::List { json }) | Self::Reload { json } => *json,
            _ => false,
        }
    }
}

/// `creel sessions`.
#[derive(Debug, Subcommand)]
pub enum SessionsCommand {
    /// List conversations, newest change first.
    List {
        /// Only of this agent.
        #[arg(long, value_name = "ID")]
        agent: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show the last rows of a transcript.
    Show {
        /// Session key or session id; the main session if left out.
        session: Option<String>,
        /// Agent that it belongs to.
        #[arg(long, value_name = "ID")]
        agent: Option<String>,
        /// Rows to show.
        #[arg(long, default_value_t = 50, value_name = "ROWS", value_parser = clap::value_parser!(u32).range(1..=10_000))]
        tail: u32,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Write a whole transcript as JSON lines.
    Export {
        /// Session key or session id; the main session if left out.
        session: Option<String>,
        /// Agent that it belongs to.
        #[arg(long, value_name = "ID")]
        agent: Option<String>,
        /// File to write; stdout if left out.
        #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: Option<PathBuf>,
    },
}

impl SessionsCommand {
    fn wants_json(&self) -> bool {
        matches!(self, Self::List { json: true, .. } | Self::Show { json: true, .. })
    }
}

/// `creel config`.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Read the configuration and say what is wrong with it.
    Check {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON Schema of the configuration.
    Schema {
        /// Print a reference for people instead.
        #[arg(long)]
        markdown: bool,
    },
}

/// `creel demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Directory with the built example plugins.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, env = "CREEL_DEMO_PLUGINS")]
    pub plugins: Option<PathBuf>,

    /// Print the timeline as JSON.
    #[arg(long)]
    pub json: bool,

    /// Keep the scratch state and workspace, and say where they are.
    #[arg(long)]
    pub keep: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
