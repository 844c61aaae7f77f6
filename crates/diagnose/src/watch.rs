//! Updates of connections, hosts and episodes by each segment.

use std::collections::BTreeMap;

use crate::copies::Copies;
use crate::dissect::{End, Segment, flag};
use crate::episode::{Ask, Episode, Evidence, LEAST_STALL, Open, Stall, keep};
use crate::flow::{FirstFlight, Flow, Flows};
use crate::half::Piece;
use crate::host::Hosts;
use crate::record::Records;

/// An endpoint that sends this much without a response pushes: there was no request.
const PUSHED: u64 = 8 << 10;
/// A request this soon after its handshake opened the connection for itself.
const AT_ONCE: u64 = 2_000_000;
/// Maximum number of a server's own stalls to keep per episode.
const MOST_WAITS: usize = 4;
/// Maximum number of losses per host whose row is kept; the same for timeouts.
const MOST_LOSSES: usize = 4096;
/// An ACK that is held back for this long is a delayed ACK.
const LATE: u64 = 10_000_000;
/// After this many copies, packets are known to pass this interface and to appear again.
const PASSES: u32 = 4;
/// Maximum number of interfaces and hosts to distinguish.
const MOST_WAYS: usize = 1 << 16;
/// Data that fills a hole within this time was reordered, not retransmitted, if no round trip is known.
const REORDERED: u64 = 100_000;

/// State while a capture is read.
#[derive(Default)]
pub(crate) struct Watch {
    pub copies: Copies,
    pub flows: Flows,
    pub hosts: Hosts,
    pub open: Open,
    pub records: Records,
    /// Segments counted.
    pub segments: u64,
    /// How often packets to a host, seen at one interface, appeared again at another.
    passed: BTreeMap<(u32, u128), u32>,
}

/// A piece of payload, and the connection's state before it.
struct Arrival {
    sender: usize,
    piece: Piece,
    from: u64,
    to: u64,
    /// Whether the other endpoint had not acknowledged all of it.
    useful: bool,
    /// Before it, all data had been acknowledged.
    settled: bool,
    acked: u64,
    next: u64,
    last: Option<u64>,
    /// Larger than any packet: the network card or the kernel merged several.
    merged: bool,
}

impl Watch {
    /// Processes a segment.
    pub fn see(&mut self, now: u64, segment: &Segment) {
        if !self.counts(now, segment) {
            return;
        }
        self.segments += 1;
        let hosts = &mut self.hosts;
        let flow = self.flows.of(segment, now, |address| hosts.number(address));
        let sender = flow.sender(segment);
        let begins_anew = segment.is(flag::SYN) && !segment.is(flag::ACK) && flow.speaker.is_some();
        if begins_anew || !flow.halves[sender].knows(segment.seq) {
            if let Some(turn) = flow.turn {
                self.open.leave(turn.episode);
            }
            self.flows.restart(segment, now);
        }
        let flow = self.flows.of(segment, now, |_| 0);
        flow.sent[sender] = flow.sent[sender].saturating_add(1);
        stack(flow, hosts, sender, segment);
        hosts.get(flow.hosts[1 - sender]).train.came(now, segment.packet);
        if segment.is(flag::SYN) {
            shake(flow, sender, segment, now);
        } else if segment.is(flag::ACK) {
            acknowledge(flow, hosts, sender, segment, now);
        }
        if segment.payload > 0 && !segment.is(flag::SYN | flag::RST) {
            self.payload(now, segment, sender);
        }
        self.records.take(&mut self.open.over, &mut self.hosts);
    }

    /// Whether a segment counts. Of two copies, the second counts if a router was captured on both sides, so that the segments are those
    /// that left it; else the first.
    fn counts(&mut self, now: u64, segment: &Segment) -> bool {
        let passes = |ways: &BTreeMap<(u32, u128), u32>, place: u32| {
            ways.get(&(place, segment.to.address)).is_some_and(|copies| *copies >= PASSES)
        };
        let Some(copy) = self.copies.look(now, segment) else { return !passes(&self.passed, segment.place) };
        let Some(from) = copy.from else { return false };
        let passed = passes(&self.passed, from);
        if segment.payload > 0 {
            let host = self.hosts.number(segment.to.address);
            self.hosts.get(host).inside.add(copy.after);
        }
        if self.passed.len() < MOST_WAYS || self.passed.contains_key(&(from, segment.to.address)) {
            *self.passed.entry((from, segment.to.address)).or_default() += 1;
        }
        passed
    }

