//! Conclusions: signatures, confidence, the collapse point, the verdict.

use std::collections::{BTreeMap, BTreeSet};

use crate::captured::Capture;
use crate::cause::{Finding, Grounds, is_round_trip};
use crate::counters::Counters;
use crate::covered::Covered;
use crate::diagnosis::{
    Cause, Diagnosis, EpisodeFound, HostFound, InputFound, Lane, PointFound, Signature, StallFound, StandingFound,
    Verdict, WayFound,
};
use crate::episode::{Evidence, Member, Stall};
use crate::faults::Faults;
use crate::flow::Flow;
use crate::host::{Host, Timer};
use crate::origin::{How, Known};
use crate::samples::{Samples, quantile};

use crate::observation::Observation;
use crate::record::{Record, Silence, is_timer};
use crate::scenario::{Facts, may_be_linux, scenario};
use crate::standing::Standing;
use crate::verdict::is_of_one_server;
use crate::way::{WORK, Way};
use crate::words::{name_of, seconds};

/// Maximum number of hosts to list.
const MOST_HOSTS: usize = 512;
/// Maximum number of episodes to list.
const MOST_EPISODES: usize = 20_000;
/// Minimum share of idle time for an impaired round.
const HURTS: f64 = 0.1;

/// One capture with conclusions about its hosts.
pub(crate) struct Judge<'a> {
    capture: &'a Capture,
    ways: BTreeMap<u32, Way>,
    faults: BTreeMap<u32, Faults<'a>>,
    timeouts: Samples,
    /// Long flows by client.
    standing: BTreeMap<u32, Standing>,
    /// Minimum retransmission timeout by client, as in its scenario; absent if unknown.
    rto_min: BTreeMap<u32, u64>,
    /// Factor on every confidence, for gaps in the capture.
    whole: f64,
}

