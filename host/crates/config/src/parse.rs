//! From the text of a file to a checked configuration. The checks run in an order in which each can rely on the ones before it, and
//! their findings are told together.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use crate::check::shape::Shape;
use crate::check::{Finding, foreign, rules, substitution};
use crate::environment::Environment;
use crate::keys::Config;
use crate::problem::{ConfigErrors, MAX_PROBLEMS, Problem, ProblemKind};
use crate::text::document::{self, Document, Fault, MAX_DEPTH, Malformed};
use crate::text::excerpt::excerpt;
use crate::text::key_path::KeyPath;
use crate::text::locate::{Target, locate};
use crate::warning::Warning;

/// A configuration that is free of errors.
#[derive(Debug, Clone)]
pub struct Parsed {
    /// The configuration.
    pub config: Arc<Config>,
    /// What has no effect, or another one than it seems to have.
    pub warnings: Vec<Warning>,
}

/// Reads the text of a configuration file. `origin` is its path, for messages; variables in texts come from `environment`.
///
/// # Errors
/// With everything that is wrong, each with its place.
pub fn parse(text: &str, origin: &Path, environment: &Environment) -> Result<Parsed, ConfigErrors> {
    let document = document::parse(text).map_err(|malformed| syntax_error(text, origin, malformed))?;
    let (outcome, findings) = check(document, environment);
    match outcome {
        Some(parsed) if findings.is_empty() => Ok(parsed),
        _ => Err(placed(text, origin, findings)),
    }
}

/// Runs all checks. There is a configuration if it could be built at all, be it without the keys that are wrong.
fn check(document: Document, environment: &Environment) -> (Option<Parsed>, Vec<Finding>) {
    let Document { mut root, duplicates } = document;
    let mut findings = repeated(duplicates);
    let taken = foreign::take(&mut root);
    let written = root.clone();
    findings.extend(substitution::substitute(&mut root, environment));
    match Shape::new(Config::schema()) {
        Ok(shape) => findings.extend(shape.check(&root, &written)),
        Err(cause) => findings.push(Finding::value(KeyPath::default(), ProblemKind::Internal { cause })),
    }
    for finding in &findings {
        finding.key.remove(&mut root);
    }
    let config: Config = match serde_path_to_error::deserialize(&root) {
        Ok(config) => config,
        Err(error) => {
            if findings.is_empty() {
                // Only the path: the text of the error may repeat a secret.
                let cause = format!("{} passes the checks and does not fit its type", error.path());
                findings.push(Finding::value(KeyPath::default(), ProblemKind::Internal { cause }));
            }
            return (None, findings);
        }
    };
    findings.extend(rules::check(&config).into_iter().map(|finding| as_written(finding, &root, &written)));
    let mut warnings = rules::warnings(&config, environment);
    if !taken.restrictions.is_empty() {
        warnings.push(Warning::IgnoredRestrictions(taken.restrictions));
    }
    if !taken.ignored.is_empty() {
        warnings.push(Warning::Ignored(taken.ignored));
    }
    (Some(Parsed { config: Arc::new(config), warnings }), findings)
}

/// A finding that repeats its value, with the value as it stands in the file: what a variable holds may be a secret, wherever it was used.
fn as_written(mut finding: Finding, root: &Value, written: &Value) -> Finding {
    if let ProblemKind::Rule(text) = &mut finding.kind
        && let (Some(Value::String(now)), Some(Value::String(written))) = (finding.key.find(root), finding.key.find(written))
        && now != written
        && !now.is_empty()
    {
        *text = text.replace(now.as_str(), written);
    }
    finding
}

/// Findings for keys that occur again. The n-th entry of one path is its n-th repetition.
fn repeated(duplicates: Vec<KeyPath>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::with_capacity(duplicates.len());
    for key in duplicates {
        let before = findings.iter().filter(|finding| finding.key == key).count();
        findings.push(Finding { key, target: Target::Repeated(before + 1), kind: ProblemKind::DuplicateKey });
    }
    findings
}

/// Looks up the places of findings. The first ones are enough: each costs a pass over the text.
fn placed(text: &str, origin: &Path, mut findings: Vec<Finding>) -> ConfigErrors {
    let dropped = findings.len().saturating_sub(MAX_PROBLEMS);
    findings.truncate(MAX_PROBLEMS);
    let problem = |finding: Finding| Problem {
        position: locate(text, &finding.key, finding.target),
        key: Some(finding.key),
        kind: finding.kind,
        excerpt: None,
    };
    ConfigErrors::new(origin, findings.into_iter().map(problem).collect(), dropped)
}

fn syntax_error(text: &str, origin: &Path, malformed: Malformed) -> ConfigErrors {
    let kind = match malformed.fault {
        Fault::Syntax(_) if is_blank(text) => return ConfigErrors::whole_file(origin, ProblemKind::Empty),
        Fault::Syntax(phrase) => ProblemKind::Syntax { phrase },
        Fault::TooDeep => ProblemKind::TooDeep { limit: MAX_DEPTH },
        Fault::NotFinite => ProblemKind::NotFinite,
    };
    let excerpt = Some(excerpt(text, malformed.position));
    ConfigErrors::new(origin, vec![Problem { key: None, position: Some(malformed.position), kind, excerpt }], 0)
}

/// Whether a text holds nothing but space and comments: with a value behind it, it would be a whole document.
fn is_blank(text: &str) -> bool {
    matches!(document::parse(&format!("{text}\nnull")), Ok(Document { root: Value::Null, .. }))
}
