//! One model call as a stream of events: send, read, end. Dropping the stream drops the connection.

use std::collections::VecDeque;

use domain::cancel::Cancel;
use domain::model::{CallFacts, FailureClass, ModelEvent, ModelFailure};
use futures_util::stream::{self, BoxStream, StreamExt};
use serde::de::IgnoredAny;

use super::answer::Answer;
use crate::http::{Blame, Body, BodyFault, Event, EventReader, Meter, Outgoing};

/// Marks the end of a stream; no JSON.
const END: &str = "[DONE]";

/// A call under way.
pub(super) struct Call {
    phase: Phase,
    answer: Option<Answer>,
    /// Events that were read together and wait to be taken.
    ready: VecDeque<ModelEvent>,
    meter: Option<Meter>,
    max_event_bytes: usize,
    blame: Blame,
    cancel: Cancel,
}

enum Phase {
    Sending(Box<Outgoing>),
    Streaming(Box<EventReader>),
    /// The server sends the whole answer at once.
    Whole(Box<Body>),
    Over,
}

impl Call {
    /// A call that is sent when its first event is asked for.
    pub(super) fn new(outgoing: Outgoing, answer: Answer, max_event_bytes: usize, cancel: Cancel) -> Self {
        let blame = outgoing.target.blame().clone();
        let phase = Phase::Sending(Box::new(outgoing));
        Self { phase, answer: Some(answer), ready: VecDeque::new(), meter: None, max_event_bytes, blame, cancel }
    }

