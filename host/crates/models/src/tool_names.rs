//! Names of tools as providers accept them (runtime 12.1.10).

use std::collections::HashSet;

use domain::tool::ToolSpec;

const MAX_LEN: usize = 64;

/// Why the tools of a request cannot be offered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ToolNameFault {
    /// Wrong form.
    #[error("`{0}` is not a name for a tool: use 1 to 64 letters, digits, `_` and `-`")]
    Invalid(String),
    /// Two tools of one name.
    #[error("two tools have the name `{0}`")]
    Duplicate(String),
}

/// Whether a text can be the name of a tool.
pub(crate) fn is_tool_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=MAX_LEN).contains(&name.len()) && name.bytes().all(allowed)
}

/// Checks the tools of a request.
pub(crate) fn check_tool_names(tools: &[ToolSpec]) -> Result<(), ToolNameFault> {
    let mut seen = HashSet::new();
    for tool in tools {
        if !is_tool_name(&tool.name) {
            return Err(ToolNameFault::Invalid(tool.name.clone()));
        }
        if !seen.insert(&tool.name) {
            return Err(ToolNameFault::Duplicate(tool.name.clone()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_plain() {
        let longest = "a".repeat(64);
        let too_long = "a".repeat(65);
        for good in ["read", "a-b_C9", longest.as_str()] {
            assert!(is_tool_name(good), "{good}");
        }
        for bad in ["", "a b", "a.b", "é", "functions.read:0", too_long.as_str()] {
            assert!(!is_tool_name(bad), "{bad}");
        }
    }
}
