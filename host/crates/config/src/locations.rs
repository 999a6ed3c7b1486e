//! Where everything of one host is on disk (runtime 11.4, agent-loop 8.1.2). Pure: it looks at the environment that it is given and
//! at nothing else, and it creates nothing.

use std::path::{Path, PathBuf};

use domain::AgentId;

use crate::environment::Environment;
use crate::keys::Config;
use crate::settings::UnknownAgent;

/// Name of the file in the state directory.
pub const CONFIG_FILE: &str = "creel.json";

/// Where everything of one host is on disk. All paths are absolute if the working directory of the environment is.
#[derive(Debug, Clone)]
pub struct Locations {
    environment: Environment,
    state_dir: PathBuf,
    config_path: PathBuf,
    profile: Option<String>,
}

/// Why the places cannot be told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocationError {
    /// There is no home directory to put the state directory into.
    #[error("neither HOME nor CREEL_STATE_DIR is set; set CREEL_STATE_DIR to the directory that Creel shall use")]
    NoHome,
    /// What a relative one means would depend on where the program is started.
    #[error("HOME is {0:?}, which is no absolute path; set it to your home directory, or leave it out and set CREEL_STATE_DIR")]
    RelativeHome(PathBuf),
    /// The profile becomes part of a directory name.
    #[error("CREEL_PROFILE is {0:?}; use 1 to 64 letters, digits, `_` or `-`, the first one a letter or a digit")]
    InvalidProfile(String),
}

impl Locations {
    /// Reads `CREEL_STATE_DIR`, `CREEL_CONFIG_PATH`, `CREEL_PROFILE` and `HOME`.
    ///
    /// # Errors
    /// When there is no place for the state directory, `HOME` is relative, or the profile cannot be part of a directory name.
    pub fn resolve(environment: &Environment) -> Result<Self, LocationError> {
        if let Some(home) = environment.home().filter(|home| home.is_relative()) {
            return Err(LocationError::RelativeHome(home.to_owned()));
        }
        let path_of = |name: &str| environment.get(name).map(|path| environment.absolute(path, environment.working_directory()));
        let state_dir = match path_of("CREEL_STATE_DIR") {
            Some(path) => path,
            None => environment.home().ok_or(LocationError::NoHome)?.join(".creel"),
        };
        let config_path = path_of("CREEL_CONFIG_PATH").unwrap_or_else(|| state_dir.join(CONFIG_FILE));
        let profile = profile(environment)?;
        Ok(Self { environment: environment.clone(), state_dir, config_path, profile })
    }

    /// The environment that the places come from.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The state directory.
    pub fn state_dir(&self) -> &Path {
        &self.state_dir
    }

    /// The configuration file.
    pub fn config_path(&self) -> &Path {
        &self.config_path
    }

    /// Whether the operator named the configuration file.
    pub fn config_path_is_named(&self) -> bool {
        self.environment.get("CREEL_CONFIG_PATH").is_some()
    }

    /// Where the host keeps what it can make again, for example compiled plugins.
    pub fn cache_dir(&self) -> PathBuf {
        self.state_dir.join("cache")
    }

    /// Where plugins that are granted files keep them, in one directory each.
    pub fn plugin_data_dir(&self) -> PathBuf {
        self.state_dir.join("plugin-data")
    }

    /// Private directory of an agent. `CREEL_AGENT_DIR` replaces that of the default agent.
    pub fn agent_dir(&self, config: &Config, agent: &AgentId) -> PathBuf {
        match self.environment.get("CREEL_AGENT_DIR") {
            Some(path) if config.default_agent() == *agent => {
                self.environment.absolute(path, self.environment.working_directory())
            }
            _ => self.state_dir.join("agents").join(agent.as_str()).join("agent"),
        }
    }

    /// Directory in which an agent works (agent-loop 8.1.2).
    ///
    /// # Errors
    /// When the agent is not configured.
    pub fn workspace(&self, config: &Config, agent: &AgentId) -> Result<PathBuf, UnknownAgent> {
        let settings = config.agent(agent)?;
        if let Some(path) = settings.workspace {
            return Ok(self.from_config(&path));
        }
        if !settings.is_default {
            return Ok(self.state_dir.join(format!("workspace-{agent}")));
        }
        if let Some(path) = config.agents.defaults.workspace.as_deref() {
            return Ok(self.from_config(path));
        }
        if let Some(path) = self.environment.get("CREEL_WORKSPACE_DIR") {
            return Ok(self.environment.absolute(path, self.environment.working_directory()));
        }
        Ok(self
            .state_dir
            .join(self.profile.as_ref().map_or_else(|| "workspace".to_owned(), |profile| format!("workspace-{profile}"))))
    }

    /// Files and directories of `plugins.load.paths`.
    pub fn plugin_paths(&self, config: &Config) -> Vec<PathBuf> {
        config.plugins.load.paths.iter().map(|path| self.from_config(path)).collect()
    }

    /// A path that stands in the configuration file: `~` is the home directory, a relative path starts at the file's directory.
    pub fn from_config(&self, path: &str) -> PathBuf {
        let base = self.config_path.parent().unwrap_or(&self.state_dir);
        self.environment.absolute(path, base)
    }
}

