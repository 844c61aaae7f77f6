//! Names the version: the package's, and the commit where there is a git that knows it.

use std::path::Path;
use std::process::Command;

fn main() {
    let version = env!("CARGO_PKG_VERSION");
    let named = match packed().or_else(commit) {
        Some(commit) => format!("{version} ({commit})"),
        None => version.into(),
    };
    println!("cargo::rustc-env=FANIN_VERSION={named}");
    // Only where these change is it another commit; what is not there would be taken for changed at every build.
    let moved = ["HEAD", "logs/HEAD"].iter().filter_map(|file| git(&["rev-parse", "--git-path", file]));
    for file in moved.filter(|file| Path::new(file).exists()) {
        println!("cargo::rerun-if-changed={file}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}

/// The commit that a packed crate was made from, as `cargo package` has written it there.
fn packed() -> Option<String> {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(".cargo_vcs_info.json")).ok()?;
    let sha = text.split("\"sha1\": \"").nth(1)?.get(..12)?;
    Some(sha.to_string())
}

/// The short name of the commit, if this package lies in its own repository and not in somebody's else.
fn commit() -> Option<String> {
    let top = git(&["rev-parse", "--show-toplevel"])?;
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2)?.canonicalize().ok()?;
    if Path::new(&top).canonicalize().ok()? != own {
        return None;
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

/// What git says, if there is one and it says something.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    let said = String::from_utf8(output.stdout).ok()?.trim().to_string();
    (!said.is_empty()).then_some(said)
}
