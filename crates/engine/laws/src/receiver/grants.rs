//! Grants: receive windows that divide a host's link among the connections that receive, in turns where they are many.
//! Sources: the project's own. Windows from the receiver as in ICTCP (Wu et al., CoNEXT 2010); turns of one segment as in credit
//!          schemes (NDP, SIGCOMM 2017; RFC 9293, sections 3.8.6 and 3.8.6.1, for windows and their probes).
//! Law:     P = rate RTT fills the path, Q = 2 queue 15 / 16 is what the port holds without headers, M = max(P, Q), B = min(P + queue, M).
//!          A granted right edge E never moves back; credit is E less the highest byte received, in whole segments. Connections that
//!          receive share B: w = B / n, at least a turn; without others for a period a connection has 4 P + queue. A request grants up to
//!          min(w, 10 MSS), data up to min(w, credit + 2 payload), as far as credit stays within min(B, M - rest), at least a turn: all
//!          credit may come at once. A request may fill 7 M / 8 in place of B, without regard to w if the response's size is known. Here rest is credit at rest; for data, credit that has rested for two periods counts up to B / 2. A
//!          connection left without a segment waits in a queue of turns; data frees credit for the head of the queue first. Once nothing
//!          has arrived and nothing was granted for max(2 RTT, 200 us), a timer gives turns for P bytes, at most `queue` and at least one,
//!          whatever credit there is: its owners do not use it. It doubles each time that nothing arrives, up to `idle`. A segment
//!          below the MSS with credit left ends a response: its connection rests. With less than an MSS left, or if the response went on
//!          after such an end before, it does so only if the response is as large as expected, which is the larger of the connection's last two, or the largest of the host's last 64 to 128
//!          without any; unless it is exactly as large as one of the two, the connection is in doubt. Those in doubt wait for turns on an
//!          idle link alone, after all others. A short segment that makes up the size of one of the two ends the response in any case.
//!          Beside others, a connection is granted no more than the remainder of the expected response, and a turn when it has waited
//!          after that.
//!          At rest, a connection whose peer speaks unasked keeps one MSS; others do while resting credit is within `queue`. A
//!          connection that has only small responses is left alone, with one MSS. A probe of a closed window is granted one MSS at once.
//!          With a limit L below the rate, L replaces the rate in P, and every advance of an edge is paid for at L: a grant takes at most
//!          (now - paid) L, where `paid` is the time by which L has paid for all before, and at least now - max(idle, 2 turns / L). Credit of
//!          a connection that closes is paid back. A connection whose segment is not paid for waits for its turn, whatever its state. A timer
//!          gives turns once one is paid for, 200 us after it last did; B has L 400 us more, as far as M allows. The idle link's timer
//!          counts from the time at which a turn was paid for.
//! Units:   bytes; sequence numbers of 32 bits; times in picoseconds.
//! Owns:    each connection's highest byte, edges granted and announced, its state, least RTT and last two sizes of responses; the queue
//!          of turns and its timer; the time by which the limit has paid; credit and number of connections of this period and the last one, of `idle` each. Older credit counts
//!          for nothing.
//! Departs: nowhere.
//! Checked: vectors/grants.json; tests/trajectories/grants.txt; tests/liveness.rs, all orders of arrivals of four connections.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use fanin_units::{Bytes, Rate, SendRate, Share, Time};

use crate::settings::params;

params! {
    /// Grants.
    grants {
        /// Bytes that may wait at the switch's port to the host, beyond those on the path. At most half of that port's buffer.
        #[range(Bytes(1)..=Bytes(1 << 30))]
        queue: Bytes = Bytes(16 << 10),
        /// Unused credit and silent connections count until this long after their last packet, up to twice as long.
        #[range(Time::from_micros(1)..=Time::from_secs(60))]
        idle: Time = Time::from_millis(10),
        /// Segments of a turn. With two, a receiver that delays ACKs acknowledges each turn at once, as Linux has to.
        #[range(1..=64)]
        turn: u32 = 1,
        /// Payload a second that the host grants in all: a limit below its link's rate, which no port has to enforce by drops.
        limit: SendRate = SendRate::Share(Share::of(1, 1)),
    }
}

