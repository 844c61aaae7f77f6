//! Connections: a bounded number, found by their endpoints.

use std::collections::BTreeMap;

use crate::diagnosis::Place;
use crate::dissect::{End, Segment};
use crate::half::Half;
use crate::level::Timed;
use crate::train::Row;

/// Maximum number of connections; beyond it, those idle longest are forgotten.
const MOST: usize = 1 << 16;
/// Timestamps to remember per endpoint.
const STAMPS: usize = 4;

/// The current turn of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TurnAt {
    /// The episode's number.
    pub episode: u64,
    /// The member's index in it.
    pub member: u32,
}

/// A connection. Its endpoints are ordered and have the indices 0 and 1.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub ends: [End; 2],
    /// The hosts' numbers.
    pub hosts: [u32; 2],
    /// Segments that each end sent.
    pub sent: [u32; 2],
    /// The byte stream that each endpoint sends.
    pub halves: [Half; 2],
    /// The window scales that both endpoints offered.
    pub scales: [Option<u8>; 2],
    /// When an endpoint last closed its receive window.
    pub shut_at: [Option<u64>; 2],
    /// Up to which byte each endpoint allows the other to send, if the window scale is known; and the same when data last arrived at it.
    pub allowed: [Option<u64>; 2],
    pub allowed_at_last: [Option<u64>; 2],
    /// The endpoint that sent a SYN; times of the first SYN, of a repeated one, of the SYN-ACK, and of the ACK of that.
    pub opener: Option<usize>,
    pub syn_at: u64,
    pub syn_again: Option<u64>,
    pub answered_at: Option<u64>,
    pub open_at: Option<u64>,
    /// The endpoint that sends requests, once known.
    pub asker: Option<usize>,
    /// Whether the other endpoint sends without requests.
    pub pushed: bool,
    /// The endpoint that sent payload last.
    pub speaker: Option<usize>,
    /// The current request: its begin, including the handshake if a connection was opened for it; times of its first byte and of a
    /// retransmission; its bytes.
    pub asked_at: u64,
    pub requested_at: u64,
    pub asked_again: Option<u64>,
    pub asked_bytes: u64,
    /// When a delayed ACK let a request continue.
    pub let_go_at: Option<u64>,
    pub turn: Option<TurnAt>,
    /// When new data ended a stall, and its end in the byte stream; later packets show its cause.
    pub fresh_at: Option<(u64, u64)>,
    /// The row of packets when a hole appeared, and when data arrived last.
    pub train_at_loss: Option<Row>,
    pub train_at_last: Row,
    /// Time from the request to the detection of that loss.
    pub asked_before_loss: u64,
    /// Remaining hops (TTL) of each endpoint's packets below a usual first value: zero at the endpoint itself.
    pub hops: [Option<u8>; 2],
    /// Whether options of a SYN were cut off.
    pub options_cut: bool,
    /// The delay of the last segment in queues, and the time since its sender heard from the other endpoint, by the echoed timestamp.
    pub delay: Option<u64>,
    pub since_heard: Option<u64>,
    /// Segments of responses, timed if this was captured at the server.
    pub timed: Option<Box<Timed>>,
    /// The responding endpoint: when its last packet entered the queue, the one before, and the one before its first missing packet.
    pub entered: Option<u64>,
    pub entered_before: Option<u64>,
    pub entered_at_loss: Option<u64>,
    /// The end of the last lost segment that was sent again.
    pub mended_to: u64,
    /// Packets of each endpoint that did not pass here since the request, less lost ones that were sent again; `None` if that is unknown.
    pub skipped: [Option<u32>; 2],
    /// When the server acknowledged the current request without a response.
    pub bare_ack: Option<u64>,
    /// Since the last new data, the server sent data again that had arrived: whether the client had acknowledged them.
    pub needless: Option<bool>,
    /// The least window scale of each endpoint that permits the data sent to it.
    pub least_scale: [u8; 2],
    /// The window that each endpoint announced last, and when it grew to twice as much or without new data.
    pub window: [u16; 2],
    pub opened_at: [Option<u64>; 2],
    /// The largest window that each endpoint announced, and when it last acknowledged data with a much smaller window than before.
    pub most_window: [u16; 2],
    pub shrunk_at: [Option<u64>; 2],
    /// When data that ended a stall were sent again, until an ACK shows whether they had arrived.
    pub resent_at: Option<u64>,
    /// Begin of the current response in its byte stream, and the bytes of each endpoint's longest response.
    pub response_from: u64,
    pub longest: [u64; 2],
    /// Bytes that had arrived at each endpoint's host before this connection's latest payload, of all connections.
    pub arrived: [u64; 2],
    /// Whether each endpoint's last ACK may have had a SACK block.
    pub selective: [bool; 2],
    /// The client requested, and the capture lacks the request.
    pub request_lacking: bool,
    /// Data before the first ACK: the initial window.
    pub first_flight: Option<FirstFlight>,
    /// When the client first sent each of its last timestamps.
    pub stamps: [(u32, u64); STAMPS],
    pub last: u64,
}

