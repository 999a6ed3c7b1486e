//! Joins the workspace to the loop's port for prompt texts.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use agent::PromptSources;
use agent::ports::{ContextFile, ProjectContext};
use async_trait::async_trait;
use cap_std::fs::Dir;
use config::keys::{ContextInjection, TruncationWarning};
use config::{AgentSettings, Locations};
use workspace::bootstrap::{Audience, BootstrapLimits, NoticePolicy, Selection, collect, render, truncation_notice};
use workspace::{SeedOptions, Seeded, Workspace};

use crate::exit::{Code, Failure};

/// The workspace of one agent.
pub(super) struct WorkspaceSources(Arc<Sources>);

struct Sources {
    workspace: Workspace,
    limits: BootstrapLimits,
    notice: NoticePolicy,
    injects: bool,
    /// Truncations that were told already.
    told: Mutex<HashSet<String>>,
}

/// Opens the workspace, making it if it is missing, and puts template files into a brand-new one.
pub(super) fn open(locations: &Locations, path: &Path, agent: &AgentSettings) -> Result<WorkspaceSources, Failure> {
    let workspace = Workspace::open(path).map_err(unusable)?;
    let seeded = workspace.seed(SeedOptions {
        state_dir: locations.state_dir(),
        skip: agent.bootstrap.skip_templates,
        skip_optional: &[],
    });
    match seeded {
        Ok(Seeded::Vanished) => {
            tracing::warn!(path = %path.display(), "the workspace was there before and has vanished; it is empty now");
        }
        Ok(Seeded::New(files)) => tracing::info!(path = %path.display(), "template files written: {}", files.join(", ")),
        Ok(Seeded::InUse | Seeded::Skipped) => {}
        Err(error) => return Err(unusable(error)),
    }
    Ok(WorkspaceSources(Arc::new(Sources {
        workspace,
        limits: BootstrapLimits {
            file_chars: chars(agent.bootstrap.max_chars),
            total_chars: chars(agent.bootstrap.total_max_chars),
        },
        notice: match agent.bootstrap.truncation_warning {
            TruncationWarning::Off => NoticePolicy::Off,
            TruncationWarning::Once => NoticePolicy::Once,
            TruncationWarning::Always => NoticePolicy::Always,
        },
        injects: agent.bootstrap.injection != ContextInjection::Never,
        told: Mutex::default(),
    })))
}

fn chars(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

fn unusable(error: impl std::fmt::Display) -> Failure {
    Failure::new(Code::RunFailed, error.to_string()).hint("agents.defaults.workspace names another workspace")
}

impl WorkspaceSources {
    /// A handle for the file tools.
    pub(super) fn dir(&self) -> Result<Dir, Failure> {
        self.0.workspace.handle().map_err(unusable)
    }

    /// The workspace as tools and prompts name it.
    pub(super) fn path(&self) -> &Path {
        self.0.workspace.path()
    }
}

impl Sources {
    fn gather(&self) -> ProjectContext {
        if !self.injects {
            return ProjectContext::default();
        }
        let selection = Selection { audience: Audience::Main, heartbeat: false, memory: true };
        let rendered = render(&collect(&self.workspace, selection), self.limits);
        let files = rendered.files.into_iter().map(|file| ContextFile { name: file.name, text: file.text }).collect();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let notice = truncation_notice(&rendered.report, self.notice, |key| told.contains(key));
        if let Some(notice) = &notice {
            told.insert(notice.key.clone());
        }
        ProjectContext { files, notice: notice.map(|notice| notice.text) }
    }
}

#[async_trait]
impl PromptSources for WorkspaceSources {
    async fn project_context(&self) -> Result<ProjectContext, String> {
        let sources = Arc::clone(&self.0);
        let gathered = tokio::task::spawn_blocking(move || sources.gather()).await;
        gathered.map_err(|error| format!("reading the bootstrap files failed: {error}"))
    }
}
