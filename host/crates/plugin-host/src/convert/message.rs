//! Hooks on the way in and out: `message-received`, `reply-payload-sending`, `message-sending`, `message-sent`.

use domain::payload::PayloadKind;
use hooks::Fault;
use hooks::events::observed::{Location, LocationSource, MediaFact, MessageReceived, MessageSent, ProviderUpdate};
use hooks::events::{ChannelRef, message_sending as sending, reply_payload_sending as payload};

use super::{Arena, FromAnswer, ToRecord, json};
use crate::bindings::creel::plugin::types::IdParam;
use crate::bindings::exports::creel::plugin::{
    message_received as received, message_sending as wit_sending, message_sent, reply_payload_sending as wit_payload,
};

fn id(id: &ChannelRef) -> IdParam<'_> {
    match id {
        ChannelRef::Text(text) => IdParam::Text(text),
        ChannelRef::Num(number) => IdParam::Num(*number),
    }
}

impl<'a> ToRecord<'a> for MessageReceived {
    type Record = received::Event<'a>;

    fn to_record(&'a self, arena: &'a Arena) -> Self::Record {
        received::Event {
            from: &self.from,
            content: &self.content,
            timestamp: self.timestamp,
            thread_id: self.thread_id.as_ref().map(id),
            location: self.location.as_ref().map(location),
            provider_update: self.provider_update.as_ref().map(update),
            media: arena.list(self.media.iter().map(media)),
            original_media: arena.list(self.original_media.iter().map(media)),
            media_staging_pending: self.media_staging_pending,
            metadata: self.metadata.as_ref().map(|json| json.as_str()),
        }
    }
}

fn media(fact: &MediaFact) -> received::MediaFact<'_> {
    received::MediaFact {
        path: fact.path.as_deref(),
        url: fact.url.as_deref(),
        content_type: fact.content_type.as_deref(),
        kind: fact.kind.as_deref(),
        transcribed: fact.transcribed,
        message_id: fact.message_id.as_deref(),
        workspace_dir: fact.workspace_dir.as_deref(),
    }
}

fn location(place: &Location) -> received::Location<'_> {
    received::Location {
        latitude: place.latitude,
        longitude: place.longitude,
        accuracy: place.accuracy,
        name: place.name.as_deref(),
        address: place.address.as_deref(),
        source: place.source.map(|source| match source {
            LocationSource::Pin => received::LocationSource::Pin,
            LocationSource::Place => received::LocationSource::Place,
            LocationSource::Live => received::LocationSource::Live,
        }),
        is_live: place.is_live,
        live_period_seconds: place.live_period_seconds,
        caption: place.caption.as_deref(),
    }
}

fn update(update: &ProviderUpdate) -> received::ProviderUpdate<'_> {
    received::ProviderUpdate {
        id: &update.id,
        kind: &update.kind,
        message_id: update.message_id.as_deref(),
        message_timestamp: update.message_timestamp,
        edited_timestamp: update.edited_timestamp,
    }
}

impl<'a> ToRecord<'a> for payload::Event {
    type Record = wit_payload::Event<'a>;

    fn to_record(&'a self, arena: &'a Arena) -> Self::Record {
        wit_payload::Event {
            payload: arena.render(&self.payload),
            kind: match self.kind {
                PayloadKind::Tool => wit_payload::PayloadKind::Tool,
                PayloadKind::Block => wit_payload::PayloadKind::Block,
                PayloadKind::Final => wit_payload::PayloadKind::Final,
            },
            channel: self.channel.as_deref(),
            usage_state: self.usage_state.as_ref().map(|json| json.as_str()),
        }
    }
}

impl FromAnswer for payload::Answer {
    type Wit = wit_payload::Answer;

    fn from_answer(answer: wit_payload::Answer) -> Result<Self, Fault> {
        let payload = json::optional("payload", answer.payload, json::payload)?;
        Ok(Self { payload, cancel: answer.cancel, reason: answer.reason })
    }
}

impl<'a> ToRecord<'a> for sending::Event {
    type Record = wit_sending::Event<'a>;

    fn to_record(&'a self, _arena: &'a Arena) -> Self::Record {
        wit_sending::Event {
            to: &self.to,
            content: &self.content,
            reply_to_id: self.reply_to_id.as_ref().map(id),
            thread_id: self.thread_id.as_ref().map(id),
            metadata: self.metadata.as_ref().map(|json| json.as_str()),
        }
    }
}

impl FromAnswer for sending::Answer {
    type Wit = wit_sending::Answer;

    fn from_answer(answer: wit_sending::Answer) -> Result<Self, Fault> {
        Ok(Self {
            content: answer.content,
            cancel: answer.cancel,
            cancel_reason: answer.cancel_reason,
            metadata: json::optional("metadata", answer.metadata, json::any_text)?,
        })
    }
}

impl<'a> ToRecord<'a> for MessageSent {
    type Record = message_sent::Event<'a>;

    fn to_record(&'a self, _arena: &'a Arena) -> Self::Record {
        message_sent::Event {
            to: &self.to,
            content: &self.content,
            success: self.success,
            message_id: self.message_id.as_deref(),
            error: self.error.as_deref(),
        }
    }
}
