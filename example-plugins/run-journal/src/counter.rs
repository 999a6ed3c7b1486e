//! Counters in the key-value store; their names are paths.

use creel_plugin::prelude::*;

/// Longest part of a path: names of tools and models come from outside, and a key has 512 bytes.
const MAX_PART_BYTES: usize = 100;

/// Adds one.
pub(crate) fn count(path: &[&str]) -> Result<()> {
    add(path, 1)
}

/// Adds an amount. Nothing is written for 0.
pub(crate) fn add(path: &[&str], amount: u32) -> Result<()> {
    if amount > 0 {
        kv::increment(&key(path), i64::from(amount))?;
    }
    Ok(())
}

fn key(path: &[&str]) -> String {
    let parts: Vec<_> = path.iter().map(|part| &part[..part.floor_char_boundary(MAX_PART_BYTES)]).collect();
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::key;

    #[test]
    fn parts_from_outside_are_cut_between_characters() {
        let long = "é".repeat(80);
        let key = key(&["tool", &long, "ok"]);
        assert_eq!(key, format!("tool/{}/ok", "é".repeat(50)));
    }
}
