//! What is no plan of this front end's is refused, with what would be right.

use std::fs;

use fanin_daemon::Settings;
use fanin_daemon::log::{Naming, Secret};
use tempfile::TempDir;

use super::{write_plan, write_stage};

const SECRET: &str = "sixteen bytes or more";

/// A front end's file with a plan's folder, and a log's secret where keys are hashed.
fn settings(folder: &TempDir, hashed: bool) -> Result<Settings, String> {
    let secret = folder.path().join("secret");
    fs::write(&secret, SECRET).unwrap();
    let naming = if hashed { format!("secret = \"{}\"", secret.display()) } else { "keys = \"plain\"".to_owned() };
    let log = format!("[log]\nfile = \"{}\"\n{naming}\n", folder.path().join("asked.csv").display());
    let text = format!(
        "{log}[[pool]]\nlisten = \"127.0.0.1:0\"\nservers = [\"127.0.0.1:1\", \"127.0.0.1:2\"]\nplan = \"{}\"\n",
        folder.path().display()
    );
    Settings::of_file("f.toml", &text).map_err(|problem| problem.to_string())
}

fn keys_of(settings: &Settings) -> usize {
    settings.pools[0].plan.as_ref().unwrap().moves.len()
}

fn hashed(secret: &str, key: &str) -> String {
    let mut name = Vec::new();
    Naming::Hashed(Secret::of(secret.as_bytes()).unwrap()).write(key.as_bytes(), &mut name);
    String::from_utf8(name).unwrap()
}

#[test]
fn a_plan_of_plain_or_hashed_keys_is_taken_as_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let rows =
        ["user%3A7", "user:8", "\"a,\"\"b\"", "100%", "=1+1", "%7E0~"].map(|key| format!("{key},1,2\n{key}x,2,1\n"));
    write_plan(folder.path(), 2, &format!("key,server,was\n{}", rows.concat()).replace("\"x", "x\""));
    assert_eq!(keys_of(&settings(&folder, false).unwrap()), 12);
    // Where keys lie by their hashes, and lay, there is nothing to know; what nobody can ask for is left out.
    let long = "k".repeat(100_000);
    let rows: String = (0..40).map(|number| format!("{number}-key,1,\n")).collect();
    write_plan(folder.path(), 2, &format!("key,server,was\n{rows}{long},1,2\n"));
    let some = keys_of(&settings(&folder, true).unwrap());
    assert!((5..35).contains(&some), "{some}");
    let names = ["a", "b", "c"].map(|key| format!("{},1,\n", hashed(SECRET, key)));
    write_plan(folder.path(), 2, &format!("key,server,was\n{}", names.concat()));
    assert_eq!(keys_of(&settings(&folder, true).unwrap()), 3);
    write_plan(folder.path(), 2, "key,server,was\n");
    assert_eq!(keys_of(&settings(&folder, true).unwrap()), 0);
}

#[test]
fn what_is_no_plan_of_this_front_end_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let mine = hashed(SECRET, "a");
    let other = hashed("another secret, as long", "a");
    for (servers, table, told) in [
        (3, "key,server,was\n", "plan.json: it is the plan of another cluster, of 3 servers: this pool has 2"),
        (2, "", "placement.csv: line 1: use the columns key,server,was"),
        (2, "key,server\na,1\n", "placement.csv: line 1: use the columns key,server,was"),
        (2, "key,server,was\na,3,\n", "placement.csv: line 2: `3` is not a server: they are 1 to 2"),
        (2, "key,server,was\na,1,\nb,0,\n", "placement.csv: line 3: `0` is not a server"),
        (2, "key,server,was\na,1,-1\n", "placement.csv: line 2: `-1` is not a server"),
        (2, "key,server,was\na,\x1b[31m,\n", "placement.csv: line 2: `\\x1b[31m` is not a server"),
        (2, "key,server,was\na,1,2\nb,2,1\na,2,1\n", "placement.csv: line 4: its key is in line 2 already"),
        (2, "key,server,was\na%2d,1,2\na-,1,2\n", "placement.csv: line 3: its key is in line 2 already"),
        (
            2,
            "key,server,was\na,1\n",
            "placement.csv: CSV error: record 1 (line: 2, byte: 15): found record with 2 fields",
        ),
        (2, &format!("key,server,was\na,1,2\n{mine},1,2\n"), "line 3: some of its keys are hashed and others are not"),
        (2, &format!("key,server,was\n{other},1,2\n"), "line 2: its key is hashed by the secret "),
    ] {
        write_plan(folder.path(), servers, table);
        let problem = settings(&folder, true).unwrap_err();
        assert!(problem.starts_with("f.toml:7: ") && problem.contains(told), "{table:?}: {problem}");
    }
    write_plan(folder.path(), 2, &format!("key,server,was\n{mine},1,2\n"));
    let problem = settings(&folder, false).unwrap_err();
    assert!(problem.contains("use a `[log]` with that `secret`"), "{problem}");
    write_stage(folder.path(), "over\n");
    let problem = settings(&folder, true).unwrap_err();
    assert!(problem.contains("it starts in `begin` or `move`, not in `over`"), "{problem}");
    write_stage(folder.path(), "finished\n");
    let problem = settings(&folder, true).unwrap_err();
    assert!(
        problem.ends_with("stage: `finished` is not a stage: write one of begin, move, copied, turn, over"),
        "{problem}"
    );
}

#[test]
fn a_plan_that_is_damaged_is_refused_whatever_of_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let table = "key,server,was\nab,1,2\ncd,1,2\n";
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    for at in 0..table.len() {
        write_plan(folder.path(), 2, table);
        let mut bytes = table.as_bytes().to_vec();
        bytes[at] ^= 1;
        write("placement.csv", &bytes);
        let problem = settings(&folder, false).unwrap_err();
        assert!(problem.contains("placement.csv: it is not the table that plan.json tells of"), "{at}: {problem}");
        write("placement.csv", &table.as_bytes()[..at]);
        let problem = settings(&folder, false).unwrap_err();
        assert!(problem.contains("placement.csv: it is not the table that plan.json tells of"), "{at}: {problem}");
    }
    for (text, told) in [
        ("{}", "plan.json: it does not say of which cluster it is"),
        ("{\"cluster\": {", "plan.json: it is no plan: EOF"),
        ("[1, 2", "plan.json: it is no plan: EOF"),
        (
            "{\"cluster\": {\"servers\": 2, \"replicas\": 3}}",
            "it is a plan of 3 replicas of a key, and a front end has one",
        ),
        ("{\"cluster\": {\"servers\": 2, \"replicas\": 1}}", "plan.json: it does not say what placement.csv must be"),
        (
            "{\"cluster\": {\"servers\": 2, \"replicas\": 1}, \"servers\": [\"127.0.0.1:2\", \"127.0.0.1:1\"]}",
            "plan of another cluster, whose server 1 is 127.0.0.1:2: this pool's is 127.0.0.1:1",
        ),
        ("{\"cluster\": {\"servers\": \"2\", \"replicas\": 1}}", "plan.json: it does not say of which cluster it is"),
    ] {
        write("plan.json", text.as_bytes());
        let problem = settings(&folder, false).unwrap_err();
        assert!(problem.contains(told), "{text}: {problem}");
    }
    fs::remove_file(folder.path().join("plan.json")).unwrap();
    assert!(settings(&folder, false).unwrap_err().contains("plan.json: No such file"));
}