impl<'a> Judge<'a> {
    pub fn new(capture: &'a Capture) -> Judge<'a> {
        let hosts = &capture.watch.hosts.all;
        let records = &capture.watch.records;
        let mut of_host: BTreeMap<u32, Vec<&Record>> = BTreeMap::new();
        for record in records.rounds.iter().chain(&records.alone) {
            of_host.entry(record.asker).or_default().push(record);
        }
        let fault = |(asker, rounds): (&u32, &Vec<&Record>)| {
            let servers = rounds.iter().map(|round| round.servers).max().unwrap_or(0);
            (*asker, Faults::of(&hosts[*asker as usize], servers))
        };
        let faults: BTreeMap<u32, Faults<'a>> = of_host.iter().map(fault).collect();
        let way = |(asker, rounds): (u32, Vec<&Record>)| {
            let faulty = faults.get(&asker).is_some_and(Faults::mostly_links);
            (asker, Way::new(&hosts[asker as usize], &rounds, u64::from(segment_of(hosts)) + 40, faulty))
        };
        let ways: BTreeMap<u32, Way> = of_host.into_iter().map(way).collect();
        let standing = standing_by_client(capture, &ways);
        let linux = may_be_linux(hosts);
        // Retransmissions within a round trip through a full queue are loss recovery.
        let slowest = ways.values().max_by_key(|way| way.loaded);
        let mut timeouts = Samples::default();
        hosts.iter().flat_map(|host| timeouts_of(host, slowest, linux)).for_each(|took| timeouts.add(took));
        let silent = records.rounds.iter().filter(|record| record.lost > 0).flat_map(|record| &record.silences);
        // A tail that was lost as a whole, by the server's numbers.
        let missing = |silence: &&Silence| {
            let Silence { stall, .. } = silence;
            let numbered = hosts[stall.host as usize].numbering.is_by_connection();
            matches!(stall.evidence, Evidence::Fresh { burst: Some(false) | None, .. })
                && numbered
                && stall.skipped.is_some_and(|skipped| skipped > 0)
        };
        let least = slowest.map_or(0, |way| way.least_timer(linux, false));
        let timers = silent.filter(missing).map(|silence| silence.stall.timer).filter(|took| *took > least);
        timers.for_each(|took| timeouts.add(took));
        let least = |(asker, way): (&u32, &Way)| Some((*asker, *way.rto_min(timeouts.kept(), linux)?.first()?));
        let rto_min = ways.iter().filter_map(least).collect();
        let mut judge = Judge { capture, ways, faults, timeouts, standing, rto_min, whole: 1.0 };
        judge.whole = judge.completeness();
        judge
    }

    /// Share of the traffic that was captured, as a factor.
    fn completeness(&self) -> f64 {
        let dropped = self.capture.end.dropped.unwrap_or(0);
        let share = dropped as f64 / (self.capture.end.frames + dropped).max(1) as f64;
        let lost: f64 = if share > 0.01 { 0.6 } else { 1.0 - 10.0 * share };
        let sided = 1.0 - 0.35 * self.one_sided();
        let clock = if self.capture.set_back > 0 { 0.7 } else { 1.0 };
        lost * sided * clock
    }

    /// The share of connections with only one direction captured.
    pub fn one_sided(&self) -> f64 {
        let flows = self.capture.watch.flows.all().iter().filter(|flow| flow.sent.iter().sum::<u32>() >= 5);
        let (mut all, mut one) = (0u32, 0u32);
        for flow in flows {
            all += 1;
            one += u32::from(flow.sent.contains(&0));
        }
        f64::from(one) / f64::from(all.max(1))
    }

    /// The cause of a stall of a client's round.
    fn finding(&self, stall: &Stall, lossy: bool, asker: u32, way: &Way) -> Finding {
        let none = Faults::default();
        let grounds = Grounds {
            hosts: &self.capture.watch.hosts.all,
            faults: self.faults.get(&asker).unwrap_or(&none),
            rto: self.rto_min.get(&asker).copied(),
            loaded: way.loaded,
            segment: u64::from(segment_of(&self.capture.watch.hosts.all)),
        };
        grounds.finding(stall, lossy)
    }

    fn stalls(&self, record: &'a Record, way: &Way) -> impl Iterator<Item = (&'a Stall, StallFound)> {
        let (quiet, queued) = (way.quiet, way.queued);
        let stalls = move |silence: &&Silence| silence.stall.took() > quiet && !is_round_trip(&silence.stall, queued);
        let waits = record.silences.iter().filter(move |silence| stalls(silence));
        let found = waits.map(|silence| (&silence.stall, self.stall(silence, record, way)));
        // Without other servers to compare with, a server's usual work is no stall.
        let work = if record.servers < 2 { 4.0 * seconds(WORK) } else { 0.0 };
        found.filter(move |(_, stall)| stall.cause != Cause::SlowServer || stall.took_s >= work)
    }

    fn stall(&self, silence: &Silence, record: &Record, way: &Way) -> StallFound {
        let finding = self.finding(&silence.stall, record.lost > 0, record.asker, way);
        let Finding { signature, cause, sure, why } = self.or_behind_others(&silence.stall, record.asker, finding);
        StallFound {
            start_s: seconds(silence.stall.from.saturating_sub(1)),
            took_s: seconds(silence.stall.took()),
            timer_s: seconds(silence.stall.timer),
            signature,
            server: name_of(silence.stall.server.address),
            waiting: silence.waiting,
            cause,
            confidence: (sure * 100.0).round() / 100.0,
            evidence: why,
        }
    }

    fn episode(&self, record: &Record) -> Option<EpisodeFound> {
        let way = self.ways.get(&record.asker)?;
        let mut stalls: Vec<StallFound> = self.stalls(record, way).map(|(_, found)| found).collect();
        self.behind_others(record, &mut stalls);
        let mut by_cause: BTreeMap<Signature, (f64, f64)> = BTreeMap::new();
        for stall in &stalls {
            let (sum, weighted) = by_cause.entry(stall.signature).or_default();
            *sum += stall.took_s;
            *weighted += stall.took_s * stall.confidence;
        }
        let stall_s = stalls.iter().fold(0.0, |sum, stall| sum + stall.took_s);
        let main = by_cause.iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0));
        let (signature, sure) =
            main.map_or((Signature::None, 0.95), |(cause, (sum, weighted))| (*cause, weighted / sum));
        let took_s = seconds(record.took());
        let should = self.should(record, way).min((took_s - stall_s).max(0.0));
        let mtu = u64::from(segment_of(&self.capture.watch.hosts.all)).max(1);
        // A silence that may have been a timer's: the whole rest of its response may have been lost.
        let unclear = record.silences.iter().filter(|silence| {
            let lost = || !matches!(self.stall(silence, record, way).cause, Cause::SlowServer | Cause::Receiver);
            silence.stall.took() > way.quiet && is_timer(silence.stall.evidence).is_none() && lost()
        });
        let unseen: u64 = unclear.map(|silence| silence.left.div_ceil(mtu)).sum();
        Some(EpisodeFound {
            start_s: seconds(record.start.saturating_sub(1)),
            fan_in: record.servers,
            bytes: record.bytes,
            took_s,
            should_s: (should * 1e9).round() / 1e9,
            stall_s: (stall_s * 1e9).round() / 1e9,
            signature,
            confidence: ((sure * self.whole) * 100.0).round() / 100.0,
            asker: name_of(self.capture.watch.hosts.all[record.asker as usize].address),
            lost: [record.lost, record.lost + unseen],
            stalls,
        })
    }

    /// How long a round's first byte waited in a queue that long flows keep.
    fn queued(&self, record: &Record) -> Option<u64> {
        self.standing.get(&record.asker)?.waited(record)
    }

    /// The finding of a stall, unless the packet that ended it waited behind long flows.
    fn or_behind_others(&self, stall: &Stall, asker: u32, finding: Finding) -> Finding {
        let behind = || self.standing.get(&asker)?.behind(stall.took(), stall.beside);
        // A loss while long flows filled the link is one at their queue.
        let of_path = matches!(finding.why, Observation::LostOnPath { .. });
        let waits = finding.cause == Cause::SlowServer || (finding.cause.is_loss() && !of_path);
        let Some(waited) = waits.then(behind).flatten() else { return finding };
        let why = Observation::BehindOthers { waited_s: seconds(waited), bytes: stall.beside };
        Finding { signature: Signature::StandingQueue, cause: Cause::StandingQueue, sure: finding.sure.max(0.8), why }
    }

    /// Adds the wait behind long flows to a round's stalls, and attributes losses at that queue to it.
    fn behind_others(&self, record: &Record, stalls: &mut Vec<StallFound>) {
        let Some(waited) = self.queued(record) else { return };
        let evidence = Observation::BehindOthers { waited_s: seconds(waited), bytes: record.beside };
        let first_s = seconds(record.requested.saturating_sub(1) + record.first);
        // A stall of that time is the same wait, or another one that explains it.
        let of_start = |stall: &StallFound| !stall.cause.is_loss() && stall.start_s < first_s;
        if stalls.iter().any(|stall| of_start(stall) && stall.cause != Cause::StandingQueue) {
            return;
        }
        stalls.retain(|stall| !of_start(stall));
        let of_path = |stall: &StallFound| matches!(stall.evidence, Observation::LostOnPath { .. });
        for stall in stalls.iter_mut().filter(|stall| stall.cause.is_loss() && !of_path(stall)) {
            (stall.signature, stall.cause, stall.evidence) = (Signature::StandingQueue, Cause::StandingQueue, evidence);
        }
        let Some(server) = self.standing.get(&record.asker).and_then(|standing| standing.flows.first()) else { return };
        stalls.push(StallFound {
            start_s: seconds(record.requested.saturating_sub(1)),
            took_s: seconds(waited),
            timer_s: 0.0,
            signature: Signature::StandingQueue,
            server: server.server.clone(),
            waiting: record.servers,
            cause: Cause::StandingQueue,
            confidence: 0.9,
            evidence,
        });
    }

    /// Ideal duration of a round without losses, in seconds.
    fn should(&self, record: &Record, way: &Way) -> f64 {
        let segment = f64::from(segment_of(&self.capture.watch.hosts.all)).max(1.0);
        let wire = |bytes: u64| bytes as f64 * (segment + 40.0) / segment;
        let rate = way.line.as_ref().map_or(f64::INFINITY, |line| line.bytes_per_s);
        let asked = seconds(record.gap) * f64::from(record.servers.saturating_sub(1));
        let one = wire(record.bytes / u64::from(record.servers.max(1))) / rate;
        seconds(way.first) + (wire(record.bytes) / rate).max(asked + one)
    }

    /// The rounds that count.
    fn ended(&self) -> impl Iterator<Item = &'a Record> {
        let counts = self.counts();
        self.capture.watch.records.rounds.iter().filter(move |record| counts(record))
    }

    /// Whether a round counts: if it ended, or if none did and the capture cuts it off within a stall.
    fn counts(&self) -> impl Fn(&Record) -> bool {
        let records = &self.capture.watch.records;
        let latest = records.rounds.iter().map(|record| record.done).max().unwrap_or(0);
        let none = records.rounds.iter().all(|record| record.cut || !record.whole);
        let least: Vec<u64> = records.rounds.iter().map(|record| record.answers.0).collect();
        let usual = quantile(&least, 0.5).unwrap_or(0);
        move |record| {
            // The last round may be incomplete, unless all servers sent as much as each other and as before.
            let last = record.done >= latest.saturating_sub(2_000_000);
            let alike = record.answers.0 * 10 >= record.answers.1 * 9 && record.answers.0 >= usual;
            (record.cut && none) || (record.whole && !record.cut && (!last || alike))
        }
    }

    /// Stalls outside of the rounds that count: of those that the capture contains in part, and of single responses. A host that has rounds may
    /// request for other purposes, too, so that only servers of its rounds count. Time that rounds or other stalls cover is not lost again.
    fn outside_rounds(&self) -> Vec<StallFound> {
        let records = &self.capture.watch.records;
        let mut covered: BTreeMap<u32, Covered> = BTreeMap::new();
        for record in self.ended() {
            covered.entry(record.asker).or_default().add(record.start, record.done);
        }
        let of_rounds: BTreeSet<u32> = covered.keys().copied().collect();
        let counts = self.counts();
        let mut found = Vec::new();
        for record in records.rounds.iter().filter(|record| !counts(record)).chain(&records.alone) {
            let Some(way) = self.ways.get(&record.asker) else { continue };
            let covered = covered.entry(record.asker).or_default();
            for (stall, mut one) in self.stalls(record, way) {
                let foreign =
                    of_rounds.contains(&record.asker) && !records.servers.contains(&(record.asker, stall.server));
                if foreign || one.signature == Signature::None {
                    continue;
                }
                let free = covered.add(stall.from, stall.to);
                if free > way.quiet {
                    one.took_s = seconds(free);
                    found.push(one);
                }
            }
        }
        found
    }

    fn lanes(&self, record: &Record, members: &[Member]) -> Vec<Lane> {
        let Some(way) = self.ways.get(&record.asker) else { return Vec::new() };
        let at = |ns: u64| seconds(ns.saturating_sub(record.start));
        let lane = |member: &Member| {
            let waits = member.waits.iter().filter(|stall| stall.took() > way.quiet.max(2 * way.loaded));
            Lane {
                server: name_of(member.server.address),
                asked_s: at(member.asked),
                first_s: at(member.first.unwrap_or(member.done)),
                done_s: at(member.done),
                bytes: member.to.saturating_sub(member.from),
                lost: member.lost,
                waits: waits
                    .map(|stall| {
                        let finding = self.finding(stall, record.lost > 0, record.asker, way);
                        (at(stall.from), at(stall.to), finding.signature)
                    })
                    .collect(),
            }
        };
        members.iter().map(lane).collect()
    }
}

