//! What a host finds when it starts: a state directory with a configuration, plugins, a script of the model, and people at both ends.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::{Environment, Locations};
use creel::exit::{Code, Failure};
use creel::system::SystemClock;
use creel::wiring::{self, HostOptions};
use domain::AgentId;
use parking_lot::Mutex;
use plugin_host::compile::Compiler;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::channel::TestChannel;
use crate::journal::Journal;
use crate::models::WatchedModels;
use crate::plugin::merge;
use crate::probe::Probe;
use crate::reviewer::Reviewer;
use crate::{Answer, Guest, Host, Log, Plugin, Turn};

/// A place to start hosts in. Everything in it goes when it and its hosts are dropped; hosts that are started one after another find what
/// the ones before them left.
pub struct World {
    dir: Arc<Dir>,
    plugins: Vec<Plugin>,
    bundled: Vec<Plugin>,
    folders: Vec<(Guest, Value)>,
    turns: Vec<Turn>,
    models: BTreeMap<String, Vec<Turn>>,
    aliases: Vec<String>,
    config: Value,
    variables: Vec<(String, String)>,
    answers: Vec<Answer>,
    refuses: Option<String>,
    log: Log,
}

/// Where a world is.
pub(crate) enum Dir {
    /// It goes with the world.
    Own(TempDir),
    /// Somebody else keeps it.
    Kept(PathBuf),
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

impl World {
    /// No plugins, a model that repeats what it hears, nobody to ask. The log of this thread is captured from here on.
    pub fn new() -> Self {
        Self::of(Dir::Own(tempfile::Builder::new().prefix("creel-test-").tempdir().unwrap()))
    }

    /// The same in a directory that stays.
    pub fn at(dir: &Path) -> Self {
        Self::of(Dir::Kept(dir.to_owned()))
    }

    fn of(dir: Dir) -> Self {
        let log = Log::capture();
        Self {
            dir: Arc::new(dir),
            plugins: Vec::new(),
            bundled: Vec::new(),
            folders: Vec::new(),
            turns: Vec::new(),
            models: BTreeMap::new(),
            aliases: Vec::new(),
            config: json!({}),
            variables: Vec::new(),
            answers: Vec::new(),
            refuses: None,
            log,
        }
    }

    /// Adds a plugin; they are loaded in this order.
    #[must_use]
    pub fn plugin(mut self, plugin: Plugin) -> Self {
        self.plugins.push(plugin);
        self
    }

    /// Adds a plugin that ships with the host and runs unless somebody says otherwise.
    #[must_use]
    pub fn bundled(mut self, plugin: Plugin) -> Self {
        self.bundled.push(plugin.manifest(json!({ "enabledByDefault": true })));
        self
    }

    /// Adds an example plugin as it was built, with what the operator says about it.
    #[must_use]
    pub fn example(mut self, example: Guest, operator: Value) -> Self {
        self.folders.push((example, operator));
        self
    }

    /// Changes what the operator says about a plugin: keys are replaced, objects merged. Counts from the next start on.
    #[must_use]
    pub fn operator(mut self, plugin: &str, change: Value) -> Self {
        let known = self.plugins.iter_mut().find(|known| known.id() == plugin).expect("the world has the plugin");
        *known = known.clone().operator(change);
        self
    }

    /// What the model answers, one turn per request.
    #[must_use]
    pub fn turns<const N: usize>(mut self, turns: [Turn; N]) -> Self {
        self.turns = turns.into();
        self
    }

    /// What another model, `offline/<id>`, answers.
    #[must_use]
    pub fn model<const N: usize>(mut self, id: &str, turns: [Turn; N]) -> Self {
        self.models.insert(id.to_owned(), turns.into());
        self
    }

    /// A provider of this name serves the models of the script too.
    #[must_use]
    pub fn provider(mut self, name: &str) -> Self {
        self.aliases.push(name.to_owned());
        self
    }

    /// Changes the configuration: keys are replaced, objects merged.
    #[must_use]
    pub fn config(mut self, change: Value) -> Self {
        merge(&mut self.config, change);
        self
    }

    /// A variable in the environment of the host.
    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// What the person who is asked answers, in order.
    #[must_use]
    pub fn reviewer<const N: usize>(mut self, answers: [Answer; N]) -> Self {
        self.answers = answers.into();
        self
    }

    /// The channel refuses texts that hold this.
    #[must_use]
    pub fn refusing(mut self, text: &str) -> Self {
        self.refuses = Some(text.to_owned());
        self
    }

    /// The log of this test.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// The agent's workspace.
    pub fn workspace(&self) -> PathBuf {
        self.root().join("workspace")
    }

    /// The state directory.
    pub fn state_dir(&self) -> PathBuf {
        self.root().join("state")
    }

    /// Starts a host.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn start(&self) -> Host {
        match self.try_start().await {
            Ok(host) => host,
            Err(failure) => panic!("the host does not start: {} {:?}", failure.message, failure.hints),
        }
    }

