//! Names the engine: a digest of everything that a run's tables follow from, so that results kept from another engine are
//! never taken for this one's.

mod engine;

use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let workspace = Path::new("..").join("..");
    if !workspace.join("crates/sim/Cargo.toml").exists() {
        // Packed: a version that is published never changes, nor do those of our crates that it asks for.
        println!("cargo::rustc-env=FANIN_ENGINE={}", env!("CARGO_PKG_VERSION"));
        return Ok(());
    }
    let engine = engine::of(&workspace, "fanin-sim")?;
    println!("cargo::rustc-env=FANIN_ENGINE={}", engine.name);
    for place in engine.places {
        println!("cargo::rerun-if-changed={}", place.display());
    }
    Ok(())
}
