//! `models`: the catalogue of models and the providers that serve them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::quantity::{Quantity, Seconds};
use super::secret::{SecretInput, SecretMap};

/// `models`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Models {
    /// Whether the models below are added to the built-in catalogue or take its place.
    pub mode: CatalogMode,
    /// Providers by id. The id is the part of a model reference before its first `/`.
    pub providers: BTreeMap<String, Provider>,
}

/// Whether configured models are added to the catalogue or take its place (runtime 6.8).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum CatalogMode {
    /// Added.
    #[default]
    Merge,
    /// In its place.
    Replace,
}

/// One provider (runtime 11.2, 12).
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Provider {
    /// Address of the interface, up to and without `/chat/completions`. It begins with `http://` or `https://`.
    #[schemars(length(min = 1))]
    pub base_url: Option<String>,
    /// Key of the provider: text, `${NAME}` in text, or `{ env: "NAME" }`.
    pub api_key: Option<SecretInput>,
    /// Protocol of the interface. Absent: `openai-completions` when `baseUrl` is set.
    pub api: Option<ModelApi>,
    /// Headers that are added to every request. Values are given like `apiKey`.
    pub headers: SecretMap,
    /// Time limit of a request, and of the wait for each piece of its answer, in seconds or as text such as "5m".
    pub timeout_seconds: Option<Quantity<Seconds, 1, 86_400>>,
    /// Context window of models that do not name their own, in tokens.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub context_window: Option<u32>,
    /// Longest answer of models that do not name their own limit, in tokens.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub max_tokens: Option<u32>,
    /// Models of the provider.
    pub models: Vec<ModelDefinition>,
    /// Only for the built-in provider `offline`: the file of model turns that `offline/script` plays. A relative path starts at
    /// the directory of this file.
    #[schemars(length(min = 1))]
    pub script: Option<String>,
}

impl Provider {
    /// Protocol of the interface, with its default (runtime 11.2).
    pub fn effective_api(&self) -> Option<ModelApi> {
        self.api.or_else(|| self.base_url.as_ref().map(|_| ModelApi::OpenaiCompletions))
    }
}

/// Protocol of a provider's interface (runtime 12.1.12). This version speaks `openai-completions`; the other names are known, so
/// that a file which has them loads with a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum ModelApi {
    /// Chat Completions of OpenAI and compatible servers.
    OpenaiCompletions,
    /// Responses of OpenAI.
    OpenaiResponses,
    /// Responses of ChatGPT accounts.
    OpenaiChatgptResponses,
    /// Responses of Codex accounts.
    OpenaiCodexResponses,
    /// Responses of Azure.
    AzureOpenaiResponses,
    /// Messages of Anthropic.
    AnthropicMessages,
    /// Generative AI of Google.
    GoogleGenerativeAi,
    /// Copilot of GitHub.
    GithubCopilot,
    /// Converse streams of Bedrock.
    BedrockConverseStream,
    /// The own interface of Ollama.
    Ollama,
}

impl ModelApi {
    /// The word in the file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenaiCompletions => "openai-completions",
            Self::OpenaiResponses => "openai-responses",
            Self::OpenaiChatgptResponses => "openai-chatgpt-responses",
            Self::OpenaiCodexResponses => "openai-codex-responses",
            Self::AzureOpenaiResponses => "azure-openai-responses",
            Self::AnthropicMessages => "anthropic-messages",
            Self::GoogleGenerativeAi => "google-generative-ai",
            Self::GithubCopilot => "github-copilot",
            Self::BedrockConverseStream => "bedrock-converse-stream",
            Self::Ollama => "ollama",
        }
    }

    /// Whether this version has a client for it.
    pub const fn is_supported(self) -> bool {
        matches!(self, Self::OpenaiCompletions)
    }
}

/// One model of a provider.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelDefinition {
    /// Id under which the provider knows the model.
    #[schemars(length(min = 1))]
    pub id: String,
    /// Name for people. Absent: the id.
    #[serde(default)]
    pub name: Option<String>,
    /// Context window, in tokens.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub context_window: Option<u32>,
    /// Longest answer, in tokens.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub max_tokens: Option<u32>,
    /// What the model takes besides text.
    #[serde(default)]
    #[schemars(extend("default" = ["text"]))]
    pub input: Option<Vec<ModelInput>>,
    /// Prices of the model.
    #[serde(default)]
    pub cost: ModelCost,
    /// The model can think before it answers.
    #[serde(default)]
    pub reasoning: bool,
}

/// A kind of input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ModelInput {
    /// Text.
    Text,
    /// Images.
    Image,
}

/// Prices in US dollars for a million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ModelCost {
    /// Input that was not cached.
    #[schemars(range(min = 0.0))]
    pub input: f64,
    /// Output, thinking included.
    #[schemars(range(min = 0.0))]
    pub output: f64,
    /// Input that was read from the provider's cache.
    #[schemars(range(min = 0.0))]
    pub cache_read: f64,
    /// Input that was written to the provider's cache.
    #[schemars(range(min = 0.0))]
    pub cache_write: f64,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
    use super::*;
    use crate::check::expectation::words;

    #[test]
    fn every_protocol_is_called_what_the_file_calls_it() {
        let all = words(&schemars::schema_for!(ModelApi).to_value()).unwrap();
        assert_eq!(all.len(), 10);
        for word in all {
            let api: ModelApi = serde_json::from_value(word.clone().into()).unwrap();
            assert_eq!(api.as_str(), word);
        }
    }

    #[test]
    fn an_address_alone_means_chat_completions() {
        let provider = |json: &str| serde_json::from_str::<Provider>(json).unwrap();
        assert_eq!(provider("{}").effective_api(), None);
        assert_eq!(provider(r#"{"baseUrl":"http://x"}"#).effective_api(), Some(ModelApi::OpenaiCompletions));
        let other = provider(r#"{"baseUrl":"http://x","api":"ollama"}"#);
        assert_eq!(other.effective_api(), Some(ModelApi::Ollama));
    }
}