/// Long flows beside the rounds of each client.
fn standing_by_client(capture: &Capture, ways: &BTreeMap<u32, Way>) -> BTreeMap<u32, Standing> {
    let (records, hosts) = (&capture.watch.records, &capture.watch.hosts);
    let mut of_client: BTreeMap<u32, (Vec<&Flow>, Vec<&Record>)> = BTreeMap::new();
    for flow in capture.watch.flows.all() {
        flow.hosts.iter().for_each(|host| of_client.entry(*host).or_default().0.push(flow));
    }
    records.rounds.iter().for_each(|record| of_client.entry(record.asker).or_default().1.push(record));
    let standing = |(client, (flows, rounds)): (u32, (Vec<&Flow>, Vec<&Record>))| {
        ways.get(&client)?;
        Some((client, Standing::of(client, &flows, hosts, &rounds)?))
    };
    of_client.into_iter().filter_map(standing).collect()
}

/// The payload of a full segment: the largest in a single packet.
fn segment_of(hosts: &[Host]) -> u32 {
    let seen = hosts.iter().map(|host| host.largest).max().unwrap_or(0);
    let said = hosts.iter().filter_map(|host| host.mss).min().map(u32::from);
    match (seen, said) {
        (0, said) => said.unwrap_or(1460),
        (seen, Some(said)) => seen.min(said),
        (seen, None) => seen,
    }
}

