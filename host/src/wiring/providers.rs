//! Turns configured providers into those of the models crate.

use std::time::Duration;

use config::keys::{ModelInput, Provider};
use config::{Environment, Loaded, Locations};
use models::{ModelSettings, OFFLINE_PROVIDER, ProviderSettings, Registry, Secret, Timeouts};

use crate::system::SystemClock;

/// All providers of the configuration. Problems of a provider (a key that is not set, for example) are told when it is used.
pub(super) fn registry(loaded: &Loaded, locations: &Locations) -> Registry {
    let providers = &loaded.config.models.providers;
    let environment = locations.environment();
    let script = providers.get(OFFLINE_PROVIDER).and_then(|offline| offline.script.as_deref());
    let script = script.map(|path| locations.from_config(path));
    let settings = providers.iter().filter(|(id, _)| *id != OFFLINE_PROVIDER).map(|(id, p)| settings(id, p, environment));
    Registry::new(settings, script.as_deref(), std::sync::Arc::new(SystemClock))
}

fn settings(id: &str, provider: &Provider, environment: &Environment) -> ProviderSettings {
    let mut settings = ProviderSettings::new(id, String::new());
    settings.base_url = provider.base_url.clone();
    if let Some(api) = provider.effective_api() {
        settings.api = api.as_str().to_owned();
    }
    settings.api_key = provider.api_key.as_ref().and_then(|key| match key.resolve(environment) {
        Ok(key) => Some(Secret::new(key.reveal())),
        Err(missing) => {
            tracing::warn!("models.providers.{id}.apiKey: {missing}");
            None
        }
    });
    for (name, value) in provider.headers.iter() {
        match value.resolve(environment) {
            Ok(value) => {
                settings.headers.insert(name.clone(), Secret::new(value.reveal()));
            }
            Err(missing) => tracing::warn!("models.providers.{id}.headers.{name}: {missing}"),
        }
    }
    settings.timeouts = provider.timeout_seconds.map(|seconds| Timeouts::uniform(Duration::from_secs(seconds.get())));
    settings.context_window = provider.context_window;
    settings.max_tokens = provider.max_tokens;
    settings.models = provider
        .models
        .iter()
        .map(|model| ModelSettings {
            id: model.id.clone(),
            context_window: model.context_window,
            max_tokens: model.max_tokens,
            reads_images: model.input.as_ref().is_some_and(|inputs| inputs.contains(&ModelInput::Image)),
            reasoning: model.reasoning,
        })
        .collect();
    settings
}