    /// Finishes at the end of the capture.
    pub fn end(&mut self) {
        self.open.end();
        self.records.take(&mut self.open.over, &mut self.hosts);
        self.records.settle();
    }

    fn payload(&mut self, now: u64, segment: &Segment, sender: usize) {
        let Watch { flows, hosts, open, .. } = self;
        let flow = flows.of(segment, now, |_| 0);
        let half = &mut flow.halves[sender];
        // Ignore probes of an idle connection or of a closed window.
        let before = (half.acked, half.next, half.last, half.hole_since, half.has_hole());
        let (piece, from, to) = half.saw(now, segment.seq, segment.payload);
        let (acked, next, last, hole_since, had_hole) = before;
        if segment.payload == 1 && piece == Piece::Again {
            return;
        }
        let arrival = Arrival {
            sender,
            piece,
            from,
            to,
            useful: to > acked,
            settled: acked >= next && last.is_some(),
            acked,
            next,
            last,
            merged: segment.payload > packet_of(hosts, flow),
        };
        flow.halves[sender].last = Some(now);
        let host = hosts.get(flow.hosts[sender]);
        host.data += 1;
        host.behind += u64::from(matches!(piece, Piece::Fills | Piece::Again));
        host.merged += u64::from(arrival.merged);
        if !arrival.merged {
            host.largest = host.largest.max(segment.payload);
        }
        let receiver = hosts.get(flow.hosts[1 - sender]);
        let row = receiver.train.row;
        if flow.train_at_last.number == row.number && matches!(piece, Piece::Next | Piece::Beyond) {
            let missing = from.saturating_sub(next).div_ceil(u64::from(flow.halves[sender].largest.max(1)));
            receiver.chance.came(row.bytes, if piece == Piece::Beyond { missing } else { 0 });
        }
        if piece == Piece::Beyond && !had_hole {
            // The row of a lost tail is unknown: its hole appears late.
            flow.train_at_loss = Some(row).filter(|row| row.number == flow.train_at_last.number);
            let asked = flow.asker.is_some() && !flow.pushed && flow.requested_at > 0;
            flow.asked_before_loss = if asked { now.saturating_sub(flow.requested_at) } else { u64::MAX };
        }
        first_flight(flow, hosts, &arrival, now);
        match flow.asker {
            Some(asker) if asker == sender && !flow.pushed => request(flow, open, &arrival, now),
            Some(asker) if asker == sender => {
                // The receiver of pushed data sends: from now on it is the client.
                flow.pushed = false;
                flow.speaker = None;
                request(flow, open, &arrival, now);
            }
            Some(_) => answer(flow, hosts, open, &arrival, (now, hole_since, had_hole)),
            None => undecided(flow, hosts, open, &arrival, (now, hole_since, had_hole)),
        }
        flow.train_at_last = row;
        flow.allowed_at_last[1 - sender] = flow.allowed[1 - sender];
        if !flow.halves[sender].has_hole() {
            flow.train_at_loss = None;
        }
        waited(flow, hosts, segment, sender, now);
    }
}

/// The largest payload of a packet of a connection.
fn packet_of(hosts: &mut Hosts, flow: &Flow) -> u32 {
    let said = flow.hosts.map(|host| hosts.get(host).mss);
    said.into_iter().flatten().min().map_or(8_960, u32::from)
}

/// Records properties of a host's TCP stack.
fn stack(flow: &mut Flow, hosts: &mut Hosts, sender: usize, segment: &Segment) {
    let other = hosts.get(flow.hosts[1 - sender]);
    other.marked += u64::from(segment.ecn == 3 && segment.payload > 0);
    let host = hosts.get(flow.hosts[sender]);
    host.capable += u64::from(segment.ecn != 0);
    if segment.is(flag::SYN) {
        host.syns += 1;
        host.mss = segment.mss.or(host.mss);
        host.scale = segment.scale.or(host.scale);
        host.may_sack |= segment.may_sack;
        host.stamps |= segment.stamps.is_some();
        host.ecn |= segment.is(flag::ECE);
        flow.scales[sender] = segment.scale;
    }
}

/// Processes a SYN or a SYN-ACK.
fn shake(flow: &mut Flow, sender: usize, segment: &Segment, now: u64) {
    flow.halves[sender].begin(segment.seq.wrapping_add(1));
    if !segment.is(flag::ACK) {
        match flow.opener {
            None => (flow.opener, flow.syn_at) = (Some(sender), now),
            Some(_) => flow.syn_again = Some(now),
        }
    } else {
        if flow.opener.is_none() {
            (flow.opener, flow.syn_at) = (Some(1 - sender), now);
            // The SYN was not captured, so the handshake's duration is unknown.
            flow.syn_again = Some(now);
        }
        if flow.answered_at.is_some() {
            flow.syn_again = Some(now);
        }
        flow.answered_at = Some(now);
    }
}

