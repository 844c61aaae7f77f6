//! What tests of the project's documents share. Generated ones are written anew by `make docs`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The project's root.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder for caches, where runs are kept from one time that the tests run to the next: apart from the user's own, which a program
/// without assertions may have made. `web/scripts/test.sh` takes them from there, too.
pub fn kept() -> PathBuf {
    Path::new(text(&fanin(&["cache", "--json"])["folder"])).with_file_name("fanin-tests")
}

/// Runs `fanin` in the root, which must succeed, and gives what it prints.
pub fn says(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_fanin")).args(arguments).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The JSON object that `fanin` prints.
pub fn fanin(arguments: &[&str]) -> Value {
    serde_json::from_str(&says(arguments)).unwrap()
}

/// The text that a JSON value is.
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[expect(clippy::disallowed_methods, reason = "the one switch between checking documents and writing them")]
fn writes_documents() -> bool {
    std::env::var_os("UPDATE").is_some()
}

/// Checks that a document is what the code gives, or makes it so.
pub fn is_current(path: &str, generated: &str) {
    let file = root().join(path);
    if writes_documents() {
        return fs::write(&file, generated).unwrap();
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    assert!(written == generated, "{path} is not what the code gives: run `make docs` and commit it");
}
