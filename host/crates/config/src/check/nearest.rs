//! Finds what a misspelt word was meant to be.

/// The candidate that is nearest to a word, if it is near enough to be meant. Upper and lower case count as equal; of equally near
/// ones the first wins.
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let lowered = word.to_lowercase();
    let farthest = (word.chars().count() / 3).clamp(1, 3);
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&lowered, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= farthest && *distance < candidate.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_corrected_and_other_words_are_not() {
        let known = ["timeoutMs", "timeouts", "enabled", "deny", "kv"];
        let rows = [
            ("timeoutMS", Some("timeoutMs")),
            ("timeout", Some("timeouts")),
            ("enabeld", Some("enabled")),
            ("dney", Some("deny")),
            ("KV", Some("kv")),
            ("k", Some("kv")),
            ("priority", None),
            ("", None),
            ("x", None),
        ];
        for (word, expected) in rows {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
    }
}
