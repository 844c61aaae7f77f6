//! Vectors of the algorithms, replayed by the kernel: each step runs in the object that connections run (BPF_PROG_TEST_RUN).
//!
//! The kernel departs from the Rust algorithms in places. docs/kernel.md lists every value that differs; the list must be exact.
//! `UPDATE=1` writes it.
#![cfg(feature = "load")]
#![expect(clippy::disallowed_methods, reason = "UPDATE is an option of the test")]

mod support;

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use fanin_kernel::control::Control;
use fanin_kernel::replay::{Ack, GrantReplayer, GrantStep, Replayer, Settings, Step};
use serde_json::Value;

/// Algorithms, and the scheme whose object replays them.
const LAWS: [(&str, &str); 3] =
    [("gentle_slow_start", "newreno+gss"), ("newreno", "newreno+gss"), ("dctcp", "dctcp+gss")];
/// Marks of the list in docs/kernel.md.
const MARKS: [&str; 2] = ["<!-- departures -->\n", "<!-- end of departures -->"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn whole(value: &Value) -> u32 {
    value.as_u64().unwrap_or(0) as u32
}

/// A share in 1/65536.
fn q16(value: &Value, default: f64) -> u32 {
    let text = value.as_str().unwrap_or_default();
    let parsed = text.split_once('/').map(|(a, b)| a.parse::<f64>().unwrap() / b.parse::<f64>().unwrap());
    (value.as_f64().or(parsed).unwrap_or(default) * 65_536.0).round() as u32
}

/// One case in the kernel.
struct Case<'a> {
    replayer: &'a mut Replayer,
    mss: u32,
    una: u32,
}

impl Case<'_> {
    fn window(&mut self, window: &Value) {
        // Windows in the kernel are whole segments.
        let segments = |key| whole(&window[key]) / self.mss;
        self.replayer.set_window(segments("cwnd"), segments("ssthresh"));
    }

    fn ack(&mut self, ack: &Value) -> Ack {
        let acked = whole(&ack["acked"]);
        self.una = ack["una"].as_u64().map_or(self.una + acked, |una| una as u32);
        Ack {
            segments: acked.div_ceil(self.mss),
            una: self.una,
            nxt: ack["nxt"].as_u64().map_or(self.una, |nxt| nxt as u32),
            rtt_us: ack["rtt_us"].as_u64().map(|us| us as u32),
            marked: ack["ece"] == true,
        }
    }

    /// Values after a step, in the vectors' units.
    fn step(&mut self, step: &Value) -> [(&'static str, f64); 3] {
        let step = if let Some(ack) = step.get("ack") {
            Step::Ack(self.ack(ack))
        } else if let Some(ack) = step.get("observe") {
            Step::Observe(self.ack(ack))
        } else if let Some(cause) = step.get("cut") {
            if cause == "ecn" { Step::Mark } else { Step::Loss }
        } else if let Some(window) = step.get("set") {
            self.window(window);
            Step::Nothing
        } else {
            // The handshake's round trip: the kernel has no callback for it before `init`.
            assert!(step.get("sample_us").is_some(), "no such step: {step}");
            Step::Nothing
        };
        let found = self.replayer.step(step).expect("the kernel runs it");
        let bytes = |segments: u32| f64::from(segments * self.mss);
        [("cwnd", bytes(found.cwnd)), ("cut", bytes(found.cut)), ("alpha", f64::from(found.alpha_q16) / 65_536.0)]
    }
}

fn is_near(wanted: f64, found: f64, tolerance: &Value) -> bool {
    let within = |key: &str| tolerance[key].as_f64().unwrap_or(0.0);
    (wanted - found).abs() <= within("absolute").max(within("relative") * wanted.abs())
}

/// Values that differ, as rows of a table; and the number of values that were compared.
fn departures(law: &str, scheme: &str) -> (String, u32) {
    let text = fs::read_to_string(root().join(format!("vectors/{law}.json"))).expect("vectors");
    let vectors: Value = serde_json::from_str(&text).expect("JSON");
    let (mut rows, mut compared) = (String::new(), 0);
    for case in vectors["cases"].as_array().expect("cases") {
        let settings = &case["settings"];
        let gentle = law == "gentle_slow_start";
        let start = Settings {
            gentle,
            dctcp: law == "dctcp",
            g_q16: q16(&settings["g"], 1.0 / 16.0),
            initial_alpha_q16: q16(&settings["initial_alpha"], 1.0),
        };
        let control = Control::of_scheme(scheme).expect("a scheme");
        let mut replayer = Replayer::load(control, start).expect("the kernel loads it");
        let mut case_run = Case { replayer: &mut replayer, mss: whole(&settings["mss"]), una: 1 };
        case_run.window(&case["start"]);
        for (index, step) in (1..).zip(case["steps"].as_array().expect("steps")) {
            let found = case_run.step(step);
            for (name, wanted) in step["expect"].as_object().into_iter().flatten() {
                let value = found.iter().find(|(known, _)| known == name).expect("a known value").1;
                let wanted = wanted.as_f64().expect("a number");
                compared += 1;
                if !is_near(wanted, value, &vectors["tolerance"][name]) {
                    let case = case["name"].as_str().expect("a name");
                    writeln!(rows, "| `{law}` | {case} | {index} | {name} | {wanted} | {value} |").expect("a string");
                }
            }
        }
    }
    (rows, compared)
}

