//! Drivers of senders, ports and receivers for the vectors' steps.

use std::convert::Infallible;

use fanin_laws::port::{self, Departure, Drop, Header, HeaderOption, Leaving, NO_OFFER, Queue, Verdict};
use fanin_laws::receiver::ictcp::{Connection, Host};
use fanin_laws::row::Shown;
use fanin_laws::sender::{Ack, Cause, Congestion, Law, Window};
use fanin_units::Time;
use rand_core::TryRng;
use serde_json::{Value, json};

use crate::support::{port_law, receiver, sender_law, whole};

fn micros(value: &Value) -> Time {
    Time::from_micros(whole(value))
}

/// A sender algorithm and its window.
pub struct Flow {
    law: Law,
    window: Window,
    una: u64,
    srtt: Time,
}

impl Flow {
    pub fn new(name: &str, case: &Value) -> Flow {
        let settings = &case["settings"];
        let law = sender_law(name, settings, whole(&settings["mss"]) as u32);
        Flow { law, window: window(&case["start"]), una: 1, srtt: Time::ZERO }
    }

    pub fn step(&mut self, step: &Value) -> Vec<(&'static str, Value)> {
        let mut cut = None;
        if let Some(ack) = step.get("ack") {
            let ack = self.ack(ack);
            self.law.observe(&ack);
            self.law.search(&ack, &mut self.window);
            self.law.grow(&ack, &mut self.window);
        } else if let Some(ack) = step.get("observe") {
            let ack = self.ack(ack);
            self.law.observe(&ack);
        } else if let Some(cause) = step.get("cut") {
            let cause = match cause.as_str() {
                Some("loss") => Cause::Loss,
                Some("timeout") => Cause::Timeout,
                Some("ecn") => Cause::Ecn,
                _ => panic!("no such cause: {cause}"),
            };
            let at = Congestion {
                now: micros(&step["now_us"]),
                flight: whole(&step["flight"]) as u32,
                una: self.una,
                srtt: micros(&step["srtt_us"]),
            };
            cut = Some(self.law.cut(cause, &at, &self.window));
        } else if let Some(offer) = step.get("allot") {
            self.law.allot(&HeaderOption { mcw: whole(offer) as u32 });
        } else if let Some(bytes) = step.get("begin") {
            let deadline = step.get("deadline_us").map_or(Time::NEVER, micros);
            self.law.begin(self.una, self.una + whole(bytes), deadline);
        } else if let Some(rtt) = step.get("sample_us") {
            self.law.sample(micros(rtt));
        } else if let Some(set) = step.get("set") {
            self.window = window(set);
        } else {
            panic!("no such step: {step}");
        }
        let mut found = vec![
            ("cwnd", json!(self.window.cwnd)),
            ("ssthresh", json!(self.window.ssthresh)),
            ("usable", json!(self.law.usable(&self.window))),
            ("cut", json!(cut)),
            ("rate_mbps", json!(self.law.rate(&self.window, self.srtt).map(|rate| rate.0 as f64 / 1e6))),
        ];
        found.extend(self.law.shown().map(|shown| (shown.name, json!(scaled(shown)))));
        found
    }

    fn ack(&mut self, ack: &Value) -> Ack {
        let acked = whole(&ack["acked"]) as u32;
        self.srtt = micros(&ack["srtt_us"]);
        self.una = ack["una"].as_u64().unwrap_or(self.una + u64::from(acked));
        Ack {
            now: micros(&ack["now_us"]),
            acked,
            una: self.una,
            nxt: ack["nxt"].as_u64().unwrap_or(self.una),
            ece: ack["ece"] == true,
            rtt: ack.get("rtt_us").map(micros),
            srtt: self.srtt,
        }
    }
}

fn window(value: &Value) -> Window {
    Window { cwnd: whole(&value["cwnd"]) as u32, ssthresh: whole(&value["ssthresh"]) as u32 }
}

/// A source of randomness that returns the vector's value.
struct Draw(f64);

impl TryRng for Draw {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((self.0 * 4_294_967_296.0) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(u64::from(self.try_next_u32()?) << 32)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes.fill((self.0 * 256.0) as u8);
        Ok(())
    }
}

/// A port algorithm.
pub struct Port {
    law: port::Law,
}

