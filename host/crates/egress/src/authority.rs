//! The one place that takes `host:port` apart, for rules of the operator and for requests alike, so that both always mean the same. It
//! judges neither host nor port range.

/// What is wrong with `host:port`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AuthorityError {
    /// `user@` or `user:password@` stands before the host.
    UserInfo,
    /// A bracket is open or text follows it.
    Bracket,
    /// What follows the colon is no number from 1 to 65535 in plain digits.
    Port,
}

/// Host, still as it was written and with the brackets of an IPv6 address, and port.
pub(crate) fn split(text: &str) -> Result<(&str, Option<u16>), AuthorityError> {
    if text.contains('@') {
        return Err(AuthorityError::UserInfo);
    }
    let host_ends = if text.starts_with('[') {
        text.find(']').ok_or(AuthorityError::Bracket)? + 1
    } else {
        text.find(':').unwrap_or(text.len())
    };
    let (host, rest) = text.split_at(host_ends);
    if rest.is_empty() {
        return Ok((host, None));
    }
    let digits = rest.strip_prefix(':').ok_or(AuthorityError::Bracket)?;
    port(digits).map(|port| (host, Some(port))).ok_or(AuthorityError::Port)
}

/// Plain digits only: the number parser alone would take `+80` too.
fn port(digits: &str) -> Option<u16> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    digits.parse().ok().filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_and_port_come_apart() {
        for (text, expected) in [
            ("a.test", Ok(("a.test", None))),
            ("a.test:1", Ok(("a.test", Some(1)))),
            ("a.test:65535", Ok(("a.test", Some(65535)))),
            ("[::1]", Ok(("[::1]", None))),
            ("[::1]:80", Ok(("[::1]", Some(80)))),
            ("", Ok(("", None))),
            (":80", Ok(("", Some(80)))),
            ("a.test:", Err(AuthorityError::Port)),
            ("a.test:0", Err(AuthorityError::Port)),
            ("a.test:080", Err(AuthorityError::Port)),
            ("a.test:+80", Err(AuthorityError::Port)),
            ("a.test:65536", Err(AuthorityError::Port)),
            ("a.test:80:81", Err(AuthorityError::Port)),
            ("::1", Err(AuthorityError::Port)),
            ("[::1", Err(AuthorityError::Bracket)),
            ("[::1]80", Err(AuthorityError::Bracket)),
            ("me@a.test", Err(AuthorityError::UserInfo)),
            ("me:pw@a.test:80", Err(AuthorityError::UserInfo)),
        ] {
            assert_eq!(split(text), expected, "{text}");
        }
    }
}