#[test]
fn the_kernel_departs_exactly_as_documented() {
    if support::skips() {
        return;
    }
    let mut table =
        "| vectors | case | step | value | Rust | kernel |\n| --- | --- | ---: | --- | ---: | ---: |\n".to_string();
    for (law, scheme) in LAWS {
        let (rows, compared) = departures(law, scheme);
        assert!(compared >= 10, "{law}: only {compared} values were compared");
        table += &rows;
    }
    let path = root().join("docs/kernel.md");
    let page = fs::read_to_string(&path).expect("docs/kernel.md");
    let begin = page.find(MARKS[0]).expect("the list begins") + MARKS[0].len();
    let end = page.find(MARKS[1]).expect("the list ends");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, format!("{}{table}{}", &page[..begin], &page[end..])).expect("docs/kernel.md is written");
        return;
    }
    assert_eq!(&page[begin..end], table, "docs/kernel.md: the list of departures is not current: run with UPDATE=1");
}

/// The number at the begin of a text such as `7500 B`.
fn amount(value: &Value, default: u64) -> u64 {
    value.as_str().and_then(|text| text.split(' ').next()?.parse().ok()).unwrap_or(default)
}

/// The event of a step, and the bytes that its peer has sent.
fn event(step: &Value, first: u32, sent: &mut u32) -> GrantStep {
    let (next, payload) = (first.wrapping_add(*sent), whole(&step["data"]));
    let silent = step["silent"] == true;
    if step["request"] == true {
        GrantStep::Request
    } else if step["close"] == true {
        GrantStep::Close
    } else if step["timer"] == true {
        GrantStep::Timer
    } else if step["probe"] == true {
        GrantStep::Data { seq: next.wrapping_sub(1), payload: 0, silent }
    } else if step["again"] == true {
        GrantStep::Data { seq: next.wrapping_sub(payload), payload, silent }
    } else {
        *sent += payload;
        GrantStep::Data { seq: next, payload, silent }
    }
}

#[test]
fn the_kernel_grants_as_the_vectors_say() {
    if support::skips() {
        return;
    }
    let text = fs::read_to_string(root().join("vectors/grants.json")).expect("vectors");
    let vectors: Value = serde_json::from_str(&text).expect("JSON");
    let mut compared = 0;
    for case in vectors["cases"].as_array().expect("cases") {
        let (settings, start) = (&case["settings"], &case["start"]);
        let mss = whole(&settings["mss"]);
        let rate = |key: &str, default| {
            let unit =
                if settings[key].as_str().is_some_and(|rate| rate.ends_with("Mbit/s")) { 125_000 } else { 125_000_000 };
            amount(&settings[key], default) * unit
        };
        let (queue, idle_ns) = (amount(&settings["queue"], 16_384), amount(&settings["idle"], 10) * 1_000_000);
        let words = [rate("rate", 1), queue, idle_ns, rate("limit", 0)];
        let turn = settings["turn"].as_u64().unwrap_or(1) as u32;
        let replayer = GrantReplayer::load(words, mss, turn).expect("the kernel loads it");
        let first = start["first"].as_u64().unwrap_or(1) as u32;
        let mut sent = vec![0; whole(&start["connections"]).max(1) as usize];
        for place in 0..sent.len() as u32 {
            let open = GrantStep::Open(first, start["accepts"] == true);
            replayer.step(0, 0, place, open).expect("the kernel runs it");
        }
        for step in case["steps"].as_array().expect("steps") {
            let place = whole(&step["connection"]);
            let event = event(step, first, &mut sent[place as usize]);
            let [now, rtt] = ["now_us", "rtt_us"].map(|key| u64::from(whole(&step[key])) * 1_000);
            let found = replayer.step(now, rtt, place, event).expect("the kernel runs it");
            let woken: Vec<String> =
                (0..32).filter(|bit| found.woken >> bit & 1 == 1).map(|bit: u32| bit.to_string()).collect();
            let values = [
                ("credit", Value::from(found.credit)),
                ("woken", Value::from(woken.join(" "))),
                ("outstanding", Value::from(found.outstanding.1)),
                ("connections", Value::from(found.outstanding.0)),
            ];
            for (name, value) in values {
                let wanted = &step["expect"][name];
                assert!(wanted.is_null() || *wanted == value, "{}: {step}: {name} is {value}", case["name"]);
                compared += u32::from(!wanted.is_null());
            }
        }
    }
    assert!(compared > 50, "only {compared} values were compared");
}
