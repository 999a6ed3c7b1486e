//! Finds the client of a model. What is wrong with one provider is told when that provider is asked for; the others work.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use domain::model::{ModelClient, ModelRef, ModelRegistry, ResolvedModel, UnknownModel};
use domain::ports::Clock;

use crate::completions::{self, CompletionsClient};
use crate::offline::{self, EchoModel, Script, ScriptModel};
use crate::problem::ProviderProblem;
use crate::settings::{ModelSettings, ProviderSettings};

/// All providers of a host.
pub struct Registry {
    providers: HashMap<String, Result<Provider, ProviderProblem>>,
    echo: Arc<EchoModel>,
    script: ScriptSlot,
}

struct Provider {
    client: Arc<dyn ModelClient>,
    context_window: Option<u32>,
    models: Vec<ModelSettings>,
}

enum ScriptSlot {
    Absent,
    Loaded(Arc<ScriptModel>),
    /// Why it cannot be played.
    Broken(String),
}

impl Registry {
    /// Takes the configured providers and, for `offline/script`, the path of a script. A second provider of one id replaces the
    /// first.
    pub fn new(providers: impl IntoIterator<Item = ProviderSettings>, script: Option<&Path>, clock: Arc<dyn Clock>) -> Self {
        let providers = providers.into_iter().map(|settings| (settings.id.clone(), provider(settings, &clock))).collect();
        let script = match script.map(Script::load) {
            None => ScriptSlot::Absent,
            Some(Ok(script)) => ScriptSlot::Loaded(Arc::new(ScriptModel::new(script, Arc::clone(&clock)))),
            Some(Err(error)) => ScriptSlot::Broken(chain(&error)),
        };
        Self { providers, echo: Arc::new(EchoModel::new(clock)), script }
    }

    /// What is wrong with the configuration, one sentence each, in order of the providers' ids.
    pub fn problems(&self) -> Vec<String> {
        let mut problems: Vec<(&str, String)> = Vec::new();
        for (id, provider) in &self.providers {
            if let Err(problem) = provider {
                problems.push((id, problem.to_string()));
            }
        }
        if let ScriptSlot::Broken(why) = &self.script {
            problems.push((offline::PROVIDER, why.clone()));
        }
        problems.sort();
        problems.into_iter().map(|(_, problem)| problem).collect()
    }

    fn offline(&self, model: &ModelRef) -> Result<ResolvedModel, UnknownModel> {
        let resolved = |client: Arc<dyn ModelClient>| ResolvedModel {
            model: model.clone(),
            client,
            context_window: None,
            reads_images: true,
        };
        if model.model == "echo" {
            return Ok(resolved(Arc::clone(&self.echo) as Arc<dyn ModelClient>));
        }
        match &self.script {
            ScriptSlot::Loaded(script) if script.script().models().any(|id| id == model.model) => {
                Ok(resolved(Arc::clone(script) as Arc<dyn ModelClient>))
            }
            ScriptSlot::Loaded(script) => {
                let ids: Vec<String> = script.script().models().map(|id| format!("`offline/{id}`")).collect();
                let ids = ids.join(", ");
                Err(UnknownModel(format!("there is no model `{model}`: the script plays {ids}, and `offline/echo` is built in")))
            }
            ScriptSlot::Broken(why) => Err(UnknownModel(format!("model `{model}` cannot be used: {why}"))),
            ScriptSlot::Absent => Err(UnknownModel(format!(
                "model `{model}` needs a script: set `models.providers.offline.script` to its path, or use `offline/echo`"
            ))),
        }
    }

    fn unknown_provider(&self, model: &ModelRef) -> UnknownModel {
        let id = &model.provider;
        let mut known: Vec<&str> = self.providers.keys().map(String::as_str).chain([offline::PROVIDER]).collect();
        known.sort_unstable();
        let known = known.join("`, `");
        UnknownModel(format!(
            "there is no provider `{id}` for model `{model}`: set `models.providers.{id}.baseUrl`, or use one of `{known}`"
        ))
    }
}

impl ModelRegistry for Registry {
    fn resolve(&self, model: &ModelRef) -> Result<ResolvedModel, UnknownModel> {
        if model.provider == offline::PROVIDER {
            return self.offline(model);
        }
        let provider = self.providers.get(&model.provider).ok_or_else(|| self.unknown_provider(model))?;
        let provider = provider.as_ref().map_err(|problem| UnknownModel(problem.to_string()))?;
        let known = provider.find(&model.model);
        if known.is_none() && !provider.models.is_empty() {
            let id = &model.provider;
            let ids: Vec<&str> = provider.models.iter().map(|model| model.id.as_str()).collect();
            return Err(UnknownModel(format!(
                "provider `{id}` has no model `{}`: add it to `models.providers.{id}.models`, or use one of `{}`",
                model.model,
                ids.join("`, `")
            )));
        }
        Ok(ResolvedModel {
            model: ModelRef::new(&model.provider, known.map_or(&model.model, |known| &known.id)),
            client: Arc::clone(&provider.client),
            context_window: known.and_then(|known| known.context_window).or(provider.context_window),
            reads_images: known.is_some_and(|known| known.reads_images),
        })
    }
}

