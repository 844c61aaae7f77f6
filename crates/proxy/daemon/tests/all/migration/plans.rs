//! Validation of plans.

use std::fs;

use fanin_daemon::Settings;
use tempfile::TempDir;

use super::{SECRET, hashed, write_plan, write_stage};

/// Settings of a front end with a plan's folder, and with a log's secret if keys are hashed.
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

#[test]
fn reads_plans_of_plain_and_hashed_keys() {
    let folder = tempfile::tempdir().unwrap();
    let rows =
        ["user%3A7", "user:8", "\"a,\"\"b\"", "100%", "=1+1", "%7E0~"].map(|key| format!("{key},1,2\n{key}x,2,1\n"));
    write_plan(folder.path(), 2, &format!("key,server,was\n{}", rows.concat()).replace("\"x", "x\""));
    assert_eq!(keys_of(&settings(&folder, false).unwrap()), 12);
    // Keys whose hash selects both servers, and keys too long for memcached, are ignored.
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
fn refuses_invalid_plan_with_line() {
    let folder = tempfile::tempdir().unwrap();
    let mine = hashed(SECRET, "a");
    let other = hashed("another secret, as long", "a");
    for (servers, table, told) in [
        (3, "key,server,was\n", "plan.json: the plan is for another cluster with 3 servers; this pool has 2"),
        (2, "", "placement.csv: line 1: use the columns key,server,was"),
        (2, "key,server\na,1\n", "placement.csv: line 1: use the columns key,server,was"),
        (2, "key,server,was\na,3,\n", "placement.csv: line 2: `3` is not a server: use 1 to 2"),
        (2, "key,server,was\na,1,\nb,0,\n", "placement.csv: line 3: `0` is not a server"),
        (2, "key,server,was\na,1,-1\n", "placement.csv: line 2: `-1` is not a server"),
        (2, "key,server,was\na,\x1b[31m,\n", "placement.csv: line 2: `\\x1b[31m` is not a server"),
        (2, "key,server,was\na,1,2\nb,2,1\na,2,1\n", "placement.csv: line 4: duplicate of the key in line 2"),
        (2, "key,server,was\na%2d,1,2\na-,1,2\n", "placement.csv: line 3: duplicate of the key in line 2"),
        (
            2,
            "key,server,was\na,1\n",
            "placement.csv: CSV error: record 1 (line: 2, byte: 15): found record with 2 fields",
        ),
        (2, &format!("key,server,was\na,1,2\n{mine},1,2\n"), "line 3: some keys are hashed and others are not"),
        (2, &format!("key,server,was\n{other},1,2\n"), "line 2: the key is hashed with the secret "),
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
    assert!(problem.contains("it must start in `begin` or `move`, not in `over`"), "{problem}");
    write_stage(folder.path(), "finished\n");
    let problem = settings(&folder, true).unwrap_err();
    assert!(
        problem.ends_with("stage: `finished` is not a stage; use one of begin, move, copied, turn, over"),
        "{problem}"
    );
}

#[test]
fn refuses_damaged_plan() {
    let folder = tempfile::tempdir().unwrap();
    let table = "key,server,was\nab,1,2\ncd,1,2\n";
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    for at in 0..table.len() {
        write_plan(folder.path(), 2, table);
        let mut bytes = table.as_bytes().to_vec();
        bytes[at] ^= 1;
        write("placement.csv", &bytes);
        let problem = settings(&folder, false).unwrap_err();
        assert!(problem.contains("placement.csv: the digest does not match plan.json"), "{at}: {problem}");
        write("placement.csv", &table.as_bytes()[..at]);
        let problem = settings(&folder, false).unwrap_err();
        assert!(problem.contains("placement.csv: the digest does not match plan.json"), "{at}: {problem}");
    }
    for (text, told) in [
        ("{}", "plan.json: the plan does not name its cluster"),
        ("{\"cluster\": {", "plan.json: not a plan: EOF"),
        ("[1, 2", "plan.json: not a plan: EOF"),
        ("{\"cluster\": {\"servers\": 2, \"replicas\": 3}}", "the plan has 3 replicas per key"),
        ("{\"cluster\": {\"servers\": 2, \"replicas\": 1}}", "plan.json: it has no digest of placement.csv"),
        (
            "{\"cluster\": {\"servers\": 2, \"replicas\": 1}, \"servers\": [\"127.0.0.1:2\", \"127.0.0.1:1\"]}",
            "plan is for another cluster: its server 1 is 127.0.0.1:2, this pool's is 127.0.0.1:1",
        ),
        ("{\"cluster\": {\"servers\": \"2\", \"replicas\": 1}}", "plan.json: the plan does not name its cluster"),
    ] {
        write("plan.json", text.as_bytes());
        let problem = settings(&folder, false).unwrap_err();
        assert!(problem.contains(told), "{text}: {problem}");
    }
    fs::remove_file(folder.path().join("plan.json")).unwrap();
    assert!(settings(&folder, false).unwrap_err().contains("plan.json: No such file"));
}
