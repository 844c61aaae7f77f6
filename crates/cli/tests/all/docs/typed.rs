//! Commands and files in pages: every scenario runs, and every command prints the output that the page shows.
//!
//! A block marked `toml scenario NAME` is a file of that name, one marked `toml file PATH` any other. One marked `sh` contains commands.
//! One marked `text` that starts with `$ ` contains a command and its output, which `make docs` rewrites. The blocks of a page run in order
//! in one folder, beside the project's scenarios, papers and pages. `operate.rs` runs the steps of `docs/operate.md`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::support::{is_current, kept, root, says};

/// A folder in which a reader follows a page. Runs that several pages show are cached.
struct Reader {
    page: String,
    folder: TempDir,
    cache: PathBuf,
}

impl Reader {
    fn of(page: &str) -> Reader {
        let folder = tempfile::tempdir().unwrap();
        for name in ["scenarios", "papers", "docs"] {
            std::os::unix::fs::symlink(root().canonicalize().unwrap().join(name), folder.path().join(name)).unwrap();
        }
        Reader { page: page.into(), folder, cache: kept() }
    }

    /// Runs a command in a shell that finds `fanin`, and returns its output.
    fn types(&self, command: &str) -> String {
        let programs = Path::new(env!("CARGO_BIN_EXE_fanin")).parent().unwrap().display();
        let output = Command::new("sh")
            .args(["-euc", command])
            .current_dir(self.folder.path())
            .env("PATH", format!("{programs}:/usr/local/bin:/usr/bin:/bin"))
            .env("XDG_CACHE_HOME", &self.cache)
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: `{command}` fails: {told}", self.page);
        // Warnings are folded.
        let is_idle = told.replace("\n  ", " ").contains("has no effect");
        assert!(!is_idle, "{}: `{command}` has settings without effect: {told}", self.page);
        String::from_utf8(output.stdout).unwrap()
    }

    /// Follows one block, and returns its expected content.
    fn follows(&self, mark: &str, body: &str) -> String {
        if let Some(name) = mark.strip_prefix("toml scenario") {
            let name = if name.is_empty() { "scenario.toml" } else { name.trim() };
            fs::write(self.folder.path().join(name), body).unwrap();
            self.types(&format!("fanin compare {name} --fan-in 2,4 --seeds 1"));
        } else if let Some(path) = mark.strip_prefix("toml file ") {
            let path = self.folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, body).unwrap();
        } else if mark == "sh" {
            self.follows_commands(body);
        } else if mark == "text"
            && let Some(command) = body.lines().next().and_then(|line| line.strip_prefix("$ "))
        {
            let printed: Vec<String> = self.types(command).lines().map(|line| line.trim_end().to_string()).collect();
            return format!("$ {command}\n{}\n", printed.join("\n").trim_end());
        } else {
            assert!(
                !mark.starts_with("toml"),
                "{}: a block of TOML is marked `toml scenario` or `toml file PATH`, so that it is used",
                self.page
            );
        }
        body.into()
    }

    fn follows_commands(&self, body: &str) {
        let makefile =
            ["Makefile", "bench/measurements.mk"].map(|file| fs::read_to_string(root().join(file)).unwrap()).concat();
        for command in body.replace("\\\n", " ").lines().filter(|line| !line.trim().is_empty()) {
            let mut words = command.split_whitespace();
            match (words.next(), words.next()) {
                // Advice on its full budget takes minutes here.
                (Some("fanin"), Some("advise")) if !command.contains("--budget") => {
                    drop(self.types(&format!("{command} --budget 1M")));
                }
                (Some("fanin"), _) => drop(self.types(command)),
                // Check only that the target exists: one of them runs this test.
                (Some("make"), Some(target)) => {
                    assert!(makefile.contains(&format!("\n{target}: ")), "{}: there is no `make {target}`", self.page);
                }
                (Some("export"), Some(path)) if path.starts_with("PATH=") => {}
                _ => panic!("{}: a block of sh holds `{command}`, which is no command of the project's", self.page),
            }
        }
    }
}

/// Follows a page from its first block to its last.
fn is_followed(path: &str) {
    let text = fs::read_to_string(root().join(path)).unwrap();
    let reader = Reader::of(path);
    let mut page = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        page += &format!("{line}\n");
        if let Some(mark) = line.strip_prefix("```") {
            let body: String =
                lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect();
            page += &format!("{}```\n", reader.follows(mark, &body));
        }
    }
    is_current(path, &page);
}

fn pages() -> Vec<String> {
    let of = |folder: &'static str| {
        let names = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().file_name());
        names.map(|name| name.into_string().unwrap()).map(move |name| format!("{folder}/{name}"))
    };
    let pages = of("docs").chain(of("docs/decisions")).filter(|page| page.ends_with(".md"));
    pages.chain(["README.md".into()]).collect()
}

#[test]
fn commands_of_the_readme_work() {
    is_followed("README.md");
}

#[test]
fn commands_of_the_quick_start_work() {
    is_followed("docs/quick-start.md");
}

#[test]
fn commands_of_other_pages_work() {
    for page in pages().iter().filter(|page| !["README.md", "docs/quick-start.md"].contains(&page.as_str())) {
        is_followed(page);
    }
}

#[test]
fn commands_and_flags_in_texts_exist() {
    let help = |command: &str| says(&[command, "--help"]);
    let commands: BTreeSet<String> = says(&["--help"])
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next().map(String::from))
        .collect();
    for page in pages() {
        let text = fs::read_to_string(root().join(&page)).unwrap();
        for span in text.split('`').skip(1).step_by(2).filter_map(|span| span.strip_prefix("fanin ")) {
            let mut words = span.split_whitespace();
            let command = words.next().unwrap_or_default();
            assert!(commands.contains(command), "{page}: there is no `fanin {command}`");
            let help = help(command);
            for flag in words.filter(|word| word.starts_with("--")) {
                let name = flag.split(['=', '[']).next().unwrap_or_default();
                assert!(
                    [" ", "\n", "["].iter().any(|end| help.contains(&format!("{name}{end}"))),
                    "{page}: `fanin {command}` has no {flag}"
                );
            }
        }
    }
}
