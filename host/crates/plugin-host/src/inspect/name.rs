//! Names of interfaces in a component, `namespace:package/interface@version`, in parts.

use super::{CONTRACT, KNOWN_CONTRACT};

/// An interface name in parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InterfaceName<'a> {
    /// `namespace:package`.
    pub(super) package: &'a str,
    /// The interface.
    pub(super) interface: &'a str,
    /// What stands behind the `@`.
    pub(super) version: Option<&'a str>,
}

impl<'a> InterfaceName<'a> {
    /// The parts, if the name is that of an interface.
    pub(super) fn parse(name: &'a str) -> Option<Self> {
        let (path, version) = match name.split_once('@') {
            Some((path, version)) => (path, Some(version)),
            None => (name, None),
        };
        let (package, interface) = path.split_once('/')?;
        package.contains(':').then_some(Self { package, interface, version })
    }

    /// Whether it belongs to the plugin contract, in whatever version.
    pub(super) fn is_contract(&self) -> bool {
        self.package == CONTRACT
    }

    /// Whether its version is one of those of the contract that this host knows. A pre-release is not: a linker matches those only
    /// exactly.
    pub(super) fn is_known_contract(&self) -> bool {
        self.is_contract() && self.version.is_some_and(|version| is_release_of(version, KNOWN_CONTRACT))
    }

    /// Whether its version is a release of this line, for example of `0.2`.
    pub(super) fn is_release_of(&self, line: &str) -> bool {
        self.version.is_some_and(|version| is_release_of(version, line))
    }
}

/// Whether `version` is `<line>.<patch>`, with or without build metadata.
fn is_release_of(version: &str, line: &str) -> bool {
    let version = version.split_once('+').map_or(version, |(version, _)| version);
    let patch = version.strip_prefix(line).and_then(|rest| rest.strip_prefix('.'));
    patch.is_some_and(|patch| !patch.is_empty() && patch.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use super::*;

    #[test]
    fn names_come_apart() {
        let name = InterfaceName::parse("creel:plugin/kv@0.1.7").unwrap();
        assert_eq!(name, InterfaceName { package: "creel:plugin", interface: "kv", version: Some("0.1.7") });
        assert!(name.is_known_contract());
        assert_eq!(InterfaceName::parse("wasi:io/streams").unwrap().version, None);
        for plain in ["run", "a/b", "", "creel:plugin"] {
            assert_eq!(InterfaceName::parse(plain), None, "{plain}");
        }
    }

    #[test]
    fn only_releases_of_the_known_line_are_known() {
        for (version, known) in [
            ("0.1.0", true),
            ("0.1.99", true),
            ("0.1.0+build.7", true),
            ("0.1.0-rc.1", false),
            ("0.1", false),
            ("0.1.", false),
            ("0.10.0", false),
            ("0.2.0", false),
            ("1.0.0", false),
            ("10.1.0", false),
        ] {
            let text = format!("creel:plugin/kv@{version}");
            assert_eq!(InterfaceName::parse(&text).unwrap().is_known_contract(), known, "{version}");
        }
        assert!(!InterfaceName::parse("creel:plugin/kv").unwrap().is_known_contract());
        assert!(!InterfaceName::parse("other:plugin/kv@0.1.0").unwrap().is_known_contract());
    }
}
