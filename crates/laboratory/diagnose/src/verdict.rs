//! The verdict, in words.

use std::collections::BTreeMap;

use crate::counters::Counters;
use crate::diagnosis::{
    Cause, CauseFound, Diagnosis, EpisodeFound, Place, RoundsFound, ServerFound, Signature, SlowServer, StallFound,
    Verdict,
};
use crate::shares::{of_many, shares};
use crate::words::time;

/// A verdict of incast has at least this confidence, and one from a single server's packets at most the other.
const LEAST: f64 = 0.55;
const MOST_OF_ONE_SERVER: f64 = 0.75;
/// Minimum share of idle time for a verdict of impairment: of rounds' total time, or of a capture's for single servers.
const IMPAIRED: f64 = 0.05;

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// All rounds together.
pub(crate) fn rounds(episodes: &[EpisodeFound]) -> RoundsFound {
    let stalled: Vec<&EpisodeFound> = episodes.iter().filter(|one| one.signature != Signature::None).collect();
    let of = |value: fn(&EpisodeFound) -> f64| median(stalled.iter().map(|one| value(one)).collect());
    let took: f64 = episodes.iter().map(|one| one.took_s).sum();
    let bytes: f64 = episodes.iter().map(|one| one.bytes as f64).sum();
    let digits = |value: f64, scale: f64| (value * scale).round() / scale;
    RoundsFound {
        count: episodes.len() as u64,
        fan_in: episodes.iter().map(|one| one.fan_in).max().unwrap_or(0),
        mean_took_s: digits(took / episodes.len().max(1) as f64, 1e9),
        goodput_mbps: digits(bytes * 8.0 / took.max(1e-9) / 1e6, 1e3),
        stalled: stalled.len() as u64,
        stalled_took_s: of(|one| one.took_s),
        stalled_should_s: of(|one| one.should_s),
        stalled_stall_s: of(|one| one.stall_s),
    }
}

pub(crate) fn verdict(found: &Diagnosis, counters: &[Counters], whole: f64) -> Verdict {
    let causes = shares(stalls(found), whole);
    let sum = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, |sum, one| sum + one);
    if found.episodes.is_empty() {
        return of_others(found, counters, whole);
    }
    let outside = sum(&mut found.alone_stalls.iter().map(|stall| stall.took_s));
    let took = sum(&mut found.episodes.iter().map(|one| one.took_s)) + outside;
    let stalled = sum(&mut stalls(found).map(|stall| stall.took_s));
    if stalled > IMPAIRED * took {
        return of_rounds(found, causes, outside);
    }
    let RoundsFound { count, fan_in, mean_took_s, goodput_mbps, .. } = found.rounds;
    Verdict {
        incast: Some(false),
        impaired: false,
        cause: if found.way.faulty { Signature::LinkFault } else { Signature::None },
        says: format!(
            "no harmful incast: {count} rounds of up to {fan_in} servers were idle for {:.1} % of their time; one took {} on average, \
             {goodput_mbps:.1} Mbit/s{}",
            100.0 * stalled / took,
            time(mean_took_s),
            lost(found)
        ),
        // One round alone shows little.
        confidence: (of_many(median(found.episodes.iter().map(|one| one.confidence).collect()), count as f64) * 1e2)
            .round()
            / 1e2,
        servers: Vec::new(),
        causes,
    }
}

/// The main cause, its signature with the most time, and the confidence that no other cause took more.
struct Main {
    cause: Cause,
    signature: Signature,
    confidence: f64,
}

impl Main {
    /// From the table's first row.
    fn of(causes: &[CauseFound], stalls: &[&StallFound]) -> Option<Main> {
        let first = causes.first()?;
        let mut times: BTreeMap<Signature, f64> = BTreeMap::new();
        let own = stalls.iter().filter(|stall| stall.cause == first.cause);
        own.for_each(|stall| *times.entry(stall.signature).or_default() += stall.took_s);
        let signature = times.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(Signature::None, |(one, _)| one);
        Some(Main { cause: first.cause, signature, confidence: first.confidence })
    }

