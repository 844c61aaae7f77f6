//! A receiver's timeline, by round trip: a connection sends as its window allows, evenly, with background traffic.

use fanin_laws::receiver::ictcp::{Connection, Host};
use fanin_units::Time;
use serde_json::Value;

use super::table::Table;
use crate::support::{receiver, whole};

const MSS: u32 = 1460;

pub struct Receiver {
    host: Host,
    connection: Connection,
    /// Background traffic, bytes a round trip.
    other_bytes: u64,
    /// Offered load, bytes a round trip.
    wants: u64,
    now: Time,
    rtt: Time,
    round: u32,
    table: Table,
}

/// Steps of a round trip.
const STEPS: u32 = 10;

impl Receiver {
    pub fn new(name: &'static str, story: &Value) -> Receiver {
        let mut host = receiver(&story["settings"], MSS);
        let connection = Connection::new(&mut host, 1 << 20);
        let mut table = Table::new(name, story["says"].as_str().expect("a story says what happens"));
        let names = ["round", "beside it", "ms", "rwnd", "bm Mbit/s", "BWA Mbit/s"];
        table.row(names.map(String::from).to_vec());
        let (now, rtt) = (Time::ZERO, Time::from_micros(whole(&story["rtt_us"])));
        Receiver { host, connection, other_bytes: 0, wants: u64::MAX, now, rtt, round: 0, table }
    }

    /// Execute a timeline's steps.
    pub fn run(mut self, steps: &[Value]) -> Table {
        for step in steps {
            let said = |name: &str| step.get(name).map(whole);
            if let Some(mbps) = said("others_mbps") {
                self.other_bytes = mbps * self.rtt.0 / 8_000_000;
            }
            self.wants = said("wants").unwrap_or(u64::MAX);
            self.now += Time::from_millis(said("idle_ms").unwrap_or(0));
            for round in 1..=whole(&step["rounds"]) {
                self.round();
                if round.is_multiple_of(whole(&step["by"])) {
                    self.row();
                }
            }
        }
        self.table
    }

    fn round(&mut self) {
        let bytes = u64::from(self.connection.window()).min(self.wants) as u32;
        for step in 0..STEPS {
            self.now += Time(self.rtt.0 / u64::from(STEPS));
            let share = |bytes: u32| bytes * (step + 1) / STEPS - bytes * step / STEPS;
            let (own, other) = (share(bytes), share(self.other_bytes as u32));
            // Background packets carry none of its payload.
            self.connection.receive(&mut self.host, self.now, other, 0, self.rtt);
            self.connection.receive(&mut self.host, self.now, own, own, self.rtt);
        }
        self.round += 1;
    }

    fn row(&mut self) {
        let mbps = |bytes: u64| format!("{:.1}", bytes as f64 * 8e-6);
        let beside = match self.other_bytes {
            0 => "nothing".into(),
            bytes => format!("{} Mbit/s", bytes * 8_000_000 / self.rtt.0),
        };
        self.table.row(vec![
            self.round.to_string(),
            beside,
            format!("{:.1}", self.now.0 as f64 / 1e9),
            self.connection.window().to_string(),
            mbps(self.connection.measured()),
            mbps(self.host.available()),
        ]);
    }
}