/// Data on a new connection before its first ACK can have any effect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FirstFlight {
    pub until: u64,
    pub bytes: u64,
}

impl Flow {
    fn new(segment: &Segment, hosts: [u32; 2], now: u64) -> Flow {
        let (a, b) = (segment.from.min(segment.to), segment.from.max(segment.to));
        Flow {
            ends: [a, b],
            hosts,
            sent: [0; 2],
            halves: Default::default(),
            scales: [None; 2],
            shut_at: [None; 2],
            allowed: [None; 2],
            allowed_at_last: [None; 2],
            opener: None,
            syn_at: 0,
            syn_again: None,
            answered_at: None,
            open_at: None,
            asker: None,
            pushed: false,
            speaker: None,
            asked_at: 0,
            requested_at: 0,
            response_from: 0,
            longest: [0; 2],
            arrived: [0; 2],
            selective: [false; 2],
            asked_again: None,
            asked_bytes: 0,
            let_go_at: None,
            turn: None,
            fresh_at: None,
            train_at_loss: None,
            train_at_last: Row::default(),
            asked_before_loss: u64::MAX,
            hops: [None; 2],
            options_cut: false,
            delay: None,
            since_heard: None,
            timed: None,
            entered: None,
            entered_before: None,
            entered_at_loss: None,
            mended_to: 0,
            skipped: [Some(0); 2],
            bare_ack: None,
            needless: None,
            least_scale: [0; 2],
            window: [0; 2],
            opened_at: [None; 2],
            most_window: [0; 2],
            shrunk_at: [None; 2],
            resent_at: None,
            request_lacking: false,
            first_flight: None,
            stamps: [(0, 0); STAMPS],
            last: now,
        }
    }

    /// The endpoint that sent a segment.
    pub fn sender(&self, segment: &Segment) -> usize {
        usize::from(segment.from != self.ends[0])
    }

    /// Durations of the handshake's halves: up to the SYN-ACK, and up to the ACK of that. `None` if a SYN was repeated.
    pub fn handshake(&self) -> Option<(u64, u64)> {
        let (answered, open) = (self.answered_at?, self.open_at?);
        let once = self.syn_again.is_none();
        once.then(|| (answered.saturating_sub(self.syn_at), open.saturating_sub(answered)))
    }

    /// The endpoint at which this was captured, if its packets have all their hops left and the other's do not. Of a capture of one direction,
    /// the receiver if the packets have passed a router.
    pub fn near(&self) -> Option<usize> {
        match self.hops {
            [Some(0), Some(1..) | None] | [None, Some(1..)] => Some(0),
            [Some(1..) | None, Some(0)] | [Some(1..), None] => Some(1),
            _ => None,
        }
    }

    /// Where this was captured, if the packets show it.
    pub fn place(&self) -> Option<Place> {
        let asker = self.asker?;
        self.near().map(|near| if near == asker { Place::Client } else { Place::Server })
    }

