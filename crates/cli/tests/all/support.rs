//! Shared code for tests of the project's documents. `make docs` rewrites the generated ones.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The project's root.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A cache folder that tests reuse. It is separate from the user's, which may contain runs of a program without assertions.
/// `web/scripts/test.sh` uses it, too.
pub fn kept() -> PathBuf {
    Path::new(text(&fanin(&["cache", "--json"])["folder"])).with_file_name("fanin-tests")
}

/// Runs `fanin` in the root, which must succeed, and returns its output.
pub fn says(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_fanin")).args(arguments).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The JSON object that `fanin` prints.
pub fn fanin(arguments: &[&str]) -> Value {
    serde_json::from_str(&says(arguments)).unwrap()
}

/// The text of a JSON value.
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[expect(clippy::disallowed_methods, reason = "the one switch between checking documents and writing them")]
fn writes_documents() -> bool {
    std::env::var_os("UPDATE").is_some()
}

/// Checks that a document equals the generated one, or rewrites it.
pub fn is_current(path: &str, generated: &str) {
    let file = root().join(path);
    if writes_documents() {
        return fs::write(&file, generated).unwrap();
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    assert!(written == generated, "{path} is not what the code gives: run `make docs` and commit it");
}
