//! `stats`: the front end's own figures; `stats servers`: theirs, each name behind its server's.

use std::fmt::Write;
use std::sync::Arc;

use fanin_memcache::{Shape, text};

use crate::client::Kind;
use crate::counters::{Counters, percentiles};
use crate::front::Front;
use crate::joining::Writes;
use crate::server::{Part, State};
use crate::table::Id;

/// What threads share: each one's counters, and what was written.
#[derive(Debug, Default)]
pub struct Shared {
    pub threads: Vec<Arc<Counters>>,
    pub writes: Writes,
}

impl Front {
    /// A client asks for figures.
    pub fn take_stats(&mut self, id: Id, what: &[u8]) {
        let now = self.now;
        let words: Vec<&[u8]> = what.split(|byte| *byte == b' ').filter(|word| !word.is_empty()).collect();
        match words[..] {
            [] => {
                let text = self.figures();
                self.clients.get_mut(id).into_iter().for_each(|client| client.say(text.as_bytes(), now));
            }
            // Everything else is the servers' own: settings, items, slabs, reset.
            [b"servers"] => self.ask_every(id, Kind::Listing, Part::Listing, Shape::Listing, b"stats"),
            _ => {
                let words = words.strip_prefix(&[&b"servers"[..]]).unwrap_or(&words);
                let line = [&b"stats "[..], &words.join(&b' ')].concat();
                self.ask_every(id, Kind::Listing, Part::Listing, Shape::Listing, &line);
            }
        }
    }

    fn figures(&self) -> String {
        let mut out = String::new();
        let mut say = |name: &str, value: &dyn std::fmt::Display| {
            // A string takes everything.
            let _ = write!(out, "STAT {name} {value}\r\n");
        };
        say("pid", &std::process::id());
        say("uptime", &(self.now / 1_000_000_000));
        say("version", &concat!(env!("CARGO_PKG_VERSION"), "-fanin"));
        say("threads", &self.shared.threads.len());
        say("event_loop", &self.sockets.name());
        let all: Vec<&Counters> = self.shared.threads.iter().map(|counters| &**counters).collect();
        let named: Vec<_> = all.iter().map(|counters| counters.named()).collect();
        for (index, (name, _)) in named.first().into_iter().flatten().enumerate() {
            say(name, &named.iter().map(|one| one[index].1).fold(0u64, u64::wrapping_add));
        }
        for size in 1..16 {
            let count: u64 = all.iter().map(|counters| counters.multigets[size].get()).sum();
            if count > 0 {
                say(&format!("multigets_of_{}_keys_or_more", 1 << size), &count);
            }
        }
        for (number, pool) in self.pools.iter().enumerate() {
            for (part, nanos) in
                ["p50", "p90", "p99", "p999"].iter().zip(percentiles(&all, number, &[500, 900, 990, 999]))
            {
                say(&format!("{}:answer_us_{part}", pool.name), &(nanos / 1000));
            }
        }
        for server in &self.servers {
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