/// Largest grant of a request, in segments: the usual initial window (RFC 6928).
const FIRST: u32 = 10;

/// Further bytes on the path that a connection alone may have: its round trip may be longer than the least one.
const ALONE: u64 = 3;
/// The shortest time after which an idle link gives turns: hosts' timers and clocks are no more exact.
const LEAST_PAUSE: Time = Time::from_micros(200);
/// Responses from whose sizes a new connection's expected size is taken.
const USUAL: u32 = 64;
/// The largest grant, as that of a window with the largest scale.
const MOST: u64 = 1 << 30;

const SECOND: u128 = 1_000_000_000_000;

/// Role of a connection in the sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It receives: counted in this period.
    Receives(u32),
    /// A response has ended in this period: its credit counts as resting.
    Rests(u32),
    /// Only small responses: neither counted nor limited.
    Small,
    /// Closed.
    Closed,
}

/// A connection of a host.
#[derive(Clone, Debug)]
struct Connection {
    state: State,
    /// One past the highest byte received.
    high: u32,
    /// The right edge that is granted, and that in the last segment sent.
    edge: u32,
    announced: u32,
    /// It is in the queue of turns.
    waits: bool,
    /// Its peer sends without a request.
    unasked: bool,
    /// A full segment has arrived since the last request.
    full: bool,
    /// A probe has to be answered, whatever was announced before: that ACK may be lost.
    probed: bool,
    /// The least round trip; `NEVER` before any.
    rtt: Time,
    /// The highest byte before the present response, and the sizes of the last two.
    base: u32,
    sizes: [u32; 2],
    /// Its response may not have ended.
    in_doubt: bool,
    /// A response went on after a short segment that had ended it.
    splits: bool,
}

impl Connection {
    fn credit(&self) -> u32 {
        ahead(self.edge, self.high)
    }

    /// Bytes of the present response so far.
    fn received(&self) -> u32 {
        self.high.wrapping_sub(self.base)
    }

    /// Whether the peer knows of no whole segment that it may send, but has been granted one.
    fn must_announce(&self, mss: u32) -> bool {
        ahead(self.announced, self.high) < mss && ahead(self.edge, self.announced) > 0 && self.credit() >= mss
    }
}

/// How far one sequence number is ahead of another; zero if it is behind.
fn ahead(of: u32, behind: u32) -> u32 {
    (of.wrapping_sub(behind) as i32).max(0) as u32
}

/// Time in which a rate in bytes a second carries this many bytes.
fn time_of(bytes: u64, rate: u64) -> Time {
    Time(u64::try_from(u128::from(bytes) * SECOND / u128::from(rate.max(1))).unwrap_or(u64::MAX))
}

/// Connections that receive, their credit, and that of connections at rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    connections: u32,
    credit: u64,
    resting: u64,
}

/// Reason for a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// A request: its grant may come at once.
    Request,
    /// Data, at the rate of the link.
    Data,
}

/// A segment's part in the law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Sequence number of its first byte.
    pub seq: u32,
    /// Bytes of payload.
    pub payload: u32,
    /// The host's estimate of the round trip; zero if it has none.
    pub rtt: Time,
}

