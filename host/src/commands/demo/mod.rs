//! `creel demo`: a scripted conversation in a scratch workspace in which every example plugin acts. Real plugins, the real loop, the real
//! store; only the model is a script, and it checks what it is sent.

mod cast;
mod scene;
mod scratch;
mod timeline;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agent::{RunOutcome, RunRequest};
use domain::event::NoEvents;
use domain::ports::PluginKv;
use domain::session::SessionStore;
use domain::{AgentId, PluginId, SessionKey};
use hooks::Dispatcher;
use hooks::events::before_install::{Event, InstallSpec, Installer, Skill, Target};
use serde_json::{Value, json};

use crate::args::DemoArgs;
use crate::commands::loading;
use crate::exit::{Code, Failure};
use crate::install;
use crate::logging;
use crate::terminal::Output;
use crate::wiring::plugins::{self, PluginStatus};
use crate::wiring::{self, HostOptions, Running};
use cast::{Denier, Stage};
use scene::{SCENES, SECRET};
use scratch::Scratch;
use timeline::Timeline;

/// How long observers of the demo may take; they count in key-value storage, which is quick.
const OBSERVER_GRACE: Duration = Duration::from_secs(10);

pub(super) async fn run(args: &DemoArgs, verbose: u8, output: &Output) -> Result<Code, Failure> {
    logging::start(verbose, config::keys::LogLevel::Error);
    let plugins = plugin_dir(args.plugins.as_deref())?;
    let scratch = Scratch::create(args.keep)?;
    let show = Show {
        output,
        timeline: Arc::new(Timeline::default()),
        stage: Arc::new(Stage::default()),
        denier: Arc::new(Denier::default()),
    };
    let result = show.play(&scratch, plugins).await;
    if args.keep {
        output.note(format!("state and workspace are kept in {}", scratch.path().display()));
    }
    let report = result?;
    if output.is_json() {
        output.value(&report);
    }
    Ok(Code::Success)
}

/// The directory given, or the places where a build or an installation puts the example plugins.
fn plugin_dir(given: Option<&Path>) -> Result<PathBuf, Failure> {
    let near_binary = std::env::current_exe().ok().and_then(|binary| Some(binary.parent()?.to_owned()));
    let candidates: Vec<PathBuf> = match (given, near_binary) {
        (Some(dir), _) => vec![dir.to_owned()],
        (None, Some(bin)) => vec![bin.join("../guests/plugins"), bin.join("../share/creel/plugins")],
        (None, None) => Vec::new(),
    };
    candidates.iter().find(|dir| dir.is_dir()).cloned().ok_or_else(|| {
        let looked: Vec<String> = candidates.iter().map(|dir| dir.display().to_string()).collect();
        Failure::usage(format!("the example plugins are not built; looked in {}", looked.join(", ")))
            .hint("in a checkout, `cargo xtask demo` builds them and runs the demo")
            .hint("or name their directory with --plugins")
    })
}

struct Show<'a> {
    output: &'a Output,
    timeline: Arc<Timeline>,
    stage: Arc<Stage>,
    denier: Arc<Denier>,
}

