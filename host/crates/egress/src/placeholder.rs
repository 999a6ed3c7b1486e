//! The opaque token that a guest holds instead of a secret. Finding tokens in bytes is all that happens here; what they stand for is
//! [`crate::Secrets`]' business.

use std::fmt;
use std::ops::Range;

/// What every placeholder begins with, so that one that stands for nothing is noticed and not sent.
const PREFIX: &str = "creel-secret-";

/// Random bytes of a placeholder; two never meet.
const RANDOM_BYTES: usize = 16;

/// Length of a placeholder, in bytes.
const LENGTH: usize = PREFIX.len() + 2 * RANDOM_BYTES;

/// `creel-secret-` and 32 hexadecimal digits. Fit for a header value and, being of one length, found without doubt.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Placeholder(String);

impl Placeholder {
    /// A new one, different from all others.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut random = [0; RANDOM_BYTES];
        getrandom::fill(&mut random)?;
        Ok(Self(format!("{PREFIX}{}", hex::encode(random))))
    }

    /// The placeholder that a text is, for example one that was stored. Absent: it is none.
    pub fn parse(text: &str) -> Option<Self> {
        (find(text.as_bytes()) == Some(0..text.len())).then(|| Self(text.to_owned()))
    }

    /// The token.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Placeholder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where the first placeholder is, known or not.
pub(crate) fn find(bytes: &[u8]) -> Option<Range<usize>> {
    let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    let is_one = |window: &[u8]| window.strip_prefix(PREFIX.as_bytes()).is_some_and(|rest| rest.iter().all(is_digit));
    bytes.windows(LENGTH).position(is_one).map(|start| start..start + LENGTH)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use super::*;

    #[test]
    fn placeholders_differ_and_are_found() {
        let (one, other) = (Placeholder::random().unwrap(), Placeholder::random().unwrap());
        assert_ne!(one, other);
        assert_eq!(Placeholder::parse(one.as_str()), Some(one.clone()));
        let text = format!("Bearer {one}{other}!");
        assert_eq!(&text[find(text.as_bytes()).unwrap()], one.as_str());
    }

    #[test]
    fn what_only_looks_like_one_is_none() {
        let one = Placeholder::random().unwrap().to_string();
        for text in ["", "creel-secret-", &one[..LENGTH - 1], &one.to_uppercase(), &one.replace("creel", "creek")] {
            assert_eq!(find(text.as_bytes()), None, "{text}");
        }
        assert_eq!(Placeholder::parse(&format!("{one}0")), None);
        assert_eq!(Placeholder::parse(&format!(" {one}")), None);
    }
}