/// A receiving host.
#[derive(Clone, Debug)]
pub struct Host {
    mss: u32,
    /// Bytes a second.
    rate: u64,
    queue: u64,
    idle: Time,
    /// Bytes of a turn.
    turn: u32,
    /// Whether `rate` is a limit; the time by which it has paid for all grants, and how far that lags behind the present at most.
    is_limited: bool,
    paid: Time,
    depth: Time,
    /// Whether a connection waits because its grant is not paid for, and when the timer last gave turns for that reason.
    unpaid: bool,
    turned: Time,
    /// Number and start of the period.
    period: u32,
    began: Time,
    /// This period, and the last one.
    sums: [Sum; 2],
    /// Credit of connections that have rested for longer.
    rested: u64,
    /// Start of the last period with several connections that received; `NEVER` before any.
    crowded: Time,
    /// The least round trip of any connection.
    rtt: Time,
    /// The present; since when nothing has arrived and nothing was granted; how often the timer has expired since an arrival.
    now: Time,
    quiet: Time,
    expired: u32,
    /// Largest response of this group and the last one, and the number in this group.
    usual: [u32; 2],
    finished: u32,
    connections: Vec<Connection>,
    turns: VecDeque<u32>,
    /// Connections in doubt.
    doubts: VecDeque<u32>,
    /// Connections whose grant needs an ACK of its own.
    woken: VecDeque<u32>,
}

impl Host {
    /// A host on a link of this rate.
    pub fn new(params: &Params, rate: Rate, mss: u32) -> Host {
        let (limit, turn) = (params.limit.on(rate).0, params.turn.saturating_mul(mss));
        let limited = limit.min(rate.0) / 8;
        Host {
            mss,
            rate: limited,
            queue: params.queue.0,
            idle: params.idle,
            turn,
            is_limited: limit < rate.0,
            paid: Time::ZERO,
            depth: params.idle.max(time_of(u64::from(turn) * 2, limited)),
            unpaid: false,
            turned: Time::ZERO,
            period: 2,
            began: Time::ZERO,
            sums: [Sum::default(); 2],
            rested: 0,
            crowded: Time::NEVER,
            rtt: Time::NEVER,
            now: Time::ZERO,
            quiet: Time::ZERO,
            expired: 0,
            usual: [0; 2],
            finished: 0,
            connections: Vec::new(),
            turns: VecDeque::new(),
            doubts: VecDeque::new(),
            woken: VecDeque::new(),
        }
    }

    /// Add a connection whose first byte has this number; `opens` if this host opens it. Its number is that of its place, which may
    /// have belonged to a closed one.
    pub fn open(&mut self, place: u32, first: u32, opens: bool) {
        let new = Connection {
            state: if opens { State::Rests(self.period) } else { State::Small },
            high: first,
            edge: first,
            announced: first,
            waits: false,
            unasked: !opens,
            full: false,
            probed: false,
            rtt: Time::NEVER,
            base: first,
            sizes: [0; 2],
            in_doubt: false,
            splits: false,
        };
        let closed = Connection { state: State::Closed, ..new };
        while self.connections.len() <= place as usize {
            self.connections.push(closed.clone());
        }
        self.close(place);
        self.connections[place as usize] = new;
    }

    /// Remove a connection.
    pub fn close(&mut self, place: u32) {
        self.finish(place);
        self.connections[place as usize].in_doubt = false;
        if self.is_limited {
            self.paid = Time(self.paid.0.saturating_sub(time_of(self.credit(place).into(), self.rate).0));
        }
        self.set(place, |connection| {
            (connection.state, connection.waits, connection.edge) = (State::Closed, false, connection.high);
        });
    }

    /// A response has ended, at the latest with the next request.
    fn finish(&mut self, place: u32) {
        let connection = &mut self.connections[place as usize];
        let size = connection.received();
        if size == 0 || !matches!(connection.state, State::Receives(_) | State::Rests(_)) {
            return;
        }
        connection.sizes = [size, connection.sizes[0]];
        connection.base = connection.high;
        self.usual[0] = self.usual[0].max(size);
        self.finished += 1;
        if self.finished == USUAL {
            (self.usual, self.finished) = ([0, self.usual[0]], 0);
        }
    }

    /// Bytes of a response that the connection awaits; zero before any.
    fn expected(&self, place: u32) -> u32 {
        let own = self.connections[place as usize].sizes;
        let largest = |sizes: [u32; 2]| sizes[0].max(sizes[1]);
        if own[0] > 0 { largest(own) } else { largest(self.usual) }
    }

