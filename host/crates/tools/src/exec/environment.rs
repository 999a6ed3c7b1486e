//! What a command inherits of the host's environment. A short list of names that programs need; everything else stays behind, so that
//! keys in the host's environment do not leak into commands that a model wrote. That a command of the same user does not find them in
//! `/proc` all the same is up to the binary, which closes its process to others; files of that user it can always read.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// Variables that a command inherits; those whose name begins with `LC_` as well.
pub const INHERITED_VARIABLES: [&str; 10] =
    ["HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];

/// Where programs are looked for when the host has no `PATH`.
const FALLBACK_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Variables by name.
pub type Variables = BTreeMap<OsString, OsString>;

/// Keeps what a command inherits.
pub fn inherited(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Variables {
    let mut kept: Variables = variables.into_iter().filter(|(name, _)| is_inherited(name)).collect();
    kept.entry("PATH".into()).or_insert_with(|| FALLBACK_PATH.into());
    kept
}

fn is_inherited(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| INHERITED_VARIABLES.contains(&name) || name.starts_with("LC_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_names_are_inherited() {
        let host = ["HOME", "LC_ALL", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "HTTP_PROXY", "home"];
        let kept = inherited(host.map(|name| (name.into(), "v".into())));
        let names: Vec<&OsStr> = kept.keys().map(OsString::as_os_str).collect();
        assert_eq!(names, ["HOME", "LC_ALL", "PATH"]);
        assert_eq!(kept.get(OsStr::new("PATH")).map(OsString::as_os_str), Some(OsStr::new(FALLBACK_PATH)));
    }
}
