//! The installer of this host: what the configuration says about installations, plugins as their judges, and the stores that a removed
//! plugin leaves.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use config::{Config, Environment, Locations};
use domain::{JsonText, PluginId};
use hooks::events::before_install::{ContentType, Event, FindingSeverity, Plugin, Skill, Target};
use hooks::{Dispatcher, HookId};
use installer::policy::{InstallPolicy, PolicyCommand};
use installer::{Disk, Gate, GateFinding, GateRefusal, Installer, Layout, Material, Mode, Residue, Review, SystemDisk, Verdict};
use plugin_host::discovery::Sources;
use plugin_host::limits::Limits;
use plugin_host::manifest::HandlerEntry;
use plugin_host::plan::{PluginReport, PluginState, PluginsSettings};
use plugin_host::{HostSettings, forget_component};
use sessions::{SqlitePluginKv, SqliteSessions, StateDir};

use super::{hook_calls, plugin_set, plugins};
use crate::exit::{Code, Failure};
use crate::install;
use crate::system::SystemClock;

/// The installer for a configuration.
///
/// # Errors
/// When the configuration of the install policy refers to a variable that is not set.
pub fn installer(locations: &Locations, config: &Config, sources: Sources) -> Result<Installer, Failure> {
    let state = StateDir::new(locations.state_dir());
    let kv = Arc::new(SqlitePluginKv::new(&state, Arc::new(SystemClock)));
    let stores = Stores::new(locations, &kv, &Arc::new(SqliteSessions::new(state)));
    let settings = plugins::settings(config, locations.environment());
    let gate = PluginGate {
        sources,
        settings: settings.clone(),
        host: HostSettings {
            data_directory: Some(locations.plugin_data_dir()),
            ..plugins::host_settings(config, locations.cache_dir(), plugins::own_compiler(), None)
        },
        stores: stores.clone(),
    };
    let policy = policy(config, locations.environment())?;
    Ok(Installer::new(
        installer_settings(locations, config, settings),
        installer::Ports {
            disk: Arc::new(SystemDisk),
            review: Review { policy, gate: Arc::new(gate), host_version: env!("CARGO_PKG_VERSION").to_owned() },
            residue: Arc::new(stores),
            clock: Arc::new(SystemClock),
        },
    ))
}

fn installer_settings(locations: &Locations, config: &Config, settings: PluginsSettings) -> installer::Settings {
    installer::Settings {
        layout: Layout::new(locations.state_dir()),
        limits: installer::Limits::default(),
        component_bytes: component_bytes(settings),
        require_signature: config.plugins.install.require_signature,
        trusted_keys: config.plugins.install.trusted_keys.clone(),
    }
}

/// Size that a component may have, as loading will have it.
pub fn component_bytes(settings: PluginsSettings) -> installer::ComponentBytes {
    Arc::new(move |id, manifest| Limits::resolve(&manifest.limits, &settings.of(id).limits).component_bytes)
}

/// The install policy, if it is enabled.
fn policy(config: &Config, environment: &Environment) -> Result<Option<InstallPolicy>, Failure> {
    use config::keys::InstallTarget;
    let policy = &config.security.install_policy;
    if !policy.enabled {
        return Ok(None);
    }
    let targets = policy.targets.iter().map(|target| match target {
        InstallTarget::Skill => installer::TargetType::Skill,
        InstallTarget::Plugin => installer::TargetType::Plugin,
    });
    let exec = policy.exec.as_ref().map(|exec| {
        let passed = exec.pass_env.iter().filter_map(|name| Some((name.clone(), environment.get(name)?.to_owned())));
        let mut env: std::collections::BTreeMap<String, String> = passed.collect();
        for (name, value) in &exec.env {
            let value = value
                .resolve(environment)
                .map_err(|error| Failure::new(Code::Config, format!("security.installPolicy.exec.env.{name}: {error}")))?;
            env.insert(name.clone(), value.reveal().to_owned());
        }
        Ok::<_, Failure>(PolicyCommand {
            command: PathBuf::from(&exec.command),
            args: exec.args.clone(),
            env,
            trusted_dirs: exec.trusted_dirs.iter().map(PathBuf::from).collect(),
            timeout: Duration::from_millis(exec.timeout_ms()),
            no_output_timeout: Duration::from_millis(exec.no_output_timeout_ms()),
            max_output_bytes: usize::try_from(exec.max_output_bytes()).unwrap_or(usize::MAX),
        })
    });
    Ok(Some(InstallPolicy { targets: targets.collect(), exec: exec.transpose()? }))
}

