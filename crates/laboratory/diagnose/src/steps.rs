//! Next steps that the capture alone supports, for every verdict: remedies with their effect on the recorded stalls, who can mend a cause
//! that is not the network's, and which recording decides without a verdict.

use crate::diagnosis::{Cause, CauseFound, Diagnosis, FlowFound, Signature, StallFound};
use crate::verdict::{is_of_one_server, stalls};
use crate::words::time;

/// A minimum RTO that data centres use.
const SHORT_RTO_S: f64 = 0.005;
/// Linux's default of the minimum RTO.
const USUAL_RTO_S: f64 = 0.2;
/// A share of the lost time from which a measure is named.
const NAMED: f64 = 0.2;

impl Diagnosis {
    /// The next steps for the user; never empty.
    pub fn next_steps(&self) -> Vec<String> {
        let verdict = &self.verdict;
        if let Some(rdma) = self.rdma.as_ref().filter(|_| self.inputs.iter().all(|input| input.tcp == 0)) {
            return rdma.steps();
        }
        match verdict.causes.first() {
            Some(first) if verdict.impaired => of_cause(self, first),
            Some(first) if verdict.incast.is_none() => vec![format!(
                "No cause is certain: the likeliest, {}, has {:.0} % of the lost time with a confidence of {:.0} %. {}.",
                first.cause.word(),
                100.0 * first.share,
                100.0 * first.confidence,
                to_record(self)
            )],
            _ if verdict.incast.is_none() => vec![format!("{}.", to_record(self))],
            _ => vec![match self.rounds.count {
                0 => "Nothing needs changing for the network: record while it is slow.".into(),
                count => {
                    format!("Nothing needs changing for these {count} rounds: record while it is slow, if it was not.")
                }
            }],
        }
    }
}

/// The recording that would decide.
fn to_record(found: &Diagnosis) -> String {
    match is_of_one_server(found) {
        true => "Record at the client, whose packets show all servers: fanin record --run 30".into(),
        false => "Record all headers at the client while it is slow, for longer: fanin record --run 30".into(),
    }
}

fn of_cause(found: &Diagnosis, first: &CauseFound) -> Vec<String> {
    let lost = format!("{} in {} stalls", time(first.stall_s), first.stalls);
    let at = first.servers.first().map_or(String::new(), |server| format!(", most of it at {}", server.server));
    match first.cause {
        Cause::Incast => of_incast(found, first),
        Cause::FullQueue => vec![format!(
            "One response filled a queue alone and lost {lost}: pace it (fq, or BBR), limit its window, or give that port more buffer."
        )],
        Cause::StandingQueue => of_standing(found, &lost),
        Cause::BadLink => vec![format!(
            "The main cause is bad-link, not incast, with {lost}{at}: replace the cable, the transceiver or the port. `ethtool -S` on both ends \
             counts its errors."
        )],
        Cause::SlowServer => vec![format!(
            "The main cause is slow-server, not incast, with {lost}{at}: find out why the server responds late."
        )],
        Cause::Receiver => vec![format!(
            "The main cause is receiver, not incast, with {lost}: let the client read sooner, or give its sockets more memory."
        )],
        Cause::DelayedAck => vec![format!(
            "The main cause is delayed-ack, not incast, with {lost}{at}: let servers send a response by one call, or set TCP_NODELAY."
        )],
        Cause::Unknown => vec![to_record(found)],
    }
}

/// Remedies against a queue that long flows keep.
fn of_standing(found: &Diagnosis, lost: &str) -> Vec<String> {
    let Some(standing) = &found.way.standing else { return vec![to_record(found)] };
    let [waited, all] = standing.rounds;
    let flow = |flow: &FlowFound| format!("{} ({} B)", flow.server, flow.bytes);
    let flows = standing.flows.iter().map(flow).collect::<Vec<_>>().join(", ");
    vec![
        format!(
            "{waited} of {all} rounds waited {} in a queue that {flows} kept, and lost {lost}: give these flows a class of their own at the client's \
             port, with less weight, or move them to another time.",
            time(standing.queue_s)
        ),
        "An AQM at that port (fq_codel, or marking with ECN), or pacing at the flows' servers below the link's rate, keeps the queue short without \
         classes."
            .into(),
    ]
}