    /// The events.
    pub(super) fn into_stream(self) -> BoxStream<'static, ModelEvent> {
        stream::unfold(self, Self::next).boxed()
    }

    async fn next(mut self) -> Option<(ModelEvent, Self)> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some((event, self));
            }
            if matches!(self.phase, Phase::Over) {
                return None;
            }
            let cancel = self.cancel.clone();
            let step = tokio::select! {
                biased;
                () = cancel.cancelled() => Err(self.blame.aborted()),
                step = self.step() => step,
            };
            if let Err(failure) = step {
                self.fail(failure);
            }
        }
    }

    async fn step(&mut self) -> Result<(), ModelFailure> {
        match &mut self.phase {
            Phase::Sending(outgoing) => {
                let answered = outgoing.send().await?;
                self.meter = Some(answered.meter);
                self.begin(answered.body, &answered.media_type)
            }
            Phase::Streaming(reader) => {
                let read = reader.next().await;
                self.take(read)
            }
            Phase::Whole(body) => {
                let whole = body.read_all().await.map_err(|fault| self.blame.body(&fault))?;
                self.data(&String::from_utf8_lossy(&whole))?;
                self.take(Ok(None))
            }
            Phase::Over => Ok(()),
        }
    }

    fn begin(&mut self, body: Body, media_type: &str) -> Result<(), ModelFailure> {
        self.phase = match media_type {
            "application/json" => Phase::Whole(Box::new(body)),
            "text/html" => {
                let what = "answered with a web page instead of a stream; is its `baseUrl` right?";
                return Err(self.blame.failure(FailureClass::Unknown, what));
            }
            // Some servers give no type, or a wrong one.
            _ => Phase::Streaming(Box::new(EventReader::of_body(body, self.max_event_bytes))),
        };
        self.ready.push_back(ModelEvent::Start);
        Ok(())
    }

    fn take(&mut self, read: Result<Option<Event>, BodyFault>) -> Result<(), ModelFailure> {
        // Once the server has said how the answer ends, nothing that can still go wrong makes it incomplete.
        let is_complete = self.answer.as_ref().is_some_and(Answer::is_complete);
        match read {
            Ok(Some(event)) if event.data == END && is_complete => self.end(),
            Ok(Some(event)) if event.data == END => return Err(self.blame.unfinished()),
            Ok(Some(event)) if event.data.is_empty() => {}
            Ok(Some(event)) if event.maybe_cut && !is_json(&event.data) => return self.take(Ok(None)),
            Ok(Some(event)) => return self.data(&event.data),
            Ok(None) | Err(_) if is_complete => self.end(),
            Ok(None) => return Err(self.blame.unfinished()),
            Err(fault) => return Err(self.blame.body(&fault)),
        }
        Ok(())
    }

    fn data(&mut self, data: &str) -> Result<(), ModelFailure> {
        if let Some(answer) = &mut self.answer {
            self.ready.extend(answer.take(data)?);
        }
        Ok(())
    }

    fn end(&mut self) {
        self.phase = Phase::Over;
        let facts = self.facts();
        self.ready.extend(self.answer.take().map(|answer| answer.end(facts)));
    }

    fn fail(&mut self, failure: ModelFailure) {
        self.phase = Phase::Over;
        // A request that found no answer has its own facts.
        let facts = if self.meter.is_some() { self.facts() } else { failure.facts };
        let failure = ModelFailure { facts, ..failure };
        self.ready.extend(self.answer.take().map(|answer| answer.fail(failure)));
    }

    fn facts(&self) -> CallFacts {
        self.meter.as_ref().map(Meter::facts).unwrap_or_default()
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
    use bytes::Bytes;
    use domain::message::AssistantMessage;
    use domain::model::ModelRef;
    use futures_util::FutureExt;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::call_ids::CallIds;
    use crate::draft::Draft;

    /// Reads a body that arrives in these pieces.
    fn read(pieces: Vec<Bytes>) -> Vec<ModelEvent> {
        let blame = Blame::new("acme", Default::default());
        let draft = Draft::new("api", &ModelRef::new("acme", "m"), 0);
        let reader = EventReader::new(stream::iter(pieces.into_iter().map(Ok)).boxed(), 1 << 20);
        let call = Call {
            phase: Phase::Streaming(Box::new(reader)),
            answer: Some(Answer::new(draft, CallIds::of(&[]), true, blame.clone())),
            ready: VecDeque::new(),
            meter: None,
            max_event_bytes: 1 << 20,
            blame,
            cancel: Cancel::default(),
        };
        call.into_stream().collect().now_or_never().unwrap()
    }

    fn message(events: &[ModelEvent]) -> AssistantMessage {
        match events.last() {
            Some(ModelEvent::Done { message, .. }) => (**message).clone(),
            other => panic!("not done: {other:?}"),
        }
    }

    fn cut(body: &[u8], mut places: Vec<usize>) -> Vec<Bytes> {
        places.sort_unstable();
        let mut pieces = Vec::new();
        let mut start = 0;
        for place in places.into_iter().map(|place| place % (body.len() + 1)).collect::<std::collections::BTreeSet<_>>() {
            pieces.push(Bytes::copy_from_slice(&body[start..place]));
            start = place;
        }
        pieces.push(Bytes::copy_from_slice(&body[start..]));
        pieces
    }

    fn deltas(texts: &[String], arguments: &[String]) -> Vec<Value> {
        let delta = |delta: Value| json!({"choices": [{"delta": delta}]});
        let mut chunks: Vec<Value> = texts.iter().map(|text| delta(json!({"content": text}))).collect();
        for index in 0..arguments.len() {
            chunks.push(delta(json!({"tool_calls": [{"index": index, "id": format!("c{index}"), "function": {"name": "t"}}]})));
        }
        // The arguments come interleaved, a character at a time, as JSON texts.
        let encoded: Vec<Vec<char>> = arguments.iter().map(|text| json!({"a": text}).to_string().chars().collect()).collect();
        for at in 0..encoded.iter().map(Vec::len).max().unwrap_or(0) {
            for (index, text) in encoded.iter().enumerate() {
                let piece: String = text.get(at).into_iter().collect();
                chunks.push(delta(json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})));
            }
        }
        chunks.push(json!({"choices": [{"finish_reason": if arguments.is_empty() { "stop" } else { "tool_calls" }}]}));
        chunks
    }

    proptest! {
        #[test]
        fn any_split_of_the_bytes_yields_the_same_message(
            texts in prop::collection::vec(any::<String>(), 0..5),
            arguments in prop::collection::vec("\\PC{0,8}", 0..3),
            line_end in prop::sample::select(vec!["\n", "\r\n", "\r"]),
            places in prop::collection::vec(any::<usize>(), 0..40),
            singly in any::<bool>(),
        ) {
            let event = |chunk: &Value| format!(": ping{line_end}data: {chunk}{line_end}{line_end}");
            let body: String = deltas(&texts, &arguments).iter().map(event).collect::<String>() + "data: [DONE]" + line_end + line_end;
            let body = body.as_bytes();
            let whole = read(vec![Bytes::copy_from_slice(body)]);
            let pieces = if singly { body.chunks(1).map(Bytes::copy_from_slice).collect() } else { cut(body, places) };
            prop_assert_eq!(&read(pieces), &whole);
            let message = message(&whole);
            prop_assert_eq!(domain::message::text_of(&message.content), texts.concat());
            let parsed: Vec<Value> = message.tool_calls().map(|call| call.arguments["a"].clone()).collect();
            prop_assert_eq!(parsed, arguments);
        }

        #[test]
        fn no_bytes_break_the_reader(body in prop::collection::vec(any::<u8>(), 0..200), places in prop::collection::vec(any::<usize>(), 0..9)) {
            let events = read(cut(&body, places));
            let is_failure = matches!(events.last(), Some(ModelEvent::Failed { .. }));
            prop_assert!(is_failure);
        }
    }
}
