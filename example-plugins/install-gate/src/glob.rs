//! Name patterns in which `*` stands for any characters.

/// Whether a name fits a pattern. Case counts not: registries differ in it.
pub(crate) fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.to_lowercase(), name.to_lowercase());
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut left) = name.strip_prefix(head) else {
        return false;
    };
    // Pieces between stars: each at its first place, the last one at the end.
    let mut pieces: Vec<_> = rest.split('*').collect();
    let tail = pieces.pop().unwrap_or_default();
    for piece in pieces {
        match left.split_once(piece) {
            Some((_, behind)) => left = behind,
            None => return false,
        }
    }
    left.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn stars_stand_for_any_characters() {
        for (pattern, name, expected) in [
            ("evil", "evil", true),
            ("evil", "Evil", true),
            ("evil", "evil-2", false),
            ("evil-*", "evil-", true),
            ("evil-*", "not-evil-1", false),
            ("*-cracked", "tool-cracked", true),
            ("*-cracked", "tool-cracked-2", false),
            ("@acme/*", "@acme/x", true),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("*", "", true),
            ("**x", "x", true),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}
