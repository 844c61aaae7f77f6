//! Drivers of congestion controls over trimming ports.

use fanin_laws::uet::{self, Kind, Place, Receiver, nscc};
use fanin_units::Time;
use serde_json::{Value, json};

use super::{micros, settings, whole};

/// Whether this is an algorithm over trimming ports.
pub fn is_over_trimming(law: &str) -> bool {
    Kind::ALL.iter().any(|kind| kind.row().word == law)
}

/// A sender and a receiver.
pub struct Pair {
    sender: uet::Sender,
    receiver: Receiver,
    packet: u64,
    now: Time,
}

impl Pair {
    pub fn new(name: &str, case: &Value) -> Pair {
        let place = &case["settings"];
        let set = settings(name, place).uet;
        let kind = Kind::ALL.iter().find(|kind| kind.row().word == name).expect("a kind");
        let place = Place {
            line: place["line"].as_str().expect("a line").parse().expect("a rate"),
            rtt: micros(&place["rtt_us"]),
            packet: whole(&place["packet"]) as u32,
            header: 64,
        };
        let (sender, receiver) = kind.start(&set, &place);
        Pair { sender, receiver, packet: place.packet.into(), now: Time::ZERO }
    }

    pub fn step(&mut self, step: &Value) -> Vec<(&'static str, Value)> {
        self.now = step.get("now_us").map_or(self.now, micros);
        match (&mut self.sender, &mut self.receiver) {
            (uet::Sender::Windowed(law), _) => window(law, step, self.now),
            (uet::Sender::Granted(sender), Receiver::Grants(receiver)) => credit(sender, receiver, step, self.packet),
            (uet::Sender::Pulled(sender), Receiver::Pulls(receiver)) => pulls(sender, receiver, step),
            _ => unreachable!("the ends of one kind"),
        }
    }
}

fn window(law: &mut nscc::Nscc, step: &Value, now: Time) -> Vec<(&'static str, Value)> {
    if let Some(ack) = step.get("ack") {
        law.acknowledge(&nscc::Ack {
            now,
            arrived: whole(&ack["arrived"]),
            rtt: ack.get("rtt_us").map(micros),
            marked: ack["marked"] == true,
            in_flight: whole(&ack["in_flight"]),
        });
    } else if let Some(trimmed) = step.get("trimmed") {
        law.trimmed(now, whole(&trimmed["bytes"]), micros(&trimmed["rtt_us"]), whole(&trimmed["in_flight"]));
    } else if let Some(bytes) = step.get("timed_out") {
        law.timed_out(whole(bytes));
    } else {
        panic!("no such step: {step}");
    }
    vec![("window", json!(law.window()))]
}

/// Grant and duration of a turn.
fn shown(turn: Option<uet::Turn>) -> [(&'static str, Value); 2] {
    [("granted", json!(turn.map(|turn| turn.granted))), ("takes_us", json!(turn.map(|turn| turn.takes.0 as f64 / 1e6)))]
}

/// A condition as a number.
fn one_if(holds: bool) -> Value {
    json!(u8::from(holds))
}

fn credit(
    sender: &mut uet::eqds::Sender,
    receiver: &mut uet::eqds::Receiver,
    step: &Value,
    packet: u64,
) -> Vec<(&'static str, Value)> {
    let (mut wants, mut turn) = (None, None);
    if let Some(bytes) = step.get("send") {
        sender.spend(whole(bytes));
        wants = Some(sender.wants(whole(&step["backlog"]), packet));
    } else if step["heard"] == true {
        sender.heard();
    } else if let Some(granted) = step.get("grant") {
        sender.grant(whole(granted));
    } else if let Some(up_to) = step.get("wants") {
        receiver.wants(whole(up_to));
    } else if let Some(how) = step.get("turn") {
        turn = Some(receiver.turn(how == "in advance"));
    } else {
        panic!("no such step: {step}");
    }
    let mut found = vec![("wants", json!(wants)), ("credit", json!(sender.credit()))];
    found.extend(shown(turn));
    found.extend([("owes", one_if(receiver.owes())), ("may_advance", one_if(receiver.may_advance()))]);
    found
}

fn pulls(sender: &mut uet::ndp::Sender, receiver: &mut uet::ndp::Receiver, step: &Value) -> Vec<(&'static str, Value)> {
    let mut turn = None;
    match step["do"].as_str() {
        Some("send") => sender.spend(),
        Some("begin") => sender.begin(),
        Some("arrive") => receiver.arrived(),
        Some("complete") => receiver.complete(),
        Some("turn") => turn = Some(receiver.turn()),
        _ => sender.pull(whole(&step["pull"])),
    }
    let mut found = vec![("packets", json!(sender.packets())), ("owes", one_if(receiver.owes()))];
    found.extend(shown(turn));
    found
}