/// Processes an ACK: bytes acknowledged, its delay, the receive window.
fn acknowledge(flow: &mut Flow, hosts: &mut Hosts, sender: usize, segment: &Segment, now: u64) {
    if flow.opener == Some(sender) && flow.open_at.is_none() && flow.answered_at.is_some() {
        flow.open_at = Some(now);
    }
    if let Some((stamp, _)) = segment.stamps
        && flow.asker.is_none_or(|asker| asker == sender)
    {
        flow.stamped(stamp, now);
    }
    let other = &mut flow.halves[1 - sender];
    let (before, last) = (other.acked, other.last);
    let news = other.acknowledged(now, segment.ack);
    let gained = other.acked.saturating_sub(before);
    let host = hosts.get(flow.hosts[sender]);
    if news && segment.payload == 0 && last.is_some() {
        host.acks += 1;
        host.acknowledged += gained;
        host.kept_back.add(now.saturating_sub(last.unwrap_or(now)));
    }
    let shift = match flow.scales {
        [Some(_), Some(_)] => flow.scales[sender].unwrap_or(0),
        _ => 0,
    };
    let room = u64::from(segment.window) << shift;
    // Without the scale, only a zero window is certain.
    let scale_known = flow.opener.is_some() && flow.open_at.is_some();
    let other = &flow.halves[1 - sender];
    let largest = u64::from(other.largest);
    flow.allowed[sender] = scale_known.then_some(other.acked + room);
    if segment.window == 0 || (scale_known && largest > 0 && room < largest) {
        host.shut += u64::from(segment.window == 0);
        flow.shut_at[sender] = Some(now);
    }
}

/// Measures the initial window: data on a new connection before its first ACK can have any effect.
fn first_flight(flow: &mut Flow, hosts: &mut Hosts, arrival: &Arrival, now: u64) {
    let Some((there, back)) = flow.handshake() else { return };
    let bytes = arrival.to - arrival.from;
    match &mut flow.first_flight {
        // The first data of the responding endpoint.
        None if arrival.from == 0
            && arrival.useful
            && flow.asker.is_none_or(|asker| asker != arrival.sender)
            && flow.speaker.is_some_and(|speaker| speaker != arrival.sender) =>
        {
            flow.first_flight = Some(FirstFlight { until: now + (there + back) * 9 / 10, bytes });
        }
        Some(flight) if arrival.piece == Piece::Next || arrival.piece == Piece::Beyond => {
            if now <= flight.until {
                flight.bytes = arrival.to;
            } else if flight.bytes > 0 {
                // If the link was idle before the next data, nothing of the first flight was still in a queue.
                if hosts.get(flow.hosts[1 - arrival.sender]).train.row.packets <= 1 {
                    let host = hosts.get(flow.hosts[arrival.sender]);
                    host.first_window = host.first_window.max(Some(flight.bytes));
                }
                flight.bytes = 0;
            }
        }
        _ => {}
    }
}

/// Decides roles: an endpoint that speaks first and gets a response is the client; one that keeps sending without a response pushes.
fn undecided(flow: &mut Flow, hosts: &mut Hosts, open: &mut Open, arrival: &Arrival, at: (u64, u64, bool)) {
    let now = at.0;
    match flow.speaker {
        None => {
            flow.speaker = Some(arrival.sender);
            (flow.asked_at, flow.asked_again, flow.requested_at) = (now, None, now);
            flow.asked_bytes = arrival.to - arrival.from;
        }
        Some(speaker) if speaker == arrival.sender => {
            if matches!(arrival.piece, Piece::Again | Piece::Fills) {
                flow.asked_again = Some(now);
            }
            flow.asked_bytes = flow.asked_bytes.max(arrival.to);
            if flow.asked_bytes >= PUSHED {
                (flow.asker, flow.pushed) = (Some(1 - speaker), true);
                flow.asked_at = asked_at(flow);
                turn(flow, open, now, 0);
                answer(flow, hosts, open, arrival, at);
            }
        }
        Some(speaker) => {
            flow.asker = Some(speaker);
            flow.asked_at = asked_at(flow);
            turn(flow, open, now, 0);
            flow.speaker = Some(arrival.sender);
            answer(flow, hosts, open, arrival, at);
        }
    }
}

