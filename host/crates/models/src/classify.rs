//! What a provider's refusal means (runtime 5.3). A class decides whether a call is repeated, goes to another model, or is shown; so
//! the status comes first and words decide only where it leaves room.

use domain::model::FailureClass;
use serde_json::Value;

/// An error as a provider words it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// HTTP status, of the answer or named inside the error.
    pub(crate) status: Option<u16>,
    /// `code` and `type`, in lower case.
    pub(crate) code: String,
    /// The text for people; empty: there was none.
    pub(crate) message: String,
}

const OVERFLOW: &[&str] = &[
    "context_length_exceeded",
    "context length",
    "context window",
    "context size",
    "maximum context",
    "prompt is too long",
    "input is too long",
    "too many tokens",
    "request_too_large",
    "exceed the model's maximum",
];
const NO_CREDIT: &[&str] = &[
    "insufficient_quota",
    "billing_hard_limit",
    "insufficient_balance",
    "insufficient balance",
    "insufficient credit",
    "credit balance",
    "check your plan and billing",
    "payment required",
];
const TEMPORARY: &[&str] = &["try again", "resets", "usage window", "usage limit", "per hour", "per minute"];
const THROTTLED: &[&str] =
    &["rate_limit", "rate limit", "ratelimit", "too many requests", "throttl", "resource_exhausted", "concurrency", "quota"];
const BUSY: &[&str] =
    &["overloaded", "model not ready", "is busy", "at capacity", "over capacity", "currently loading", "unavailable"];
const BAD_KEY: &[&str] = &[
    "invalid_api_key",
    "incorrect api key",
    "invalid api key",
    "api_key_invalid",
    "api key not valid",
    "authentication",
    "unauthorized",
    "unauthenticated",
    "permission_error",
    "permission_denied",
    "revoked",
];
const NO_MODEL: &[&str] = &["model_not_found", "no such model", "unknown model", "unknown_model", "model_not_supported"];
const BROKEN: &[&str] =
    &["api_error", "server_error", "internal_error", "internal server", "timeout", "timed out", "temporar", "connection"];
const UNACCEPTABLE: &[&str] = &["invalid_request", "bad_request", "invalid request", "bad request", "unsupported"];

impl Refusal {
    /// Reads an error body: JSON in one of the usual forms, or text.
    pub(crate) fn of_body(status: u16, body: &[u8]) -> Self {
        let refusal = match serde_json::from_slice::<Value>(body) {
            Ok(value) => Self::of_value(&value),
            Err(_) => Self { message: plain_text(body), ..Self::default() },
        };
        Self { status: Some(status), ..refusal }
    }

    /// Reads an error value: `{error: {message, type, code}}` or the inner object, also inside a list, `{error: text}`,
    /// `{message}`, `{detail}`, or plain text.
    pub(crate) fn of_value(value: &Value) -> Self {
        let value = match value {
            Value::Array(list) => list.first().unwrap_or(&Value::Null),
            other => other,
        };
        let error = value.get("error").filter(|error| !error.is_null()).unwrap_or(value);
        let code: Vec<String> = ["code", "type", "status"].iter().filter_map(|key| error.get(key)).filter_map(scalar).collect();
        let message = error.as_str().map(str::to_owned).or_else(|| {
            let texts = ["message", "detail", "msg", "error_description"].iter().filter_map(|key| error.get(key));
            texts.map(|text| text.as_str().map_or_else(|| text.to_string(), str::to_owned)).next()
        });
        let status = ["code", "status"].iter().filter_map(|key| error.get(key)?.as_u64()).find(|code| (400..600).contains(code));
        Self {
            status: status.and_then(|code| u16::try_from(code).ok()),
            code: code.join(" ").to_lowercase(),
            message: message.unwrap_or_default(),
        }
    }

    /// The class.
    pub(crate) fn class(&self) -> FailureClass {
        match self.status {
            Some(401 | 403) => self.either(NO_CREDIT, FailureClass::Billing, FailureClass::Auth),
            Some(402) => self.either(TEMPORARY, FailureClass::RateLimit, FailureClass::Billing),
            Some(404) => FailureClass::ModelNotFound,
            Some(413) => FailureClass::ContextOverflow,
            Some(429) => self.either(NO_CREDIT, FailureClass::Billing, FailureClass::RateLimit),
            Some(503 | 529) => FailureClass::Overloaded,
            Some(408 | 409 | 500..=599) => self
                .first_of(&[(OVERFLOW, FailureClass::ContextOverflow), (BUSY, FailureClass::Overloaded)], FailureClass::Timeout),
            Some(400 | 405 | 415 | 422) => self.by_words(FailureClass::Format),
            _ => self.by_words(FailureClass::Unknown),
        }
    }

