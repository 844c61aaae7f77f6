//! The engine's name is a digest of its sources and libraries.

#[path = "../../build/engine.rs"]
mod engine;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use engine::of;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../..")
}

#[test]
fn engine_includes_every_built_crate() {
    let engine = of(&workspace(), "fanin-sim").unwrap();
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--offline", "--package", "fanin-sim", "--edges", "normal", "--prefix", "none"])
        .current_dir(workspace())
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).unwrap();
    let names: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    let libraries: BTreeSet<&str> = engine.libraries.iter().filter_map(|library| library.split(' ').next()).collect();
    let crates: BTreeSet<&str> = names.iter().copied().filter(|name| name.starts_with("fanin-")).collect();
    assert_eq!(engine.crates.iter().map(String::as_str).collect::<BTreeSet<_>>(), crates);
    let missing: Vec<_> = names.iter().filter(|name| !crates.contains(*name) && !libraries.contains(*name)).collect();
    assert!(missing.is_empty() && libraries.len() > 5, "{missing:?}");
    // Libraries of the lab and of tests do not count.
    assert!(!libraries.contains("parquet") && !libraries.contains("proptest"), "{libraries:?}");
}

/// A small workspace: `first` depends on `second` and the library `one`, which depends on `two`; `other` is separate.
fn small(folder: &Path) {
    let write = |path: &str, text: &str| {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(
        "Cargo.toml",
        "[workspace.dependencies]\nfirst = { path = \"a\" }\nsecond = { path = \"b\" }\none = \"1\"\nother = \"1\"\n",
    );
    write(
        "a/Cargo.toml",
        "[dependencies]\nsecond.workspace = true\none.workspace = true\n[dev-dependencies]\nother = \"1\"\n",
    );
    write("b/Cargo.toml", "[package]\nname = \"second\"\n");
    write("a/src/lib.rs", "first");
    write("b/src/lib.rs", "second");
    let package = |name: &str, behind: &str| {
        format!("[[package]]\nname = \"{name}\"\nversion = \"1.0.0\"\nchecksum = \"0\"\ndependencies = [{behind}]\n")
    };
    write("Cargo.lock", &(package("one", "\"two\"") + &package("two", "") + &package("other", "")));
}

#[test]
fn engine_name_depends_on_its_contents() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    small(folder);
    let name = || of(folder, "first").unwrap().name;
    let before = name();
    let with = |file: &str, from: &str, to: &str| {
        let (path, whole) = (folder.join(file), fs::read_to_string(folder.join(file)).unwrap());
        assert!(whole.contains(from), "{file}");
        fs::write(&path, whole.replace(from, to)).unwrap();
        let changed = name();
        fs::write(&path, whole).unwrap();
        changed
    };
    assert_ne!(before, with("b/src/lib.rs", "second", "other"));
    assert_ne!(before, with("Cargo.toml", "one = \"1\"", "one = { version = \"1\", features = [\"x\"] }"));
    let version = |of: &str| format!("name = \"{of}\"\nversion = \"1.0.0\"");
    for behind in ["one", "two"] {
        assert_ne!(
            before,
            with("Cargo.lock", &version(behind), &version(behind).replace("1.0.0", "1.0.1")),
            "{behind}"
        );
    }
    assert_eq!(before, with("Cargo.lock", &version("other"), &version("other").replace("1.0.0", "1.0.1")));
    assert_eq!(before, with("a/Cargo.toml", "other = \"1\"", "other = \"2\""));
    assert_eq!(before, name());
}
