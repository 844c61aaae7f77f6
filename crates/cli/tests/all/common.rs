//! Runs `fanin` as a process.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use super::support::kept;

/// A run of half a millisecond of simulated time.
pub const SMALL: &str = "\
schemes = [\"newreno\", \"dctcp\"]
[workload]
fragment = \"4 KiB\"
duration = \"2 ms\"
[sweep]
fan_in = [2, 4]
[run]
seeds = 2
";

/// A folder with a scenario in it.
pub struct Place {
    pub folder: TempDir,
    cache: PathBuf,
    _own_cache: Option<TempDir>,
}

/// `fanin` with default signal handling: `nohup` and background shells ignore some signals.
pub fn program() -> Command {
    let mut command = Command::new("/usr/bin/env");
    command.args(["--default-signal=INT,HUP", env!("CARGO_BIN_EXE_fanin")]);
    command
}

impl Place {
    pub fn with(text: &str) -> Place {
        let own = tempfile::tempdir().unwrap();
        Place { cache: own.path().into(), _own_cache: Some(own), folder: folder(text) }
    }

    /// The same with the cache that tests share, so that none repeats another's runs.
    pub fn sharing_runs(text: &str) -> Place {
        Place { cache: kept(), _own_cache: None, folder: folder(text) }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The folder of its cache, once there is one.
    pub fn cache(&self) -> PathBuf {
        self.cache.join("fanin")
    }

    /// Number of runs in its cache.
    pub fn cached_runs(&self) -> usize {
        let runs = |engine: fs::DirEntry| fs::read_dir(engine.path()).unwrap().count();
        fs::read_dir(self.cache()).map_or(0, |engines| engines.map(|engine| runs(engine.unwrap())).sum())
    }

    /// `fanin` in the folder, with a cache of its own.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program();
        command.args(arguments).current_dir(self.folder.path()).env("XDG_CACHE_HOME", &self.cache);
        command
    }

    /// Runs `fanin` in the folder.
    pub fn fanin(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs `fanin`, which must exit with code 0, and returns its standard output.
    pub fn says(&self, arguments: &[&str]) -> String {
        let output = self.fanin(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", err(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The same on a terminal with this number of columns.
    pub fn says_in(&self, columns: &str, arguments: &[&str]) -> String {
        let output = self.command(arguments).env("COLUMNS", columns).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", err(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a printed command in a shell that finds `fanin`, and returns its JSON output.
    pub fn runs(&self, line: &str) -> Value {
        let folder = Path::new(env!("CARGO_BIN_EXE_fanin")).parent().unwrap().display();
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("PATH={folder}:$PATH; {line}")]).current_dir(self.folder.path());
        let output = shell.env("XDG_CACHE_HOME", &self.cache).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{line}: {}", err(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Runs `fanin`, which must refuse bad input with exit code 2 and one message, and returns the message.
    pub fn refuses(&self, arguments: &[&str]) -> String {
        let output = self.fanin(arguments);
        let message = err(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
        assert!(message.starts_with("error: ") && !message.contains("panicked"), "{arguments:?}: {message}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        message
    }
}

fn folder(text: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("my.toml"), text).unwrap();
    folder
}

/// Standard error as text.
pub fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}