    fn by_words(&self, otherwise: FailureClass) -> FailureClass {
        if self.names_missing_model() {
            return FailureClass::ModelNotFound;
        }
        let rows = [
            (OVERFLOW, FailureClass::ContextOverflow),
            (NO_CREDIT, FailureClass::Billing),
            (BAD_KEY, FailureClass::Auth),
            (THROTTLED, FailureClass::RateLimit),
            (BUSY, FailureClass::Overloaded),
            // Before the words for a broken server: a refused request may well mention a timeout parameter.
            (UNACCEPTABLE, FailureClass::Format),
        ];
        match self.first_of(&rows, otherwise) {
            FailureClass::Unknown => self.either(BROKEN, FailureClass::Timeout, FailureClass::Unknown),
            class => class,
        }
    }

    fn names_missing_model(&self) -> bool {
        let text = self.message.to_lowercase();
        let missing = ["not found", "does not exist", "not exist"].iter().any(|words| text.contains(words));
        self.says(NO_MODEL) || (text.contains("model") && missing)
    }

    fn either(&self, words: &[&str], then: FailureClass, otherwise: FailureClass) -> FailureClass {
        if self.says(words) { then } else { otherwise }
    }

    fn first_of(&self, rows: &[(&[&str], FailureClass)], otherwise: FailureClass) -> FailureClass {
        rows.iter().find(|(words, _)| self.says(words)).map_or(otherwise, |(_, class)| *class)
    }

    fn says(&self, words: &[&str]) -> bool {
        let message = self.message.to_lowercase();
        words.iter().any(|words| self.code.contains(words) || message.contains(words))
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Text of a body that is not JSON. The pages of proxies say nothing that the status does not say.
fn plain_text(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    if text.trim_start().starts_with('<') { String::new() } else { text.trim().to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn status_and_words_give_the_class() {
        use FailureClass::{Auth, Billing, ContextOverflow, Format, ModelNotFound, Overloaded, RateLimit, Timeout, Unknown};
        let rows = [
            (401, r#"{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}"#, Auth),
            (403, r#"{"error":"revoked"}"#, Auth),
            (402, r#"{"error":{"message":"Insufficient credits"}}"#, Billing),
            (402, r#"{"error":{"message":"Usage window full, try again in 3 hours"}}"#, RateLimit),
            (404, r#"{"error":{"message":"The model `x` does not exist"}}"#, ModelNotFound),
            (413, "", ContextOverflow),
            (429, r#"{"error":{"message":"Rate limit reached"}}"#, RateLimit),
            (429, r#"{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}"#, Billing),
            (500, "<html>oops</html>", Timeout),
            (500, r#"{"error":{"type":"overloaded_error"}}"#, Overloaded),
            (502, "", Timeout),
            (503, "", Overloaded),
            (529, "", Overloaded),
            (408, "", Timeout),
            (400, r#"{"error":{"message":"bad field","type":"invalid_request_error"}}"#, Format),
            (
                400,
                r#"{"error":{"code":"context_length_exceeded","message":"This model's maximum context length is 8192"}}"#,
                ContextOverflow,
            ),
            (400, r#"[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT"}}]"#, Auth),
            (400, r#"{"error":{"message":"Your credit balance is too low"}}"#, Billing),
            (422, r#"{"detail":[{"msg":"field required"}]}"#, Format),
            (418, "teapot", Unknown),
        ];
        for (status, body, class) in rows {
            assert_eq!(Refusal::of_body(status, body.as_bytes()).class(), class, "{status} {body}");
        }
    }

    #[test]
    fn errors_inside_a_stream_have_a_class_too() {
        let rows = [
            (json!({"message": "Provider returned error", "code": 502}), FailureClass::Timeout),
            (json!({"message": "slow down", "code": "rate_limit_exceeded"}), FailureClass::RateLimit),
            (json!({"message": "Internal server error", "type": "api_error"}), FailureClass::Timeout),
            (json!("the model is overloaded"), FailureClass::Overloaded),
            (json!({"odd": 1}), FailureClass::Unknown),
        ];
        for (error, class) in rows {
            assert_eq!(Refusal::of_value(&error).class(), class, "{error}");
        }
    }

    #[test]
    fn any_body_gives_a_message_or_none() {
        let rows = [
            (r#"{"error":{"message":"m"}}"#, "m"),
            (r#"{"error":"m"}"#, "m"),
            (r#"{"message":"m"}"#, "m"),
            (r#"{"detail":[1]}"#, "[1]"),
            ("  plain \n", "plain"),
            ("<!doctype html>", ""),
            ("[]", ""),
            ("null", ""),
            ("", ""),
        ];
        for (body, message) in rows {
            assert_eq!(Refusal::of_body(500, body.as_bytes()).message, message, "{body}");
        }
        assert_eq!(Refusal::of_body(500, b"\xff\xfe").status, Some(500));
    }
}
