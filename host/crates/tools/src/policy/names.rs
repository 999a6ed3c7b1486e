//! Names in tool policies: how they are compared, the groups, the profiles, and patterns. Tables follow runtime-and-config 11.3; a
//! tool that this host does not have may still be named, so that an operator's configuration carries over.

/// Groups of tools by name, without those that depend on who offers a tool (see [`super::entry`]).
const GROUPS: [(&str, &[&str]); 11] = [
    ("runtime", &["exec", "process", "code_execution"]),
    ("fs", &["read", "write", "edit", "apply_patch"]),
    (
        "sessions",
        &[
            "sessions_list",
            "sessions_history",
            "sessions_send",
            "sessions_spawn",
            "sessions_yield",
            "subagents",
            "session_status",
            "spawn_task",
            "dismiss_task",
        ],
    ),
    ("memory", &["memory_search", "memory_get"]),
    ("web", &["web_search", "x_search", "web_fetch"]),
    ("ui", &["browser", "canvas"]),
    ("automation", &["heartbeat_respond", "cron", "gateway"]),
    ("messaging", &["message"]),
    ("nodes", &["nodes", "computer"]),
    ("agents", &["agents_list", "get_goal", "create_goal", "update_goal", "update_plan", "skill_workshop"]),
    ("media", &["image", "image_generate", "music_generate", "video_generate", "tts"]),
];

/// What `group:openclaw` leaves out of the built-in tools.
const NOT_IN_OPENCLAW: [&str; 7] = ["read", "write", "edit", "apply_patch", "exec", "process", "canvas"];

/// A named set of tools that an operator starts from (runtime-and-config 11.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// `session_status` only.
    Minimal,
    /// Work on files and code.
    Coding,
    /// Talk.
    Messaging,
    /// No limit.
    #[default]
    Full,
}

impl Profile {
    /// Reads the configured name.
    pub fn parse(name: &str) -> Option<Self> {
        match name.trim().to_lowercase().as_str() {
            "minimal" => Some(Self::Minimal),
            "coding" => Some(Self::Coding),
            "messaging" => Some(Self::Messaging),
            "full" => Some(Self::Full),
            _ => None,
        }
    }

    /// What it allows; none: everything.
    pub(super) fn entries(self) -> Option<&'static [&'static str]> {
        match self {
            Self::Minimal => Some(&["session_status"]),
            Self::Coding => Some(&[
                "group:fs",
                "group:runtime",
                "group:web",
                "group:sessions",
                "group:memory",
                "cron",
                "get_goal",
                "create_goal",
                "update_goal",
                "update_plan",
                "skill_workshop",
                "group:media",
            ]),
            Self::Messaging => Some(&["group:messaging", "sessions_list", "sessions_history", "sessions_send", "session_status"]),
            Self::Full => None,
        }
    }
}

/// The form in which names are compared.
pub fn normalise(name: &str) -> String {
    let lowered = name.trim().to_lowercase();
    if lowered == "bash" { "exec".to_owned() } else { lowered }
}

/// Names of built-in tools, those of the groups included that this host does not have. A plugin's tool must not take one
/// (plugin-hooks 8).
pub fn is_core_name(name: &str) -> bool {
    let name = normalise(name);
    GROUPS.iter().any(|(_, names)| names.contains(&name.as_str()))
}

/// The tools of a group, if it is one of names.
pub(super) fn group(name: &str) -> Option<&'static [&'static str]> {
    GROUPS.iter().find(|(group, _)| *group == name).map(|(_, names)| *names)
}

/// Whether a built-in tool is in `group:openclaw`.
pub(super) fn in_openclaw(name: &str) -> bool {
    !NOT_IN_OPENCLAW.contains(&name)
}

/// Whether `pattern` covers the whole of `name`; `*` stands for any characters. Time grows with the product of both lengths at most.
pub(super) fn matches_pattern(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_cover_the_whole_name() {
        let rows = [
            ("read", "read", true),
            ("read", "reader", false),
            ("*", "", true),
            ("*", "read", true),
            ("sessions_*", "sessions_list", true),
            ("sessions_*", "session", false),
            ("*_list", "sessions_list", true),
            ("*_list", "sessions_list2", false),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "aXcYb", false),
            ("a*a", "a", false),
            ("a**b", "ab", true),
        ];
        for (pattern, name, expected) in rows {
            assert_eq!(matches_pattern(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn names_are_compared_without_case_and_with_their_alias() {
        assert_eq!(normalise(" Read "), "read");
        assert_eq!(normalise("Bash"), "exec");
        assert!(is_core_name("EXEC") && is_core_name("bash") && !is_core_name("weather"));
    }

    #[test]
    fn profiles_are_parsed_by_name() {
        assert_eq!(Profile::parse("Coding"), Some(Profile::Coding));
        assert_eq!(Profile::parse("everything"), None);
    }

    #[test]
    fn profiles_name_only_groups_that_exist() {
        for profile in [Profile::Minimal, Profile::Coding, Profile::Messaging] {
            for entry in profile.entries().unwrap_or_default() {
                if let Some(name) = entry.strip_prefix("group:") {
                    assert!(group(name).is_some(), "{entry}");
                }
            }
        }
    }
}