    /// Bytes of the expected response that have not arrived.
    fn left(&self, place: u32) -> u32 {
        self.expected(place).saturating_sub(self.connections[place as usize].received())
    }

    /// The granted right edge of a connection.
    pub fn edge(&self, place: u32) -> u32 {
        self.connections[place as usize].edge
    }

    /// Granted bytes that have not arrived.
    pub fn credit(&self, place: u32) -> u32 {
        self.connections[place as usize].credit()
    }

    /// Credit of all connections that receive, and their number.
    pub fn outstanding(&self) -> (u64, u32) {
        let [now, last] = self.sums;
        (now.credit + last.credit, now.connections + last.connections)
    }

    /// Credit at rest.
    fn resting(&self) -> u64 {
        self.sums.iter().map(|sum| sum.resting).sum::<u64>() + self.rested
    }

    /// Connections that wait for a turn.
    pub fn waiting(&self) -> usize {
        self.connections.iter().filter(|connection| connection.waits).count()
    }

    /// A segment with the granted edge has left.
    pub fn announce(&mut self, place: u32) {
        let connection = &mut self.connections[place as usize];
        connection.announced = connection.edge;
    }

    /// The next connection whose grant needs an ACK of its own, as its peer knows of no segment that it may send.
    pub fn next_woken(&mut self) -> Option<u32> {
        while let Some(place) = self.woken.pop_front() {
            let connection = &mut self.connections[place as usize];
            if core::mem::take(&mut connection.probed) || connection.must_announce(self.mss) {
                return Some(place);
            }
        }
        None
    }

    /// The time to call `expire`, unless something happens before: a connection waits, and the link is idle until then.
    pub fn deadline(&self) -> Time {
        let nobody = self.turns.is_empty() && self.doubts.is_empty();
        if nobody { Time::NEVER } else { self.idle_deadline().min(self.paid_deadline()) }
    }

    /// When the link has been idle for long enough.
    fn idle_deadline(&self) -> Time {
        self.quiet.max(self.paid_at(self.turn)).saturating_add(self.pause())
    }

    /// When those who wait for the limit get turns.
    fn paid_deadline(&self) -> Time {
        let turned = self.turned.saturating_add(LEAST_PAUSE);
        if self.unpaid { turned.max(self.paid_at(self.turn)) } else { Time::NEVER }
    }

    /// When the limit has paid for this many bytes.
    fn paid_at(&self, bytes: u32) -> Time {
        if self.is_limited { self.paid.saturating_add(time_of(bytes.into(), self.rate)) } else { Time::ZERO }
    }

    /// Bytes that the limit has paid for, and nobody has been granted.
    fn allowance(&self) -> u64 {
        match self.is_limited {
            true => self.carried(self.now.since(self.paid).min(self.depth)),
            false => MOST,
        }
    }

    /// Pay for bytes by which an edge advances.
    fn pay(&mut self, bytes: u32) {
        if self.is_limited && bytes > 0 {
            let earliest = Time(self.now.0.saturating_sub(self.depth.0));
            self.paid = self.paid.max(earliest).saturating_add(time_of(bytes.into(), self.rate));
        }
    }

    /// How long the link is idle before turns are given.
    fn pause(&self) -> Time {
        let known = if self.rtt == Time::NEVER { Time::ZERO } else { self.rtt.saturating_mul(2) };
        let least = known.max(LEAST_PAUSE);
        least.saturating_mul(1 << self.expired.min(16)).min(self.idle).max(least)
    }

