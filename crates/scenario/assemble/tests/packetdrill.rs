//! The endpoint sends the segments that Linux sends: scripts recorded from Linux 6.18, each for one rule of its loss recovery
//! (`make packetdrill` runs whole suites).

use std::path::Path;

#[allow(dead_code)]
#[path = "../examples/packetdrill/drive.rs"]
mod drive;
#[path = "../examples/packetdrill/info.rs"]
mod info;
#[allow(dead_code)]
#[path = "../examples/packetdrill/script.rs"]
mod script;
#[path = "../examples/packetdrill/suite.rs"]
mod suite;

#[test]
fn recorded_scripts_pass() {
    let scripts = suite::scripts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/packetdrill"));
    assert!(scripts.len() >= 8, "{scripts:?}");
    for script in scripts {
        let verdict = suite::judge_file(&script, &drive::Options::default());
        assert_eq!(verdict.column(), 0, "{}{}", script.display(), verdict.details());
    }
}