impl Provider {
    /// The model of exactly this id, else the one that differs in case only: references are lowered on their way (runtime 6.6), and
    /// some providers' ids are not.
    fn find(&self, id: &str) -> Option<&ModelSettings> {
        let exact = self.models.iter().find(|model| model.id == id);
        exact.or_else(|| self.models.iter().find(|model| model.id.eq_ignore_ascii_case(id)))
    }
}

fn provider(settings: ProviderSettings, clock: &Arc<dyn Clock>) -> Result<Provider, ProviderProblem> {
    if settings.id == offline::PROVIDER {
        return Err(ProviderProblem::ReservedId);
    }
    if settings.api != completions::API {
        return Err(ProviderProblem::UnsupportedApi { id: settings.id, api: settings.api });
    }
    let (context_window, models) = (settings.context_window, settings.models.clone());
    let client = CompletionsClient::new(settings, Arc::clone(clock))?;
    Ok(Provider { client: Arc::new(client), context_window, models })
}

/// An error with its causes in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use domain::test_support::FakeClock;

    use super::*;

    fn registry(providers: Vec<ProviderSettings>, script: Option<&Path>) -> Registry {
        Registry::new(providers, script, Arc::new(FakeClock::at(0)))
    }

    fn refusal(registry: &Registry, model: &str) -> String {
        registry.resolve(&ModelRef::parse(model).unwrap()).err().unwrap().0
    }

    fn acme() -> ProviderSettings {
        let model =
            ModelSettings { id: "Big".to_owned(), context_window: Some(9), reads_images: true, ..ModelSettings::default() };
        let models = vec![model, ModelSettings { id: "small".to_owned(), ..ModelSettings::default() }];
        ProviderSettings { models, context_window: Some(5), ..ProviderSettings::new("acme", "http://localhost/v1") }
    }

    #[test]
    fn models_have_the_facts_that_were_configured() {
        let registry = registry(vec![acme(), ProviderSettings::new("open", "http://localhost/v1")], None);
        let facts = |model: &str| {
            let found = registry.resolve(&ModelRef::parse(model).unwrap()).unwrap();
            (found.model.to_string(), found.context_window, found.reads_images, found.client.api().to_owned())
        };
        let api = || "openai-completions".to_owned();
        assert_eq!(facts("acme/big"), ("acme/Big".to_owned(), Some(9), true, api()));
        assert_eq!(facts("acme/small"), ("acme/small".to_owned(), Some(5), false, api()));
        assert_eq!(facts("open/any/thing"), ("open/any/thing".to_owned(), None, false, api()));
        assert_eq!(facts("offline/echo").3, "offline");
        assert!(registry.problems().is_empty());
    }

    #[test]
    fn refusals_name_the_key_to_set() {
        let mut bad = ProviderSettings::new("bad", "");
        bad.base_url = None;
        let other = ProviderSettings { api: "anthropic-messages".to_owned(), ..ProviderSettings::new("other", "http://h") };
        let registry = registry(vec![acme(), bad, other, ProviderSettings::new("offline", "http://h")], None);
        for (model, key) in [
            ("none/x", "models.providers.none.baseUrl"),
            ("acme/huge", "models.providers.acme.models"),
            ("bad/x", "models.providers.bad.baseUrl"),
            ("other/x", "models.providers.other.api"),
            ("offline/script", "models.providers.offline.script"),
        ] {
            let refusal = refusal(&registry, model);
            assert!(refusal.contains(key), "{model}: {refusal}");
        }
        assert_eq!(registry.problems().len(), 3);
        assert!(registry.resolve(&ModelRef::new("offline", "echo")).is_ok());
    }

    #[test]
    fn a_broken_script_keeps_nothing_else_from_working() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.json5");
        let missing = registry(vec![], Some(&path));
        assert!(refusal(&missing, "offline/script").contains("s.json5"));
        assert_eq!(missing.problems().len(), 1);
        assert!(missing.resolve(&ModelRef::new("offline", "echo")).is_ok());
        std::fs::write(&path, "{models: {fast: [{play: []}]}}").unwrap();
        let loaded = registry(vec![], Some(&path));
        assert!(loaded.resolve(&ModelRef::new("offline", "fast")).is_ok());
        assert!(refusal(&loaded, "offline/script").contains("`offline/fast`"));
    }
}