    /// The link has been idle while connections wait: those with credit do not use it, so others get turns.
    pub fn expire(&mut self, now: Time) {
        let connections = &self.connections;
        while self.turns.pop_front_if(|place| !connections[*place as usize].waits).is_some() {}
        while self.doubts.pop_front_if(|place| !connections[*place as usize].in_doubt).is_some() {}
        if now < self.deadline() {
            return;
        }
        self.advance(now);
        if now >= self.paid_deadline() {
            (self.turned, self.unpaid) = (now, false);
            return self.serve_turns(Cause::Data);
        }
        self.expired = self.expired.saturating_add(1);
        self.quiet = now;
        let mut left = self.path(self.rtt).min(self.queue);
        loop {
            if self.allowance() < self.turn.into() {
                self.unpaid = true;
                return;
            }
            let Some(place) = self.turns.pop_front().or_else(|| self.doubts.pop_front()) else { return };
            let connection = &mut self.connections[place as usize];
            if !connection.waits && !core::mem::take(&mut connection.in_doubt) {
                continue;
            }
            let (period, mss, turn) = (self.period, self.mss, self.turn);
            self.set(place, |connection| {
                (connection.state, connection.waits) = (State::Receives(period), false);
                connection.edge = connection.high.wrapping_add(turn.max(mss));
            });
            self.woken.push_back(place);
            left = left.saturating_sub(turn.into());
            if left == 0 {
                return;
            }
        }
    }

    /// A connection opens: its first segment grants as much as one at rest has.
    pub fn connect(&mut self, place: u32) {
        match self.connections[place as usize].state {
            State::Rests(_) => self.keep_resting(place),
            State::Small => self.keep_a_segment(place),
            State::Receives(_) | State::Closed => {}
        }
    }

    /// The host sends a request, which carries a grant.
    pub fn send(&mut self, now: Time, place: u32) {
        self.advance(now);
        self.serve_turns(Cause::Request);
        match self.connections[place as usize].state {
            State::Closed => return,
            State::Small => self.keep_a_segment(place),
            State::Rests(_) | State::Receives(_) => {
                self.finish(place);
                self.connections[place as usize].in_doubt = false;
                let period = self.period;
                self.set(place, |connection| connection.state = State::Receives(period));
                self.serve(place, FIRST * self.mss, Cause::Request);
            }
        }
        self.connections[place as usize].full = false;
    }

    /// A segment has arrived.
    pub fn receive(&mut self, now: Time, place: u32, arrival: &Arrival) {
        let Arrival { seq, payload, rtt } = *arrival;
        self.advance(now);
        let connection = &mut self.connections[place as usize];
        if connection.state == State::Closed {
            return;
        }
        if rtt > Time::ZERO {
            connection.rtt = connection.rtt.min(rtt);
            self.rtt = self.rtt.min(rtt);
        }
        if payload == 0 {
            return self.answer_probe(place, seq);
        }
        (self.quiet, self.expired) = (now, 0);
        let mss = self.mss;
        let more = ahead(seq.wrapping_add(payload), connection.high);
        connection.full |= payload >= mss;
        connection.splits |= more > 0 && connection.received() > 0 && matches!(connection.state, State::Rests(_));
        let (period, small) = (self.period, connection.state == State::Small && !connection.full);
        let expected = self.expected(place);
        let mut in_doubt = false;
        self.set(place, |connection| {
            connection.high = connection.high.wrapping_add(more);
            // The peer knew of a larger window than was granted.
            connection.edge = connection.high.wrapping_add(connection.credit());
            // The peer knew of a larger window. A part of a segment may also fill its window.
            let is_last = connection.credit() >= mss && !connection.splits || connection.received() >= expected;
            let is_exact = connection.sizes.contains(&connection.received());
            let ends = payload < mss && (ahead(connection.announced, connection.high) > 0 && is_last || is_exact);
            in_doubt = ends && !is_exact;
            connection.state = match () {
                () if small || ends && !connection.full => State::Small,
                () if ends => State::Rests(period),
                () => State::Receives(period),
            };
            connection.waits &= !ends && !small;
        });
        self.serve_turns(Cause::Data);
        match self.connections[place as usize].state {
            State::Small => self.keep_a_segment(place),
            State::Rests(_) => self.keep_resting(place),
            _ => self.serve(place, (2 * more).max(mss), Cause::Data),
        }
        let connection = &mut self.connections[place as usize];
        connection.in_doubt = in_doubt && connection.credit() < mss;
        if connection.in_doubt {
            self.doubts.push_back(place);
        }
        self.woken.push_back(place);
    }

