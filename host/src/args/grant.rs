//! The command line of `creel plugins grant` and `revoke`. Only its form.

use clap::Args;

/// `creel plugins grant`.
#[derive(Debug, Args)]
pub struct GrantArgs {
    /// The plugin's id.
    pub id: String,

    /// What it gets: `KIND` or `KIND=VALUE`, for example `kv`, `kv=1mb`, `fs=read`, `http=https://api.example.com`, `env=LANG,TZ`,
    /// `toolsInvoke=read`, `secrets.NAME=VARIABLE`, `conversation`. Names are added to those that are granted.
    #[arg(value_name = "WHAT", conflicts_with = "all")]
    pub what: Vec<String>,

    /// All that it asks for and does not have.
    #[arg(long)]
    pub all: bool,

    /// Where a secret may go, for example `https://api.example.com`; may be given several times.
    #[arg(long, value_name = "URL")]
    pub allow: Vec<String>,

    /// Grant also what the plugin neither asks for nor imports.
    #[arg(long)]
    pub force: bool,

    /// Show what would be written and write nothing.
    #[arg(long)]
    pub dry_run: bool,
}

/// `creel plugins revoke`.
#[derive(Debug, Args)]
pub struct RevokeArgs {
    /// The plugin's id.
    pub id: String,

    /// What is taken back: `KIND`, or `KIND=NAME,…` for some names of a list.
    #[arg(value_name = "WHAT", conflicts_with = "all")]
    pub what: Vec<String>,

    /// Everything that it was granted.
    #[arg(long)]
    pub all: bool,

    /// Show what would be written and write nothing.
    #[arg(long)]
    pub dry_run: bool,
}
