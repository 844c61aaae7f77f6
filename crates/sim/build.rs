//! Names the engine: a digest of every source that a run's tables follow from, so that results kept from another engine
//! are never taken for this one's.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

const CRATES: [&str; 6] = ["units", "laws", "fabric", "spec", "tcp", "sim"];

fn main() -> Result<(), Box<dyn Error>> {
    let mut digest = Sha256::new();
    digest.update(env!("CARGO_PKG_VERSION"));
    for name in CRATES {
        let sources = Path::new("..").join(name).join("src");
        println!("cargo::rerun-if-changed={}", sources.display());
        for file in files(&sources)? {
            digest.update(file.to_string_lossy().as_bytes());
            digest.update(fs::read(&file)?);
        }
    }
    let name: String = digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=FANIN_ENGINE={name}");
    Ok(())
}

/// Every file below a folder, in the order of their names; none where there is no such folder.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