impl Port {
    pub fn new(name: &str, case: &Value) -> Port {
        Port { law: port_law(name, &case["settings"]) }
    }

    pub fn step(&mut self, step: &Value) -> Vec<(&'static str, Value)> {
        if let Some(sojourn) = step.get("sojourn_us") {
            return self.leave(step, micros(sojourn));
        }
        let queue = Queue {
            bytes: whole(&step["queue"]["bytes"]),
            packets: whole(&step["queue"]["packets"]) as u32,
            idle_since: step["queue"].get("idle_since_us").map(micros),
        };
        let header = Header {
            bytes: whole(&step["bytes"]) as u32,
            ect: step["ect"] == true,
            flow: whole(&step["flow"]) as u32,
            opens: step["opens"] == true,
            closes: step["closes"] == true,
        };
        let headers = match step.get("flows_open") {
            Some(flows) => (0..whole(flows) as u32).map(|flow| Header { flow, opens: true, ..header }).collect(),
            None => vec![header],
        };
        let carried = HeaderOption { mcw: step["carries"].as_u64().map_or(NO_OFFER, |offer| offer as u32) };
        let (mut verdict, mut note) = (Verdict::Drop(Drop::Full), carried);
        for header in headers {
            note = carried;
            let draw = &mut Draw(step["draw"].as_f64().unwrap_or(0.0));
            verdict = self.law.enqueue(micros(&step["now_us"]), &queue, &header, Some(&mut note), draw);
        }
        let says = match verdict {
            Verdict::Admit { mark: true } => "mark",
            Verdict::Admit { mark: false } => "pass",
            Verdict::Drop(Drop::Full) => "full",
            Verdict::Drop(Drop::Early) => "early",
            Verdict::Drop(Drop::NotEct) => "not_ect",
        };
        let hands_out = self.law.many_to_one.is_some() && matches!(verdict, Verdict::Admit { .. });
        self.answers(says, hands_out.then_some(note.mcw))
    }

    fn answers(&self, says: &str, offer: Option<u32>) -> Vec<(&'static str, Value)> {
        let mut found = vec![("verdict", json!(says)), ("offer", json!(offer))];
        found.extend(self.law.shown().map(|shown| (shown.name, json!(scaled(shown)))));
        found
    }
}

impl Port {
    /// A packet about to leave.
    fn leave(&mut self, step: &Value, sojourn: Time) -> Vec<(&'static str, Value)> {
        let leaving = Leaving { sojourn, behind: whole(&step["behind"]), ect: step["ect"] == true };
        let draw = &mut Draw(step["draw"].as_f64().unwrap_or(0.0));
        let departure = self.law.dequeue(micros(&step["now_us"]), &leaving, draw);
        let says = match departure {
            Departure::Pass { mark: true } => "mark",
            Departure::Pass { mark: false } => "pass",
            Departure::Drop(Drop::NotEct) => "not_ect",
            Departure::Drop(_) => "early",
        };
        self.answers(says, None)
    }
}

/// A receiving host and its connections.
pub struct Receiver {
    host: Host,
    connections: Vec<Connection>,
}

impl Receiver {
    pub fn new(_: &str, case: &Value) -> Receiver {
        let (settings, start) = (&case["settings"], &case["start"]);
        let mut host = receiver(settings, whole(&settings["mss"]) as u32);
        let count = whole(&start["connections"]).max(1);
        let connections = (0..count).map(|_| Connection::new(&mut host, whole(&start["most"]) as u32)).collect();
        Receiver { host, connections }
    }

    pub fn step(&mut self, step: &Value) -> Vec<(&'static str, Value)> {
        let connection = &mut self.connections[whole(&step["connection"]) as usize];
        let (data, wire) = (whole(&step["data"]) as u32, whole(&step["wire"]) as u32);
        connection.receive(&mut self.host, micros(&step["now_us"]), data.max(wire), data, micros(&step["rtt_us"]));
        vec![
            ("window", json!(connection.window())),
            ("measured", json!(connection.measured())),
            ("available", json!(self.host.available())),
            ("quota", json!(self.host.quota())),
        ]
    }
}

/// A displayed value as a number.
fn scaled(shown: Shown) -> f64 {
    shown.value as f64 / f64::from(1 << shown.bits)
}
