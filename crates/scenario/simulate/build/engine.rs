//! Contents of an engine by manifests and lock file: the workspace's crates that one crate depends on, their sources and
//! features, and the locked version of every library they use.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use toml::{Table, Value};

/// An engine.
pub struct Engine {
    /// Digest of its contents.
    pub name: String,
    /// The workspace's crates in it, and libraries with their versions.
    pub crates: BTreeSet<String>,
    pub libraries: BTreeSet<String>,
    /// Files and folders that determine it.
    pub places: Vec<PathBuf>,
}

/// The engine of a workspace's crate.
pub fn of(workspace: &Path, first: &str) -> Result<Engine, Box<dyn Error>> {
    let (manifest, lock) = (workspace.join("Cargo.toml"), workspace.join("Cargo.lock"));
    let shared = table(&read(&manifest)?, &["workspace", "dependencies"]);
    let mut engine = Engine {
        name: String::new(),
        crates: BTreeSet::new(),
        libraries: BTreeSet::new(),
        places: vec![manifest, lock.clone()],
    };
    let (mut digest, mut libraries) = (Sha256::new(), BTreeSet::new());
    let mut waiting = vec![first.to_string()];
    while let Some(name) = waiting.pop() {
        if !engine.crates.insert(name.clone()) {
            continue;
        }
        let folder = match shared.get(&name).and_then(|entry| entry.get("path")).and_then(Value::as_str) {
            Some(path) => workspace.join(path),
            None => return Err(format!("{name} has no path in [workspace.dependencies]").into()),
        };
        let own = read(&folder.join("Cargo.toml"))?;
        digest.update(format!("{name} {:?}\n", own.get("features")));
        for (dependency, wanted) in table(&own, &["dependencies"]) {
            let entry = shared.get(&dependency);
            // Its features are part of its contents.
            digest.update(format!("{dependency} {wanted:?} {entry:?}\n"));
            match entry.and_then(|entry| entry.get("path")) {
                Some(_) => waiting.push(dependency),
                None => drop(libraries.insert(dependency)),
            }
        }
        let sources = folder.join("src");
        for file in files(&sources)? {
            digest.update(file.strip_prefix(&folder)?.to_string_lossy().as_bytes());
            digest.update(fs::read(&file)?);
        }
        engine.places.extend([folder.join("Cargo.toml"), sources]);
    }
    engine.libraries = locked(&read(&lock)?, libraries)?;
    digest.update(engine.libraries.iter().cloned().collect::<Vec<_>>().join("\n"));
    engine.name = hex::encode(&digest.finalize()[..8]);
    Ok(engine)
}

/// These libraries and their dependencies: name, version and checksum.
fn locked(lock: &Table, first: BTreeSet<String>) -> Result<BTreeSet<String>, Box<dyn Error>> {
    let text = |package: &Value, key: &str| package.get(key).and_then(Value::as_str).unwrap_or_default().to_string();
    let mut packages: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for package in lock.get("package").and_then(Value::as_array).ok_or("Cargo.lock has no packages")? {
        packages.entry(text(package, "name")).or_default().push(package);
    }
    let (mut found, mut waiting) = (BTreeSet::new(), Vec::from_iter(first));
    while let Some(wanted) = waiting.pop() {
        // `name`, or `name version` if there are several.
        let mut words = wanted.split(' ');
        let (name, version) = (words.next().unwrap_or_default(), words.next());
        let several = packages.get(name).ok_or_else(|| format!("{wanted} is not in Cargo.lock"))?;
        for package in
            several.iter().filter(|package| version.is_none_or(|version| text(package, "version") == version))
        {
            if found.insert(format!("{name} {} {}", text(package, "version"), text(package, "checksum"))) {
                let behind = package.get("dependencies").and_then(Value::as_array).into_iter().flatten();
                waiting.extend(behind.filter_map(Value::as_str).map(String::from));
            }
        }
    }
    Ok(found)
}

fn read(file: &Path) -> Result<Table, Box<dyn Error>> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(text.parse()?)
}

/// A nested table; empty if missing.
fn table(of: &Table, path: &[&str]) -> Table {
    path.iter().try_fold(of.clone(), |table, key| table.get(*key)?.as_table().cloned()).unwrap_or_default()
}

/// Every file below a folder, in the order of their names.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    found.sort_unstable();
    Ok(found)
}
