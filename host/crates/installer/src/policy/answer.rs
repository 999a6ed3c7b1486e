//! The policy's answer: read, bounded, and turned into a decision (plugin-hooks 10).

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{PolicyPass, PolicyRefusal};
use crate::digest::sha256;

/// Most findings of an answer that count.
const MAX_FINDINGS: usize = 100;

/// Longest reason, in characters; the rest is cut off.
const MAX_REASON_CHARS: usize = 1_000;

/// Longest text of a finding, in characters; the rest is cut off.
const MAX_TEXT_CHARS: usize = 2_000;

/// Version of the protocol.
const PROTOCOL: u64 = 1;

/// How grave a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// For information.
    Info,
    /// Worth a look.
    Warn,
    /// Dangerous.
    Critical,
}

/// Something that the policy found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyFinding {
    /// Rule that found it.
    pub rule_id: String,
    /// How grave it is.
    pub severity: Severity,
    /// What it is.
    pub message: String,
    /// File, relative to the staged material.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The text that it was found by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
}

/// A warning that an operator may acknowledge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Why it warns.
    pub reason: String,
    /// What it found.
    pub findings: Vec<PolicyFinding>,
    /// Stands for exactly this reason with these findings.
    pub fingerprint: String,
}

/// Turns an answer into a decision.
pub(super) fn judge(output: &[u8], target: &str, acknowledged: &[String]) -> Result<PolicyPass, PolicyRefusal> {
    let answer = Answer::read(output).map_err(PolicyRefusal::Failed)?;
    let Answer { decision, reason, findings, has_more } = answer;
    let target = target.to_owned();
    match decision {
        Decision::Allow => Ok(PolicyPass { findings, warned: None }),
        Decision::Block => Err(PolicyRefusal::Blocked { target, reason, findings }),
        Decision::Warn if has_more => {
            Err(PolicyRefusal::Failed(format!("it warns with more than {MAX_FINDINGS} findings, which nobody can acknowledge")))
        }
        Decision::Warn => {
            let fingerprint = fingerprint(&reason, &findings);
            if acknowledged.contains(&fingerprint) {
                return Ok(PolicyPass { findings, warned: Some(reason) });
            }
            Err(PolicyRefusal::Unacknowledged { target, warning: Warning { reason, findings, fingerprint } })
        }
    }
}

fn fingerprint(reason: &str, findings: &[PolicyFinding]) -> String {
    sha256(json!([reason, findings]).to_string().as_bytes())
}

#[derive(Clone, Copy)]
enum Decision {
    Allow,
    Warn,
    Block,
}

struct Answer {
    decision: Decision,
    reason: String,
    findings: Vec<PolicyFinding>,
    /// Whether there were more findings than count.
    has_more: bool,
}

impl Answer {
    fn read(output: &[u8]) -> Result<Self, String> {
        if output.iter().all(u8::is_ascii_whitespace) {
            return Err("it answered nothing".to_owned());
        }
        let answer: Value = serde_json::from_slice(output).map_err(|error| format!("its answer is not JSON: {error}"))?;
        if !answer.is_object() {
            return Err("its answer is not an object".to_owned());
        }
        if answer["protocolVersion"].as_u64() != Some(PROTOCOL) {
            return Err(format!("its answer has another protocolVersion than {PROTOCOL}"));
        }
        let decision = match answer["decision"].as_str() {
            Some("allow") => Decision::Allow,
            Some("warn") => Decision::Warn,
            Some("block") => Decision::Block,
            _ => return Err("its decision is none of allow, warn, block".to_owned()),
        };
        let reason = cut(answer["reason"].as_str().unwrap_or_default().trim(), MAX_REASON_CHARS);
        if reason.is_empty() && !matches!(decision, Decision::Allow) {
            return Err("it warns or blocks without a reason".to_owned());
        }
        let valid = answer["findings"].as_array().into_iter().flatten().filter_map(finding);
        let mut findings: Vec<PolicyFinding> = valid.take(MAX_FINDINGS + 1).collect();
        let has_more = findings.len() > MAX_FINDINGS;
        findings.truncate(MAX_FINDINGS);
        Ok(Self { decision, reason, findings, has_more })
    }
}

/// A finding, if it is a valid one.
fn finding(value: &Value) -> Option<PolicyFinding> {
    let mut finding = PolicyFinding::deserialize(value).ok()?;
    if finding.rule_id.trim().is_empty() || finding.message.trim().is_empty() {
        return None;
    }
    let texts = [Some(&mut finding.rule_id), Some(&mut finding.message), finding.file.as_mut(), finding.evidence.as_mut()];
    for text in texts.into_iter().flatten() {
        *text = cut(text, MAX_TEXT_CHARS);
    }
    Some(finding)
}

fn cut(text: &str, chars: usize) -> String {
    text.chars().take(chars).collect()
}
