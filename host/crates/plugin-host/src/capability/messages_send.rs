//! `messages-send`: messages on granted channels, through the run's one deliver function. A channel of this version has neither accounts
//! nor threads, and gives no ids that a message could answer to.

use domain::services::{PluginMessage, SentStatus};

use super::{capability, further_chain, services, within};
use crate::bindings::creel::plugin::{messages_send, types::HostError};
use crate::grant::Capability;
use crate::state::{Call, PluginFacts, State};
use crate::told::Told;

/// Messages of one call of a plugin.
pub(crate) struct MessagesSendView<'a> {
    plugin: &'a PluginFacts,
    call: &'a Call,
    told: &'a Told,
}

capability! {
    /// `creel:plugin/messages-send`.
    MessagesSend => MessagesSendView
}

impl State {
    pub(crate) fn messages_send(&mut self) -> MessagesSendView<'_> {
        MessagesSendView { plugin: &self.plugin, call: &self.call, told: &self.told }
    }
}

impl MessagesSendView<'_> {
    fn check_grant(&self, channel: &str) -> Result<(), HostError> {
        if self.plugin.grants.messages_send.as_ref().is_some_and(|names| names.covers(channel)) {
            return Ok(());
        }
        let (id, channel) = (&self.plugin.id, hooks::fault::one_line(channel, 64));
        let sentence = format!(
            "messages on the channel `{channel}` are not granted; to allow them add \"{channel}\" to \
             plugins.entries.{id}.capabilities.messagesSend"
        );
        self.told.refused(id, self.call.surface, Capability::MessagesSend, &sentence);
        Err(HostError::Denied(sentence))
    }
}

impl messages_send::Host for MessagesSendView<'_> {
    async fn send(&mut self, message: messages_send::Message) -> Result<messages_send::Receipt, HostError> {
        let services = services(self.call)?;
        self.check_grant(message.channel.as_deref().unwrap_or(&services.channel()))?;
        for (is_given, what) in [
            (message.account_id.is_some(), "accounts"),
            (message.thread_id.is_some(), "threads"),
            (message.reply_to_id.is_some(), "messages that can be answered"),
        ] {
            if is_given {
                return Err(HostError::NotFound(format!("the channel has no {what}")));
            }
        }
        let message = PluginMessage {
            chain: further_chain(self.call, &self.plugin.id)?,
            content: message.content,
            media: message.media_urls,
            channel: message.channel,
            to: message.to,
            idempotency_key: message.idempotency_key,
        };
        let sent = within(self.call, services.send_message(message)).await?;
        Ok(messages_send::Receipt {
            status: match sent.status {
                SentStatus::Sent => messages_send::DeliveryStatus::Sent,
                SentStatus::Suppressed => messages_send::DeliveryStatus::Suppressed,
                SentStatus::Failed => messages_send::DeliveryStatus::Failed,
            },
            message_id: sent.message_id,
            detail: sent.detail,
        })
    }
}
