//! `vectors/limit.json`, computed by hand; Go, Python and C replay the same file.

use std::collections::BTreeMap;

use fanin_limit::{Limiter, Settings, Ticket};
use serde_json::{Value, json};

#[test]
fn limiter_matches_vectors() {
    let text = include_str!("../../../../../vectors/limit.json");
    let file: Value = serde_json::from_str(text).unwrap();
    let mut checked = 0;
    for case in file["cases"].as_array().unwrap() {
        let settings = Settings::from_json(&case["settings"].to_string()).unwrap();
        let mut replay = Replay { limiter: Limiter::new(settings), names: BTreeMap::new() };
        for (number, step) in (1..).zip(case["steps"].as_array().unwrap()) {
            let found = replay.step(step);
            for (name, wanted) in step["expect"].as_object().unwrap() {
                assert_eq!(&found[name], wanted, "{}, step {number}, {name}: {}", case["name"], case["why"]);
                checked += 1;
            }
        }
    }
    assert!(checked >= 100, "only {checked} values were checked");
}

struct Replay {
    limiter: Limiter,
    names: BTreeMap<String, Ticket>,
}

impl Replay {
    fn step(&mut self, step: &Value) -> Value {
        let now = step["now_us"].as_u64().unwrap() * 1000;
        let kind =
            ["request", "received", "sized", "finish", "cancel"].into_iter().find(|kind| step.get(kind).is_some());
        let kind = kind.unwrap();
        let mut admits: Vec<String> = Vec::new();
        for name in step[kind].as_array().unwrap() {
            let name = name.as_str().unwrap();
            self.one(kind, name, now, step);
            if kind == "request" && self.limiter.is_admitted(self.names[name]) {
                admits.push(name.into());
            }
            while let Some(ticket) = self.limiter.admit_next(now) {
                admits.push(self.names.iter().find(|(_, known)| **known == ticket).unwrap().0.clone());
            }
        }
        let figures = self.limiter.figures();
        assert_eq!(figures.limit, self.limiter.limit());
        json!({
            "admits": admits,
            "in_flight": figures.in_flight,
            "outstanding": figures.outstanding,
            "waiting": figures.waiting,
            "limit": figures.limit,
            "window": figures.window,
            "mean": figures.mean,
            "waited": figures.waited,
            "waited_bytes": figures.waited_bytes,
            "responses": figures.responses,
            "bytes": figures.bytes,
            "cancelled": figures.cancelled,
            "late": figures.late,
        })
    }

    fn one(&mut self, kind: &str, name: &str, now: u64, step: &Value) {
        let bytes = step["bytes"].as_u64();
        if kind == "request" {
            let caller = step["caller"].as_u64().unwrap_or(0);
            let ticket = self.limiter.request(now, caller, bytes);
            self.names.insert(name.into(), ticket);
            return;
        }
        let ticket = self.names[name];
        match kind {
            "received" => self.limiter.received(ticket, bytes.unwrap()),
            "sized" => self.limiter.expect(ticket, bytes.unwrap()),
            "finish" => self.limiter.finish(now, ticket, bytes.unwrap()),
            _ => self.limiter.cancel(now, ticket),
        }
    }
}
