//! A host that grants, driven by a vector's steps.

use fanin_laws::receiver::grants::{Arrival, Host};
use fanin_units::{Rate, Time};
use serde_json::{Value, json};

use super::{settings, whole};

/// A receiving host with connections, all with the same first byte.
pub struct Granting {
    host: Host,
    first: u32,
    /// Bytes that each peer has sent.
    sent: Vec<u32>,
}

impl Granting {
    pub fn new(law: &str, case: &Value) -> Granting {
        let (given, start) = (&case["settings"], &case["start"]);
        let rate: Rate = given["rate"].as_str().expect("a rate").parse().expect("a rate");
        let mut host = Host::new(&settings(law, given).parts.grants, rate, whole(&given["mss"]) as u32);
        let first = start["first"].as_u64().unwrap_or(1) as u32;
        let count = whole(&start["connections"]).max(1) as u32;
        let accepted = start["accepts"] == true;
        (0..count).for_each(|place| host.open(place, first, !accepted));
        Granting { host, first, sent: vec![0; count as usize] }
    }

    /// `data`: segments of this many bytes arrive in order; `again`: the last one arrives again; `probe`; `request`; `close`. Each
    /// woken connection announces its grant, and the connection of the step, too, unless it is `silent`. `timer`: the link may have been
    /// idle for so long that turns are given.
    pub fn step(&mut self, step: &Value) -> Vec<(&'static str, Value)> {
        let (now, place) = (Time::from_micros(whole(&step["now_us"])), whole(&step["connection"]) as u32);
        let rtt = Time::from_micros(whole(&step["rtt_us"]));
        if step["request"] == true {
            self.host.send(now, place);
        } else if step["close"] == true {
            self.host.close(place);
        } else if step["timer"] == true {
            self.host.expire(now);
        } else {
            let next = self.first.wrapping_add(self.sent[place as usize]);
            let payload = whole(&step["data"]) as u32;
            let seq = match () {
                () if step["probe"] == true => next.wrapping_sub(1),
                () if step["again"] == true => next.wrapping_sub(payload),
                () => {
                    self.sent[place as usize] += payload;
                    next
                }
            };
            self.host.receive(now, place, &Arrival { seq, payload, rtt });
        }
        if step["silent"] != true && step["timer"] != true {
            self.host.announce(place);
        }
        let mut woken = Vec::new();
        while let Some(next) = self.host.next_woken() {
            self.host.announce(next);
            woken.push(next);
        }
        let (outstanding, connections) = self.host.outstanding();
        vec![
            ("credit", json!(self.host.credit(place))),
            ("woken", json!(woken.iter().map(u32::to_string).collect::<Vec<_>>().join(" "))),
            ("waiting", json!(self.host.waiting())),
            ("outstanding", json!(outstanding)),
            ("connections", json!(connections)),
        ]
    }
}
