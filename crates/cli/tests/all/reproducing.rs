//! `fanin reproduce` on a tiny paper: scorecards, recorded verdicts, and operations that must not change them.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{Place, err};

/// A folder with copies of the tiny paper under these names.
pub fn with_papers(names: &[&str]) -> Place {
    let place = Place::with("");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/papers/tiny");
    for name in names {
        let folder = place.path("papers").join(name);
        fs::create_dir_all(&folder).unwrap();
        for entry in fs::read_dir(&fixture).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
        }
    }
    place
}

pub fn tiny() -> Place {
    with_papers(&["tiny"])
}

fn card(place: &Place, arguments: &[&str]) -> Value {
    serde_json::from_str(&place.says(&[&["reproduce", "tiny", "--json"], arguments].concat())).unwrap()
}

/// The card without values that vary between executions.
fn result(mut card: Value) -> String {
    for cost in ["wall_s", "cpu_s", "cached_runs"] {
        assert!(card.as_object_mut().unwrap().remove(cost).is_some(), "{cost}");
    }
    card.to_string()
}

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn scorecard_has_the_documented_fields() {
    let place = tiny();
    let told = card(&place, &["--out", "results"]);
    let written = fs::read_to_string(place.path("results/scorecard.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), told, "what is written is what is printed");
    assert_eq!(keys(&told), ["cached_runs", "cpu_s", "fanin", "mode", "papers", "schema", "wall_s"]);
    assert_eq!((&told["schema"], &told["mode"]), (&2.into(), &"full".into()));
    let paper = &told["papers"][0];
    assert_eq!((keys(paper), &paper["paper"]), (vec!["figures", "paper"], &"tiny".into()));
    assert_eq!(paper["figures"].as_array().unwrap().len(), 3);
    assert_eq!(keys(&paper["figures"][0]), ["claims", "id", "title"]);
    let common = ["class", "expected", "id", "measured", "read_from", "robust", "says", "verdict", "where"];
    for figure in paper["figures"].as_array().unwrap() {
        for claim in figure["claims"].as_array().unwrap() {
            assert!(claim["id"].as_str().unwrap().starts_with(&format!("{}.", figure["id"].as_str().unwrap())));
            assert!(claim["robust"].is_null(), "nobody has looked");
            let more: &[&str] = match claim["id"].as_str().unwrap() {
                "T-1.2" => &["cause_tested", "why"],
                "T-1.6" => &["note", "repeats"],
                "T-1.7" => &["own"],
                _ => &[],
            };
            let mut wanted = [&common[..], more].concat();
            wanted.sort_unstable();
            assert_eq!(keys(claim), wanted, "a failure says why, and only what repeats another names it");
        }
    }
    let mut files: Vec<_> =
        fs::read_dir(place.path("results")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    assert_eq!(files, ["figures.csv", "figures.parquet", "report.html", "scorecard.json"]);
}

#[test]
fn stops_precise_points_early_and_names_the_figure() {
    let place = tiny();
    let edit = |file: &str, from: &str, to: &str| {
        let path = place.path("papers/tiny").join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(path, text.replace(from, to)).unwrap();
    };
    edit("barrier.toml", "seeds = 3", "seeds = 12");
    edit("claims.toml", "title = \"A tiny paper\"", "title = \"A tiny paper\"\nprecision = 0.5");
    let told = card(&place, &["--out", "results"]);
    let figures = told["papers"][0]["figures"].as_array().unwrap();
    // Two schemes at three points: five of the twelve seeds suffice.
    let spared = serde_json::json!({ "precision": 0.5, "points": 6, "early": 6, "runs": 72, "spared": 42 });
    assert_eq!(figures[0]["spared"], spared);
    assert!(figures[1..].iter().all(|figure| figure.get("spared").is_none()), "of two seeds all are made");
    let words = "6 of 6 points stopped early, at a precision of 50 %, saving 42 of 72 runs";
    let says = place.says(&["reproduce", "tiny"]);
    assert!(says.contains(&format!("\nT-1: {words}\n")), "{says}");
    let page = fs::read_to_string(place.path("results/report.html")).unwrap();
    assert!(page.contains(&format!("<p class=\"note\">{words}.</p>")));
    // With an explicit number of seeds, all are run.
    assert!(card(&place, &["--seeds", "6"])["papers"][0]["figures"][0].get("spared").is_none());
}

#[test]
fn same_seeds_give_the_same_scorecard_figures_and_report() {
    let place = tiny();
    let read = |folder: &str, file: &str| fs::read(place.path(folder).join(file)).unwrap();
    let cold = card(&place, &["--jobs", "1", "--out", "cold"]);
    assert_eq!(cold["cached_runs"], 0);
    let warm = card(&place, &["--jobs", "3", "--out", "warm"]);
    assert!(warm["cached_runs"].as_u64().unwrap() > 0);
    let without = card(&place, &["--no-cache", "--jobs", "2"]);
    assert_eq!(without["cached_runs"], 0);
    let cold = result(cold);
    assert_eq!(cold, result(warm));
    assert_eq!(cold, result(without));
    for file in ["figures.csv", "figures.parquet", "report.html"] {
        assert!(read("cold", file) == read("warm", file), "{file} differs");
    }
    assert_ne!(cold, result(card(&place, &["--first-seed", "100"])), "other seeds are other runs");
}

#[test]
fn single_figure_has_its_own_scorecard() {
    let place = with_papers(&["tiny", "other"]);
    // Papers without the figure are left out, even if it is not the first paper's.
    let claims = place.path("papers/other/claims.toml");
    fs::write(&claims, fs::read_to_string(&claims).unwrap().replace("T-", "O-")).unwrap();
    fs::remove_file(place.path("papers/other/expected.json")).unwrap();
    let card: Value =
        serde_json::from_str(&place.says(&["reproduce", "all", "--figure", "T-2", "--json", "--out", "one"])).unwrap();
    assert_eq!(card["papers"].as_array().unwrap().len(), 1);
    let figures = card["papers"][0]["figures"].as_array().unwrap();
    assert_eq!(figures.iter().map(|f| &f["id"]).collect::<Vec<_>>(), ["T-2"]);
    let csv = fs::read_to_string(place.path("one/figures.csv")).unwrap();
    assert!(csv.lines().skip(1).all(|row| row.starts_with("tiny,T-2,round_end_ms,newreno,")), "{csv}");
    assert_eq!(csv.lines().count(), 1 + 2 * 3, "two seeds, three rounds");
    let page = fs::read_to_string(place.path("one/report.html")).unwrap();
    assert!(page.contains("fanin reproduce tiny --figure T-2</pre>") && !page.contains("T-1.1"));
}

#[test]
fn page_shows_the_command_of_each_figure() {
    let place = tiny();
    let conditions = ["--quick", "--seeds", "1", "--first-seed", "7", "--set", "switch.buffer=32 KiB"];
    place.says(&[&["reproduce", "tiny", "--out", "page", "--jobs", "1"], &conditions[..]].concat());
    let page = fs::read_to_string(place.path("page/report.html")).unwrap();
    let command =
        "fanin reproduce tiny --figure T-3 --quick --seeds 1 --first-seed 7 --set 'switch.buffer=32 KiB'</pre>";
    assert!(page.contains(command), "{}", page.lines().find(|line| line.contains("--figure T-3")).unwrap());
    assert!(page.contains("; with switch.buffer=32 KiB"));
}

#[test]
fn a_changed_verdict_exits_1_and_writes_results() {
    let place = tiny();
    let expected = place.path("papers/tiny/expected.json");
    let recorded = fs::read_to_string(&expected).unwrap();
    fs::write(&expected, recorded.replacen("\"T-1.1\": \"pass\"", "\"T-1.1\": \"fail\"", 1)).unwrap();
    let output = place.fanin(&["reproduce", "tiny", "--out", "results"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        err(&output).contains("verdicts differ from the recorded ones: T-1.1 was fail, is pass"),
        "{}",
        err(&output)
    );
    assert!(place.path("results/scorecard.json").exists());
    place.says(&["reproduce", "tiny", "--quick"]);
    place.says(&["reproduce", "tiny", "--figure", "T-2"]);

    fs::write(&expected, recorded.replacen("\"T-2.1\": \"pass\",", "", 1)).unwrap();
    let output = place.fanin(&["reproduce", "tiny"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("T-2.1 was not recorded, is pass"), "{}", err(&output));
}

#[test]
fn recording_keeps_other_figures_and_drops_removed_claims() {
    let place = tiny();
    let expected = place.path("papers/tiny/expected.json");
    let recorded = fs::read_to_string(&expected).unwrap();
    let other = recorded.replace("\"T-1.1\": \"pass\"", "\"T-1.1\": \"fail\"");
    fs::write(&expected, other.replace("\"T-2.1\": \"pass\"", "\"T-2.1\": \"fail\",\n    \"T-0.1\": \"pass\""))
        .unwrap();
    place.says(&["reproduce", "tiny", "--figure", "T-1", "--record"]);
    let now: Value = serde_json::from_str(&fs::read_to_string(&expected).unwrap()).unwrap();
    assert_eq!((&now["full"]["T-1.1"], &now["quick"]["T-1.1"]), (&"pass".into(), &"fail".into()));
    assert_eq!(now["full"]["T-2.1"], "fail", "another figure's verdict stays");
    assert!(now["full"]["T-0.1"].is_null() && now["quick"]["T-0.1"].is_null());
}

#[test]
fn missing_records_are_reported_without_failure() {
    let place = tiny();
    fs::remove_file(place.path("papers/tiny/expected.json")).unwrap();
    let output = place.fanin(&["reproduce", "tiny", "--quick"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(err(&output).contains("tiny: no verdicts are recorded for such runs; use `--record`"));
    place.says(&["reproduce", "tiny", "--quick", "--record"]);
    assert_eq!(err(&place.fanin(&["reproduce", "tiny", "--quick"])), "");
}

#[test]
fn failing_claims_exit_1_in_strict_mode() {
    let place = tiny();
    let output = place.fanin(&["reproduce", "tiny", "--strict"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("1 of 10 claims fail or are undecided: T-1.2"), "{}", err(&output));
    place.says(&["reproduce", "tiny", "--strict", "--figure", "T-3"]);
    assert!(place.says(&["reproduce", "tiny"]).contains("7 of 8 claims hold, 0 are undecided, 0 are fragile"));
}

#[test]
fn undecided_claims_fail_in_strict_mode_and_are_recorded() {
    let place = tiny();
    // Two seeds cannot decide an order.
    let claims = place.path("papers/tiny/claims.toml");
    let order = "class = \"order\"\nabove = \"newreno\"\nbelow = \"dctcp\"\n";
    let text = fs::read_to_string(&claims).unwrap();
    let share = "class = \"share\"\ncurve = \"dctcp\"\nover = \"newreno\"\nvalue = 0\n";
    assert!(text.contains(share));
    fs::write(&claims, text.replace(share, order)).unwrap();
    let quick = ["reproduce", "tiny", "--quick"];
    let output = place.fanin(&quick);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("T-1.5 was pass, is undecided"), "{}", err(&output));
    place.says(&[&quick[..], &["--record"]].concat());
    assert!(place.says(&quick).contains("undecided T-1.5"));
    let output = place.fanin(&[&quick[..], &["--strict"]].concat());
    assert!(err(&output).contains("2 of 10 claims fail or are undecided: T-1.2, T-1.5"), "{}", err(&output));
    place.says(&[&quick[..], &["--out", "page"]].concat());
    let page = fs::read_to_string(place.path("page/report.html")).unwrap();
    assert!(page.contains("<span class=\"chip undecided\">undecided</span>") && page.contains(", 1 undecided</h1>"));
}

#[test]
fn sensitivity_sweep_marks_fragile_claims() {
    let place = tiny();
    // With almost no buffer in the switch, rounds wait for timeouts.
    let ranges = "seeds = 1\n[[parameter]]\nkey = \"switch.buffer\"\nvalue = \"128 KiB\"\n\
                  ends = [\"3 packets\", \"256 KiB\"]\nwhy = \"a test\"\n\
                  [[reading]]\nname = \"a switch of its own\"\n\
                  set = [\"switch.buffer=4 packets\", \"link.delay=10 us\"]\nwhy = \"a test, too\"\n";
    fs::write(place.path("papers/tiny/sensitivity.toml"), ranges).unwrap();
    place.says(&["reproduce", "tiny", "--sensitivity"]);
    let told = fs::read_to_string(place.path("papers/tiny/sensitivity.md")).unwrap();
    assert!(told.contains("| `switch.buffer` | 128 KiB | 256 KiB | 7 | none | a test |"), "{told}");
    assert!(told.contains("| `switch.buffer` | 128 KiB | 3 packets | ") && told.contains("T-1.3 fails"), "{told}");
    let reading = "| a switch of its own |  | `switch.buffer=4 packets` `link.delay=10 us` | ";
    assert!(told.contains(reading) && told.contains(" | a test, too |"), "{told}");
    let terminal = place.says(&["reproduce", "tiny"]);
    assert!(terminal.contains("pass T-1.3, fragile") && terminal.contains("fail T-1.2\n"), "{terminal}");
    let card = card(&place, &[]);
    let claims = card["papers"][0]["figures"][0]["claims"].as_array().unwrap();
    assert_eq!((&claims[1]["robust"], &claims[2]["robust"]), (&true.into(), &false.into()));
    let there = ["a switch of its own", "switch.buffer=3 packets"];
    let there = there.map(|setting| serde_json::json!({"setting": setting, "verdict": "fail"})).to_vec().into();
    assert_eq!((&claims[2]["depends_on"], &claims[1]["depends_on"]), (&there, &Value::Null));
    place.says(&["reproduce", "tiny", "--out", "page"]);
    assert!(
        fs::read_to_string(place.path("page/report.html"))
            .unwrap()
            .contains("<span class=\"chip fragile\">fragile</span>")
    );
}

#[test]
fn checks_causes_by_removing_them() {
    let place = tiny();
    let claims = place.path("papers/tiny/claims.toml");
    let text = fs::read_to_string(&claims).unwrap();
    // With almost no buffer in the switch, packets are dropped.
    let with = |id: &str, without: &str| {
        let (before, from) = text.split_once(&format!("id = \"{id}\"\n")).expect("the claim");
        fs::write(&claims, format!("{before}id = \"{id}\"\nwithout = {without}\n{from}")).unwrap();
    };
    let check = ["reproduce", "tiny", "--check-causes"];
    with("T-1.3", "{ set = [\"switch.buffer=3 packets\"], verdict = \"fail\" }");
    let says = place.says(&check);
    assert!(says.contains("T-1.3 with switch.buffer=3 packets: fail, as recorded"), "{says}");
    assert!(says.contains("1 of 1 causes hold") && !says.contains("T-1.2"), "{says}");
    with("T-1.3", "{ set = [\"switch.buffer=256 KiB\"], verdict = \"fail\" }");
    let output = place.fanin(&check);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("T-1.3"), "{}", err(&output));
    with("T-1.3", "{ set = [\"switch.buffers=3\"], verdict = \"fail\" }");
    assert!(place.refuses(&check).contains("switch.buffers"));
    with("T-1.3", "{ set = [], verdict = \"maybe\" }");
    assert!(place.refuses(&check).contains("claims.toml:"));
}

#[test]
fn reproduces_embedded_papers_without_a_checkout() {
    let place = Place::with("");
    let says = place.says(&["reproduce", "m21", "--figure", "M-5", "--quick"]);
    assert!(says.starts_with("m21\n") && says.contains("M-5.1"), "{says}");
    assert!(!place.path("papers").exists(), "nothing is put there");
    assert!(place.refuses(&["reproduce", "nothing"]).contains("the papers are aqm, dctcp, gss, hpcc, m21,"));
    let output = place.fanin(&["reproduce", "m21", "--figure", "M-5", "--quick", "--record"]);
    assert!(!output.status.success() && err(&output).contains("or use --papers-in"), "{}", err(&output));
    // A folder of papers takes precedence.
    assert!(tiny().refuses(&["reproduce", "m21"]).contains("the papers are tiny, or all"));
}

#[test]
fn a_scorecard_has_units_and_explains_fragile() {
    let place = tiny();
    let claims = place.path("papers/tiny/claims.toml");
    let text = fs::read_to_string(&claims).unwrap();
    let (head, claim) = text.split_once("[[figure.claim]]").expect("a claim");
    fs::write(&claims, format!("{head}[[figure.claim]]\nnote = \"as `fanin run` shows\"{claim}")).unwrap();
    let says = place.says_in("100", &["reproduce", "tiny", "--out", "page"]);
    assert!(says.contains("as fanin run shows") && !says.contains('`'), "{says}");
    assert!(says.contains("Mbit/s at ") && says.contains(" senders"), "{says}");
    assert!(says.contains("fragile (their verdict depends on parameters"), "{says}");
    let page = fs::read_to_string(place.path("page/report.html")).unwrap();
    assert!(page.contains("as <code>fanin run</code> shows"));
    assert!(says.lines().all(|line| line.chars().count() <= 100), "{says}");
}
