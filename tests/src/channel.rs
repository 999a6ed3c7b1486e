//! The way out: writes into the journal what it is given.

use async_trait::async_trait;
use domain::ports::{Channel, Outbound, SendFailure, SendResult};

use crate::journal::{Entry, Journal};

/// Id of the tests' channel.
pub const CHANNEL: &str = "test";

/// A channel that takes every text but those that hold `refuses`.
pub(crate) struct TestChannel {
    pub(crate) journal: Journal,
    pub(crate) refuses: Option<String>,
}

#[async_trait]
impl Channel for TestChannel {
    fn id(&self) -> &str {
        CHANNEL
    }

    async fn send(&self, message: &Outbound) -> SendResult {
        let refused = self.refuses.as_deref().is_some_and(|text| message.content.contains(text));
        self.journal.add(Entry::Sent(message.clone(), !refused));
        if refused {
            return Err(SendFailure("the channel refused the message".to_owned()));
        }
        let number = self.journal.find(|entry| matches!(entry, Entry::Sent(_, true)).then_some(())).len();
        Ok(Some(format!("m{number}")))
    }
}
