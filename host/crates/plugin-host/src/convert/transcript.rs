//! `before-message-write`: the last look at a row before it is stored.

use hooks::Fault;
use hooks::events::before_message_write::{Answer, Event};

use super::{Arena, FromAnswer, ToRecord, json};
use crate::bindings::exports::creel::plugin::before_message_write as wit;

impl<'a> ToRecord<'a> for Event {
    type Record = wit::Event<'a>;

    fn to_record(&'a self, arena: &'a Arena) -> Self::Record {
        wit::Event { message: json::render_message(arena, &self.message) }
    }
}

impl FromAnswer for Answer {
    type Wit = wit::Answer;

    fn from_answer(answer: wit::Answer) -> Result<Self, Fault> {
        // `block` is checked before the message, which is not looked at then (plugin-hooks 5.9).
        if answer.block {
            return Ok(Self { block: true, message: None });
        }
        Ok(Self { block: false, message: json::optional("message", answer.message, json::message)? })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_block_counts_whatever_stands_beside_it() {
        let answer = |block| Answer::from_answer(wit::Answer { block, message: Some("broken".to_owned()) });
        assert!(answer(true).unwrap().block);
        assert!(answer(false).is_err());
    }
}