    /// RFC 9293, section 3.8.6.1: a peer without window sends the byte before its next one, or none, again.
    fn answer_probe(&mut self, place: u32, seq: u32) {
        let connection = &self.connections[place as usize];
        if seq.wrapping_add(1) != connection.high {
            return;
        }
        let rests = matches!(connection.state, State::Rests(_));
        self.connections[place as usize].unasked |= rests;
        self.keep_a_segment(place);
        if self.credit(place) >= self.mss {
            self.connections[place as usize].probed = true;
            self.woken.push_back(place);
        }
        self.serve_turns(Cause::Data);
    }

    /// A connection at rest keeps a segment if its peer may use it without a request, or if resting credit is small.
    fn keep_resting(&mut self, place: u32) {
        let connection = &self.connections[place as usize];
        let mss = u64::from(self.mss);
        let fits = self.turns.is_empty() && self.resting() + mss <= self.queue && self.allowance() >= mss;
        if connection.unasked || fits {
            self.keep_a_segment(place);
        }
    }

    /// Grant one segment if there is none, as soon as the limit has paid for it.
    fn keep_a_segment(&mut self, place: u32) {
        let mss = self.mss;
        if self.credit(place) >= mss {
            return;
        }
        if self.allowance() < mss.into() {
            self.unpaid = true;
            return self.wait(place);
        }
        self.set(place, |connection| {
            connection.edge = connection.high.wrapping_add(mss);
            (connection.waits, connection.in_doubt) = (false, false);
        });
    }

    /// Wait for a turn.
    fn wait(&mut self, place: u32) {
        let connection = &mut self.connections[place as usize];
        if !connection.waits {
            connection.waits = true;
            self.turns.push_back(place);
        }
    }

    /// Grant to the queue's head as long as credit is left.
    fn serve_turns(&mut self, cause: Cause) {
        while let Some(&place) = self.turns.front() {
            if self.connections[place as usize].waits {
                let period = self.period;
                self.set(place, |connection| connection.state = State::Receives(period));
                let is_longer = self.expected(place) > 0 && self.left(place) == 0;
                let step = if is_longer { self.turn } else { FIRST * self.mss };
                if !self.grant(place, step, cause) {
                    return;
                }
                self.connections[place as usize].waits = false;
                self.woken.push_back(place);
            }
            self.turns.pop_front();
        }
    }

    /// Grant as far as `step` allows; a connection without a segment waits for its turn.
    fn serve(&mut self, place: u32, step: u32, cause: Cause) {
        let granted = self.turns.is_empty() && self.grant(place, step, cause);
        if !granted && self.credit(place) < self.mss {
            self.wait(place);
        }
    }

    /// Grant whole segments, up to the connection's share, and up to `step` more than its credit; a connection without a segment gets a
    /// turn or nothing. Returns whether it has a segment then.
    fn grant(&mut self, place: u32, step: u32, cause: Cause) -> bool {
        let (used, connections) = self.outstanding();
        if connections > 1 {
            self.crowded = self.began;
        }
        let alone = connections <= 1 && (self.crowded == Time::NEVER || self.began.since(self.crowded) >= self.idle);
        let (budget, limit) = self.budget(place, alone, cause);
        let credit = self.connections[place as usize].credit();
        let least = if credit < self.mss { self.turn } else { self.mss };
        let share = budget / u64::from(connections.max(1));
        let left = self.left(place);
        let wanted = if alone || left == 0 { MOST } else { u64::from(left.next_multiple_of(self.mss)) };
        let share = if cause == Cause::Request && self.expected(place) > 0 { MOST } else { share };
        let most = share.min(u64::from(credit) + u64::from(step)).min(wanted).max(least.into());
        let room = u64::from(credit) + limit.saturating_sub(used);
        let paid = u64::from(credit) + self.allowance();
        self.unpaid = paid < least.into();
        let bytes = most.min(room).min(paid).min(MOST);
        let granted = (bytes - bytes % u64::from(self.mss)) as u32;
        if granted >= least && granted > credit {
            self.set(place, |connection| connection.edge = connection.high.wrapping_add(granted));
            self.quiet = self.now;
        }
        self.connections[place as usize].credit() >= self.mss
    }