/// A host's timeouts. Before one, its connection was idle for longer than a round trip through a full queue; faster retransmissions are
/// loss recovery.
fn timeouts_of(host: &Host, way: Option<&Way>, linux: bool) -> impl Iterator<Item = u64> {
    let least = move |timer: &Timer| way.map_or(0, |way| way.least_timer(linux, timer.selective));
    host.timeouts.iter().filter(move |timer| timer.took.min(timer.idle) > least(timer)).map(|timer| timer.took)
}

/// Diagnoses all captures and counters.
pub(crate) fn judge(captures: Vec<Capture>, counters: &[Counters]) -> Diagnosis {
    let judges: Vec<Judge<'_>> = captures.iter().map(Judge::new).collect();
    // If two captures cover the same time, use the one with the most rounds.
    let main = judges.iter().max_by_key(|judge| (judge.capture.watch.records.counts[1], judge.capture.tcp));
    let begun = captures.iter().filter_map(|capture| capture.first).min().unwrap_or(0);
    let mut cautions = Vec::new();
    let mut episodes: Vec<EpisodeFound> = Vec::new();
    for judge in &judges {
        crate::cautions::of(judge.capture, judge.one_sided(), &mut cautions);
        let apart = main.is_some_and(|main| !overlap(main.capture, judge.capture));
        if main.is_some_and(|main| std::ptr::eq(main, judge)) || apart {
            let moved = seconds(judge.capture.first.unwrap_or(begun) - begun);
            episodes.extend(judge.ended().filter_map(|record| judge.episode(record)).map(|mut episode| {
                episode.start_s += moved;
                episode.stalls.iter_mut().for_each(|stall| stall.start_s += moved);
                episode
            }));
        }
    }
    crate::cautions::of_times(&captures, &mut cautions);
    episodes.sort_by(|a, b| a.start_s.total_cmp(&b.start_s));
    let mut diagnosis = Diagnosis {
        schema: 1,
        verdict: Verdict {
            incast: None,
            impaired: false,
            cause: Signature::None,
            says: String::new(),
            confidence: 0.0,
            servers: Vec::new(),
            causes: Vec::new(),
        },
        rounds: crate::verdict::rounds(&episodes),
        episodes,
        unfinished: (0, 0),
        alone: 0,
        alone_stalls: Vec::new(),
        losses: [0, 0],
        reordered: 0,
        behind: 0,
        way: WayFound::default(),
        rdma: captures.iter().filter_map(|capture| capture.rdma.found()).max_by_key(|found| found.bytes),
        points: Vec::new(),
        onset: None,
        hosts: BTreeMap::new(),
        slowest: None,
        counters: counters.iter().flat_map(Counters::says).collect(),
        cautions,
        inputs: captures.iter().map(input).chain(counters.iter().map(Counters::input)).collect(),
        simulated: Vec::new(),
        scenario: None,
        sketch: None,
        withheld: None,
    };
    if let Some(main) = main {
        main.fill(&mut diagnosis, begun);
    }
    let whole = main.map_or(1.0, |main| main.whole);
    diagnosis.verdict = crate::verdict::verdict(&diagnosis, counters, whole);
    diagnosis.episodes.truncate(MOST_EPISODES);
    diagnosis
}

