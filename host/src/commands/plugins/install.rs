//! `creel plugins install` and `creel plugins update`: through the installer's chain, and what came of it in words.

use std::path::Path;

use hooks::fault::one_line as clean;
use installer::policy::{PolicyFinding, PolicyRefusal, Severity};
use installer::signature::Signer;
use installer::{InstallError, Layout, Lock, Outcome, Request, Source};
use plugin_host::manifest;
use serde_json::{Value, json};

use super::describe::MAX_WORDS;
use crate::args::{ChainArgs, InstallArgs, UpdateArgs};
use crate::commands::Context;
use crate::exit::{Code, Failure};
use crate::terminal::Output;
use crate::wiring::installing;

pub(super) async fn install(context: &Context, args: InstallArgs, output: &Output) -> Result<Code, Failure> {
    let source = find(&args.source)?;
    let request = Request { specifier: Some(args.source.display().to_string()), ..Request::install(source) };
    run(context, request, &args.chain, output).await
}

pub(super) async fn update(context: &Context, args: UpdateArgs, output: &Output) -> Result<Code, Failure> {
    let id = manifest::parse_id(&args.id).map_err(|error| Failure::usage(error.to_string()))?;
    let path = match &args.source {
        Some(path) => path.clone(),
        None => {
            let lock = Lock::read(&Layout::new(context.locations.state_dir()));
            let lock = lock.map_err(|error| failure(error.into()))?;
            let entry = lock.entry(&id).ok_or_else(|| failure(InstallError::NotInstalled(id.clone())))?;
            entry.source.path.clone()
        }
    };
    let request = Request {
        specifier: args.source.as_ref().map(|path| path.display().to_string()),
        accept_capabilities: args.accept_capabilities,
        ..Request::update(id, find(&path)?)
    };
    run(context, request, &args.chain, output).await
}

fn find(path: &Path) -> Result<Source, Failure> {
    Source::find(path).map_err(|error| failure(error.into()))
}

async fn run(context: &Context, request: Request, chain: &ChainArgs, output: &Output) -> Result<Code, Failure> {
    let request = Request {
        acknowledged: chain.accepted_warnings.clone(),
        require_signature: chain.require_signature,
        dry_run: chain.dry_run,
        ..request
    };
    let config = &context.loaded.config;
    let sources = super::sources(context, config, Vec::new())?;
    let installer = installing::installer(&context.locations, config, sources)?;
    let outcome = installer.install(request).await.map_err(|error| {
        if let InstallError::Policy(refusal) = &error {
            refusal.findings().iter().for_each(|finding| output.note(finding_line(finding)));
        }
        failure(error)
    })?;
    outcome.remarks.iter().for_each(|remark| output.warning(remark));
    if chain.json {
        output.value(&as_json(&outcome, chain.dry_run));
    } else {
        tell(&outcome, chain.dry_run, output);
    }
    Ok(Code::Success)
}

fn tell(outcome: &Outcome, dry_run: bool, output: &Output) {
    outcome.reviewed.policy.findings.iter().for_each(|finding| output.note(finding_line(finding)));
    for finding in &outcome.reviewed.findings {
        let place = if finding.file.is_empty() { String::new() } else { format!("{}: ", finding.file) };
        output.note(clean(&format!("{} {}: {place}{}", finding.severity, finding.rule_id, finding.message), MAX_WORDS));
    }
    match &outcome.signer {
        Signer::Nobody => {}
        Signer::Trusted(key) => output.note(format!("signed by the trusted key {key}")),
        Signer::Unknown(key) => output.note(format!("signed by the key {key}, which is not trusted; that says nothing")),
    }
    let package = &outcome.package;
    let version = |version: Option<&String>| version.map_or_else(String::new, |it| format!(" {}", clean(it, MAX_WORDS)));
    let (verb, before) = match &outcome.replaced {
        None => ("installed", String::new()),
        Some(old) => ("updated", format!(", before{}", version(old.version.as_ref()))),
    };
    let would = if dry_run { "would be " } else { "" };
    output.line(format!(
        "{would}{verb}: plugin `{}`{}{before}, in {}",
        package.id,
        version(package.version.as_ref()),
        outcome.directory.display()
    ));
    let wider: Vec<String> = outcome.wider.iter().map(ToString::to_string).collect();
    if !wider.is_empty() {
        output.line(format!("  accepted: {}", clean(&wider.join("; "), 4 * MAX_WORDS)));
    }
    let asks: Vec<&str> = package.asks.0.keys().map(String::as_str).collect();
    if !asks.is_empty() {
        output.line(format!("  asks for: {}", clean(&asks.join(", "), 4 * MAX_WORDS)));
    }
    if !dry_run && asks.iter().any(|right| right.starts_with("capability ") || right.starts_with("access ")) {
        output.hint(format!("asking is not getting; `creel plugins inspect {}` tells what the configuration grants", package.id));
    }
}

fn finding_line(finding: &PolicyFinding) -> String {
    let severity = match finding.severity {
        Severity::Info => "info",
        Severity::Warn => "warn",
        Severity::Critical => "critical",
    };
    let line = finding.line.map_or_else(String::new, |line| format!(":{line}"));
    let place = finding.file.as_ref().map_or_else(String::new, |file| format!("{file}{line}: "));
    clean(&format!("{severity} {}: {place}{}", finding.rule_id, finding.message), MAX_WORDS)
}

fn as_json(outcome: &Outcome, dry_run: bool) -> Value {
    let package = &outcome.package;
    json!({
        "id": package.id,
        "version": package.version,
        "dryRun": dry_run,
        "replaced": outcome.replaced.as_ref().map(|old| json!({ "version": old.version, "sha256": old.component.sha256 })),
        "directory": outcome.directory,
        "sha256": package.component_sha256,
        "manifestSha256": package.manifest_sha256,
        "signer": outcome.signer.trusted(),
        "asks": package.asks,
        "accepted": outcome.wider,
        "policy": { "findings": outcome.reviewed.policy.findings, "acknowledged": outcome.reviewed.policy.warned },
        "findings": outcome.reviewed.findings,
        "remarks": outcome.remarks,
    })
}

/// An installation that did not happen, with its exit code.
pub(super) fn failure(error: InstallError) -> Failure {
    let code = match &error {
        InstallError::Busy => Code::Busy,
        InstallError::Source(_)
        | InstallError::Installed(_)
        | InstallError::NotInstalled(_)
        | InstallError::ByHand { .. }
        | InstallError::OtherPlugin { .. } => Code::Usage,
        InstallError::Stage { .. } | InstallError::Check { .. } | InstallError::Lock(_) => Code::Plugin,
        InstallError::Trust(_) => Code::Config,
        InstallError::Signature { .. }
        | InstallError::Policy(_)
        | InstallError::Gate { .. }
        | InstallError::Capabilities { .. }
        | InstallError::Tampered { .. } => Code::Refused,
        InstallError::Disk { .. } => Code::RunFailed,
        InstallError::Interrupted => Code::Internal,
    };
    let failure = Failure::new(code, error.to_string());
    match error {
        InstallError::Policy(PolicyRefusal::Unacknowledged { warning, .. }) => failure
            .hint(format!("if you have read the warning and want it all the same: --accept-warning {}", warning.fingerprint)),
        _ => failure,
    }
}