    /// Bytes that the link carries in a round trip; none if it is unknown.
    fn path(&self, rtt: Time) -> u64 {
        self.carried(if rtt == Time::NEVER { Time::ZERO } else { rtt })
    }

    /// Bytes that the rate carries in a time.
    fn carried(&self, time: Time) -> u64 {
        u64::try_from(u128::from(self.rate) * u128::from(time.0) / SECOND).map_or(MOST, |bytes| bytes.min(MOST))
    }

    /// The bytes that connections share, and the limit of their credit.
    fn budget(&self, place: u32, alone: bool, cause: Cause) -> (u64, u64) {
        let own = self.connections[place as usize].rtt;
        let path = self.path(if own == Time::NEVER { self.rtt } else { own });
        let turn = u64::from(self.turn);
        let most = path.max(2 * self.queue - self.queue / 8);
        let timers = if self.is_limited { self.carried(LEAST_PAUSE.saturating_mul(2)) } else { 0 };
        let budget = (path + self.queue + timers).min(most).max(turn);
        let whole = if alone { budget + ALONE * path } else { budget };
        let rest = match cause {
            Cause::Request => {
                let limit = budget.max(most - most / 8).min(most.saturating_sub(self.resting()));
                return (whole, limit.max(turn));
            }
            Cause::Data if alone => return (whole, whole - self.resting().min(budget / 2)),
            Cause::Data => self.resting() - self.rested.saturating_sub(budget / 2),
        };
        (whole, budget.min(most.saturating_sub(rest)).max(turn))
    }

    /// Enter the period of this time.
    fn advance(&mut self, now: Time) {
        self.now = now;
        let elapsed = now.since(self.began);
        if elapsed < self.idle {
            return;
        }
        let skips = elapsed >= self.idle.saturating_mul(2);
        let [newer, older] = self.sums;
        self.rested += older.resting + if skips { newer.resting } else { 0 };
        self.sums = [Sum::default(), if skips { Sum::default() } else { newer }];
        self.period = self.period.wrapping_add(1 + u32::from(skips));
        self.began = now;
    }

    /// Change a connection, and the sums with it.
    fn set(&mut self, place: u32, change: impl FnOnce(&mut Connection)) {
        self.count(place, false);
        let before = self.edge(place);
        change(&mut self.connections[place as usize]);
        self.count(place, true);
        self.pay(ahead(self.edge(place), before));
    }

    fn count(&mut self, place: u32, adds: bool) {
        let connection = &self.connections[place as usize];
        // Senders do not use parts of a segment (RFC 9293, section 3.8.6.2.1).
        let credit = u64::from(connection.credit() - connection.credit() % self.mss);
        let add = |sum: &mut u64, of: u64| *sum = if adds { *sum + of } else { *sum - of };
        match connection.state {
            State::Receives(period) => {
                let age = self.period.wrapping_sub(period) as usize;
                if let Some(sum) = self.sums.get_mut(age) {
                    add(&mut sum.credit, credit);
                    sum.connections = if adds { sum.connections + 1 } else { sum.connections - 1 };
                }
            }
            State::Rests(period) => {
                let age = self.period.wrapping_sub(period) as usize;
                add(self.sums.get_mut(age).map_or(&mut self.rested, |sum| &mut sum.resting), credit);
            }
            State::Small | State::Closed => {}
        }
    }
}
