//! The contract as `wit-bindgen` makes it, with every record readable from and writable to JSON. Host functions are called through the
//! SDK, so nothing here is imported.

#![allow(missing_docs, unreachable_pub, dead_code, clippy::all, reason = "generated")]

wit_bindgen::generate!({
    path: "../../wit",
    world: "creel:plugin/all-hooks",
    generate_unused_types: true,
    additional_derives: [serde::Serialize, serde::Deserialize],
});

use creel::plugin::types::ApprovalDecisions;

/// Flags have no derive: they are written as their number.
impl serde::Serialize for ApprovalDecisions {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(self.bits())
    }
}

/// They are read as the list of their names, the way in which a test gives them.
impl<'de> serde::Deserialize<'de> for ApprovalDecisions {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let names = <Vec<String> as serde::Deserialize>::deserialize(deserializer)?;
        names.iter().try_fold(Self::empty(), |so_far, name| {
            let flag = match name.as_str() {
                "allow-once" => Self::ALLOW_ONCE,
                "allow-always" => Self::ALLOW_ALWAYS,
                "deny" => Self::DENY,
                other => return Err(serde::de::Error::custom(format!("`{other}` is no decision"))),
            };
            Ok(so_far | flag)
        })
    }
}
