//! `stats`: figures of the front end, and of the servers with each name prefixed by its server.

use std::fmt::Write;
use std::sync::atomic::Ordering::Relaxed;

use fanin_memcache::{Figures, Shape, text};

use crate::client::Kind;
use crate::counters::{Counters, percentiles};
use crate::front::Front;
use crate::net::Net;
use crate::server::{Part, State};
use crate::table::Id;

impl<N: Net> Front<N> {
    /// Handles `stats`. Lists of stored bytes, and rare requests, use the second connections.
    pub(crate) fn take_stats(&mut self, id: Id, figures: &Figures) {
        let now = self.now;
        let mut line = Vec::new();
        figures.line(|bytes| line.extend_from_slice(bytes));
        match figures {
            Figures::Own => {
                let text = self.figures();
                self.clients.get_mut(id).into_iter().for_each(|client| client.say(text.as_bytes(), now));
            }
            Figures::Reset => {
                self.shared.reset();
                self.clients.get_mut(id).into_iter().for_each(|client| client.say(text::RESET.as_bytes(), now));
            }
            Figures::General => self.ask_every(id, Kind::Listing, Part::Listing, Shape::Listing, &line, false),
            Figures::List(_) | Figures::Dump(..) => {
                self.ask_every(id, Kind::Listing, Part::Listing, Shape::Listing, &line, true);
            }
            Figures::Command(_, well) => {
                let kind = Kind::Every { well, silent: false };
                self.ask_every(id, kind, |_| Part::Every, Shape::Alone, &line, true);
            }
        }
    }

    fn figures(&self) -> String {
        let mut out = String::new();
        let mut say = |name: &str, value: &dyn std::fmt::Display| {
            // Writing to a string cannot fail.
            let _ = write!(out, "STAT {name} {value}\r\n");
        };
        say("pid", &std::process::id());
        say("uptime", &(self.now / 1_000_000_000));
        say("version", &concat!(env!("CARGO_PKG_VERSION"), "-fanin"));
        say("threads", &self.shared.threads.len());
        say("event_loop", &self.net.name());
        let all: Vec<&Counters> = self.shared.threads.iter().map(|counters| &**counters).collect();
        for (name, value) in self.shared.since_reset() {
            say(name, &value);
        }
        say("log_unwritten", &self.shared.unwritten());
        let plans = &self.shared.plans;
        if plans.edition() > 0 {
            say("plan_reloads", &plans.reloads.load(Relaxed));
            say("plan_refused", &plans.refused.load(Relaxed));
        }
        for size in 1..16 {
            let count: u64 = all.iter().map(|counters| counters.multigets[size].get()).sum();
            if count > 0 {
                say(&format!("multigets_of_{}_keys_or_more", 1 << size), &count);
            }
        }
        for (number, pool) in self.pools.iter().enumerate() {
            if let Some(plan_state) = &pool.plan_state {
                say(&format!("{}:plan_keys", pool.name), &plan_state.moves.len());
                say(&format!("{}:plan_stage", pool.name), &plans.settled(number).word());
                // Equal for front ends that execute the same plan.
                say(&format!("{}:plan_digest", pool.name), &plan_state.moves.digest.get(..12).unwrap_or_default());
            }
            for (kind, what) in ["get", "change"].iter().enumerate() {
                let took = all.iter().map(|counters| &counters.took[number][kind]);
                let found = percentiles(took, self.now, &[500, 900, 990, 999]);
                for (part, nanos) in ["p50", "p90", "p99", "p999"].iter().zip(found) {
                    say(&format!("{}:{what}_us_{part}", pool.name), &(nanos / 1000));
                }
            }
        }
        for server in &self.servers[..self.shared_servers] {
            let state = match server.state {
                State::Open(_) => "up",
                State::Opening { .. } => "opening",
                State::Down { .. } => "down",
            };
            say(&format!("server:{}", server.name), &state);
        }
        out.push_str(text::END);
        out
    }
}
