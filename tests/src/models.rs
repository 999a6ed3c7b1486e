//! The providers of a test: the real registry with the built-in offline models, and in front of it somebody who writes down what was
//! asked. Further provider names can be given to models of the script, so that a test can tell providers apart without a network.

use std::sync::Arc;

use async_trait::async_trait;
use domain::cancel::Cancel;
use domain::model::{ModelClient, ModelEvent, ModelRef, ModelRegistry, ModelRequest, ResolvedModel, UnknownModel};
use futures_util::stream::BoxStream;

use crate::journal::{Entry, Journal};

/// The registry of a test.
pub(crate) struct WatchedModels {
    pub(crate) inner: models::Registry,
    pub(crate) journal: Journal,
    /// Providers whose models are those of the script.
    pub(crate) aliases: Vec<String>,
}

impl ModelRegistry for WatchedModels {
    fn resolve(&self, model: &ModelRef) -> Result<ResolvedModel, UnknownModel> {
        self.journal.add(Entry::Resolved(model.clone()));
        let is_alias = self.aliases.contains(&model.provider);
        let known = if is_alias { ModelRef::new(models::OFFLINE_PROVIDER, &model.model) } else { model.clone() };
        let resolved = self.inner.resolve(&known)?;
        let client = Arc::new(WatchedClient { inner: resolved.client, journal: self.journal.clone() });
        Ok(ResolvedModel { model: model.clone(), client, ..resolved })
    }
}

struct WatchedClient {
    inner: Arc<dyn ModelClient>,
    journal: Journal,
}

#[async_trait]
impl ModelClient for WatchedClient {
    fn api(&self) -> &str {
        self.inner.api()
    }

    fn transport(&self) -> &str {
        self.inner.transport()
    }

    async fn stream(&self, request: ModelRequest, cancel: Cancel) -> BoxStream<'static, ModelEvent> {
        self.journal.add(Entry::Requested(request.clone()));
        self.inner.stream(request, cancel).await
    }
}