fn overlap(one: &Capture, other: &Capture) -> bool {
    let span = |capture: &Capture| capture.first.map(|first| (first, capture.last));
    match (span(one), span(other)) {
        (Some((a, b)), Some((c, d))) => a <= d && c <= b,
        _ => true,
    }
}

fn input(capture: &Capture) -> InputFound {
    let ends = capture.end.broken.as_ref().map(|why| format!("at byte {}: {why}", capture.end.bytes));
    InputFound {
        name: capture.name.clone(),
        kind: capture.kind,
        packets: capture.end.frames,
        tcp: capture.tcp,
        bytes: capture.end.bytes,
        span_s: seconds(capture.last.saturating_sub(capture.first.unwrap_or(capture.last))),
        ends,
        place: capture.watch.place(),
        lacking: capture.watch.lacking(),
    }
}

impl Judge<'_> {
    fn fill(&self, diagnosis: &mut Diagnosis, begun: u64) {
        let watch = &self.capture.watch;
        diagnosis.alone = watch.records.counts[0];
        let ended: u64 = self.ended().count() as u64;
        let most = watch.records.rounds.iter().map(|record| record.servers).max().unwrap_or(0);
        diagnosis.unfinished = (watch.records.rounds.len() as u64 - ended, most);
        let hosts = &watch.hosts.all;
        let least: u64 = hosts.iter().map(|host| host.lost).sum();
        let unseen: u64 = diagnosis.episodes.iter().map(|episode| episode.lost[1] - episode.lost[0]).sum();
        diagnosis.losses = [least, least + unseen];
        diagnosis.behind = hosts.iter().map(|host| host.behind).sum();
        diagnosis.reordered = hosts.iter().map(|host| host.reordered).sum();
        (diagnosis.points, diagnosis.onset) = points(&diagnosis.episodes);
        let asker = self.asker();
        diagnosis.way = self.way_found(asker);
        diagnosis.hosts = self.hosts_found();
        diagnosis.alone_stalls = self.outside_rounds();
        if diagnosis.episodes.is_empty() && !is_of_one_server(diagnosis) {
            // No requests overlapped: one response filled the queue.
            let full = diagnosis.alone_stalls.iter_mut().filter(|stall| stall.cause == Cause::Incast);
            full.for_each(|stall| stall.cause = Cause::FullQueue);
        }
        let told = |record: &Record| self.ended().any(|one| (one.asker, one.done) == (record.asker, record.done));
        if let Some((record, members)) = watch.records.slowest(told)
            && let Some(mut episode) = self.episode(record)
        {
            episode.start_s += seconds(self.capture.first.unwrap_or(begun) - begun);
            diagnosis.slowest = Some((episode, self.lanes(record, members)));
        }
        let rounds: Vec<&Record> = self.ended().filter(|record| Some(record.asker) == asker).collect();
        if let Some(asker) = asker.filter(|_| !rounds.is_empty())
            && let Some(way) = self.ways.get(&asker)
        {
            let askers = rounds.len();
            let facts = Facts {
                hosts,
                asker: &hosts[asker as usize],
                way,
                rounds: &rounds,
                timeouts: &self.timeouts,
                segment: segment_of(hosts),
                points: &diagnosis.points,
                name: &self.capture.name,
                background: diagnosis.way.background,
            };
            diagnosis.sketch = (askers > 0).then(|| scenario(&facts));
        }
    }

    /// The client with the most bytes in rounds.
    fn asker(&self) -> Option<u32> {
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        self.ended().for_each(|record| *counts.entry(record.asker).or_default() += record.bytes);
        let of_alone = || self.capture.watch.records.alone.first().map(|record| record.asker);
        counts.into_iter().max_by_key(|(_, bytes)| *bytes).map(|(asker, _)| asker).or_else(of_alone)
    }

    fn way_found(&self, asker: Option<u32>) -> WayFound {
        let Some((asker, way)) = asker.and_then(|asker| Some((asker, self.ways.get(&asker)?))) else {
            return WayFound::default();
        };
        let host = &self.capture.watch.hosts.all[asker as usize];
        let whole = |share: f64| (share * self.whole * 100.0).round() / 100.0;
        let line = way.line.as_ref().map(|line| Known {
            value: line.mbps,
            how: How::Inferred,
            confidence: whole(if line.round { 0.95 } else { 0.6 } * line.share.max(0.5)),
        });
        let pushed = self.ended().filter(|record| record.pushed).count() * 2 > self.ended().count();
        let beside = if pushed { host.asked_for } else { host.pushed };
        WayFound {
            rate_mbps: line,
            round_trip_s: Some(Known {
                value: seconds(way.round_trip),
                how: way.round_trip_how,
                confidence: whole(if way.round_trip_how == How::Measured { 0.95 } else { 0.5 }),
            }),
            buffer_bytes: way.buffer.map(|(least, most, how)| Known {
                value: [least, most],
                how,
                confidence: whole(if how == How::Measured { 0.9 } else { 0.6 }),
            }),
            background: (beside as f64 / host.train.total.max(1) as f64 * 1e3).round() / 1e3,
            faulty: way.faulty,
            marked: host.marked,
            standing: self.standing_found(asker),
        }
    }

    /// The queue that long flows keep at a client's port.
    fn standing_found(&self, asker: u32) -> Option<StandingFound> {
        let standing = self.standing.get(&asker)?;
        let rounds: Vec<&Record> = self.ended().filter(|record| record.asker == asker).collect();
        let waits: Vec<u64> = rounds.iter().filter_map(|record| standing.waited(record)).collect();
        Some(StandingFound {
            flows: standing.flows.clone(),
            queue_s: seconds(quantile(&waits, 0.5)?),
            rounds: [waits.len() as u64, rounds.len() as u64],
        })
    }

    fn hosts_found(&self) -> BTreeMap<String, HostFound> {
        let watch = &self.capture.watch;
        let askers: BTreeSet<u32> =
            watch.records.rounds.iter().chain(&watch.records.alone).map(|one| one.asker).collect();
        let mut shown: Vec<u32> = askers.iter().copied().collect();
        shown.extend((0..watch.hosts.all.len() as u32).filter(|host| !askers.contains(host)));
        shown.truncate(MOST_HOSTS);
        let found = |number: &u32| {
            let host = &watch.hosts.all[*number as usize];
            (name_of(host.address), self.host_found(host, askers.contains(number)))
        };
        shown.iter().map(found).collect()
    }

    fn host_found(&self, host: &Host, asks: bool) -> HostFound {
        let said = host.syns > 0;
        let segment = segment_of(&self.capture.watch.hosts.all).max(1);
        let way = self.ways.values().max_by_key(|way| way.loaded);
        let linux = may_be_linux(&self.capture.watch.hosts.all);
        let timeouts: Vec<u64> = timeouts_of(host, way, linux).collect();
        HostFound {
            role: if asks { "client" } else { "server" },
            segment: (host.largest > 0).then_some(host.largest),
            sack: said.then_some(host.may_sack),
            timestamps: said.then_some(host.stamps),
            window_scale: host.scale,
            ecn: said.then_some(host.ecn),
            initial_window: host.first_window.map(|bytes| bytes.div_ceil(u64::from(segment))),
            rto_min_s: way
                .filter(|_| timeouts.len() > 1)
                .and_then(|way| way.rto_min(&timeouts, linux))
                .map(|likely| seconds(likely[0])),
            segments_per_ack: (host.acks > 0)
                .then(|| (host.acknowledged as f64 / host.acks as f64 / f64::from(segment) * 100.0).round() / 100.0),
            ack_kept_back_s: host.kept_back.quantile(0.99).map(seconds),
            offloads: host.merged > 0,
            zero_windows: host.shut,
        }
    }
}

