//! Requests to ask a person, bounded as plugin-hooks 4.9.2 says: long texts are cut, a scope over its limits is dropped.

use std::time::Duration;

use domain::approval::{
    ApprovalDecision, ApprovalRequest, ApprovalScope, DEFAULT_WAIT, MAX_DESCRIPTION_CHARS, MAX_NOTE_BYTES, MAX_TITLE_CHARS,
    MAX_WAIT, Severity,
};
use hooks::Fault;

use super::json::malformed;
use crate::bindings::creel::plugin::types as wit;

/// Longest text in a scope, in characters.
const SCOPE_TEXT_CHARS: usize = 128;
/// Longest amount, in characters.
const AMOUNT_CHARS: usize = 40;
/// Longest currency, in characters.
const CURRENCY_CHARS: usize = 12;
/// Most recipients that are listed.
const RECIPIENTS: usize = 5;

/// Takes a request.
pub(super) fn from_wit(request: wit::ApprovalRequest) -> Result<ApprovalRequest, Fault> {
    if let Some(bytes) = request.on_resolution.as_ref().map(String::len).filter(|bytes| *bytes > MAX_NOTE_BYTES) {
        let problem = format!("the note has {bytes} bytes, at most {MAX_NOTE_BYTES} are allowed");
        return Err(malformed("require-approval.on-resolution", problem));
    }
    Ok(ApprovalRequest {
        title: cut(request.title, MAX_TITLE_CHARS),
        description: cut(request.description, MAX_DESCRIPTION_CHARS),
        scope: request.scope.and_then(scope),
        severity: match request.severity {
            Some(wit::ApprovalSeverity::Info) => Severity::Info,
            Some(wit::ApprovalSeverity::Warning) | None => Severity::Warning,
            Some(wit::ApprovalSeverity::Critical) => Severity::Critical,
        },
        wait: wait(request.timeout_ms),
        wanted_allow_on_timeout: matches!(request.timeout_behavior, Some(wit::TimeoutBehavior::Allow)),
        timeout_reason: request.timeout_reason,
        offered: offered(request.allowed_decisions),
        on_resolution: request.on_resolution,
    })
}

fn wait(timeout_ms: Option<u32>) -> Duration {
    match timeout_ms {
        None | Some(0) => DEFAULT_WAIT,
        Some(ms) => Duration::from_millis(u64::from(ms)).min(MAX_WAIT),
    }
}

fn offered(flags: wit::ApprovalDecisions) -> Vec<ApprovalDecision> {
    let all = flags == wit::ApprovalDecisions::empty();
    let offers = |decision: &ApprovalDecision| {
        all || flags.contains(match decision {
            ApprovalDecision::AllowOnce => wit::ApprovalDecisions::ALLOW_ONCE,
            ApprovalDecision::AllowAlways => wit::ApprovalDecisions::ALLOW_ALWAYS,
            ApprovalDecision::Deny => wit::ApprovalDecisions::DENY,
        })
    };
    ApprovalDecision::ALL.into_iter().filter(offers).collect()
}

fn scope(scope: wit::ApprovalScope) -> Option<ApprovalScope> {
    let fits = |text: &str, chars: usize| text.chars().nth(chars).is_none();
    match scope {
        wit::ApprovalScope::MessageSend(message) => {
            let listed = message.recipients.len() <= RECIPIENTS;
            let short = message.recipients.iter().chain([&message.target]).all(|text| fits(text, SCOPE_TEXT_CHARS));
            (listed && short).then_some(ApprovalScope::MessageSend {
                target: message.target,
                recipient_count: message.recipient_count,
                recipients: message.recipients,
                external: matches!(message.audience, wit::ScopeAudience::External),
            })
        }
        wit::ApprovalScope::Payment(payment) => {
            let short = fits(&payment.amount, AMOUNT_CHARS) && fits(&payment.currency, CURRENCY_CHARS);
            (short && fits(&payment.target, SCOPE_TEXT_CHARS)).then_some(ApprovalScope::Payment {
                amount: payment.amount,
                currency: payment.currency,
                target: payment.target,
            })
        }
        wit::ApprovalScope::ExternalPost(post) => fits(&post.target, SCOPE_TEXT_CHARS).then_some(ApprovalScope::ExternalPost {
            target: post.target,
            public: matches!(post.visibility, wit::ScopeVisibility::Public),
        }),
    }
}

