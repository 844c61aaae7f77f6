//! Sets the version: the package's, and the commit if git knows it.

use std::path::Path;
use std::process::Command;

fn main() {
    let version = env!("CARGO_PKG_VERSION");
    let named = match packed().or_else(commit) {
        Some(commit) => format!("{version} ({commit})"),
        None => version.into(),
    };
    println!("cargo::rustc-env=FANIN_VERSION={named}");
    // Only these files change with the commit; a missing one would cause a rebuild every time.
    let moved = ["HEAD", "logs/HEAD"].iter().filter_map(|file| git(&["rev-parse", "--git-path", file]));
    for file in moved.filter(|file| Path::new(file).exists()) {
        println!("cargo::rerun-if-changed={file}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}

/// The commit of a packed crate, as written there by `cargo package`.
fn packed() -> Option<String> {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(".cargo_vcs_info.json")).ok()?;
    let sha = text.split("\"sha1\": \"").nth(1)?.get(..12)?;
    Some(sha.to_string())
}

/// The short name of the commit, if this package is in its own repository and not in another one.
fn commit() -> Option<String> {
    let top = git(&["rev-parse", "--show-toplevel"])?;
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2)?.canonicalize().ok()?;
    if Path::new(&top).canonicalize().ok()? != own {
        return None;
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

/// The output of git, if it is available and prints something.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    let said = String::from_utf8(output.stdout).ok()?.trim().to_string();
    (!said.is_empty()).then_some(said)
}
