//! What every message about hostile bytes must be: short, and free of what a terminal would obey.

/// Longest message, in bytes: a screenful.
const MAX_BYTES: usize = 4096;

/// Asserts it. Messages of several lines are not for this.
pub fn assert_is_one_short_line(message: &str) {
    assert!(message.len() <= MAX_BYTES, "a message has {} bytes: {message:?}", message.len());
    assert!(!message.chars().any(char::is_control), "a message has control characters: {message:?}");
}
