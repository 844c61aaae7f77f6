//! Vectors of all fan-out algorithms (`vectors/*.json`), which were computed from the papers, not from this code.

#[path = "../../laws/tests/vectors/replay.rs"]
mod replay;
mod support;

use support::{files, start};

#[test]
fn algorithms_match_vectors() {
    for (law, file) in files() {
        replay::replay(law, &file, |law, case| start(law, &case["settings"]), |driver, step| driver(step));
    }
}
