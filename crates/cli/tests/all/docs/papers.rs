//! `docs/reproducing.md` documents every key of a claims file, and the page of tables every measure.

use std::fs;
use std::process::Command;

use crate::support::root;

#[test]
fn pages_document_every_key_and_measure_of_claims() {
    let page = |name| fs::read_to_string(root().join(name)).unwrap();
    let page = page("docs/reproducing.md") + &page("docs/tables.md");
    let tiny = fs::read_to_string(root().join("crates/cli/tests/papers/tiny/claims.toml")).unwrap();
    let mut seen = 0;
    // An unknown word makes the parser list the known ones.
    for (before, unknown) in [
        ("title = \"A tiny paper\"\n", "nobody = 1\n"),
        ("seeds = 2\n", "nobody = 1\n"),
        ("id = \"T-1\"\n", "nobody = 1\n"),
        ("id = \"T-1.1\"\n", "nobody = 1\n"),
        ("form = \"doubles\"\n", "nobody = 1\n"),
        ("id = \"T-1.1\"\n", "measure = \"nobody\"\n"),
    ] {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("papers/mine");
        fs::create_dir_all(&folder).unwrap();
        assert!(tiny.contains(before));
        fs::write(folder.join("claims.toml"), tiny.replacen(before, &format!("{before}{unknown}"), 1)).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_fanin"));
        let output = command.args(["reproduce", "mine"]).current_dir(place.path()).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        let mut words = message.split('`').skip(1).step_by(2);
        assert_eq!(words.next(), Some("nobody"), "{message}");
        for word in words {
            let forms = [format!("{word} ="), format!("[{word}]"), format!("[figure.{word}]"), format!("`{word}`")];
            assert!(forms.iter().any(|form| page.contains(form)), "`{word}` is not told");
            seen += 1;
        }
    }
    assert!(seen > 45, "{seen} words");
}
