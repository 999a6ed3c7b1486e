//! One HTTP request, repeated while that is likely to help (runtime 5.5). Repeats end where an answer begins.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::model::{FailureClass, ModelFailure};
use domain::ports::Clock;
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};

use super::body::Body;
use super::client::Target;
use super::meter::Meter;
use super::watch::Watch;
use crate::classify::Refusal;
use crate::settings::RetryPolicy;

/// As much of an error body as is read; its first lines say it all.
const MAX_ERROR_BODY: usize = 64 << 10;

/// A request, ready to be sent.
pub(crate) struct Outgoing {
    pub(crate) target: Arc<Target>,
    pub(crate) body: Bytes,
    pub(crate) policy: RetryPolicy,
    pub(crate) watch: Watch,
    /// Longest wait for the head of the answer.
    pub(crate) headers: Option<Duration>,
    pub(crate) max_stream_bytes: usize,
    pub(crate) clock: Arc<dyn Clock>,
}

/// A body to read, with the facts that it fills, and its media type.
pub(crate) struct Answered {
    pub(crate) body: Body,
    pub(crate) meter: Meter,
    pub(crate) media_type: String,
}

/// One request failed.
struct Miss {
    failure: ModelFailure,
    repeatable: bool,
    asked_delay: Option<Duration>,
}

impl Outgoing {
    /// Sends the request until an answer begins.
    ///
    /// # Errors
    /// The last failure, when it cannot be helped by repeating, or often enough was.
    pub(crate) async fn send(&self) -> Result<Answered, ModelFailure> {
        let mut attempt = 1;
        loop {
            let miss = match self.attempt().await {
                Ok(answered) => return Ok(answered),
                Err(miss) => miss,
            };
            let delay = self.policy.delay(attempt, miss.asked_delay, jitter());
            let failure = match delay {
                Some(delay) if miss.repeatable && attempt < self.policy.attempts => {
                    // In short: if it does not help, the failure is told in full by whoever asked.
                    let (class, delay_ms) = (miss.failure.class.as_str(), delay.as_millis());
                    tracing::info!(class, attempt, delay_ms, "a request to the model provider failed and is repeated");
                    tracing::debug!("the failure that the request is repeated for: {}", miss.failure);
                    let slept = self.watch.without_idle().within(tokio::time::sleep(delay)).await;
                    slept.map_err(|expired| self.target.blame().expired(expired))?;
                    attempt += 1;
                    continue;
                }
                _ => miss.failure,
            };
            return Err(with_wait(failure, miss.asked_delay));
        }
    }

    async fn attempt(&self) -> Result<Answered, Miss> {
        let blame = self.target.blame();
        let meter = Meter::start(self.body.len());
        let request =
            self.target.post().map_err(|error| Miss::last(blame.failure(FailureClass::Unknown, format_args!("has {error}"))))?;
        let request = request.header(CONTENT_TYPE, HeaderValue::from_static("application/json")).body(self.body.clone());
        let watch = self.watch.with_idle_below(self.headers);
        let response = match watch.within(request.send()).await {
            Err(expired) => return Err(Miss::last(ModelFailure { facts: meter.facts(), ..blame.expired(expired) })),
            Ok(Err(error)) => {
                return Err(Miss {
                    failure: ModelFailure { facts: meter.facts(), ..blame.unreachable(&error) },
                    repeatable: !error.is_builder(),
                    asked_delay: None,
                });
            }
            Ok(Ok(response)) => response,
        };
        meter.head(response.headers());
        if response.status().is_success() {
            let media_type = media_type(response.headers());
            let body = Body::new(response, self.watch, meter.clone(), self.max_stream_bytes);
            return Ok(Answered { body, meter, media_type });
        }
        Err(self.refusal(response, meter).await)
    }

    async fn refusal(&self, response: Response, meter: Meter) -> Miss {
        let status = response.status();
        let asked_delay = asked_delay(response.headers(), self.clock.now_ms());
        let mut body = Body::new(response, self.watch, meter.clone(), self.max_stream_bytes);
        let refusal = Refusal::of_body(status.as_u16(), &body.read_some(MAX_ERROR_BODY).await);
        let failure = ModelFailure { facts: meter.facts(), ..self.target.blame().refused(&refusal) };
        let by_status = matches!(status.as_u16(), 408 | 409 | 429 | 500..=599);
        // No credit and an overflow come with these statuses too, and do not pass by waiting.
        let lasting = matches!(failure.class, FailureClass::Billing | FailureClass::ContextOverflow);
        Miss { failure, repeatable: by_status && !lasting, asked_delay }
    }
}

