//! Every law answers as `vectors/*.json` says: worked out from the papers and RFCs, not from this code.

mod support;

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use support::number;

fn read(law: &str) -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../vectors/{law}.json"));
    let text = fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// Replays a file: `start` makes a driver for a case, which answers each step with names and values.
fn replay<D>(law: &str, start: impl Fn(&Value) -> D, answer: impl Fn(&mut D, &Value) -> Vec<(&'static str, Value)>) {
    let file = read(law);
    assert_eq!(file["law"], law);
    let mut checked = 0;
    for case in file["cases"].as_array().expect("cases") {
        assert!(case["source"].is_string(), "{law}: {} has no source", case["name"]);
        let mut driver = start(case);
        for (index, step) in case["steps"].as_array().expect("steps").iter().enumerate() {
            let found = answer(&mut driver, step);
            for (name, value) in found {
                let wanted =
                    if name == "expect" || name.starts_with("expect_") { &step[name] } else { &step["expect"][name] };
                if wanted.is_null() {
                    continue;
                }
                checked += 1;
                assert!(
                    is_near(wanted, &value, &file["tolerance"][name.trim_start_matches("expect_")]),
                    "\nvectors/{law}.json, {}, step {}:\n  {step}\n  {name} is {value}, not {wanted}\n  {}\n",
                    case["name"],
                    index + 1,
                    case["why"]
                );
            }
        }
    }
    assert!(checked >= 10, "{law}: only {checked} values were checked");
}

fn is_near(wanted: &Value, found: &Value, tolerance: &Value) -> bool {
    let (Some(wanted), Some(found)) = (wanted.as_f64(), found.as_f64()) else { return wanted == found };
    let within = number(&tolerance["absolute"]).max(number(&tolerance["relative"]) * wanted.abs());
    (wanted - found).abs() <= within
}

mod sender {
    use super::replay;
    use crate::support::Flow;

    fn check(law: &str) {
        replay(law, |case| Flow::new(law, case), Flow::step);
    }

    #[test]
    fn newreno_answers_as_its_vectors_say() {
        check("newreno");
    }

    #[test]
    fn cubic_answers_as_its_vectors_say() {
        check("cubic");
    }

    #[test]
    fn d2tcp_answers_as_its_vectors_say() {
        check("d2tcp");
    }

    #[test]
    fn l2dct_answers_as_its_vectors_say() {
        check("l2dct");
    }

    #[test]
    fn dctcp_answers_as_its_vectors_say() {
        check("dctcp");
    }

    #[test]
    fn gentle_slow_start_answers_as_its_vectors_say() {
        check("gentle_slow_start");
    }

    #[test]
    fn max_cwnd_answers_as_its_vectors_say() {
        check("max_cwnd");
    }
}

mod port {
    use super::replay;
    use crate::support::Port;

    fn check(law: &str) {
        replay(law, |case| Port::new(law, case), Port::step);
    }

    #[test]
    fn drop_tail_answers_as_its_vectors_say() {
        check("drop_tail");
    }

    #[test]
    fn ecn_threshold_answers_as_its_vectors_say() {
        check("ecn_threshold");
    }

    #[test]
    fn codel_answers_as_its_vectors_say() {
        check("codel");
    }

    #[test]
    fn red_answers_as_its_vectors_say() {
        check("red");
    }

    #[test]
    fn many_to_one_answers_as_its_vectors_say() {
        check("many_to_one");
    }
}
