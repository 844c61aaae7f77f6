//! Drives one endpoint through a script and compares its segments with the script's.
//!
//! Allowances, for differences of modelling:
//! - P is not compared (endpoints carry lengths), nor are advertised windows and the handshake's options.
//! - The endpoint does not build super-packets (TSO): an expected segment may leave as several in a row.
//! - Each event takes 10 us, as on a real machine, so that no round trip is zero. Events keep their scripted times otherwise.
//! - Where a script sets fq, Linux paces: segments may leave earlier than expected, in the same order.
//! - The application reads at once; `read` does nothing. A write hands over as much as the script's call returned.
//!
//! Times are compared as packetdrill does (run.c, verify_time): within 4 ms or an eighth of the wait since the last event, or the
//! script's `--tolerance_usecs`.

use std::collections::VecDeque;

use fanin_spec::Scenario;
use fanin_tcp::{Endpoint, Flags, Segment, Settings};
use fanin_transport::{Block, Call, Metadata, Packet, Transport, Wire};
use fanin_units::Time;

use crate::info::{self, Compared};
use crate::script::{self, Event, Script, What, When};

/// An event's own duration, microseconds.
const STEP: i64 = 10;
/// How long to wait for a segment whose time the script leaves open.
const PATIENCE: i64 = 60_000_000;

/// Number of comparisons.
#[derive(Clone, Default)]
pub struct Tally {
    pub segments: u32,
    pub info: Compared,
    /// Segments sent by the script's end that it does not expect (packetdrill does not look for them).
    pub left: Vec<String>,
}

struct Sent {
    at: i64,
    segment: Segment,
    sack: Vec<Block>,
}

#[derive(Default)]
struct Outbox {
    now: i64,
    sent: VecDeque<Sent>,
}

impl Wire for Outbox {
    fn send(&mut self, packet: Packet, beside: Metadata<'_>) {
        self.sent.push_back(Sent { at: self.now, segment: Segment::from(&packet), sack: beside.sack.to_vec() });
    }
}

/// One connection: its settings depend on both SYNs and on the script's sysctls.
struct Connection {
    settings: Settings,
    endpoint: Endpoint,
    mss: u32,
    /// The peer's window scale; zero without the option at both ends.
    wscale: u32,
    stamps: bool,
    /// The endpoint's clock reads `base` at `started`: packetdrill's stamps count from the first one of the script.
    base: Option<(u32, i64)>,
}

/// The state of a run.
struct Run<'a> {
    script: &'a Script,
    options: &'a Options,
    connection: Option<Connection>,
    outbox: Outbox,
    /// Actual time, and the time that the next relative event counts from.
    now: i64,
    last: i64,
    tolerance: i64,
    tick: Option<i64>,
    paced: bool,
    tally: Tally,
}

/// How to run scripts.
#[derive(Default)]
pub struct Options {
    /// Further lines of the scenario's `[tcp]`.
    pub keys: String,
    /// Compare nothing; print the endpoint's segments.
    pub trace: bool,
}

/// Runs a script; an error is the first deviation.
pub fn run<'a>(script: &'a Script, options: &Options) -> Result<Tally, (&'a Event, String)> {
    let option = |name| script.option(name).and_then(|value| value.parse::<i64>().ok());
    let mut run = Run {
        script,
        options,
        connection: None,
        outbox: Outbox::default(),
        now: 0,
        last: 0,
        tolerance: option("tolerance_usecs").unwrap_or(4_000),
        tick: option("tcp_ts_tick_usecs").filter(|tick| *tick > 0),
        paced: script.is_paced(),
        tally: Tally::default(),
    };
    for (index, event) in script.events.iter().enumerate() {
        run.step(index, event).map_err(|why| (event, why))?;
    }
    if options.trace {
        run.outbox.sent.iter().for_each(|sent| println!("{}", show(sent)));
    }
    run.tally.left = run.outbox.sent.iter().map(show).collect();
    Ok(run.tally)
}