impl Miss {
    fn last(failure: ModelFailure) -> Self {
        Self { failure, repeatable: false, asked_delay: None }
    }
}

impl RetryPolicy {
    /// Wait after a request, the first being 1; none: do not wait. `jitter` is between 0 and 1.
    fn delay(&self, attempt: u32, asked: Option<Duration>, jitter: f64) -> Option<Duration> {
        if let Some(asked) = asked {
            return self.max_asked_delay.is_none_or(|max| asked <= max).then_some(asked);
        }
        let doubled = self.first_delay.saturating_mul(2_u32.saturating_pow(attempt.saturating_sub(1)));
        // 10 % up or down, so that clients which failed together do not come back together.
        Some(doubled.min(self.max_delay).mul_f64(0.9 + 0.2 * jitter.clamp(0.0, 1.0)))
    }
}

fn jitter() -> f64 {
    getrandom::u32().map_or(0.5, |random| f64::from(random) / f64::from(u32::MAX))
}

fn with_wait(failure: ModelFailure, asked: Option<Duration>) -> ModelFailure {
    match asked {
        Some(asked) => {
            let message = format!("{}; it asks to wait {} s", failure.message, asked.as_secs_f64().ceil());
            ModelFailure { message, ..failure }
        }
        None => failure,
    }
}

fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// What `retry-after-ms` or `retry-after` (seconds or a date) asks for.
fn asked_delay(headers: &HeaderMap, now_ms: u64) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| *number >= 0.0);
    let precise = text("retry-after-ms").and_then(number).and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok());
    precise.or_else(|| {
        let text = text("retry-after")?;
        match number(text) {
            Some(seconds) => Duration::try_from_secs_f64(seconds).ok(),
            None => until(text, now_ms),
        }
    })
}

fn until(date: &str, now_ms: u64) -> Option<Duration> {
    let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(date).ok()?;
    let date_ms = u64::try_from(date.as_millisecond()).unwrap_or(0);
    Some(Duration::from_millis(date_ms.saturating_sub(now_ms)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn headers(rows: &[(&'static str, &'static str)]) -> HeaderMap {
        rows.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn delays_double_to_a_limit_and_scatter() {
        let policy = RetryPolicy::default();
        let delays: Vec<u128> = (1..=8).map(|attempt| policy.delay(attempt, None, 0.5).unwrap().as_millis()).collect();
        assert_eq!(delays, [500, 1000, 2000, 4000, 8000, 16000, 30000, 30000]);
        assert_eq!(policy.delay(1, None, 0.0), Some(Duration::from_millis(450)));
        assert_eq!(policy.delay(1, None, 1.0), Some(Duration::from_millis(550)));
        assert!(policy.delay(u32::MAX, None, 0.5).unwrap() <= policy.max_delay);
    }

    #[test]
    fn a_long_asked_delay_is_not_slept() {
        let policy = RetryPolicy::default();
        assert_eq!(policy.delay(1, Some(Duration::from_secs(60)), 0.5), Some(Duration::from_secs(60)));
        assert_eq!(policy.delay(1, Some(Duration::from_secs(61)), 0.5), None);
        let unlimited = RetryPolicy { max_asked_delay: None, ..policy };
        assert_eq!(unlimited.delay(1, Some(Duration::from_secs(900)), 0.5), Some(Duration::from_secs(900)));
    }

    #[test]
    fn asked_delays_are_read_in_all_forms() {
        let now = 1_445_412_480_000; // Wed, 21 Oct 2015 07:28:00 GMT
        let read = |rows: &[(&'static str, &'static str)]| asked_delay(&headers(rows), now).map(|delay| delay.as_millis());
        assert_eq!(read(&[("retry-after-ms", "1500"), ("retry-after", "9")]), Some(1500));
        assert_eq!(read(&[("retry-after", "120")]), Some(120_000));
        assert_eq!(read(&[("retry-after", "0.5")]), Some(500));
        assert_eq!(read(&[("retry-after", "Wed, 21 Oct 2015 07:28:30 GMT")]), Some(30_000));
        assert_eq!(read(&[("retry-after", "Wed, 21 Oct 2015 07:00:00 GMT")]), Some(0));
        assert_eq!(read(&[("retry-after", "-1")]), None);
        assert_eq!(read(&[("retry-after-ms", "soon"), ("retry-after", "1e300")]), None);
        assert_eq!(read(&[]), None);
    }
}