/// Begin of a turn: the SYN if the connection was opened for it.
fn asked_at(flow: &Flow) -> u64 {
    match flow.open_at {
        Some(open) if flow.asked_at.saturating_sub(open) <= AT_ONCE && flow.syn_at > 0 => flow.syn_at,
        _ => flow.asked_at,
    }
}

/// Starts a turn, whose response starts at this offset.
fn turn(flow: &mut Flow, open: &mut Open, now: u64, from: u64) {
    let asker = flow.asker.unwrap_or(0);
    let server = flow.ends[1 - asker];
    let ask = Ask {
        asker: flow.hosts[asker],
        // A pushing endpoint has a port for each connection, so ignore the port.
        server: if flow.pushed { End { port: 0, ..server } } else { server },
        host: flow.hosts[1 - asker],
        asked: flow.asked_at,
        requested: flow.requested_at,
        request: if flow.pushed { 0 } else { flow.asked_bytes },
        from,
        pushed: flow.pushed,
        anew: flow.syn_at > 0 && flow.asked_at == flow.syn_at,
    };
    if let Some(turn) = flow.turn.take() {
        open.leave(turn.episode);
    }
    flow.turn = Some(open.ask(&ask, now));
    flow.fresh_at = None;
}

/// Processes the client's payload.
fn request(flow: &mut Flow, open: &mut Open, arrival: &Arrival, now: u64) {
    if matches!(arrival.piece, Piece::Again | Piece::Fills) {
        flow.asked_again = Some(now);
        return;
    }
    let asker = arrival.sender;
    if flow.speaker == Some(asker) {
        // A request in two parts, the second of which waited for an ACK.
        let other = &flow.halves[asker];
        let held = other.acked_at.saturating_sub(arrival.last.unwrap_or(now));
        if arrival.settled && held >= LATE {
            flow.let_go_at = Some(now);
        }
        flow.asked_bytes += arrival.to - arrival.from;
        if let Some(turn) = flow.turn
            && let Some(episode) = open.get(turn.episode)
        {
            episode.members[turn.member as usize].request = flow.asked_bytes;
        }
        return;
    }
    flow.speaker = Some(asker);
    (flow.asked_at, flow.asked_again, flow.let_go_at, flow.requested_at) = (now, None, None, now);
    flow.asked_bytes = arrival.to - arrival.from;
    let from = flow.halves[1 - asker].next;
    turn(flow, open, now, from);
}

/// Processes the server's payload.
fn answer(flow: &mut Flow, hosts: &mut Hosts, open: &mut Open, arrival: &Arrival, at: (u64, u64, bool)) {
    flow.speaker = Some(arrival.sender);
    let (now, hole_since, had_hole) = at;
    let Some(turn) = flow.turn else { return };
    let Some(episode) = open.get(turn.episode) else { return };
    let asker = hosts.get(flow.hosts[1 - arrival.sender]);
    let round_trip = asker.round_trip.unwrap_or(2 * REORDERED);
    if let Some(fresh) = flow.fresh_at.take() {
        episode.settle(turn.member, fresh, now.saturating_sub(fresh) < round_trip / 2);
    }
    if arrival.useful {
        silence(flow, hosts, episode, turn.member, arrival, (now, round_trip));
    }
    let member = &mut episode.members[turn.member as usize];
    episode.last_heard = now;
    member.last = now;
    if member.first.is_none() {
        member.first = Some(now);
        first_byte(flow, hosts, member.asked, arrival, now);
    }
    if arrival.useful {
        member.done = now;
    }
    member.to = member.to.max(arrival.to);
    member.whole = !flow.halves[arrival.sender].has_hole();
    let pushed = flow.pushed;
    let host = hosts.get(flow.hosts[1 - arrival.sender]);
    *(if pushed { &mut host.pushed } else { &mut host.asked_for }) += arrival.to - arrival.from;
    let lost = match arrival.piece {
        Piece::Fills => had_hole && now.saturating_sub(hole_since) > (round_trip / 2).max(REORDERED),
        Piece::Again => arrival.useful,
        _ => false,
    };
    if lost {
        member.lost += 1;
        host.lost += 1;
        if host.losses.len() < MOST_LOSSES {
            host.losses.extend(flow.train_at_loss.map(|row| (row, flow.asked_before_loss)));
        }
    } else if arrival.piece == Piece::Fills {
        member.reordered += 1;
        host.reordered += 1;
    }
}