/// Finishes or undoes installations that were interrupted; before plugins are loaded.
pub(super) async fn recover(locations: &Locations, kv: &Arc<SqlitePluginKv>, sessions: &Arc<SqliteSessions>) {
    let stores = Stores::new(locations, kv, sessions);
    let layout = Layout::new(locations.state_dir());
    match installer::recover_all(&layout, &SystemDisk, &stores).await {
        Ok(recovery) => {
            for id in &recovery.undone {
                tracing::warn!("an interrupted change of the plugin `{id}` was undone; its version before is in place");
            }
        }
        Err(error) => tracing::error!("an interrupted installation can neither be finished nor undone: {error}"),
    }
}

/// The stores that keep something for plugins.
#[derive(Clone)]
struct Stores {
    kv: Arc<SqlitePluginKv>,
    sessions: Arc<SqliteSessions>,
    state: StateDir,
    data_dir: PathBuf,
    cache_dir: PathBuf,
}

impl Stores {
    fn new(locations: &Locations, kv: &Arc<SqlitePluginKv>, sessions: &Arc<SqliteSessions>) -> Self {
        Self {
            kv: Arc::clone(kv),
            sessions: Arc::clone(sessions),
            state: StateDir::new(locations.state_dir()),
            data_dir: locations.plugin_data_dir(),
            cache_dir: locations.cache_dir(),
        }
    }
}

#[async_trait]
impl Residue for Stores {
    async fn forget_plugin(&self, plugin: &PluginId) -> Result<(), String> {
        // A store that does not exist holds nothing, and is not made for that.
        if self.state.state_database().exists() {
            self.kv.remove_plugin(plugin).await.map_err(|error| error.to_string())?;
        }
        self.sessions.remove_plugin(plugin).await.map_err(|error| error.to_string())?;
        let files = self.data_dir.join(Layout::directory_name(plugin));
        SystemDisk.remove(&files).map_err(|error| format!("{} cannot be removed: {error}", files.display()))
    }

    async fn forget_component(&self, sha256: &str) -> Result<(), String> {
        let mut digest = [0; 32];
        hex::decode_to_slice(sha256, &mut digest).map_err(|error| error.to_string())?;
        forget_component(&self.cache_dir, &digest).map_err(|error| format!("{}: {error}", self.cache_dir.display()))
    }
}

/// Plugins that handle `before_install`. They are loaded when there is something to judge, and no others with them.
struct PluginGate {
    sources: Sources,
    settings: PluginsSettings,
    host: HostSettings,
    stores: Stores,
}

#[async_trait]
impl Gate for PluginGate {
    async fn judge(&self, staged: &Material) -> Verdict {
        match self.hooks(staged).await {
            Ok(None) => Verdict::default(),
            Ok(Some(hooks)) => verdict(install::judge(&hooks, &event(staged)).await),
            Err(failure) => Verdict {
                findings: Vec::new(),
                refused: Some(GateRefusal { plugin: "creel".to_owned(), reason: failure.message }),
            },
        }
    }
}

