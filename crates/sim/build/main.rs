//! Names the engine: a digest of everything that a run's tables follow from, so that results kept from another engine are
//! never taken for this one's.

mod engine;

use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let engine = engine::of(&Path::new("..").join(".."), "fanin-sim")?;
    println!("cargo::rustc-env=FANIN_ENGINE={}", engine.name);
    for place in engine.places {
        println!("cargo::rerun-if-changed={}", place.display());
    }
    Ok(())
}