    /// Whether the first row is no verdict: incast is one on the network, and half a conviction is none.
    fn is_open(&self) -> bool {
        self.cause == Cause::Unknown || (self.cause == Cause::Incast && self.confidence < LEAST)
    }

    /// The first row in words, before the numbers.
    fn head(&self, one_server: bool) -> &'static str {
        match self.cause {
            _ if self.is_open() => "no verdict",
            Cause::Incast if one_server => "incast is likely, seen from one server",
            Cause::Incast => "incast",
            _ => "no incast",
        }
    }

    /// The reason of the stalls, after the head.
    fn why(&self) -> String {
        match self.cause {
            Cause::Unknown => "and the evidence fits several causes".into(),
            cause if self.is_open() => {
                format!("and the likeliest cause, {}, has {:.0} %", cause.word(), 100.0 * self.confidence)
            }
            _ => format!("because {}", self.signature.says()),
        }
    }

    fn verdict(self, says: String, servers: Vec<SlowServer>, causes: Vec<CauseFound>) -> Verdict {
        if self.is_open() {
            return unknown(says, causes);
        }
        let Main { cause, signature, confidence } = self;
        Verdict {
            incast: Some(cause == Cause::Incast),
            impaired: true,
            cause: signature,
            says,
            confidence,
            servers,
            causes,
        }
    }
}

/// Whether a diagnosis is from the packets of one server, so that it cannot show whether others responded at the same time.
pub(crate) fn is_of_one_server(found: &Diagnosis) -> bool {
    let servers = found.hosts.values().filter(|host| host.role == "server").count();
    let place = found.inputs.iter().find(|input| input.tcp > 0).and_then(|input| input.place);
    found.episodes.is_empty() && (place == Some(Place::Server) || (place.is_none() && servers == 1))
}

fn lost(found: &Diagnosis) -> String {
    match (found.losses, found.way.faulty) {
        ([_, 0], _) => String::new(),
        ([_, most], true) => {
            format!("; {most} segments were lost independently of load: a faulty link")
        }
        ([least, most], false) if least == most => format!("; {least} lost segments were retransmitted quickly"),
        ([least, most], false) => format!("; {least} to {most} lost segments were retransmitted quickly"),
    }
}

/// The stalls of rounds, and those outside of them.
pub(crate) fn stalls(found: &Diagnosis) -> impl Iterator<Item = &StallFound> {
    found.episodes.iter().flat_map(|one| &one.stalls).chain(&found.alone_stalls)
}

fn of_rounds(found: &Diagnosis, causes: Vec<CauseFound>, outside_s: f64) -> Verdict {
    let stalls: Vec<&StallFound> = stalls(found).collect();
    let Some(main) = Main::of(&causes, &stalls) else { return unknown(String::new(), causes) };
    let stalled: Vec<&EpisodeFound> = found.episodes.iter().filter(|one| one.signature != Signature::None).collect();
    let losses: [u64; 2] = [0, 1].map(|which| stalled.iter().map(|one| one.lost[which]).sum());
    let count = match losses {
        [_, 0] => String::new(),
        [least, most] if least == most => format!(" They lost {least} segments."),
        [least, most] => format!(" They lost {least} to {most} segments."),
    };
    let of = &found.rounds;
    let servers = servers_of(main.cause, &causes, &stalls);
    let (head, why) = (main.head(false), main.why());
    let outside = match outside_s {
        ..1e-9 => String::new(),
        _ => format!(" Incomplete rounds and single responses lost another {}.", time(outside_s)),
    };
    let says = format!(
        "{head}: {} of {} rounds of up to {} servers stalled, {why}. The median stalled round took {} instead of {} and was idle for \
         {}.{count} All rounds took {} on average, {:.1} Mbit/s.{outside}{}",
        of.stalled,
        of.count,
        of.fan_in,
        time(of.stalled_took_s),
        time(of.stalled_should_s),
        time(of.stalled_stall_s),
        time(of.mean_took_s),
        of.goodput_mbps,
        servers.iter().map(waited_for).collect::<String>(),
    );
    main.verdict(says, servers, causes)
}