/// Remedies against incast whose effect on the recorded stalls needs no model.
fn of_incast(found: &Diagnosis, first: &CauseFound) -> Vec<String> {
    let own: Vec<&StallFound> = stalls(found).filter(|stall| stall.cause == Cause::Incast).collect();
    let mut steps = vec![];
    let of_timers: Vec<&&StallFound> = own.iter().filter(|stall| stall.signature == Signature::Rto).collect();
    let timers_s: f64 = of_timers.iter().map(|stall| stall.took_s).sum();
    let least_s = least_rto(found);
    if timers_s > NAMED * first.stall_s && least_s > 2.0 * SHORT_RTO_S {
        let trip_s = found.way.round_trip_s.as_ref().map_or(0.0, |known| known.value);
        let with_s = timers_s * (SHORT_RTO_S + trip_s) / (least_s + trip_s);
        let rounds = match found.rounds.count {
            0 => String::new(),
            count => {
                let mean_s = found.rounds.mean_took_s;
                let of_rounds: f64 = found
                    .episodes
                    .iter()
                    .flat_map(|one| &one.stalls)
                    .filter(|stall| is_timer(stall))
                    .map(|stall| stall.took_s)
                    .sum();
                let saved_s = of_rounds * (1.0 - with_s / timers_s) / count as f64;
                format!(", and a round about {} on average instead of {}", time(mean_s - saved_s), time(mean_s))
            }
        };
        steps.push(format!(
            "A minimum RTO of {} at the servers, instead of {}: {} timeouts took {}; with the same losses they take {}{rounds}.",
            time(SHORT_RTO_S),
            time(least_s),
            of_timers.len(),
            time(timers_s),
            time(with_s)
        ));
    }
    steps.extend(limit(found));
    if steps.is_empty() {
        steps.push(format!(
            "Request from fewer servers at once: {} stalls took {} after losses at a full queue.",
            first.stalls,
            time(first.stall_s)
        ));
    }
    if is_of_one_server(found) {
        steps.push(format!("{}.", to_record(found)));
    }
    steps
}

fn is_timer(stall: &StallFound) -> bool {
    stall.cause == Cause::Incast && stall.signature == Signature::Rto
}

/// The minimum RTO of the servers, as measured, or Linux's default.
fn least_rto(found: &Diagnosis) -> f64 {
    let servers = found.hosts.values().filter(|host| host.role == "server");
    servers.filter_map(|host| host.rto_min_s).min_by(f64::total_cmp).unwrap_or(USUAL_RTO_S)
}

/// A number of servers whose first flights fit the least buffer.
fn limit(found: &Diagnosis) -> Option<String> {
    /// Linux's initial window, in segments (RFC 6928).
    const WINDOW: u64 = 10;
    let [least, most] = found.way.buffer_bytes.as_ref()?.value;
    let servers = found.usual_fan_in()?;
    let hosts = || found.hosts.values().filter(|host| host.role == "server");
    let segment = u64::from(hosts().filter_map(|host| host.segment).max()?);
    let window = hosts().filter_map(|host| host.initial_window).max().unwrap_or(WINDOW);
    let usual = found.episodes.iter().filter(|one| one.fan_in == servers);
    let (count, bytes) = usual.fold((0, 0), |(count, sum), one| (count + 1, sum + one.bytes));
    let response = bytes / (count * u64::from(servers)).max(1);
    let flight = (window * segment).min(response).max(1);
    let at_once = (least / flight).max(1);
    (at_once < u64::from(servers)).then(|| {
        let noun = if at_once == 1 { "server" } else { "servers" };
        format!(
            "At most {at_once} {noun} at once instead of {servers} (fanin-limit): the first {flight} B of each fit a buffer of {least} B, the \
             least that fits the capture (at most {most} B)."
        )
    })
}
