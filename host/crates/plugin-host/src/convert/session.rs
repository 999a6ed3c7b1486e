//! Hooks of a session's life: `session-start`, `session-end`, `before-reset`, `before-compaction`, `after-compaction`.

use hooks::events::observed::{AfterCompaction, BeforeCompaction, BeforeReset, EndReason, SessionEnd, SessionStart};

use super::{Arena, ToRecord};
use crate::bindings::exports::creel::plugin::{after_compaction, before_compaction, before_reset, session_end, session_start};

impl<'a> ToRecord<'a> for SessionStart {
    type Record = session_start::Event<'a>;

    fn to_record(&'a self, _arena: &'a Arena) -> Self::Record {
        session_start::Event { resumed_from: self.resumed_from.as_deref() }
    }
}

impl<'a> ToRecord<'a> for SessionEnd {
    type Record = session_end::Event<'a>;

    fn to_record(&'a self, _arena: &'a Arena) -> Self::Record {
        session_end::Event {
            message_count: self.message_count,
            duration_ms: self.duration_ms,
            reason: self.reason.map(reason),
            session_file: self.session_file.as_deref(),
            transcript_archived: self.transcript_archived,
            next_session_id: self.next_session_id.as_deref(),
            next_session_key: self.next_session_key.as_deref(),
            transcript: match &self.transcript {
                Ok(()) => session_end::TranscriptAccess::Available,
                Err(why) => session_end::TranscriptAccess::Unavailable(why),
            },
        }
    }
}

fn reason(reason: EndReason) -> session_end::EndReason {
    match reason {
        EndReason::New => session_end::EndReason::New,
        EndReason::Reset => session_end::EndReason::Reset,
        EndReason::Idle => session_end::EndReason::Idle,
        EndReason::Daily => session_end::EndReason::Daily,
        EndReason::Compaction => session_end::EndReason::Compaction,
        EndReason::Deleted => session_end::EndReason::Deleted,
        EndReason::Shutdown => session_end::EndReason::Shutdown,
        EndReason::Restart => session_end::EndReason::Restart,
        EndReason::Unknown => session_end::EndReason::Unknown,
    }
}

impl<'a> ToRecord<'a> for BeforeReset {
    type Record = before_reset::Event<'a>;

    fn to_record(&'a self, arena: &'a Arena) -> Self::Record {
        before_reset::Event {
            session_file: self.session_file.as_deref(),
            messages: self.messages.as_ref().map(|messages| arena.jsons(messages)),
            reason: self.reason.as_deref(),
        }
    }
}

impl<'a> ToRecord<'a> for BeforeCompaction {
    type Record = before_compaction::Event<'a>;

    fn to_record(&'a self, arena: &'a Arena) -> Self::Record {
        before_compaction::Event {
            message_count: count_or_unknown(self.message_count),
            compacting_count: self.compacting_count,
            token_count: self.token_count,
            messages: self.messages.as_ref().map(|messages| arena.jsons(messages)),
            session_file: self.session_file.as_deref(),
        }
    }
}

impl<'a> ToRecord<'a> for AfterCompaction {
    type Record = after_compaction::Event<'a>;

    fn to_record(&'a self, _arena: &'a Arena) -> Self::Record {
        after_compaction::Event {
            message_count: count_or_unknown(self.message_count),
            compacted_count: self.compacted_count,
            token_count: self.token_count,
            session_file: self.session_file.as_deref(),
            previous_session_id: self.previous_session_id.as_deref(),
        }
    }
}

/// -1 is unknown; a count saturates (plugin-hooks 1.9).
fn count_or_unknown(count: Option<u32>) -> i32 {
    count.map_or(-1, |count| i32::try_from(count).unwrap_or(i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_count_is_minus_one() {
        assert_eq!(count_or_unknown(None), -1);
        assert_eq!(count_or_unknown(Some(7)), 7);
        assert_eq!(count_or_unknown(Some(u32::MAX)), i32::MAX);
    }
}
