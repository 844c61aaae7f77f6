//! Names the engine: a digest of everything that determines a run's tables, so that cached results of another engine are
//! never used.

mod engine;

use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let workspace = Path::new("../../..");
    if !workspace.join("crates/scenario/simulate/Cargo.toml").exists() {
        // Packed: a published version never changes, nor do those of our crates that it depends on.
        println!("cargo::rustc-env=FANIN_ENGINE={}", env!("CARGO_PKG_VERSION"));
        return Ok(());
    }
    let engine = engine::of(workspace, "fanin-simulate")?;
    println!("cargo::rustc-env=FANIN_ENGINE={}", engine.name);
    for place in engine.places {
        println!("cargo::rerun-if-changed={}", place.display());
    }
    Ok(())
}