impl Run<'_> {
    fn step(&mut self, index: usize, event: &Event) -> Result<(), String> {
        let (from, to) = match event.when {
            When::At(at) => (at, at),
            When::After(wait) => (self.last + wait, self.last + wait),
            When::Within(from, to) => (self.last + from, self.last + to),
            When::Any => (self.last, self.last + PATIENCE),
        };
        if let (What::Out(wanted), false) = (&event.what, self.options.trace) {
            self.expect(wanted, event, from, to)?;
        } else {
            self.pass_until(from.max(self.now + STEP));
            self.act(index, event)?;
        }
        // run.c, adjust_relative_event_times(): events count from the last one's scripted time, if it has a single one.
        self.last = if matches!(event.when, When::At(_) | When::After(_)) { from } else { self.now };
        Ok(())
    }

    fn act(&mut self, index: usize, event: &Event) -> Result<(), String> {
        match &event.what {
            What::Call(call) if call.name == "socket" => {
                self.connection = None;
                self.outbox.sent.clear();
            }
            What::Call(call) if call.name == "connect" => {
                self.open(index)?;
                self.with(Transport::connect);
            }
            What::Call(call) => self.call(call),
            What::In(segment) => {
                if self.connection.is_none() {
                    self.open(index)?;
                }
                self.arrive(segment);
            }
            What::Code(code) => {
                if let Some(connection) = &self.connection {
                    info::check(code, &connection.endpoint, connection.mss, &mut self.tally.info)?;
                }
            }
            What::Shell | What::Out(_) => {}
        }
        Ok(())
    }

    /// A new endpoint, with Linux's settings and the options that the script's SYNs agree on.
    fn open(&mut self, index: usize) -> Result<(), String> {
        let later = &self.script.events[index..];
        let syns = |inward: bool| {
            later.iter().find_map(|event| match &event.what {
                What::In(segment) if inward && segment.has('S') => Some(segment),
                What::Out(segment) if !inward && segment.has('S') => Some(segment),
                _ => None,
            })
        };
        let nothing = script::Segment::default();
        let (theirs, own) = (syns(true).unwrap_or(&nothing), syns(false).unwrap_or(&nothing));
        // `<...>` stands for the defaults: timestamps in a SYN, and in a SYN-ACK the SYN's options.
        let stamps = theirs.stamp.is_some() && (own.stamp.is_some() || own.any_options);
        let sack = theirs.sack_ok && (own.sack_ok || own.any_options);
        let mss = theirs.mss.unwrap_or(536).min(own.mss.unwrap_or(1460)) - if stamps { 12 } else { 0 };
        let wscale = theirs.wscale.filter(|_| own.wscale.is_some() || own.any_options).unwrap_or(0);
        let setting = |name: &str| {
            let found = self.script.setup.rsplit_once(&format!("{name}="))?.1;
            found.split(|c: char| c.is_whitespace() || "`\\\"".contains(c)).next()
        };
        let set_by_call = self.script.events.iter().rev().find_map(|event| match &event.what {
            What::Call(call) if call.args.iter().any(|arg| arg == "TCP_CONGESTION") => Some(call.args[3].as_str()),
            _ => None,
        });
        let control = set_by_call.or(setting("tcp_congestion_control")).unwrap_or("cubic");
        let mut keys = format!(
            "mss = \"{mss} B\"\ntimestamps = {stamps}\nsack = {sack}\nidle_restart = {}\n",
            setting("tcp_slow_start_after_idle") == Some("1")
        );
        for (name, value, key) in [
            ("tcp_early_retrans", "0", "tail_loss_probe = false\n"),
            ("tcp_recovery", "0", "rack = false\n"),
            ("tcp_frto", "0", "frto = false\n"),
        ] {
            keys += if setting(name) == Some(value) { key } else { "" };
        }
        if !sack {
            keys += "tail_loss_probe = false\nrack = false\n";
        }
        if let Some(most) = setting("tcp_rto_max_ms") {
            keys += &format!("rto_max = \"{most} ms\"\n");
        }
        let settings = linux(control, theirs.has('E') && own.has('E'), &format!("{keys}{}", self.options.keys))?;
        let endpoint = <Endpoint as Transport>::new(&settings);
        let base = own.stamp.map(|(value, _)| (value, self.now));
        self.connection = Some(Connection { settings, endpoint, mss, wscale, stamps, base });
        Ok(())
    }

    fn call(&mut self, call: &script::Syscall) {
        // Calls on the listening socket, and failed ones, do not reach the connection.
        let on_listener = call.args[0] == "3"
            && self.script.events.iter().any(|event| matches!(&event.what, What::Call(call) if call.name == "listen"));
        if on_listener || call.result < 0 {
            return;
        }
        match call.name.as_str() {
            "write" | "send" | "sendfile" | "sendto" | "sendmsg" | "writev" => {
                let bytes = call.result as u64;
                self.with(|endpoint, call| Transport::write(endpoint, call, bytes, Time::NEVER));
            }
            "close" => self.with(Transport::close),
            "shutdown" if call.args[1] != "SHUT_RD" => self.with(Transport::close),
            _ => {}
        }
    }

    fn arrive(&mut self, arriving: &script::Segment) {
        let Some(connection) = &self.connection else { return };
        let syn = arriving.has('S');
        let window = arriving.window.unwrap_or(65_535) << if syn { 0 } else { connection.wscale };
        let (tick, base) = (self.tick.unwrap_or(1_000), connection.base);
        let echo =
            |echo: u32| base.map_or(echo, |(value, at)| (at + (i64::from(echo) - i64::from(value)) * tick) as u32);
        let (ts_val, ts_ecr) = match arriving.stamp {
            Some((value, ecr)) => (value, echo(ecr)),
            None => (0, 0),
        };
        let segment = Segment {
            seq: arriving.seq,
            ack: arriving.ack,
            window,
            ts_val,
            ts_ecr,
            len: arriving.len as u16,
            header: 0,
            flags: flags(&arriving.flags) | ecn(arriving.ecn.as_deref()),
        };
        let sack: Vec<Block> = arriving.sack.iter().map(|&(a, b)| Block { start: a.into(), end: b.into() }).collect();
        let packet = Packet::from(segment);
        self.with(|endpoint, call| {
            Transport::receive(endpoint, call, &packet, Metadata { sack: &sack, ..Metadata::default() });
        });
    }

    /// Calls the endpoint now.
    fn with(&mut self, act: impl FnOnce(&mut Endpoint, &mut Call<'_, Settings, Outbox>)) {
        let Some(Connection { settings, endpoint, .. }) = &mut self.connection else { return };
        self.outbox.now = self.now;
        let now = Time::from_micros(self.now as u64);
        act(endpoint, &mut Call { settings, now, wire: &mut self.outbox });
    }

    /// The endpoint's next timer, in whole microseconds.
    fn deadline(&self) -> i64 {
        let next = self.connection.as_ref().map_or(Time::NEVER, |connection| Transport::deadline(&connection.endpoint));
        if next == Time::NEVER { i64::MAX } else { next.0.div_ceil(1_000_000) as i64 }
    }

    fn serve_timer(&mut self) {
        self.now = self.now.max(self.deadline());
        self.with(|endpoint, call| {
            Transport::expire(endpoint, call);
        });
    }

    fn pass_until(&mut self, to: i64) {
        while self.deadline() <= to {
            self.serve_timer();
        }
        self.now = to;
    }

    /// Takes the next segments that were sent, up to the expected one's end, and compares them with it.
    fn expect(&mut self, wanted: &script::Segment, event: &Event, from: i64, to: i64) -> Result<(), String> {
        let tolerance = self.tolerance.max((from - self.last) / 8);
        let end = wanted.seq.wrapping_add(wanted.len);
        let mut next = wanted.seq;
        loop {
            while self.outbox.sent.is_empty() {
                if self.deadline() > to + tolerance {
                    let timer = match self.deadline() {
                        i64::MAX => "no timer runs".to_string(),
                        at => format!("the next timer is at {}", seconds(at)),
                    };
                    return Err(format!("nothing was sent by {}; {timer}", seconds(to + tolerance)));
                }
                self.serve_timer();
            }
            let sent = self.outbox.sent.pop_front().expect("a segment");
            self.now = self.now.max(sent.at);
            let seen = show(&sent);
            let early = sent.at < from - tolerance && !self.paced;
            if event.when != When::Any && (early || sent.at > to + tolerance) {
                return Err(format!("expected at {}, seen: {seen}", seconds(from)));
            }
            let segment = &sent.segment;
            let last = segment.seq.wrapping_add(segment.len.into()) == end;
            if let Some(what) = self.differs(wanted, &sent, next, last) {
                return Err(format!("{what} was sent: {seen}"));
            }
            next = segment.seq.wrapping_add(segment.len.into());
            self.tally.segments += 1;
            if last {
                self.now = self.now.max(from.min(to));
                return Ok(());
            }
        }
    }

    /// The difference between a segment and the part of the expected one that begins at `next`.
    fn differs(&self, wanted: &script::Segment, sent: &Sent, next: u32, last: bool) -> Option<&'static str> {
        let (segment, first) = (&sent.segment, next == wanted.seq);
        let mut expected = flags(&wanted.flags);
        let set = |all: Flags, keep: &str| {
            flags(&keep.chars().filter(|c| all.any(flags(&c.to_string()))).collect::<String>())
        };
        // FIN is in the last part only, CWR in the first.
        expected = set(expected, if last { "SFR.EW" } else { "SR.EW" });
        expected = set(expected, if first { "SFR.EW" } else { "SFR.E" });
        let blocks: Vec<(u32, u32)> = sent.sack.iter().map(|block| (block.start as u32, block.end as u32)).collect();
        let (ect, ce) = (segment.flags.any(Flags::ECT), segment.flags.any(Flags::CE));
        let stamp = self.connection.as_ref().filter(|connection| connection.stamps).and_then(|connection| {
            let ((value, echo), (base, at), tick) = (wanted.stamp?, connection.base?, self.tick?);
            let sent = i64::from(base) + (i64::from(segment.ts_val) - at) / tick;
            let far = (sent - i64::from(value)).abs() * tick > self.tolerance.max(7_000);
            Some(far || segment.ts_ecr != echo)
        });
        if set(segment.flags, "SFR.EW") != expected {
            Some("a segment with other flags")
        } else if segment.seq != next
            || segment.seq.wrapping_add(segment.len.into()) > wanted.seq.wrapping_add(wanted.len)
        {
            Some("other data")
        } else if wanted.has('.') && segment.ack != wanted.ack {
            Some("another acknowledgement")
        } else if !wanted.any_options && blocks != wanted.sack {
            Some("a segment with other SACK blocks")
        } else if wanted.ecn.as_deref().is_some_and(|ecn| ect != ecn.starts_with("ect") || ce != (ecn == "ce")) {
            Some("a segment with another ECN field")
        } else if stamp == Some(true) {
            Some("a segment with other timestamps")
        } else {
            None
        }
    }
}

