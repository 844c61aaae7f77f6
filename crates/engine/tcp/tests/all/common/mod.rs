//! Scripts of segments, one step per line, so that a test reads like a trace.
//!
//! ```text
//! 0    connect              the application's action: connect, write BYTES, close
//! 0    > S 0:0              the only segment that the endpoint must send, at exactly this time (milliseconds)
//! 10   < S. 0:0 ack 1       an arriving segment
//! 10   cwnd 2000            a condition: see `check`
//! ```
//!
//! A segment is `FLAGS START:END`, then any of `ack N`, `win N`, `sack A:B C:D`, `ect`, `ce`, `hdr N`, `offer N`,
//! `echo N`, `ts MS`, `ecr MS`. Flags are S F R, `.` for ACK, E for ECE, W for CWR. Sequence numbers count from the SYN,
//! which is 0; START:END is the payload's. Fields omitted from an expectation are not compared, except flags, ECN bits,
//! SACK blocks and, with the ACK flag, the acknowledgement number.
//!
//! Time passes from line to line; segments that timers send on the way must be expected. A failure prints the script up to
//! the line that failed.
#![allow(dead_code)]

mod segment;

use std::collections::VecDeque;

use fanin_laws::sender::{Kind, Law};
use fanin_tcp::{
    Call, Echo, Ect, Endpoint, Metadata, NewReno, Params, Progress, RtoFloor, RttVariance, Segment, Stack, Wire,
};
use fanin_units::Time;

pub use segment::{Sent, Spec};

/// The payload of a full segment.
pub const MSS: u32 = 1000;

/// Plain TCP: every option off, an initial window of ten segments, a minimum timeout of 200 ms.
pub fn plain() -> Params {
    Params {
        mss: MSS,
        initial_cwnd: 10 * MSS,
        rto_min: Time::from_millis(200),
        rto_floor: RtoFloor::Timeout,
        rtt_variance: RttVariance::Rfc6298,
        rto_max: Time::from_secs(60),
        rto_initial: Time::from_secs(1),
        rto_clock: Time::from_millis(1),
        syn_timeout: Time::from_secs(1),
        max_retransmissions: None,
        karn_backoff: false,
        sack: false,
        rack: false,
        tail_loss_probe: false,
        max_ack_delay: Time::from_millis(40),
        timer_margin: Time::ZERO,
        tick: Time::ZERO,
        acks_wait_for_reader: false,
        pingpong: false,
        ack_compression: false,
        newreno: NewReno::Inflate,
        limited_transmit: false,
        timestamps: false,
        delayed_ack: 1,
        ack_cwr: false,
        delayed_ack_timeout: Time::from_millis(40),
        quick_acks: 0,
        idle_restart: false,
        byte_counting: false,
        hystart: false,
        cut_window: false,
        window_validation: false,
        packet_window: false,
        undo: false,
        frto: false,
        receive_window: 1_000_000,
        ect: None,
        echo: Echo::Latched,
        mcw_option: false,
    }
}

/// [`plain`] with an initial window of `segments`.
pub fn window_of(segments: u32) -> Params {
    Params { initial_cwnd: segments * MSS, ..plain() }
}

/// NewReno without any parts.
pub fn newreno() -> Law {
    Law { mss: MSS, base: Kind::NewReno.start(&Default::default()), slow_start: None, cap: None }
}

#[derive(Default)]
struct Outbox(VecDeque<(Time, Sent)>, Time);

impl Wire for Outbox {
    fn send(&mut self, segment: Segment, beside: Metadata<'_>) {
        self.0.push_back((self.1, Sent { segment, sack: beside.sack.to_vec(), notes: beside.notes }));
    }
}

/// One endpoint and the script so far.
pub struct Script {
    stack: Stack,
    endpoint: Endpoint,
    outbox: Outbox,
    now: Time,
    /// The application saw the connection break.
    broken: bool,
    told: String,
}

impl Script {
    /// A new endpoint under NewReno.
    pub fn new(params: Params) -> Script {
        Script::with_law(params, newreno())
    }

    /// A new endpoint with this congestion control.
    pub fn with_law(params: Params, law: Law) -> Script {
        let endpoint = Endpoint::new(&params, law);
        Script {
            stack: params.into(),
            endpoint,
            outbox: Outbox::default(),
            now: Time::ZERO,
            broken: false,
            told: String::new(),
        }
    }

    /// An active opener whose handshake took 10 ms; the script goes on at 10.
    pub fn client(params: Params) -> Script {
        Script::client_with_law(params, newreno())
    }

    /// [`Script::client`] with this congestion control.
    pub fn client_with_law(params: Params, law: Law) -> Script {
        let ecn = params.ect.is_some();
        let all = if params.ect == Some(Ect::All) { "ect" } else { "" };
        let (syn, answer) = if ecn { ("SEW", "S.E") } else { ("S", "S.") };
        Script::with_law(params, law).run(&format!(
            "0 connect
             0 > {syn} 0:0 {all}
             10 < {answer} 0:0 ack 1
             10 > . 1:1 ack 1 {all}"
        ))
    }

    /// A passive opener whose handshake took 10 ms; the script goes on at 10.
    pub fn server(params: Params) -> Script {
        let ecn = params.ect.is_some();
        let all = if params.ect == Some(Ect::All) { "ect" } else { "" };
        let (syn, answer) = if ecn { ("SEW", "S.E") } else { ("S", "S.") };
        Script::new(params).run(&format!(
            "0 < {syn} 0:0
             0 > {answer} 0:0 ack 1 {all}
             10 < . 1:1 ack 1"
        ))
    }