    /// Starts a host, as the binary does.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn try_start(&self) -> Result<Host, Failure> {
        self.start_after(|_| ()).await
    }

    /// Writes all files, lets the test spoil some of them, and starts a host.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn start_after(&self, spoil: impl FnOnce(&Self)) -> Result<Host, Failure> {
        let journal = Journal::default();
        let locations = self.locations();
        self.write_files(&locations);
        spoil(self);
        let loaded = config::load(&locations).map_err(|errors| Failure::new(Code::Config, errors.to_string()))?;
        let models = WatchedModels {
            inner: models::Registry::new([], self.script().as_deref(), Arc::new(SystemClock)),
            journal: journal.clone(),
            aliases: self.aliases.clone(),
        };
        let options = HostOptions {
            bundled_dir: Some(self.bundled_dir()),
            models: Some(Arc::new(models)),
            extra_tools: vec![Arc::new(Probe::new(journal.clone()))],
            records: Some(Arc::new(journal.clone())),
            cache_dir: Some(compiled_components()),
            ..HostOptions::new(locations, loaded, AgentId::main(), Compiler::InProcess)
        };
        let prepared = wiring::prepare(options).await?;
        let channel = TestChannel { journal: journal.clone(), refuses: self.refuses.clone() };
        let reviewer = Reviewer { journal: journal.clone(), answers: Mutex::new(self.answers.iter().copied().collect()) };
        let hooks = prepared.hooks().clone();
        let running = prepared.start(Arc::new(channel), Arc::new(reviewer), Arc::new(journal.clone()));
        Ok(Host::new(running, hooks, journal, self.log.clone(), Arc::clone(&self.dir)))
    }

    /// The folder of a plugin.
    pub fn plugin_folder(&self, id: &str) -> PathBuf {
        self.plugins_dir().join(id)
    }

    fn root(&self) -> &Path {
        match &*self.dir {
            Dir::Own(dir) => dir.path(),
            Dir::Kept(dir) => dir,
        }
    }

    fn plugins_dir(&self) -> PathBuf {
        self.root().join("plugins")
    }

    fn bundled_dir(&self) -> PathBuf {
        self.root().join("bundled")
    }

    /// Where things are.
    pub fn locations(&self) -> Locations {
        let root = self.root();
        let state = self.state_dir().display().to_string();
        let own = [("HOME".to_owned(), root.display().to_string()), ("CREEL_STATE_DIR".to_owned(), state)];
        Locations::resolve(&Environment::new(own.into_iter().chain(self.variables.iter().cloned()), root)).unwrap()
    }

    /// Writes plugins, script and configuration.
    pub fn write_files(&self, locations: &Locations) {
        fs::create_dir_all(self.workspace()).unwrap();
        fs::create_dir_all(self.state_dir()).unwrap();
        let own = self.plugins.iter().map(|plugin| plugin.write(&self.plugins_dir()));
        let paths: Vec<PathBuf> = own.chain(self.folders.iter().map(|(example, _)| example.path().to_owned())).collect();
        for plugin in &self.bundled {
            plugin.write(&self.bundled_dir());
        }
        if !self.bundled.is_empty() {
            protect(&self.bundled_dir());
        }
        let own = self.plugins.iter().chain(&self.bundled).map(|plugin| (plugin.id(), plugin.operator_entry()));
        let entries: BTreeMap<&str, &Value> =
            own.chain(self.folders.iter().map(|(example, operator)| (example.name(), operator))).collect();
        let model = if self.turns.is_empty() { "offline/echo" } else { "offline/script" };
        let mut config = json!({
            "agents": { "defaults": { "workspace": self.workspace(), "skipBootstrap": true, "model": model } },
            "plugins": { "load": { "paths": paths }, "entries": entries },
        });
        if let Some(script) = self.script() {
            merge(&mut config, json!({ "models": { "providers": { "offline": { "script": script } } } }));
        }
        merge(&mut config, self.config.clone());
        fs::write(locations.config_path(), config.to_string()).unwrap();
    }

    /// Writes the script, if there is one, and gives its path.
    fn script(&self) -> Option<PathBuf> {
        if self.turns.is_empty() && self.models.is_empty() {
            return None;
        }
        let turns = |turns: &[Turn]| turns.iter().map(Turn::to_json).collect::<Vec<_>>();
        let models: BTreeMap<&str, Vec<Value>> = self.models.iter().map(|(id, list)| (id.as_str(), turns(list))).collect();
        let path = self.root().join("script.json");
        fs::write(&path, json!({ "turns": turns(&self.turns), "models": models }).to_string()).unwrap();
        Some(path)
    }
}

/// Plugins that ship with the host must be safe from others, whatever the umask of whoever runs the tests.
fn protect(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(if path.is_dir() { 0o755 } else { 0o644 })).unwrap();
    if path.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| protect(&entry.unwrap().path()));
    }
}

/// Compiled code is shared by all tests and kept between runs: compiling is by far the slowest thing that they do.
fn compiled_components() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/system-tests/compiled")
}