/// The profile, if it is not the default one.
fn profile(environment: &Environment) -> Result<Option<String>, LocationError> {
    let Some(name) = environment.get("CREEL_PROFILE").map(str::trim).filter(|name| !name.eq_ignore_ascii_case("default")) else {
        return Ok(None);
    };
    // The grammar of agent ids suits: such a name is one plain part of a path.
    match AgentId::parse(name) {
        Ok(_) => Ok(Some(name.to_owned())),
        Err(_) => Err(LocationError::InvalidProfile(name.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
    use super::*;

    type Variables<'v> = &'v [(&'v str, &'v str)];

    fn locations(variables: Variables<'_>) -> Locations {
        Locations::resolve(&Environment::new(variables.iter().copied(), "/cwd")).unwrap()
    }

    fn config(json: &str) -> Config {
        serde_json::from_str(json).unwrap()
    }

    fn workspace(variables: Variables<'_>, json: &str, agent: &str) -> String {
        let path = locations(variables).workspace(&config(json), &AgentId::parse(agent).unwrap()).unwrap();
        path.to_str().unwrap().to_owned()
    }

    #[test]
    fn state_and_config_follow_the_environment() {
        let rows: &[(Variables<'_>, &str, &str)] = &[
            (&[("HOME", "/home/op")], "/home/op/.creel", "/home/op/.creel/creel.json"),
            (&[("HOME", "/home/op"), ("CREEL_STATE_DIR", "~/x")], "/home/op/x", "/home/op/x/creel.json"),
            (&[("CREEL_STATE_DIR", "state")], "/cwd/state", "/cwd/state/creel.json"),
            (&[("CREEL_STATE_DIR", "/s"), ("CREEL_CONFIG_PATH", "c.json")], "/s", "/cwd/c.json"),
            (&[("HOME", "/home/op"), ("CREEL_STATE_DIR", "")], "/home/op/.creel", "/home/op/.creel/creel.json"),
        ];
        for (variables, state, file) in rows {
            let locations = locations(variables);
            assert_eq!((locations.state_dir(), locations.config_path()), (Path::new(state), Path::new(file)), "{variables:?}");
        }
        assert!(!locations(&[("HOME", "/h")]).config_path_is_named());
        assert!(locations(&[("HOME", "/h"), ("CREEL_CONFIG_PATH", "/c")]).config_path_is_named());
    }

    #[test]
    fn a_host_without_a_home_says_what_to_set() {
        let error = Locations::resolve(&Environment::new([("CREEL_PROFILE", "x")], "/")).unwrap_err();
        assert_eq!(error, LocationError::NoHome);
    }

    #[test]
    fn a_home_that_depends_on_the_working_directory_is_refused() {
        for variables in [&[("HOME", "me")][..], &[("HOME", "."), ("CREEL_STATE_DIR", "/s")]] {
            let error = Locations::resolve(&Environment::new(variables.iter().copied(), "/cwd")).unwrap_err();
            assert!(
                matches!(error, LocationError::RelativeHome(_)) && error.to_string().contains("set CREEL_STATE_DIR"),
                "{error}"
            );
        }
    }

    #[test]
    fn the_first_hit_of_8_1_2_is_the_workspace() {
        let home = ("HOME", "/h");
        let dir = ("CREEL_WORKSPACE_DIR", "~/ws");
        let profile = ("CREEL_PROFILE", "dev");
        let two =
            r#"{"agents":{"defaults":{"workspace":"~/d"},"list":[{"id":"main"},{"id":"ops"},{"id":"own","workspace":"o"}]}}"#;
        let rows: &[(Variables<'_>, &str, &str, &str)] = &[
            (&[home], "{}", "main", "/h/.creel/workspace"),
            (&[home, profile], "{}", "main", "/h/.creel/workspace-dev"),
            (&[home, ("CREEL_PROFILE", "Default")], "{}", "main", "/h/.creel/workspace"),
            (&[home, profile, dir], "{}", "main", "/h/ws"),
            (&[home, profile, dir], two, "main", "/h/d"),
            (&[home, profile, dir], two, "ops", "/h/.creel/workspace-ops"),
            (&[home, profile, dir], two, "own", "/h/.creel/o"),
            (&[home, ("CREEL_CONFIG_PATH", "/etc/creel.json")], two, "own", "/etc/o"),
        ];
        for (variables, json, agent, expected) in rows {
            assert_eq!(workspace(variables, json, agent), *expected, "{variables:?} {agent}");
        }
    }

    #[test]
    fn a_profile_cannot_leave_the_state_directory() {
        for bad in ["../x", "a/b", ".", "-x"] {
            let error = Locations::resolve(&Environment::new([("HOME", "/h"), ("CREEL_PROFILE", bad)], "/")).unwrap_err();
            assert_eq!(error, LocationError::InvalidProfile(bad.to_owned()));
        }
    }

    #[test]
    fn agent_directories_are_below_the_state() {
        let two = config(r#"{"agents":{"list":[{"id":"ops"},{"id":"main"}]}}"#);
        let plain = locations(&[("HOME", "/h")]);
        assert_eq!(plain.agent_dir(&two, &AgentId::main()), Path::new("/h/.creel/agents/main/agent"));
        assert_eq!(plain.cache_dir(), Path::new("/h/.creel/cache"));
        assert_eq!(plain.plugin_data_dir(), Path::new("/h/.creel/plugin-data"));
        let replaced = locations(&[("HOME", "/h"), ("CREEL_AGENT_DIR", "a")]);
        assert_eq!(replaced.agent_dir(&two, &AgentId::new("ops")), Path::new("/cwd/a"));
        assert_eq!(replaced.agent_dir(&two, &AgentId::main()), Path::new("/h/.creel/agents/main/agent"));
    }

    #[test]
    fn plugin_paths_start_at_the_file() {
        let config = config(r#"{"plugins":{"load":{"paths":["p","/q","~/r"]}}}"#);
        let paths = locations(&[("HOME", "/h"), ("CREEL_CONFIG_PATH", "/etc/creel/c.json")]).plugin_paths(&config);
        assert_eq!(paths, [Path::new("/etc/creel/p"), Path::new("/q"), Path::new("/h/r")]);
    }
}