impl PluginGate {
    /// The handlers of `before_install`; none: there are none.
    ///
    /// # Errors
    /// When a plugin that judges installations is required and does not load: without it the installation would go unguarded. The one
    /// that is being installed may be mended that way.
    async fn hooks(&self, staged: &Material) -> Result<Option<Dispatcher>, Failure> {
        if !self.settings.switches.enabled {
            return Ok(None);
        }
        let mut plan = plugins::survey(self.sources.clone(), self.settings.clone()).await?;
        plan.plugins.retain(|plugin| judges(&plugin.handlers));
        plan.reports.retain(may_judge);
        if plan.reports.is_empty() {
            return Ok(None);
        }
        let ports = plugin_host::Ports {
            kv: Arc::clone(&self.stores.kv) as _,
            session_extensions: Arc::clone(&self.stores.sessions) as _,
            sessions: Arc::clone(&self.stores.sessions) as _,
            network: egress::Network::system(),
        };
        let circuits = hook_calls::circuits(Arc::clone(&self.stores.kv) as _, Arc::new(SystemClock)).await;
        let host = HostSettings { circuits: Some(circuits), ..self.host.clone() };
        let loaded = plugin_set::start_once(plan, host, &ports).await?;
        for status in &loaded.statuses {
            if let PluginState::Failed(why) | PluginState::Disabled(why) = &status.report.state {
                let text = plugins::sentence(&status.report, why);
                let is_itself = status.report.id.as_ref().is_some_and(|id| id.as_str() == staged.name);
                if status.report.required && !is_itself {
                    return Err(Failure::new(
                        Code::Plugin,
                        format!("a required plugin that judges installations does not load: {text}"),
                    ));
                }
                tracing::warn!("it does not judge this installation: {text}");
            }
        }
        Ok(Some(Dispatcher::new(loaded.registry)))
    }
}

fn judges(handlers: &[HandlerEntry]) -> bool {
    handlers.iter().any(|entry| entry.hook == HookId::BeforeInstall)
}

/// Whether a plugin judges installations, or would if it loaded. Of a required one that cannot be read nobody knows, so it may.
fn may_judge(report: &PluginReport) -> bool {
    let by_manifest = report.manifest.as_ref().is_some_and(|manifest| judges(&manifest.handlers));
    let by_component = match &report.component {
        Some(component) => component.inspection.hooks().contains(&HookId::BeforeInstall),
        None => report.required,
    };
    by_manifest || by_component
}

fn verdict(judged: install::Verdict) -> Verdict {
    let findings = judged.findings.into_iter().map(|finding| GateFinding {
        rule_id: finding.rule_id,
        severity: match finding.severity {
            FindingSeverity::Info => "info",
            FindingSeverity::Warn => "warn",
            FindingSeverity::Critical => "critical",
        },
        file: finding.file,
        message: finding.message,
    });
    let refused = judged.refused.map(|refusal| GateRefusal { plugin: refusal.plugin, reason: refusal.reason });
    Verdict { findings: findings.collect(), refused }
}

/// Staged material as the hook's event.
pub fn event(staged: &Material) -> Event {
    Event {
        target: match &staged.target {
            installer::Target::Skill(skill) => {
                Target::Skill(Box::new(Skill { install_id: skill.install_id.clone(), install_spec: None }))
            }
            installer::Target::Plugin(plugin) => Target::Plugin(Plugin {
                plugin_id: plugin.plugin_id.clone(),
                content_type: match plugin.content_type {
                    "file" => ContentType::File,
                    "package" => ContentType::Package,
                    _ => ContentType::Bundle,
                },
                package_name: plugin.package_name.clone(),
                manifest_id: Some(plugin.manifest_id.clone()),
                version: plugin.version.clone(),
                extensions: plugin.extensions.clone(),
            }),
        },
        target_name: staged.name.clone(),
        source_path: staged.staged.display().to_string(),
        source_is_directory: staged.staged.is_dir(),
        origin: Some(JsonText::from_value(&staged.origin())),
        request_kind: staged.request_kind.to_owned(),
        is_update: staged.mode == Mode::Update,
        requested_specifier: staged.specifier.clone(),
    }
}