    /// The client, judged by ports, if the capture lacks the handshake: servers listen below the range of temporary ports.
    pub fn presumed_asker(&self) -> Option<usize> {
        const TEMPORARY: u16 = 32_768;
        let temporary = self.ends.map(|end| end.port >= TEMPORARY);
        match (self.opener, temporary) {
            (None, [true, false]) => Some(0),
            (None, [false, true]) => Some(1),
            _ => None,
        }
    }

    /// Records a timestamp that an endpoint sends.
    pub fn stamped(&mut self, stamp: u32, now: u64) {
        if self.stamps[0].0 != stamp || self.stamps[0].1 == 0 {
            self.stamps.rotate_right(1);
            self.stamps[0] = (stamp, now);
        }
    }

    /// When the timestamp after the echoed one was first sent: the echoing segment left before that one arrived.
    pub fn sent_later_than(&self, echoed: u32) -> Option<u64> {
        let place = self.stamps.iter().position(|&(stamp, at)| at > 0 && stamp == echoed)?;
        place.checked_sub(1).map(|later| self.stamps[later].1)
    }
}

/// All connections.
#[derive(Default)]
pub(crate) struct Flows {
    places: BTreeMap<[End; 2], u32>,
    flows: Vec<Flow>,
    latest: Option<([End; 2], u32)>,
    /// Number of connections seen, and of those forgotten.
    pub seen: u64,
    pub forgotten: u64,
}

impl Flows {
    /// The connection of a segment; adds it if it is new. `host` maps an address to a host number.
    pub fn of(&mut self, segment: &Segment, now: u64, mut host: impl FnMut(u128) -> u32) -> &mut Flow {
        let key = [segment.from.min(segment.to), segment.from.max(segment.to)];
        let place = match self.latest {
            Some((latest, place)) if latest == key => place,
            _ => match self.places.get(&key) {
                Some(&place) => place,
                None => {
                    if self.flows.len() >= MOST {
                        self.forget();
                    }
                    let hosts = key.map(|end| host(end.address));
                    self.flows.push(Flow::new(segment, hosts, now));
                    self.seen += 1;
                    let place = self.flows.len() as u32 - 1;
                    self.places.insert(key, place);
                    place
                }
            },
        };
        self.latest = Some((key, place));
        let flow = &mut self.flows[place as usize];
        flow.last = now;
        flow
    }

    /// Starts a new connection between these endpoints.
    pub fn restart(&mut self, segment: &Segment, now: u64) {
        let key = [segment.from.min(segment.to), segment.from.max(segment.to)];
        if let Some(&place) = self.places.get(&key) {
            let flow = &mut self.flows[place as usize];
            *flow = Flow::new(segment, flow.hosts, now);
            self.seen += 1;
        }
    }

    /// Forgets the quarter that has been idle longest.
    fn forget(&mut self) {
        let mut lasts: Vec<u64> = self.flows.iter().map(|flow| flow.last).collect();
        let quarter = lasts.len() / 4;
        let (_, &mut limit, _) = lasts.select_nth_unstable(quarter);
        let before = self.flows.len();
        let mut left = quarter + 1;
        self.flows.retain(|flow| {
            let goes = flow.last <= limit && left > 0;
            left -= usize::from(goes);
            !goes
        });
        self.forgotten += (before - self.flows.len()) as u64;
        self.places = self.flows.iter().zip(0..).map(|(flow, place)| (flow.ends, place)).collect();
        self.latest = None;
    }

    pub fn all(&self) -> &[Flow] {
        &self.flows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn million_connections_take_bounded_memory() {
        let mut flows = Flows::default();
        for n in 0..1_000_000u32 {
            let from = End { address: u128::from(n / 50_000), port: (n % 50_000) as u16 };
            let segment = Segment { from, to: End { address: 1 << 100, port: 80 }, ..Segment::default() };
            flows.of(&segment, u64::from(n), |_| 0);
        }
        assert!(flows.flows.len() <= MOST && flows.places.len() == flows.flows.len());
        assert_eq!(flows.forgotten + flows.flows.len() as u64, 1_000_000);
        assert!(size_of::<Flow>() <= 1536, "{}", size_of::<Flow>());
    }
}
