//! Sending messages; asks for the grant `messagesSend`, by channel.
//!
//! A message goes through the host's one deliver function and its hooks, except this plugin's own handlers in the same chain. It works
//! inside a run; elsewhere the answer is [`HostError::Unavailable`].
//!
//! ```
//! use creel_plugin::messages::{self, DeliveryStatus, Message};
//! use creel_plugin::testing::Host;
//!
//! let host = Host::new();
//! let receipt = host.run(|| messages::send(Message::text("disk is full").once("disk-full"))).unwrap();
//! assert_eq!(receipt.status, DeliveryStatus::Sent);
//! let again = host.run(|| messages::send(Message::text("disk is full").once("disk-full"))).unwrap();
//! assert_eq!(again.status, DeliveryStatus::Suppressed);
//! assert_eq!(host.messages(), [Message::text("disk is full").once("disk-full")]);
//! ```

use super::backend;
use crate::error::HostError;

pub use crate::bindings::host::creel::plugin::messages_send::{DeliveryStatus, Message, Receipt};

impl Message {
    /// A text for the conversation of the current call.
    pub fn text(content: impl Into<String>) -> Self {
        Self {
            content: content.into(),
            media_urls: Vec::new(),
            channel: None,
            account_id: None,
            to: None,
            thread_id: None,
            reply_to_id: None,
            idempotency_key: None,
        }
    }

    /// With the address of a picture or another file.
    #[must_use]
    pub fn media(mut self, url: impl Into<String>) -> Self {
        self.media_urls.push(url.into());
        self
    }

    /// To somebody else, as the channel addresses them.
    #[must_use]
    pub fn to(mut self, recipient: impl Into<String>) -> Self {
        self.to = Some(recipient.into());
        self
    }

    /// On another channel.
    #[must_use]
    pub fn channel(mut self, channel: impl Into<String>) -> Self {
        self.channel = Some(channel.into());
        self
    }

    /// Not if one with the same key was sent within the last 24 hours.
    #[must_use]
    pub fn once(mut self, key: impl Into<String>) -> Self {
        self.idempotency_key = Some(key.into());
        self
    }
}

/// Sends a message and waits for the channel. What hooks and the channel made of it is in the receipt.
///
/// # Errors
/// No delivery was tried: not granted, no such channel, nothing to send, or plugin calls are nested too deep.
pub fn send(message: Message) -> Result<Receipt, HostError> {
    backend::send_message(&message)
}