/// Records the stall that a piece of a response ends, if any: of its episode, or of its server alone.
fn silence(
    flow: &mut Flow,
    hosts: &mut Hosts,
    episode: &mut Episode,
    member: u32,
    arrival: &Arrival,
    (now, round_trip): (u64, u64),
) {
    let heard = episode.last_heard.max(episode.start);
    let member = &mut episode.members[member as usize];
    let (own, silence) = (now.saturating_sub(member.last), now.saturating_sub(heard));
    if own.max(silence) < LEAST_STALL {
        return;
    }
    let stall = Stall {
        from: member.last,
        to: now,
        server: member.server,
        evidence: evidence(flow, arrival, member.first.is_none(), (now, member.last)),
        row: flow.train_at_loss,
        timer: now.saturating_sub(flow.halves[arrival.sender].acked_at.max(member.requested)),
        before: arrival.from.saturating_sub(member.from),
    };
    if matches!(stall.evidence, Evidence::Fresh { burst: None, .. }) {
        flow.fresh_at = Some(now);
    }
    if stall.evidence == Evidence::Oldest && own >= 5 * round_trip {
        let host = hosts.get(flow.hosts[arrival.sender]);
        if host.timeouts.len() < MOST_LOSSES {
            host.timeouts.push((stall.timer, own));
        }
    }
    keep(&mut member.waits, stall, MOST_WAITS);
    if silence >= LEAST_STALL {
        episode.stalled(Stall { from: heard, ..stall });
    }
}

/// Records the time to the first byte, if no loss delayed the request or the connection.
fn first_byte(flow: &Flow, hosts: &mut Hosts, asked: u64, arrival: &Arrival, now: u64) {
    let asker = 1 - arrival.sender;
    if flow.asked_again.is_some() || flow.pushed || asked != flow.asked_at || flow.syn_at == asked {
        return;
    }
    let host = hosts.get(flow.hosts[asker]);
    let took = now.saturating_sub(asked);
    host.firsts.add(took);
    if host.train.row.packets <= 1 {
        host.idle_firsts.add(took);
    }
    if let Some((there, back)) = flow.handshake() {
        host.round_trip = Some(host.round_trip.map_or(there + back, |least| least.min(there + back)));
        let (near, far) = if flow.opener == Some(asker) { (back, there) } else { (there, back) };
        match () {
            () if far > 4 * near => host.places.at_asker += 1,
            () if near > 4 * far => host.places.at_server += 1,
            () => host.places.between += 1,
        }
    }
}

/// Evidence of a stall's cause.
fn evidence(flow: &Flow, arrival: &Arrival, first: bool, (now, since): (u64, u64)) -> Evidence {
    let asker = 1 - arrival.sender;
    let after = |at: Option<u64>| at.is_some_and(|at| at > since);
    match arrival.piece {
        _ if flow.shut_at[asker].is_some_and(|at| at >= since) && !first => Evidence::Shut,
        Piece::Fills | Piece::Again if arrival.from <= arrival.acked => Evidence::Oldest,
        Piece::Fills | Piece::Again if arrival.to >= arrival.next => Evidence::Tail,
        Piece::Fills | Piece::Again => Evidence::Resent,
        _ if first && after(flow.let_go_at) => Evidence::LateAck,
        _ if first && after(flow.asked_again) => Evidence::Request,
        _ if first && after(flow.syn_again) && flow.syn_at == flow.asked_at => Evidence::Handshake,
        Piece::Beyond => Evidence::Tail,
        // When data last arrived, the receive window did not allow this.
        Piece::Next if !first && flow.allowed_at_last[asker].is_some_and(|allowed| arrival.to > allowed) => {
            Evidence::Shut
        }
        Piece::Next => {
            let half = &flow.halves[arrival.sender];
            let held = half.acked_at.saturating_sub(arrival.last.unwrap_or(now));
            let late = !first && arrival.settled && held >= LATE && held * 10 >= now.saturating_sub(since) * 6;
            let burst = arrival.merged.then_some(true);
            if late { Evidence::LateAck } else { Evidence::Fresh { first, burst } }
        }
    }
}

/// Records a packet's minimum queueing delay: it echoes a timestamp, so it left before the segment with the next timestamp arrived.
fn waited(flow: &Flow, hosts: &mut Hosts, segment: &Segment, sender: usize, now: u64) {
    let Some((_, echoed)) = segment.stamps else { return };
    if flow.asker != Some(1 - sender) {
        return;
    }
    let host = hosts.get(flow.hosts[1 - sender]);
    if let (Some(later), Some(round_trip)) = (flow.sent_later_than(echoed), host.round_trip) {
        let waited = now.saturating_sub(later).saturating_sub(round_trip);
        // More than a buffer's delay: the sender waited.
        if waited > 0 && flow.asked_again.is_none() {
            host.waited.add(waited);
        }
    }
}