    /// Execute a script.
    #[track_caller]
    pub fn run(mut self, script: &str) -> Script {
        for line in script.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            self.told.push_str(&format!("    {line}\n"));
            if let Err(problem) = self.step(line) {
                panic!("\n{}  ^ {problem}\n", self.told);
            }
        }
        self
    }

    fn step(&mut self, line: &str) -> Result<(), String> {
        let line = line.split('#').next().unwrap_or(line).trim();
        let (time, what) = line.split_once(' ').ok_or("a line is a time and a step")?;
        self.pass_until(at(time)?);
        let what = what.trim();
        if let Some(wanted) = what.strip_prefix('>') {
            return self.expect(&Spec::parse(wanted)?);
        }
        let (verb, value) = what.split_once(' ').unwrap_or((what, ""));
        if !["<", "connect", "write", "reads", "close", "abort"].contains(&verb) {
            return self.check(verb, value.trim());
        }
        if let Some(problem) = self.unexpected() {
            return Err(problem);
        }
        let call = &mut Call { params: &self.stack, now: self.now, wire: &mut self.outbox };
        match verb {
            "<" => {
                let Sent { segment, sack, notes } = Spec::parse(value)?.sent(self.now);
                let progress =
                    self.endpoint.handle(call, &segment, Metadata { sack: &sack, notes, ..Metadata::default() });
                self.broken |= progress.any(Progress::BROKEN);
            }
            "connect" => self.endpoint.connect(call),
            "abort" => self.endpoint.abort(),
            "reads" => self.endpoint.reads(call, value == "yes"),
            "write" => self.endpoint.write(call, number(value)?, Time::NEVER),
            _ => self.endpoint.close(call),
        }
        Ok(())
    }

    /// Let time pass to `to`, inclusive, with all timers due.
    fn pass_until(&mut self, to: Time) {
        while self.endpoint.deadline() <= to {
            self.now = self.endpoint.deadline();
            self.outbox.1 = self.now;
            let call = &mut Call { params: &self.stack, now: self.now, wire: &mut self.outbox };
            self.broken |= self.endpoint.expire(call).any(Progress::BROKEN);
        }
        self.now = to;
        self.outbox.1 = to;
    }

    fn expect(&mut self, wanted: &Spec) -> Result<(), String> {
        let (time, sent) = self.outbox.0.pop_front().ok_or("nothing was sent")?;
        if time != self.now {
            return Err(format!("sent at {}: {}", millis(time), segment::show(&sent)));
        }
        wanted.matches(&sent).map_err(|what| format!("{what}: {}", segment::show(&sent)))
    }

    /// Conditions: `cwnd`, `ssthresh` (bytes), `srtt`, `rto` (ms), `deadline` (ms or never), `delivered` (bytes),
    /// `timeouts`, `probes`, `fast`, `resent` (counts), `finished`, `all-acked`, `broken` (yes or no).
    fn check(&self, what: &str, wanted: &str) -> Result<(), String> {
        let (endpoint, stats) = (&self.endpoint, self.endpoint.stats());
        let yes = |condition: bool| if condition { "yes" } else { "no" }.to_string();
        let found = match what {
            "cwnd" => endpoint.window().cwnd.to_string(),
            "ssthresh" => endpoint.window().ssthresh.to_string(),
            "srtt" => millis(endpoint.srtt()),
            "rto" => millis(endpoint.rto(&self.stack)),
            "deadline" if endpoint.deadline() == Time::NEVER => "never".to_string(),
            "deadline" => millis(endpoint.deadline()),
            "delivered" => endpoint.delivered().to_string(),
            "timeouts" => stats.timeouts.to_string(),
            "probes" => stats.probes.to_string(),
            "fast" => stats.fast_retransmits.to_string(),
            "resent" => stats.retransmits.to_string(),
            "segments" => stats.data_segments.to_string(),
            "broken" => yes(self.broken),
            "finished" => yes(endpoint.finished()),
            "all-acked" => yes(endpoint.all_acked()),
            "silent" => return Ok(()),
            _ => return Err(format!("no such step: {what}")),
        };
        if found == wanted { Ok(()) } else { Err(format!("{what} is {found}")) }
    }

    fn unexpected(&self) -> Option<String> {
        let (time, sent) = self.outbox.0.front()?;
        Some(format!("not expected: {} {}", millis(*time), segment::show(sent)))
    }

    /// The endpoint, for actions that scripts lack.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }
}

/// At the end of a test every sent segment must have been expected.
impl Drop for Script {
    fn drop(&mut self) {
        if !std::thread::panicking()
            && let Some(problem) = self.unexpected()
        {
            panic!("\n{}  ^ {problem}\n", self.told);
        }
    }
}

/// Milliseconds with up to nine decimals.
fn at(text: &str) -> Result<Time, String> {
    format!("{text} ms").parse().map_err(|why| format!("{text}: {why}"))
}

fn millis(time: Time) -> String {
    let (whole, rest) = (time.0 / 1_000_000_000, time.0 % 1_000_000_000);
    let text = format!("{whole}.{rest:09}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

fn number<N: std::str::FromStr>(text: &str) -> Result<N, String> {
    text.trim().replace('_', "").parse().map_err(|_| format!("not a number: {text}"))
}
