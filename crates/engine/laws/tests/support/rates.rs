//! Drivers of rate-based senders and of lossless memories.

use fanin_laws::pfc::{Held, Memory};
use fanin_laws::rate::{self, Ack, Control, Hop, Law, Place};
use fanin_laws::row::Shown;
use fanin_units::{Rate, Time};
use serde_json::{Value, json};

use super::{settings, whole};

/// Whether this is a rate-based sender's algorithm.
pub fn is_of_rates(law: &str) -> bool {
    rate::Kind::ALL.iter().any(|kind| kind.row().laws[0].law == law)
}

/// Microseconds, maybe with a fraction.
pub fn micros(value: &Value) -> Time {
    Time((value.as_f64().unwrap_or(0.0) * 1e6).round() as u64)
}

/// A rate-based sender.
pub struct Sender {
    law: Law,
    line: Rate,
    now: Time,
}

impl Sender {
    pub fn new(name: &str, case: &Value) -> Sender {
        let set = settings(name, &case["settings"]);
        let kind = rate::Kind::ALL.iter().find(|kind| kind.row().laws[0].law == name).expect("a kind");
        let line = case["settings"]["line"].as_str().expect("a line").parse().expect("a rate");
        let place = Place { line, rtt: micros(&case["settings"]["rtt_us"]) };
        Sender { law: kind.start(&set.rates, &place), line, now: Time::ZERO }
    }

    pub fn step(&mut self, step: &Value) -> Vec<(&'static str, Value)> {
        self.now = step.get("now_us").map_or(self.now, micros);
        if let Some(ack) = step.get("ack") {
            self.acknowledge(ack);
        } else if step["expire"] == true {
            self.law.expire(self.now);
        } else if let Some(bytes) = step.get("sent") {
            self.law.sent(self.now, whole(bytes) as u32);
        } else {
            panic!("no such step: {step}");
        }
        let due = self.law.deadline();
        let due_us = (due != Time::NEVER).then_some(due.0 as f64 / 1e6);
        let mut found = vec![("mbps", json!(self.law.rate().0 as f64 / 1e6)), ("due_us", json!(due_us))];
        found.extend(self.law.shown().map(|shown| (shown.name, json!(scaled(shown)))));
        found
    }

    fn acknowledge(&mut self, ack: &Value) {
        let hop = |hop: &Value| Hop {
            at: micros(&hop["at_us"]),
            sent: whole(&hop["sent"]),
            queue: whole(&hop["queue"]),
            rate: self.line.0,
        };
        let hops: Vec<Hop> = ack["hops"].as_array().into_iter().flatten().map(hop).collect();
        self.law.acknowledge(&Ack {
            now: self.now,
            acked: whole(&ack["acked"]),
            next: whole(&ack["next"]),
            packet: 1_000,
            rtt: micros(&ack["rtt_us"]),
            marked: ack["marked"] == true,
            hops: &hops,
        });
    }
}

fn scaled(shown: Shown) -> f64 {
    shown.value as f64 / f64::from(1 << shown.bits)
}

/// A memory with two links.
pub struct Lossless {
    memory: Memory,
    links: Vec<Held>,
}

impl Lossless {
    pub fn new(_: &str, case: &Value) -> Lossless {
        let place = &case["settings"];
        let pfc = settings("pfc", place).rates.pfc;
        let headroom = whole(&place["headroom_bytes"]);
        let memory = Memory::new(&pfc, whole(&place["memory"]), [headroom; 2].into_iter()).expect("a memory with room");
        let times = |link: usize| place["times"][link].as_u64().unwrap_or(1);
        Lossless { memory, links: (0..2).map(|link| Held::new(&pfc, headroom, times(link))).collect() }
    }

    pub fn step(&mut self, step: &Value) -> Vec<(&'static str, Value)> {
        let link = &mut self.links[whole(&step["link"]) as usize];
        let says = match (step["queued"].as_u64(), step["left"].as_u64()) {
            (Some(bytes), None) if !self.memory.admits(link, bytes) => "dropped",
            (Some(bytes), None) if self.memory.queued(link, bytes) => "pauses",
            (None, Some(bytes)) if self.memory.left(link, bytes) => "resumes",
            (Some(_), None) | (None, Some(_)) => "",
            _ => panic!("no such step: {step}"),
        };
        vec![("verdict", json!(says)), ("held", json!(link.bytes())), ("used", json!(self.memory.used()))]
    }
}