/// No verdict.
fn unknown(says: String, causes: Vec<CauseFound>) -> Verdict {
    Verdict {
        incast: None,
        impaired: false,
        cause: Signature::None,
        says,
        confidence: 0.0,
        servers: Vec::new(),
        causes,
    }
}

/// The servers that rounds waited for, those with most of the time first, if servers or their links are the main cause.
fn servers_of(main: Cause, causes: &[CauseFound], stalls: &[&StallFound]) -> Vec<SlowServer> {
    let all = stalls.iter().filter(|stall| stall.cause == main).count() as u64;
    let named = causes.iter().filter(|one| one.cause == main && matches!(main, Cause::SlowServer | Cause::BadLink));
    let server =
        |one: &ServerFound| SlowServer { server: one.server.clone(), stalls: [one.stalls, all], stall_s: one.stall_s };
    named.flat_map(|one| &one.servers).map(server).collect()
}

fn waited_for(SlowServer { server, stalls: [own, all], stall_s }: &SlowServer) -> String {
    format!(" {server} caused {own} of {all} such stalls, {} in all.", time(*stall_s))
}

/// Minimum responses or packets for a verdict on a host.
const ENOUGH_ANSWERS: u64 = 3;
const ENOUGH_PACKETS: u64 = 1_000;

/// Without a round of several servers.
fn of_others(found: &Diagnosis, counters: &[Counters], whole: f64) -> Verdict {
    let stalls: Vec<&StallFound> = found.alone_stalls.iter().collect();
    let one_server = is_of_one_server(found);
    let mut causes = shares(stalls.iter().copied(), whole);
    for one in causes.iter_mut().filter(|one| one_server && one.cause == Cause::Incast) {
        one.confidence = one.confidence.min(MOST_OF_ONE_SERVER);
    }
    let span = found.inputs.iter().map(|input| input.span_s).fold(0.0, f64::max);
    let stalled: f64 = stalls.iter().map(|stall| stall.took_s).sum();
    let main = Main::of(&causes, &stalls).filter(|_| stalled > IMPAIRED * span);
    let packets: u64 = found.inputs.iter().map(|input| input.tcp).sum();
    if let Some(rdma) = found.rdma.as_ref().filter(|_| packets == 0) {
        return unknown(rdma.says(), causes);
    }
    if packets == 0 {
        return unknown(Counters::verdict(counters), causes);
    }
    if found.unfinished.0 > 0 {
        let says = format!(
            "no verdict: no round ended within the capture of {packets} packets and {}, with requests to up to {} servers at once. Record for longer",
            time(span),
            found.unfinished.1
        );
        return unknown(says, causes);
    }
    if found.alone == 0 || (packets < ENOUGH_PACKETS && found.alone < ENOUGH_ANSWERS) {
        let says = format!(
            "no verdict: only {} responses in {packets} TCP packets and {}. Record for longer",
            found.alone,
            time(span)
        );
        return unknown(says, causes);
    }
    let head = if one_server { "seen from one server" } else { "no host requested from several servers at once" };
    let idle = "connections were almost never idle";
    match main {
        None => Verdict {
            incast: Some(false),
            impaired: false,
            cause: if found.way.faulty { Signature::LinkFault } else { Signature::None },
            says: format!("no incast: {head}, and {idle}{}", lost(found)),
            confidence: 0.8 * whole,
            servers: Vec::new(),
            causes,
        },
        Some(main) => {
            let seen = if main.head(one_server).contains(head) { String::new() } else { format!("{head}; ") };
            let says = format!("{}: {seen}{}{}", main.head(one_server), main.why(), lost(found));
            let servers = servers_of(main.cause, &causes, &stalls);
            main.verdict(says, servers, causes)
        }
    }
}
