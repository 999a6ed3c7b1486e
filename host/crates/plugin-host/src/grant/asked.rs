//! What a manifest asks for. It shows an operator what to grant, and is compared at an update; it grants nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Capability, KvQuota, MAX_KV_BYTES, MAX_SESSION_EXTENSION_BYTES, Names, OperatorGrants, Quota};

/// What a manifest asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asked {
    /// Capabilities.
    pub capabilities: BTreeSet<Capability>,
    /// Size of the key-value storage. Absent: not named.
    pub kv_bytes: Option<u64>,
    /// Size of one session-extension value. Absent: not named.
    pub session_extension_bytes: Option<u64>,
    /// What the manifest says about each beyond its name: hosts, names of secrets, names of variables.
    pub details: BTreeMap<Capability, Value>,
}

impl Asked {
    /// What an operator would write to grant a capability as the manifest asks for it: the value of its key. None: the manifest does
    /// not say enough, or only the operator knows (what a secret is).
    pub fn grant_value(&self, capability: Capability) -> Option<Value> {
        match (capability, self.quota(capability).max_bytes) {
            (_, Some(max_bytes)) => Some(json!({ "maxBytes": max_bytes })),
            (Capability::Http | Capability::Env | Capability::ToolsInvoke, _) => self.details.get(&capability).cloned(),
            (Capability::Fs | Capability::MessagesSend | Capability::SessionsRead, _) => {
                Some(self.details.get(&capability).cloned().unwrap_or(Value::Bool(true)))
            }
            (Capability::Secrets, _) => None,
            _ => Some(Value::Bool(true)),
        }
    }

    /// The size that the manifest names, as far as an operator may grant it.
    pub(super) fn quota(&self, capability: Capability) -> Quota {
        let (asked, max) = match capability {
            Capability::Kv => (self.kv_bytes, MAX_KV_BYTES),
            Capability::SessionExtension => (self.session_extension_bytes, MAX_SESSION_EXTENSION_BYTES),
            _ => (None, 0),
        };
        Quota { max_bytes: asked.map(|bytes| bytes.min(max)) }
    }
}

impl OperatorGrants {
    /// These grants, and further ones as the manifest asks for them. For somebody who wants to know whether a plugin would load if it
    /// got everything; nothing is granted to anybody by this, and what a component links without a grant is left out.
    #[must_use]
    pub fn and(mut self, capabilities: &BTreeSet<Capability>, asked: &Asked) -> Self {
        for capability in capabilities {
            let Quota { max_bytes } = asked.quota(*capability);
            match capability {
                Capability::Kv => {
                    self.kv.get_or_insert(KvQuota { max_bytes, max_keys: None });
                }
                Capability::SessionExtension => {
                    self.session_extension.get_or_insert(Quota { max_bytes });
                }
                Capability::Secrets => {
                    self.secrets.get_or_insert_default();
                }
                Capability::ToolsInvoke => {
                    self.tools_invoke.get_or_insert_with(none);
                }
                Capability::MessagesSend => {
                    self.messages_send.get_or_insert_with(none);
                }
                Capability::SessionsRead => {
                    self.sessions_read.get_or_insert_with(none);
                }
                _ => {}
            }
        }
        self
    }
}

fn none() -> Names {
    Names::Only(Arc::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_added_as_the_manifest_asks_for_it() {
        let wish = Asked { capabilities: BTreeSet::from([Capability::Kv]), kv_bytes: Some(u64::MAX), ..Asked::default() };
        let missing = BTreeSet::from([Capability::Kv, Capability::SessionExtension, Capability::ToolsInvoke]);
        let granted = OperatorGrants::default().and(&missing, &wish);
        assert_eq!(granted.kv.map(|kv| kv.max_bytes), Some(Some(MAX_KV_BYTES)));
        assert_eq!(granted.session_extension, Some(Quota { max_bytes: None }));
        assert_eq!(granted.tools_invoke, Some(none()), "it links, and may call nothing");
        let written = OperatorGrants { kv: Some(KvQuota { max_bytes: Some(7), max_keys: None }), ..OperatorGrants::default() };
        assert_eq!(written.clone().and(&missing, &wish).kv, written.kv, "what the operator wrote stays");
        assert_eq!(wish.grant_value(Capability::Kv), Some(json!({ "maxBytes": MAX_KV_BYTES })));
        assert_eq!(wish.grant_value(Capability::SessionExtension), Some(Value::Bool(true)));
    }

    #[test]
    fn a_grant_that_needs_words_is_taken_from_the_manifest_or_left_to_the_operator() {
        let hosts = json!({ "allow": ["https://api.example.com"] });
        let details = BTreeMap::from([(Capability::Http, hosts.clone())]);
        let wish = Asked { details, ..Asked::default() };
        assert_eq!(wish.grant_value(Capability::Http), Some(hosts));
        assert_eq!(wish.grant_value(Capability::Env), None);
        assert_eq!(wish.grant_value(Capability::Secrets), None);
    }
}