impl Show<'_> {
    async fn play(&self, scratch: &Scratch, plugins: PathBuf) -> Result<Value, Failure> {
        let (locations, loaded) = scratch.configuration()?;
        let (spinner, progress) = loading(self.output);
        let options = HostOptions {
            plugin_dirs: vec![plugins],
            records: Some(Arc::clone(&self.timeline) as _),
            progress: Some(progress),
            cache_dir: scratch.shared_cache(),
            ..HostOptions::new(locations, loaded, AgentId::main(), plugins::own_compiler())
        };
        let prepared = wiring::prepare(options).await?;
        drop(spinner);
        let hooks = prepared.hooks().clone();
        self.introduce(prepared.plugins());
        let running = prepared.start(Arc::clone(&self.stage) as _, Arc::clone(&self.denier) as _, Arc::new(NoEvents));
        let mut scenes = Vec::new();
        for (number, scene) in SCENES.iter().enumerate() {
            let heading = format!("\n{}. {}", number + 1, scene.caption);
            self.say(self.output.style().bold().apply_to(heading).to_string());
            self.say(format!("  user   {}", scene.message));
            scenes.push(self.scene(&running, scene.message).await?);
        }
        scenes.push(self.installation(&hooks, SCENES.len() + 1).await);
        let proof = self.prove(&running, scratch).await?;
        running.close(OBSERVER_GRACE).await;
        Ok(json!({ "scenes": scenes, "proof": proof }))
    }

    fn introduce(&self, plugins: &[PluginStatus]) {
        self.say(format!("{} plugins, each a WebAssembly component in a sandbox of its own:", plugins.len()));
        for plugin in plugins {
            self.say(format!("  {}", crate::commands::plugins::one_line(plugin)));
        }
    }

    async fn scene(&self, running: &Running, message: &str) -> Result<Value, Failure> {
        let request = RunRequest::new(message, SessionKey::main(&AgentId::main()));
        let accepted = running.agent.accept(request).await.map_err(|error| Failure::internal(error.to_string()))?;
        let outcome = accepted.run().await;
        running.agent.settle(OBSERVER_GRACE).await;
        let records = self.timeline.take();
        if !self.output.is_json() {
            timeline::print(&records, self.output);
        }
        for asked in self.denier.take() {
            self.say(format!("  asked  {asked} → denied"));
        }
        let delivered = self.stage.take();
        for text in &delivered {
            self.say(format!("  agent  {text}"));
        }
        if let Some(error) = &outcome.error {
            return Err(Failure::new(Code::RunFailed, format!("the demo went wrong at `{message}`: {error}")));
        }
        self.tell_suppressed(&outcome);
        Ok(json!({ "message": message, "delivered": delivered, "hooks": timeline::as_json(&records) }))
    }

    fn tell_suppressed(&self, outcome: &RunOutcome) {
        for delivery in outcome.deliveries.iter().filter(|delivery| delivery.content.is_none()) {
            self.say(format!("  agent  (not sent: {})", delivery.reason.as_deref().unwrap_or_default()));
        }
    }

    /// A skill that wants to run an unpinned download is staged; the gate is asked as an installation would ask it.
    async fn installation(&self, hooks: &Dispatcher, number: usize) -> Value {
        let heading = format!("\n{number}. install-gate refuses a skill whose download is not pinned");
        self.say(self.output.style().bold().apply_to(heading).to_string());
        let spec = InstallSpec {
            kind: Installer::Download,
            url: Some("http://downloads.example/tool.tar.gz".to_owned()),
            ..InstallSpec::default()
        };
        let staged = Event {
            target: Target::Skill(Box::new(Skill { install_id: "fetch".to_owned(), install_spec: Some(spec) })),
            target_name: "weather".to_owned(),
            source_path: "skills/weather".to_owned(),
            source_is_directory: true,
            origin: None,
            request_kind: "skill-install".to_owned(),
            is_update: false,
            requested_specifier: Some("weather".to_owned()),
        };
        self.say("  user   install the skill `weather`".to_owned());
        let verdict = install::judge(hooks, &staged).await;
        let records = self.timeline.take();
        if !self.output.is_json() {
            timeline::print(&records, self.output);
        }
        let end = verdict
            .refused
            .as_ref()
            .map_or_else(|| "installed".to_owned(), |refusal| format!("refused by {}: {}", refusal.plugin, refusal.reason));
        self.say(format!("  host   {end}"));
        json!({ "install": "weather", "end": end, "hooks": timeline::as_json(&records) })
    }

    /// What can be checked afterwards: the secret is not in the transcript, and the journal counted.
    async fn prove(&self, running: &Running, scratch: &Scratch) -> Result<Value, Failure> {
        let key = SessionKey::main(&AgentId::main());
        let entry = running.sessions.entry(&key).await?;
        let session_id =
            entry.map(|entry| domain::SessionId::new(entry.session_id)).unwrap_or_else(|| domain::SessionId::new(""));
        let rows = running.sessions.rows(&AgentId::main(), &session_id).await?;
        let leaks = rows.iter().filter(|row| serde_json::to_string(row).is_ok_and(|text| text.contains(SECRET))).count();
        if leaks > 0 {
            return Err(Failure::new(Code::RunFailed, format!("{leaks} rows of the transcript hold the secret")));
        }
        let journal = self.journal(running).await;
        let heading = "\nAfterwards";
        self.say(self.output.style().bold().apply_to(heading).to_string());
        self.say(format!("  the transcript has {} rows, the signing key is in none of them", rows.len()));
        self.say(format!("  the file it was read from still has it: {}", scratch.file_holds("release.txt", SECRET)));
        let counts: Vec<String> = journal.iter().map(|(name, count)| format!("{name} {count}")).collect();
        self.say(format!("  run-journal counted in its key-value storage: {}", counts.join(", ")));
        Ok(json!({ "rows": rows.len(), "leaks": leaks, "journal": journal.into_iter().collect::<serde_json::Map<_, _>>() }))
    }

    async fn journal(&self, running: &Running) -> Vec<(String, Value)> {
        let plugin = PluginId::new("run-journal");
        let Ok(page) = running.kv.list_keys(&plugin, "", None, 1000).await else { return Vec::new() };
        let mut counts = Vec::new();
        for key in page.keys {
            let value = running.kv.get(&plugin, &key).await.ok().flatten().unwrap_or_default();
            if let Ok(count) = String::from_utf8_lossy(&value).parse::<u64>() {
                counts.push((key, json!(count)));
            }
        }
        counts
    }

    fn say(&self, text: String) {
        if !self.output.is_json() {
            self.output.line(text);
        }
    }
}