/// Settings of Linux with this congestion control, with or without ECN, and these further keys of the scenario's `[tcp]`.
pub fn linux(control: &str, ecn: bool, keys: &str) -> Result<Settings, String> {
    let control = match control {
        reno if reno.contains("reno") => "newreno",
        dctcp if dctcp.contains("dctcp") => "dctcp",
        _ => "cubic",
    };
    // A scheme with ECN names a port that marks; there is no port here.
    let port = if ecn && control != "dctcp" { "+red+ecn" } else { "" };
    let text = format!(
        "schemes = [\"{control}{port}\"]\n[workload]\nfragment = \"64 KiB\"\n[tcp]\nprofile = \"linux\"\n{keys}\n"
    );
    let variants = Scenario::parse("script.toml", &text).and_then(|scenario| scenario.variants());
    let variants = variants.map_err(|problem| format!("settings: {problem:?}\n{text}"))?;
    let spec = variants[0].at(0, 1).ok_or("no run")?;
    Ok(fanin_assemble::tcp_settings(&spec))
}

pub fn flags(letters: &str) -> Flags {
    letters.chars().fold(Flags::NONE, |flags, letter| {
        flags
            | match letter {
                'S' => Flags::SYN,
                'F' => Flags::FIN,
                'R' => Flags::RST,
                '.' => Flags::ACK,
                'E' => Flags::ECE,
                'W' => Flags::CWR,
                _ => Flags::NONE,
            }
    })
}

fn ecn(mark: Option<&str>) -> Flags {
    match mark {
        Some("ce") => Flags::CE | Flags::ECT,
        Some(mark) if mark.starts_with("ect") => Flags::ECT,
        _ => Flags::NONE,
    }
}

fn seconds(micros: i64) -> String {
    format!("{:.6}", micros as f64 / 1e6)
}

/// A segment in script notation, with its time.
fn show(Sent { at, segment, sack }: &Sent) -> String {
    let set: String = "SFR.EW".chars().filter(|letter| segment.flags.any(flags(&letter.to_string()))).collect();
    let (seq, len) = (segment.seq, u32::from(segment.len));
    let blocks: Vec<String> = sack.iter().map(|block| format!("{}:{}", block.start, block.end)).collect();
    let blocks = if blocks.is_empty() { String::new() } else { format!(" <sack {}>", blocks.join(" ")) };
    format!("{} > {set} {seq}:{}({len}) ack {}{blocks}", seconds(*at), seq.wrapping_add(len), segment.ack)
}