/// Goodput by number of servers, and the collapse point: the least number with a goodput below half of the largest at any smaller number,
/// there and at the next one if there is one.
fn points(episodes: &[EpisodeFound]) -> (Vec<PointFound>, Option<u32>) {
    let mut sums: BTreeMap<u32, (u64, f64, f64, f64)> = BTreeMap::new();
    for episode in episodes {
        let (count, bytes, took, stalled) = sums.entry(episode.fan_in).or_default();
        *count += 1;
        *bytes += episode.bytes as f64;
        *took += episode.took_s;
        *stalled += f64::from(episode.stall_s > HURTS * episode.took_s);
    }
    let point = |(fan_in, (count, bytes, took, stalled)): (u32, (u64, f64, f64, f64))| PointFound {
        fan_in,
        episodes: count,
        goodput_mbps: (bytes * 8.0 / took.max(1e-9) / 1e3).round() / 1e3,
        stalled: (stalled / count as f64 * 1e3).round() / 1e3,
    };
    let points: Vec<PointFound> = sums.into_iter().map(point).collect();
    let mut best = 0.0f64;
    let mut onset = None;
    for (place, point) in points.iter().enumerate() {
        let next = points.get(place + 1).is_none_or(|next| next.goodput_mbps < best / 2.0);
        if onset.is_none() && point.goodput_mbps < best / 2.0 && next {
            onset = Some(point.fan_in);
        }
        best = best.max(point.goodput_mbps);
    }
    (points, onset)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn episode(fan_in: u32, took_s: f64) -> EpisodeFound {
        let stalls = Vec::new();
        EpisodeFound {
            start_s: 0.0,
            fan_in,
            bytes: u64::from(fan_in) * 125_000,
            took_s,
            should_s: 0.001,
            stall_s: 0.0,
            signature: Signature::None,
            confidence: 1.0,
            asker: String::new(),
            lost: [0, 0],
            stalls,
        }
    }

    #[test]
    fn collapse_point_is_a_lasting_fall_below_half() {
        let seen = [episode(2, 0.002), episode(4, 0.1), episode(8, 0.008), episode(16, 0.2), episode(32, 0.2)];
        let (points, onset) = points(&seen);
        assert_eq!(points.iter().map(|point| point.fan_in).collect::<Vec<_>>(), [2, 4, 8, 16, 32]);
        assert_eq!(onset, Some(16));
    }
}
