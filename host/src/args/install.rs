//! The command line of installations: `creel plugins install|update|remove|verify|sign|trust`. Only its form.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

/// `creel plugins install`.
#[derive(Debug, Args)]
pub struct InstallArgs {
    /// A plugin's directory, its component with the manifest in it, an archive (.tar, .tar.gz, .tgz, .zip) or an OCI image layout.
    #[arg(value_hint = ValueHint::AnyPath)]
    pub source: PathBuf,
    /// What goes for updates too.
    #[command(flatten)]
    pub chain: ChainArgs,
}

/// `creel plugins update`.
#[derive(Debug, Args)]
pub struct UpdateArgs {
    /// The plugin's id.
    pub id: String,
    /// Where the new version is; where the old one came from if left out.
    #[arg(value_hint = ValueHint::AnyPath)]
    pub source: Option<PathBuf>,
    /// Accept that the new version asks for more than the old one.
    #[arg(long)]
    pub accept_capabilities: bool,
    /// What goes for installations too.
    #[command(flatten)]
    pub chain: ChainArgs,
}

/// What can be said about every installation.
#[derive(Debug, Args)]
pub struct ChainArgs {
    /// Fingerprint of a warning of the install policy that you have read; may be given several times.
    #[arg(long = "accept-warning", value_name = "FINGERPRINT")]
    pub accepted_warnings: Vec<String>,
    /// Refuse a plugin that is not signed by a trusted key.
    #[arg(long)]
    pub require_signature: bool,
    /// Go through all checks and ask everybody, and change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// `creel plugins remove`.
#[derive(Debug, Args)]
pub struct RemoveArgs {
    /// The plugin's id.
    pub id: String,
}

/// `creel plugins verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// The plugin's id; all plugins if left out.
    pub id: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// `creel plugins sign`.
#[derive(Debug, Args)]
pub struct SignArgs {
    /// A plugin's directory, or its component with the manifest in it.
    #[arg(value_hint = ValueHint::AnyPath)]
    pub plugin: PathBuf,
    /// File with the private key, as `creel plugins trust keygen` writes it.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub key: PathBuf,
}

/// `creel plugins trust`.
#[derive(Debug, Subcommand)]
pub enum TrustCommand {
    /// Trust a public key: plugins that it signed count as signed.
    Add {
        /// File with a public key, or the line of the key itself.
        key: String,
        /// Whose key it is; what stands behind the key if left out.
        #[arg(long, value_name = "TEXT")]
        remark: Option<String>,
    },
    /// List trusted keys, as they can be given to others.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Trust a key no more. What it signed stays installed.
    Remove {
        /// Id of the key.
        key_id: String,
    },
    /// Make a key to sign plugins with, and print its public half.
    Keygen {
        /// File to write the private key to; it must not exist.
        #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: PathBuf,
        /// What to put behind the public key.
        #[arg(long, value_name = "TEXT")]
        remark: Option<String>,
    },
}
