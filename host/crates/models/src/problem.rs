//! Why a configured provider cannot be used. A problem of one provider never keeps another from working.

/// Why a provider cannot be used, with the key to correct.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderProblem {
    /// No address.
    #[error("provider `{id}` has no address: set `models.providers.{id}.baseUrl`")]
    NoBaseUrl {
        /// The provider.
        id: String,
    },
    /// An address that cannot be used.
    #[error("the address of provider `{id}` cannot be used: {reason}; correct `models.providers.{id}.baseUrl`")]
    BadBaseUrl {
        /// The provider.
        id: String,
        /// Why.
        reason: String,
    },
    /// A key that no header can carry.
    #[error("the key of provider `{id}` holds characters that a header cannot carry: correct `models.providers.{id}.apiKey`")]
    BadKey {
        /// The provider.
        id: String,
    },
    /// A header that cannot be sent.
    #[error(
        "the header `{name}` of provider `{id}` cannot be sent: correct its name or value in `models.providers.{id}.headers`"
    )]
    BadHeader {
        /// The provider.
        id: String,
        /// The header.
        name: String,
    },
    /// A protocol without a client.
    #[error("provider `{id}` speaks `{api}`, and this host only `openai-completions`: correct `models.providers.{id}.api`")]
    UnsupportedApi {
        /// The provider.
        id: String,
        /// The protocol.
        api: String,
    },
    /// The id of the built-in provider.
    #[error("`offline` is the built-in provider and has no address: give the entry `models.providers.offline` another name")]
    ReservedId,
}
