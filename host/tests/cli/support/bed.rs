//! A place to run the binary in: directories and an environment of its own. Nothing of the person who runs the tests reaches it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command as Process;

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{LIMIT, plugins};

/// A place with a home, a state directory and a working directory. Gone when dropped.
pub(crate) struct Bed {
    dir: TempDir,
}

impl Bed {
    /// A place where nobody configured anything.
    pub(crate) fn new() -> Self {
        let bed = Self { dir: tempfile::tempdir().unwrap() };
        for dir in [bed.home(), bed.state(), bed.work(), bed.cache_home(), bed.temporary()] {
            fs::create_dir_all(dir).unwrap();
        }
        bed
    }

    /// A place with this configuration.
    pub(crate) fn configured(config: &Value) -> Self {
        let bed = Self::new();
        bed.write_config(&config.to_string());
        bed
    }

    /// A place whose model plays these turns.
    pub(crate) fn scripted(turns: &Value) -> Self {
        Self::scripted_with(turns, json!({}))
    }

    /// A place whose model plays these turns, with further configuration.
    pub(crate) fn scripted_with(turns: &Value, mut config: Value) -> Self {
        let bed = Self::new();
        config["agents"]["defaults"]["model"] = json!("offline/script");
        config["agents"]["defaults"]["skipBootstrap"] = json!(true);
        config["models"]["providers"]["offline"]["script"] = json!("script.json5");
        fs::write(bed.state().join("script.json5"), json!({ "turns": turns }).to_string()).unwrap();
        bed.write_config(&config.to_string());
        bed
    }

    /// With the example plugins compiled beforehand, as after an earlier start.
    pub(crate) fn warm(self) -> Self {
        plugins::copy_compiled(&self.state().join("cache"));
        self
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    /// The working directory of the binary.
    pub(crate) fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    pub(crate) fn cache_home(&self) -> PathBuf {
        self.dir.path().join("cache")
    }

    /// Where the binary puts temporary files.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.dir.path().join("tmp")
    }

    /// The workspace of the agent.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.state().join("workspace")
    }

    pub(crate) fn config_path(&self) -> PathBuf {
        self.state().join("creel.json")
    }

    pub(crate) fn write_config(&self, text: &str) {
        fs::write(self.config_path(), text).unwrap();
    }

    pub(crate) fn read_config(&self) -> String {
        fs::read_to_string(self.config_path()).unwrap()
    }

    /// Writes a file into the working directory and gives its path.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.work().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// The binary with these arguments, not started.
    pub(crate) fn process(&self, arguments: &[&str]) -> Process {
        let mut process = Process::new(binary());
        process
            .args(arguments)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.home())
            .env("XDG_CACHE_HOME", self.cache_home())
            .env("TMPDIR", self.temporary())
            .env("CREEL_STATE_DIR", self.state())
            .current_dir(self.work());
        process
    }

    /// The binary with these arguments, to be given more before it is run with [`Bed::finish`].
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        Command::from_std(self.process(arguments))
    }

    /// Runs the binary to its end.
    #[must_use = "assert something about it"]
    pub(crate) fn creel(&self, arguments: &[&str]) -> Assert {
        Self::finish(&mut self.command(arguments))
    }

    /// Runs a command to its end. Here no stream is a terminal, so whatever the command does, no escape code may come out.
    #[must_use = "assert something about it"]
    pub(crate) fn finish(command: &mut Command) -> Assert {
        let assert = command.timeout(LIMIT).assert();
        for text in [stdout(&assert), stderr(&assert)] {
            assert!(!text.contains('\u{1b}'), "escape codes where nobody looks: {text:?}");
            assert!(!text.contains("panicked"), "{text}");
        }
        assert
    }

    /// The transcript of a session, one value per line of its export.
    pub(crate) fn transcript(&self, session: &str) -> Vec<Value> {
        let export = self.creel(&["sessions", "export", session]).success();
        stdout(&export).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// All conversations, as `sessions list --json` has them.
    pub(crate) fn sessions(&self) -> Vec<Value> {
        match json_of(&self.creel(&["sessions", "list", "--json"]).success()) {
            Value::Array(sessions) => sessions,
            other => panic!("no list: {other}"),
        }
    }
}

/// The binary under test.
pub(crate) fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_creel"))
}

pub(crate) fn stdout(assert: &Assert) -> String {
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

pub(crate) fn stderr(assert: &Assert) -> String {
    String::from_utf8(assert.get_output().stderr.clone()).unwrap()
}

/// Stdout as the one JSON document that it must be.
pub(crate) fn json_of(assert: &Assert) -> Value {
    let text = stdout(assert);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("stdout is not one JSON document: {error}\n{text}"))
}