/// Cuts a text to so many characters, the last of them an ellipsis.
fn cut(mut text: String, chars: usize) -> String {
    if text.chars().nth(chars).is_some() {
        let end = text.char_indices().nth(chars - 1).map_or(text.len(), |(at, _)| at);
        text.truncate(end);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn request() -> wit::ApprovalRequest {
        wit::ApprovalRequest {
            title: "Delete?".to_owned(),
            description: "All of it.".to_owned(),
            scope: None,
            severity: None,
            timeout_ms: None,
            timeout_behavior: None,
            timeout_reason: None,
            allowed_decisions: wit::ApprovalDecisions::empty(),
            on_resolution: None,
        }
    }

    #[test]
    fn absent_fields_have_their_defaults() {
        let taken = from_wit(request()).unwrap();
        assert_eq!((taken.severity, taken.wait), (Severity::Warning, DEFAULT_WAIT));
        assert_eq!(taken.offered, ApprovalDecision::ALL);
        assert!(!taken.wanted_allow_on_timeout);
    }

    #[test]
    fn texts_are_cut_and_waits_are_capped() {
        let long = wit::ApprovalRequest {
            title: "ä".repeat(81),
            description: "x".repeat(512),
            timeout_ms: Some(u32::MAX),
            timeout_behavior: Some(wit::TimeoutBehavior::Allow),
            allowed_decisions: wit::ApprovalDecisions::DENY,
            ..request()
        };
        let taken = from_wit(long).unwrap();
        assert_eq!(taken.title.chars().count(), MAX_TITLE_CHARS);
        assert!(taken.title.ends_with("ä…"));
        assert_eq!(taken.description.len(), MAX_DESCRIPTION_CHARS);
        assert_eq!((taken.wait, taken.wanted_allow_on_timeout), (MAX_WAIT, true));
        assert_eq!(taken.offered, [ApprovalDecision::Deny]);
        assert_eq!(from_wit(wit::ApprovalRequest { timeout_ms: Some(0), ..request() }).unwrap().wait, DEFAULT_WAIT);
    }

    #[test]
    fn a_scope_over_its_limits_is_dropped_and_one_at_them_is_kept() {
        let payment = |amount: usize, currency: usize, target: usize| {
            scope(wit::ApprovalScope::Payment(wit::ScopePayment {
                amount: "1".repeat(amount),
                currency: "€".repeat(currency),
                target: "t".repeat(target),
            }))
        };
        assert!(payment(40, 12, 128).is_some());
        assert!(payment(41, 12, 128).is_none() && payment(40, 13, 128).is_none() && payment(40, 12, 129).is_none());
        let message = |recipients: usize| {
            scope(wit::ApprovalScope::MessageSend(wit::ScopeMessage {
                target: "all".to_owned(),
                recipient_count: 9,
                recipients: vec!["a".to_owned(); recipients],
                audience: wit::ScopeAudience::External,
            }))
        };
        assert!(matches!(message(5), Some(ApprovalScope::MessageSend { external: true, recipient_count: 9, .. })));
        assert!(message(6).is_none());
    }

    #[test]
    fn a_note_that_is_too_long_is_refused() {
        let note = |bytes: usize| from_wit(wit::ApprovalRequest { on_resolution: Some("n".repeat(bytes)), ..request() });
        assert!(note(MAX_NOTE_BYTES).is_ok());
        let fault = note(MAX_NOTE_BYTES + 1).unwrap_err();
        assert!(fault.text().starts_with("require-approval.on-resolution: the note has 4097 bytes"), "{fault}");
    }
}
