//! Updates of connections, hosts and episodes by each segment.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::copies::Copies;
use crate::diagnosis::Place;
use crate::dissect::{End, Segment, flag};
use crate::episode::{Ask, Episode, Evidence, LEAST_STALL, Open, Stall, keep};
use crate::flow::{FirstFlight, Flow, Flows};
use crate::half::{Half, Piece};
use crate::host::{Host, Hosts, Loss, Places, Timer};
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
/// Linux holds an ACK back for 40 ms, and a clock tick more.
const HELD_BACK: RangeInclusive<u64> = 36_000_000..=48_000_000;
/// After this many copies, packets are known to pass this interface and to appear again.
const PASSES: u32 = 4;
/// A capture that ends this long after the last data of a round ends within a stall.
const LEAST_UNFINISHED: u64 = 20_000_000;
/// An ACK that is older than this and two round trips has arrived, or is lost.
const ON_ITS_WAY: u64 = 1_000_000;
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
    /// Time of the last segment.
    now: u64,
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
        self.now = now;
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
        flow.hops[sender] = hops(segment.ttl);
        let gap = number(flow, hosts, segment, sender);
        let (clock, echoed) = (&mut flow.halves[sender].clock, segment.stamps);
        flow.delay = echoed.and_then(|(stamp, _)| clock.came(stamp, now));
        let heard = &mut flow.halves[sender].echoed;
        flow.since_heard = echoed.filter(|(_, echo)| *echo != 0).and_then(|(_, echo)| heard.came(echo, now));
        stack(flow, hosts, sender, segment);
        hosts.get(flow.hosts[1 - sender]).train.came(now, segment.packet);
        flow.halves[1 - sender].heard_at = now;
        if segment.is(flag::SYN) {
            shake(flow, sender, segment, now);
        } else if segment.is(flag::ACK) {
            acknowledge(flow, hosts, &mut self.open, sender, segment, now);
        }
        if segment.payload > 0 && !segment.is(flag::SYN | flag::RST) {
            self.payload(now, segment, sender, gap);
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

    /// Bytes that arrived, as ACKs show, and that the capture lacks.
    pub fn lacking(&self) -> u64 {
        self.flows.all().iter().flat_map(|flow| &flow.halves).map(|half| half.lacking).sum()
    }

    /// Where the packets were captured, if most connections show the same.
    pub fn place(&self) -> Option<Place> {
        let at = |flow: &Flow| Some(flow.near()? == flow.asker?);
        let votes: Vec<bool> = self.flows.all().iter().filter_map(at).collect();
        let by_hops = votes.iter().filter(|client| **client).count() as u64;
        // Without a router in between, handshakes show it.
        let sum = |of: fn(&Places) -> u64| self.hosts.all.iter().map(|host| of(&host.places)).sum::<u64>();
        let (client, all) = match votes.len() as u64 {
            0 => (sum(|places| places.at_asker), sum(|places| places.at_asker + places.between + places.at_server)),
            all => (by_hops, all),
        };
        match () {
            () if client * 2 > all => Some(Place::Client),
            () if votes.is_empty() && sum(|places| places.at_server) * 2 <= all => None,
            () if client * 2 < all => Some(Place::Server),
            () => None,
        }
    }

    /// Finishes at the end of the capture.
    pub fn end(&mut self) {
        let Watch { flows, open, now, .. } = self;
        flows.all().iter().for_each(|flow| unfinished(flow, open, *now));
        self.open.end();
        self.records.take(&mut self.open.over, &mut self.hosts);
        self.records.settle();
    }

    fn payload(&mut self, now: u64, segment: &Segment, sender: usize, gap: Option<u16>) {
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
        sent(flow, hosts, &arrival, segment.payload, gap);
        fit_scale(flow, sender);
        let receiver = hosts.get(flow.hosts[1 - sender]);
        let row = receiver.train.row;
        if flow.train_at_last.number == row.number && matches!(piece, Piece::Next | Piece::Beyond) {
            let missing = from.saturating_sub(next).div_ceil(u64::from(flow.halves[sender].largest.max(1)));
            receiver.chance.came(row.bytes, if piece == Piece::Beyond { missing } else { 0 });
        }
        flow.arrived = flow.hosts.map(|host| hosts.get(host).train.total);
        flow.arrived[1 - sender] -= u64::from(segment.packet).min(flow.arrived[1 - sender]);
        level(flow, hosts, &arrival, now);
        if piece == Piece::Beyond && !had_hole {
            flow.entered_at_loss = flow.entered_before;
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
        if piece != Piece::Again {
            flow.needless = None;
        }
        flow.halves[sender].latest = segment.payload;
        flow.train_at_last = row;
        flow.allowed_at_last[1 - sender] = flow.allowed[1 - sender];
        if !flow.halves[sender].has_hole() {
            (flow.train_at_loss, flow.entered_at_loss) = (None, None);
        }
        waited(flow, hosts, segment, sender, now);
    }
}

/// Records a payload among those of the host that sent it.
fn sent(flow: &Flow, hosts: &mut Hosts, arrival: &Arrival, payload: u32, gap: Option<u16>) {
    let host = hosts.get(flow.hosts[arrival.sender]);
    if matches!(arrival.piece, Piece::Next | Piece::Beyond) && arrival.last.is_some() {
        host.numbering.saw(arrival.piece == Piece::Beyond, gap);
    }
    host.data += 1;
    host.sized(payload);
    host.behind += u64::from(matches!(arrival.piece, Piece::Fills | Piece::Again));
    host.merged += u64::from(arrival.merged);
    if !arrival.merged {
        host.largest = host.largest.max(payload);
    }
}

/// Raises the least window scale of a receiver, so that the data in flight fit the window that it announced.
fn fit_scale(flow: &mut Flow, sender: usize) {
    /// The largest scale (RFC 7323).
    const MOST: u8 = 14;
    let (half, window) = (&flow.halves[sender], u64::from(flow.window[1 - sender]));
    let scale = &mut flow.least_scale[1 - sender];
    while window > 0 && *scale < MOST && half.next.saturating_sub(half.acked) > window << *scale {
        *scale += 1;
    }
    // A window that is full to the byte limits the sender.
    if half.next.saturating_sub(half.acked) == window << *scale {
        flow.allowed[1 - sender] = flow.allowed[1 - sender].or(Some(half.next));
    }
}

/// Hops that a packet has passed, judged by the usual first values of its TTL.
fn hops(ttl: u8) -> Option<u8> {
    [64, 128, 255].into_iter().find(|first| ttl <= *first).map(|first| first - ttl)
}

/// Counts packets of an endpoint that did not pass here. Returns how many are missing directly before this segment, if known.
fn number(flow: &mut Flow, hosts: &mut Hosts, segment: &Segment, sender: usize) -> Option<u16> {
    if segment.is(flag::SYN | flag::RST) {
        return None;
    }
    let packets = segment.payload.div_ceil(packet_of(hosts, flow).max(1)).clamp(1, 64) as u16;
    let begun = flow.halves[sender].ids.has_begun();
    let gap = flow.halves[sender].ids.came(segment.id, packets);
    if !begun && flow.skipped[sender] == Some(0) && segment.payload == 0 {
        return None;
    }
    flow.skipped[sender] = flow.skipped[sender].zip(gap).map(|(before, gap)| before.saturating_add(u32::from(gap)));
    gap
}

/// Records the delay of a response's packet in queues, by its timestamp. At the server, its ACK will show that.
fn level(flow: &mut Flow, hosts: &mut Hosts, arrival: &Arrival, now: u64) {
    let sender = arrival.sender;
    if flow.near() == Some(sender) {
        match arrival.piece {
            _ if flow.asker == Some(sender) => {}
            Piece::Next => flow.timed.get_or_insert_default().sent(arrival.to, now),
            _ => flow.entered_at_loss = flow.timed.as_mut().and_then(|timed| timed.sent_again(arrival.from)),
        }
        (flow.entered_before, flow.entered) = (flow.entered, Some(now));
        return;
    }
    // Without timestamps, the level is unknown.
    let level = flow.delay.unwrap_or(0);
    let entered = now.saturating_sub(level);
    if flow.asker == Some(1 - sender) {
        hosts.get(flow.hosts[1 - sender]).levels.add(entered, level);
    }
    (flow.entered_before, flow.entered) = (flow.entered, Some(entered));
}

/// The largest payload of a packet of a connection.
fn packet_of(hosts: &mut Hosts, flow: &Flow) -> u32 {
    const JUMBO: u32 = 8_960;
    let said = flow.hosts.map(|host| hosts.get(host).mss).into_iter().flatten().min().map(u32::from);
    let seen = flow.hosts.map(|host| hosts.get(host).usual.0).into_iter().filter(|size| *size > 0).min();
    said.or(seen).unwrap_or(JUMBO)
}

/// Records properties of a host's TCP stack.
fn stack(flow: &mut Flow, hosts: &mut Hosts, sender: usize, segment: &Segment) {
    let other = hosts.get(flow.hosts[1 - sender]);
    other.marked += u64::from(segment.ecn == 3 && segment.payload > 0);
    let host = hosts.get(flow.hosts[sender]);
    host.capable += u64::from(segment.ecn != 0);
    if segment.is(flag::SYN) && segment.cut {
        host.mss = segment.mss.or(host.mss);
        flow.options_cut = true;
    } else if segment.is(flag::SYN) {
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
fn acknowledge(flow: &mut Flow, hosts: &mut Hosts, open: &mut Open, sender: usize, segment: &Segment, now: u64) {
    if flow.opener == Some(sender) && flow.open_at.is_none() && flow.answered_at.is_some() {
        flow.open_at = Some(now);
    }
    if let Some((stamp, _)) = segment.stamps
        && flow.asker.is_none_or(|asker| asker == sender)
    {
        flow.stamped(stamp, now);
    }
    let client = flow.asker.or(flow.opener).or(flow.presumed_asker());
    let other = &mut flow.halves[1 - sender];
    let (before, last, next, had_hole) = (other.acked, other.last, other.next, other.has_hole());
    let news = other.acknowledged(now, segment.ack);
    // A header that is cut off may have had one.
    flow.selective[sender] = segment.sack.is_some() || segment.cut;
    let (gained, all) = (other.acked.saturating_sub(before), other.acked == other.next);
    if had_hole && !other.has_hole() {
        closed(flow, open);
    }
    let other = &flow.halves[1 - sender];
    // The capture lacks the client's packets, or this request.
    if segment.payload > 0 && other.next > next && client != Some(sender) {
        (flow.asker, flow.request_lacking) = (Some(1 - sender), true);
    } else if segment.payload == 0 && flow.asker == Some(1 - sender) && flow.turn.is_some() && all {
        flow.bare_ack = Some(now);
    }
    window(flow, sender, segment, news, now);
    if flow.asker == Some(sender) && flow.place() == Some(Place::Server) {
        round_trip(flow, hosts, sender, segment, now);
    }
    needless(flow, hosts, open, sender, segment, now);
    let host = hosts.get(flow.hosts[sender]);
    if news && segment.payload == 0 && last.is_some() {
        host.acks += 1;
        host.acknowledged += gained;
        host.kept_back.add(now.saturating_sub(last.unwrap_or(now)));
    }
    limit(flow, hosts, sender, segment, now);
}

/// Records that an ACK closed the last hole of a response: data that the capture lacks has arrived.
fn closed(flow: &Flow, open: &mut Open) {
    if let Some(turn) = flow.turn
        && let Some(episode) = open.get(turn.episode)
    {
        episode.members[turn.member as usize].whole = true;
    }
}

/// Measures a round trip by an ACK, at the server.
fn round_trip(flow: &mut Flow, hosts: &mut Hosts, sender: usize, segment: &Segment, now: u64) {
    let other = &flow.halves[1 - sender];
    // An ACK of all data may have been held back.
    let known = other.acked < other.next;
    let selected = segment.sack.and_then(|(_, end)| other.selected(end));
    let covered = selected.or(Some(other.acked).filter(|_| known));
    if let Some(sent) = covered.zip(flow.timed.as_mut()).and_then(|(to, timed)| timed.acknowledged(to)) {
        let levels = &mut hosts.get(flow.hosts[sender]).levels;
        levels.add(sent, now.saturating_sub(sent));
        levels.exact = true;
    }
}

/// Corrects a loss by a duplicate SACK (RFC 2883): the retransmission was needless.
fn needless(flow: &mut Flow, hosts: &mut Hosts, open: &mut Open, sender: usize, segment: &Segment, now: u64) {
    if segment.sack.is_some_and(|(_, end)| segment.ack.wrapping_sub(end) < 1 << 30)
        && let (Some(resent), Some(turn)) = (flow.resent_at.take(), flow.turn)
        && let Some(episode) = open.get(turn.episode)
    {
        episode.had_arrived(turn.member, resent, flow.shrunk_at[sender] == Some(now));
        let host = hosts.get(flow.hosts[sender]);
        host.lost = host.lost.saturating_sub(1);
        host.losses.pop();
    }
}

/// Records up to where an endpoint's window permits data, and whether that closes it.
fn limit(flow: &mut Flow, hosts: &mut Hosts, sender: usize, segment: &Segment, now: u64) {
    let scale_known = flow.opener.is_some() && flow.open_at.is_some() && !flow.options_cut;
    let shift = match flow.scales {
        _ if !scale_known => flow.least_scale[sender],
        [Some(_), Some(_)] => flow.scales[sender].unwrap_or(0),
        _ => 0,
    };
    let room = u64::from(segment.window) << shift;
    let other = &flow.halves[1 - sender];
    let largest = u64::from(other.largest);
    // A window far below the largest limits the sender, whatever the scale.
    let small = segment.window <= flow.most_window[sender] / 2;
    flow.allowed[sender] = (scale_known || small).then_some(other.acked + room);
    if segment.window == 0 || (largest > 0 && room < largest) {
        hosts.get(flow.hosts[sender]).shut += u64::from(segment.window == 0);
        flow.shut_at[sender] = Some(now);
    }
}

/// Records when a window grew without new data, or to twice as much: the application has read.
fn window(flow: &mut Flow, sender: usize, segment: &Segment, news: bool, now: u64) {
    let before = std::mem::replace(&mut flow.window[sender], segment.window);
    let grew = if news { u32::from(segment.window) >= 2 * u32::from(before) } else { segment.window > before };
    if grew && before > 0 && segment.payload == 0 && segment.sack.is_none() {
        flow.opened_at[sender] = Some(now);
    }
    // The data are still in the buffer.
    if news && u32::from(segment.window) * 4 <= u32::from(before) * 3 {
        flow.shrunk_at[sender] = Some(now);
    }
    flow.most_window[sender] = flow.most_window[sender].max(segment.window);
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
        // A response to a client whose packets the capture lacks.
        None if flow.opener == Some(1 - arrival.sender) && flow.sent[1 - arrival.sender] == 0 => {
            flow.asker = flow.opener;
            unseen_request(flow, open, arrival, now);
            answer(flow, hosts, open, arrival, at);
        }
        // The rest of a response whose request was before the capture.
        None if flow.presumed_asker() == Some(1 - arrival.sender) => {
            flow.asker = Some(1 - arrival.sender);
            (flow.asked_at, flow.requested_at, flow.asked_again) = (now, now, None);
            turn(flow, open, now, arrival.from, true);
            answer(flow, hosts, open, arrival, at);
        }
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
            // Requests to an endpoint whose packets the capture lacks.
            let unheard = flow.sent[1 - speaker] == 0 && flow.opener.or(flow.presumed_asker()) == Some(speaker);
            if flow.asked_bytes >= PUSHED && !unheard {
                (flow.asker, flow.pushed) = (Some(1 - speaker), true);
                flow.asked_at = asked_at(flow);
                turn(flow, open, now, 0, false);
                answer(flow, hosts, open, arrival, at);
            }
        }
        Some(speaker) => {
            flow.asker = Some(speaker);
            flow.asked_at = asked_at(flow);
            turn(flow, open, now, 0, false);
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

/// Starts a turn, whose response starts at this offset. `partial`: the capture begins within the response.
fn turn(flow: &mut Flow, open: &mut Open, now: u64, from: u64, partial: bool) {
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
        arrived: flow.arrived[asker],
        from,
        pushed: flow.pushed,
        anew: flow.syn_at > 0 && flow.asked_at == flow.syn_at,
        partial,
    };
    if let Some(turn) = flow.turn.take() {
        open.leave(turn.episode);
    }
    flow.turn = Some(open.ask(&ask, now));
    (flow.fresh_at, flow.bare_ack, flow.response_from) = (None, None, from);
}

/// Starts a turn whose request the capture lacks: with the client's latest round, if the last response ended before that began.
fn unseen_request(flow: &mut Flow, open: &mut Open, arrival: &Arrival, now: u64) {
    let asker = 1 - arrival.sender;
    flow.pushed = false;
    let begun = open.begun(flow.hosts[asker]).filter(|begun| arrival.last.is_some_and(|last| last < *begun));
    let echoed = flow.since_heard.filter(|_| flow.sent[asker] == 0).map(|since| now.saturating_sub(since));
    flow.asked_at = echoed.or(begun).unwrap_or(now).max(arrival.last.unwrap_or(0));
    (flow.requested_at, flow.asked_again, flow.let_go_at) = (flow.asked_at, None, None);
    flow.asked_bytes = 0;
    flow.skipped[arrival.sender] = Some(0);
    turn(flow, open, now, arrival.from, false);
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
    flow.skipped[1 - asker] = Some(0);
    let from = flow.halves[1 - asker].next;
    turn(flow, open, now, from, false);
}

/// Processes the server's payload.
fn answer(flow: &mut Flow, hosts: &mut Hosts, open: &mut Open, arrival: &Arrival, at: (u64, u64, bool)) {
    flow.speaker = Some(arrival.sender);
    let longest = &mut flow.longest[arrival.sender];
    *longest = (*longest).max(arrival.to.saturating_sub(flow.response_from));
    let (now, hole_since, had_hole) = at;
    if std::mem::take(&mut flow.request_lacking) {
        unseen_request(flow, open, arrival, now);
    }
    let Some(turn) = flow.turn else { return };
    let Some(episode) = open.get(turn.episode) else { return };
    let asker = hosts.get(flow.hosts[1 - arrival.sender]);
    let round_trip = asker.round_trip.unwrap_or(2 * REORDERED);
    if let Some((fresh, end)) = flow.fresh_at.take() {
        // A timer sends one segment, and more once that is acknowledged.
        let half = &flow.halves[arrival.sender];
        let burst = half.acked < end || now.saturating_sub(half.acked_at) < round_trip * 4 / 5;
        episode.settle(turn.member, fresh, burst && flow.place() != Some(Place::Server));
    }
    if arrival.piece == Piece::Again && flow.place() == Some(Place::Client) {
        // It had arrived: rounds still wait for new data.
        let acked_before = now.saturating_sub(flow.halves[arrival.sender].acked_at) > 2 * round_trip + ON_ITS_WAY;
        flow.needless = Some(flow.needless.unwrap_or(false) || (!arrival.useful && acked_before));
        return;
    }
    if arrival.useful {
        silence(flow, hosts, episode, turn.member, arrival, now, round_trip);
    }
    let arrived = flow.arrived[1 - arrival.sender] + arrival.to.saturating_sub(arrival.from);
    let member = &mut episode.members[turn.member as usize];
    (episode.last_heard, member.last) = (now, now);
    (episode.arrived_last, member.arrived_last) = (arrived, arrived);
    if member.first.is_none() {
        member.first = Some(now);
        member.beside = flow.arrived[1 - arrival.sender].saturating_sub(member.arrived);
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
        // Whoever captures at the client has seen it arrive.
        Piece::Again => arrival.useful && flow.near() != Some(1 - arrival.sender),
        _ => false,
    };
    if lost {
        member.lost += 1;
        host.lost += 1;
        lose(flow, host, arrival);
    } else if arrival.piece == Piece::Fills {
        member.reordered += 1;
        host.reordered += 1;
    }
}

/// Records a loss. Lost packets in a row are one.
fn lose(flow: &mut Flow, host: &mut Host, arrival: &Arrival) {
    let packets = (arrival.to - arrival.from).div_ceil(u64::from(flow.halves[arrival.sender].largest.max(1))) as u32;
    let server = flow.hosts[arrival.sender];
    let in_row = std::mem::replace(&mut flow.mended_to, arrival.to) == arrival.from;
    let skipped = &mut flow.skipped[arrival.sender];
    *skipped = skipped.map(|skipped| skipped.saturating_sub(packets));
    if let Some(last) = host.losses.last_mut().filter(|last| in_row && last.server == server) {
        last.packets += packets;
    } else if host.losses.len() < MOST_LOSSES {
        host.losses.push(Loss {
            server,
            row: flow.train_at_loss,
            asked: flow.asked_before_loss,
            entered: flow.entered_at_loss.or(flow.entered_before),
            packets,
        });
    }
}

/// Records the stall that a piece of a response ends, if any: of its episode, or of its server alone.
fn silence(
    flow: &mut Flow,
    hosts: &mut Hosts,
    episode: &mut Episode,
    member: u32,
    arrival: &Arrival,
    now: u64,
    round_trip: u64,
) {
    let (heard, arrived_heard) = (episode.last_heard.max(episode.start), episode.arrived_last);
    let member = &mut episode.members[member as usize];
    let arrived = flow.arrived[1 - arrival.sender];
    let (own, silence) = (now.saturating_sub(member.last), now.saturating_sub(heard));
    if own.max(silence) < LEAST_STALL {
        return;
    }
    let wait = Wait { first: member.first.is_none(), since: member.last, now, round_trip };
    let evidence = evidence(flow, arrival, &wait);
    let stall = Stall {
        from: member.last,
        to: now,
        server: member.server,
        evidence,
        row: flow.train_at_loss,
        timer: now.saturating_sub(flow.halves[arrival.sender].acked_at.max(member.requested)),
        before: arrival.from.saturating_sub(member.from),
        host: flow.hosts[arrival.sender],
        unheard: now.saturating_sub(flow.halves[arrival.sender].heard_at),
        skipped: flow.skipped[arrival.sender],
        entered: flow.entered_at_loss.or(flow.entered_before).filter(|_| member.first.is_some()),
        place: flow.place(),
        bare_ack: flow.bare_ack.map_or(0, |at| at.saturating_sub(member.requested)),
        needless: flow.needless,
        lost: member.lost.max(u32::from(flow.train_at_loss.is_some())),
        beside: arrived.saturating_sub(member.arrived_last),
        left: None,
    };
    if matches!(stall.evidence, Evidence::Fresh { burst: None, .. }) {
        flow.fresh_at = Some((now, arrival.to));
    }
    let again = matches!(stall.evidence, Evidence::Oldest | Evidence::Tail | Evidence::Resent);
    flow.resent_at = again.then_some(now);
    if stall.evidence == Evidence::Oldest && own >= 5 * round_trip {
        let host = hosts.get(flow.hosts[arrival.sender]);
        if host.timeouts.len() < MOST_LOSSES {
            host.timeouts.push(Timer { took: stall.timer, idle: own, selective: flow.selective[1 - arrival.sender] });
        }
    }
    keep(&mut member.waits, stall, MOST_WAITS);
    if silence >= LEAST_STALL {
        episode.stalled(Stall { from: heard, beside: arrived.saturating_sub(arrived_heard), ..stall });
    }
}

/// Records the stall within which the capture ends, if a response is certainly outstanding.
fn unfinished(flow: &Flow, open: &mut Open, now: u64) {
    let (Some(turn), Some(asker)) = (flow.turn, flow.asker) else { return };
    let Some(episode) = open.get(turn.episode) else { return };
    let (half, member) = (&flow.halves[1 - asker], &episode.members[turn.member as usize]);
    let (first, from) = (member.first.is_none(), episode.last_heard.max(episode.start));
    let shut = half.last.is_some_and(|last| flow.shut_at[asker].is_some_and(|at| at >= last));
    let outstanding = first || half.has_hole() || shut;
    if episode.cut || !outstanding || flow.pushed || now.saturating_sub(from) < LEAST_UNFINISHED {
        return;
    }
    let evidence = match () {
        () if !first && shut => Evidence::Shut,
        () if !first => Evidence::Resent,
        () if flow.asked_again.is_some() => Evidence::Request,
        () if flow.bare_ack.is_some() => Evidence::Fresh { first, burst: None },
        () => Evidence::Unfinished,
    };
    let stall = Stall {
        from,
        to: now,
        server: member.server,
        evidence,
        row: flow.train_at_loss,
        timer: now.saturating_sub(half.acked_at.max(member.requested)),
        before: half.next.saturating_sub(member.from),
        host: member.host,
        unheard: now.saturating_sub(half.heard_at),
        skipped: None,
        entered: flow.entered_at_loss,
        place: flow.place(),
        bare_ack: flow.bare_ack.map_or(0, |at| at.saturating_sub(member.requested)),
        needless: flow.needless,
        lost: u32::from(half.has_hole()),
        beside: 0,
        left: None,
    };
    episode.cut_off(turn.member, stall);
}

/// Records the round trip of a handshake, and the time to the first byte, if no loss delayed the request or the connection.
fn first_byte(flow: &Flow, hosts: &mut Hosts, asked: u64, arrival: &Arrival, now: u64) {
    let asker = 1 - arrival.sender;
    if flow.asked_again.is_some() || flow.pushed || asked != flow.asked_at {
        return;
    }
    let host = hosts.get(flow.hosts[asker]);
    if let Some((there, back)) = flow.handshake() {
        host.round_trip = Some(host.round_trip.map_or(there + back, |least| least.min(there + back)));
        let (near, far) = if flow.opener == Some(asker) { (back, there) } else { (there, back) };
        match () {
            () if far > 4 * near => host.places.at_asker += 1,
            () if near > 4 * far => host.places.at_server += 1,
            () => host.places.between += 1,
        }
    }
    let took = now.saturating_sub(asked);
    // Of a connection that was opened for the request, the handshake counts; without a duration, the capture lacks the request.
    if flow.syn_at == asked || took == 0 {
        return;
    }
    host.firsts.add(took);
    if host.train.row.packets <= 1 {
        host.idle_firsts.add(took);
    }
}

/// Whether a packet of the client ended a stall, by the timestamp that the server echoes.
fn is_let_go(flow: &Flow, now: u64, since: u64) -> bool {
    let took = now.saturating_sub(since);
    !flow.halves.iter().any(Half::has_hole)
        && flow.since_heard.is_some_and(|heard| heard < (took / 3).max(2 * ON_ITS_WAY))
}

/// A wait of a server's response for a piece of it.
struct Wait {
    /// Whether nothing of the response had arrived.
    first: bool,
    since: u64,
    now: u64,
    /// Round trip through empty queues.
    round_trip: u64,
}

/// Evidence of a stall's cause.
fn evidence(flow: &Flow, arrival: &Arrival, &Wait { first, since, now, round_trip }: &Wait) -> Evidence {
    let asker = 1 - arrival.sender;
    let after = |at: Option<u64>| at.is_some_and(|at| at > since);
    match arrival.piece {
        _ if flow.shut_at[asker].is_some_and(|at| at >= since) && !first => Evidence::Shut,
        // The client's last segment opened the window, after a long time.
        Piece::Next
            if !first
                && flow.opened_at[asker]
                    .is_some_and(|at| at >= since + LATE && at == flow.halves[arrival.sender].heard_at) =>
        {
            Evidence::Shut
        }
        Piece::Fills | Piece::Again if arrival.from <= arrival.acked => Evidence::Oldest,
        Piece::Fills | Piece::Again if arrival.to >= arrival.next => Evidence::Tail,
        Piece::Fills | Piece::Again => Evidence::Resent,
        _ if first && after(flow.let_go_at) => {
            let let_go = flow.let_go_at.unwrap_or(now);
            Evidence::LateAck { held: let_go - since.min(let_go), after: now - let_go, bytes: 0 }
        }
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
            // At the server, data that follow an ACK waited for it, whatever else was outstanding.
            let at_server = flow.place() == Some(Place::Server);
            let released = arrival.settled || (at_server && now.saturating_sub(half.acked_at) <= ON_ITS_WAY);
            // Data that waited for an ACK follow it within a round trip; later ones waited for their server.
            let after = now.saturating_sub(half.acked_at);
            let follows = after <= 2 * round_trip + ON_ITS_WAY + flow.delay.unwrap_or(0);
            let late = !first && released && follows && held >= LATE && held * 10 >= now.saturating_sub(since) * 6;
            let late_ack = Evidence::LateAck { held, after, bytes: half.acked_bytes };
            let burst = arrival.merged.then_some(true);
            if !first && flow.sent[asker] == 0 && is_let_go(flow, now, since) {
                // Only an ACK that a timer holds back comes after this time, with a short segment before it.
                let short =
                    half.latest < half.largest && HELD_BACK.contains(&now.saturating_sub(arrival.last.unwrap_or(now)));
                if short {
                    Evidence::LateAck { held: now.saturating_sub(since), after: 0, bytes: u64::from(half.latest) }
                } else {
                    Evidence::Shut
                }
            } else if late && flow.shrunk_at[asker] == Some(half.acked_at) {
                Evidence::Shut
            } else if late {
                late_ack
            } else {
                Evidence::Fresh { first, burst }
            }
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
