//! The endpoint: its state, the handshake, and who gets which part of a segment.

use std::num::NonZeroU64;

use fanin_laws::sender::{Law, Window};
use fanin_units::Time;

use crate::call::Call;
use crate::params::{Ect, Params};
use crate::prr::Prr;
use crate::rack::Rack;
use crate::rcv::Receiver;
use crate::recovery::Recovery;
use crate::rtt::Rtt;
use crate::scoreboard::Scoreboard;
use crate::segment::{Block, Flags, Segment, Wire, header_bytes, widen};

/// Where the connection stands (RFC 9293, section 3.3.2); the states of the close are told apart by the two FINs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Listen,
    SynSent,
    SynReceived,
    Established,
    Reset,
}

/// What happened that the application wants to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The handshake is done.
    pub established: bool,
    /// As many bytes are delivered as [`Endpoint::wake_at`] asked for.
    pub awake: bool,
    /// The peer closed its side, and everything before is delivered.
    pub closed: bool,
}

/// What an endpoint counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Retransmission timeouts fired, backoffs and SYN included.
    pub timeouts: u32,
    /// Entries into fast recovery.
    pub fast_retransmits: u32,
    /// Tails probed for loss.
    pub probes: u32,
    /// Data segments sent again.
    pub retransmits: u32,
    /// Segments sent, whatever is in them; wraps.
    pub segments_sent: u32,
    /// Segments received, whatever is in them; wraps.
    pub segments_received: u32,
    /// Data segments received that brought new bytes.
    pub data_segments: u64,
}

/// How far what the application wrote has come, as its sender knows; bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// In all.
    pub total: u64,
    /// Sent at least once.
    pub sent: u64,
    /// Acknowledged in order.
    pub acked: u64,
}

/// One end of a connection.
#[derive(Clone, Debug)]
pub struct Endpoint {
    pub(crate) state: State,
    /// The peer agreed to ECN.
    pub(crate) ecn: bool,
    pub(crate) snd: Sender,
    pub(crate) rcv: Receiver,
    pub(crate) law: Law,
    pub(crate) board: Scoreboard,
    pub(crate) stats: Stats,
    /// The sender's state under RFC 8985, where a setting asks for it: in place of the scoreboard and of `recovery`.
    pub(crate) rack: Option<Box<Rack>>,
}

/// The sending half.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender {
    /// The first byte not acknowledged.
    pub una: u64,
    /// The next byte to send: under `high` while data is sent again.
    pub nxt: u64,
    /// One past the highest byte sent.
    pub high: u64,
    /// One past the last byte that the application wrote.
    pub end: u64,
    /// The application closed: a FIN stands at `end`.
    pub fin: bool,
    pub window: Window,
    /// The peer's receive window.
    pub rwnd: u32,
    pub recovery: Recovery,
    pub dup_acks: u32,
    /// What limited transmit sent since the first of them, bytes.
    pub limited: u32,
    /// Bytes that duplicates took out of the pipe, where they do not inflate the window.
    pub gone: u64,
    /// Recovery ends when this is acknowledged.
    pub recover: u64,
    /// A congestion mark was answered; the next one counts when an ACK lies above this.
    pub cwr_high: u64,
    /// The reduction after a mark, until an ACK lies above `cwr_high`.
    pub cwr: Option<Prr>,
    /// The next data segment says CWR.
    pub say_cwr: bool,
    pub rtt: Rtt,
    /// A segment whose round trip is being measured: the number after its last byte, and when it was sent.
    pub timed: Option<(NonZeroU64, Time)>,
    /// What was unacknowledged when the retransmission timer last fired.
    pub timed_out: u64,
    /// When the retransmission timer fires.
    pub rto_at: Time,
    pub last_sent: Time,
}

impl Endpoint {
    /// An endpoint that waits for a SYN, or for [`Endpoint::connect`].
    pub fn new(params: &Params, law: Law) -> Endpoint {
        let window = Window { cwnd: params.initial_cwnd, ssthresh: u32::MAX };
        let snd = Sender {
            una: 0,
            nxt: 0,
            high: 0,
            end: 1,
            fin: false,
            window,
            rwnd: params.mss,
            recovery: Recovery::Open,
            dup_acks: 0,
            limited: 0,
            gone: 0,
            recover: 0,
            cwr_high: 0,
            cwr: None,
            say_cwr: false,
            rtt: Rtt::new(params),
            timed: None,
            timed_out: u64::MAX,
            rto_at: Time::NEVER,
            last_sent: Time::ZERO,
        };
        let (rcv, board, stats) = (Receiver::default(), Scoreboard::default(), Stats::default());
        let rack = (params.sack && (params.rack || params.tail_loss_probe)).then(|| Box::new(Rack::new()));
        Endpoint { state: State::Listen, ecn: false, snd, rcv, law, board, stats, rack }
    }

    /// Opens the connection: sends the SYN.
    pub fn connect(&mut self, call: &mut Call<'_, impl Wire>) {
        debug_assert_eq!(self.state, State::Listen);
        self.state = State::SynSent;
        self.snd.rto_at = call.now.saturating_add(call.params.syn_timeout);
        self.send_syn(call);
    }

    /// Takes `bytes` more to send, which ought to be there by `deadline`; `NEVER` where there is none.
    pub fn write(&mut self, call: &mut Call<'_, impl Wire>, bytes: u64, deadline: Time) {
        debug_assert!(!self.snd.fin, "written after close");
        let start = self.snd.end;
        self.snd.end += bytes;
        self.law.begin(start, self.snd.end, deadline);
        self.transmit(call);
    }

    /// Closes the sending side: a FIN follows the last byte.
    pub fn close(&mut self, call: &mut Call<'_, impl Wire>) {
        self.snd.fin = true;
        self.transmit(call);
    }

    /// Asks for [`Progress::awake`] when `bytes` have been delivered in all.
    pub fn wake_at(&mut self, bytes: u64) {
        self.rcv.wake_at = bytes.saturating_add(1);
    }

    /// Takes a segment and its SACK blocks.
    #[inline]
    pub fn handle(&mut self, call: &mut Call<'_, impl Wire>, segment: &Segment, sack: &[Block]) -> Progress {
        self.stats.segments_received = self.stats.segments_received.wrapping_add(1);
        if self.state != State::Established || segment.flags.any(Flags::SYN | Flags::RST) {
            return self.handle_unusual(call, segment, sack);
        }
        self.handle_established(call, segment, sack)
    }

    /// The earliest timer; `NEVER` where none runs.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.snd.rto_at.min(self.rcv.ack_at)
    }

    /// Serves the timers that are due at `now`.
    pub fn expire(&mut self, call: &mut Call<'_, impl Wire>) {
        if self.rcv.ack_at <= call.now {
            self.send_ack(call);
        }
        if self.snd.rto_at <= call.now {
            match self.state {
                State::SynSent | State::SynReceived => {
                    self.stats.timeouts += 1;
                    self.retry_syn(call);
                }
                _ if self.rack.is_some() => self.expire_by_time(call),
                _ => {
                    self.stats.timeouts += 1;
                    self.time_out(call);
                }
            }
        }
    }

    /// Bytes delivered in order to the application.
    #[inline]
    pub fn delivered(&self) -> u64 {
        self.rcv.delivered()
    }

    /// How far what was written has come. (The SYN is number 0, data starts at 1, a FIN stands behind it.)
    pub fn written(&self) -> Written {
        let bytes = |until: u64| until.min(self.snd.end).saturating_sub(1);
        Written { total: bytes(self.snd.end), sent: bytes(self.snd.high), acked: bytes(self.snd.una) }
    }

    /// Whether the application has not been told yet what [`Endpoint::wake_at`] asked for.
    pub fn is_awaited(&self) -> bool {
        self.rcv.wake_at != u64::MAX
    }

    /// Whether everything written (and the FIN) is acknowledged.
    pub fn all_acked(&self) -> bool {
        self.snd.una == self.snd.end + u64::from(self.snd.fin)
    }

    /// Whether both sides have closed and said so.
    pub fn finished(&self) -> bool {
        self.state == State::Reset || (self.snd.fin && self.all_acked() && self.rcv.closed)
    }

    /// The congestion window and the slow-start threshold.
    pub fn window(&self) -> Window {
        self.snd.window
    }

    /// The law, with its state.
    pub fn law(&self) -> &Law {
        &self.law
    }

    /// The smoothed round-trip time.
    pub fn srtt(&self) -> Time {
        self.snd.rtt.srtt()
    }

    /// The retransmission timeout as it stands, with its backoff.
    pub fn rto(&self, params: &Params) -> Time {
        self.snd.rtt.timeout(params)
    }

    /// What it counted.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    #[inline]
    fn handle_established(&mut self, call: &mut Call<'_, impl Wire>, segment: &Segment, sack: &[Block]) -> Progress {
        if call.params.mcw_option {
            self.law.allot(segment.mcw_echo);
        }
        self.on_ack(call, segment, sack);
        self.receive(call, segment)
    }

    /// The handshake, a repeated SYN, a reset (RFC 9293, section 3.10.7).
    #[cold]
    fn handle_unusual(&mut self, call: &mut Call<'_, impl Wire>, segment: &Segment, sack: &[Block]) -> Progress {
        let (syn, ack) = (segment.flags.any(Flags::SYN), segment.flags.any(Flags::ACK));
        if segment.flags.any(Flags::RST) {
            self.state = State::Reset;
            (self.snd.rto_at, self.rcv.ack_at) = (Time::NEVER, Time::NEVER);
            return Progress { closed: true, ..Progress::default() };
        }
        match self.state {
            State::Listen if syn => {
                self.learn_from_syn(call.params, segment);
                self.state = State::SynReceived;
                self.snd.rto_at = call.now.saturating_add(call.params.syn_timeout);
                self.send_syn(call);
                Progress::default()
            }
            State::SynSent if syn && ack => {
                self.learn_from_syn(call.params, segment);
                self.become_established(call, segment);
                self.send_ack(call);
                self.transmit(call);
                Progress { established: true, ..Progress::default() }
            }
            State::SynReceived if syn => {
                self.send_syn(call);
                Progress::default()
            }
            State::SynReceived if ack && segment.ack == 1 => {
                self.become_established(call, segment);
                let progress = self.handle_established(call, segment, sack);
                self.transmit(call);
                Progress { established: true, ..progress }
            }
            // A SYN-ACK sent again: our ACK of it was lost (RFC 9293, section 3.10.7.4).
            State::Established if syn => {
                self.send_ack(call);
                Progress::default()
            }
            _ => Progress::default(),
        }
    }

    fn learn_from_syn(&mut self, params: &Params, segment: &Segment) {
        // RFC 3168, section 6.1.1: ECE and CWR on the SYN offer ECN, ECE alone on the SYN-ACK accepts it.
        self.ecn = params.ect.is_some() && segment.flags.any(Flags::ECE);
        self.rcv.nxt = 1;
        if params.timestamps {
            self.rcv.ts_recent = segment.ts_val;
        }
        self.rcv.note_options(segment);
    }

    fn become_established(&mut self, call: &Call<'_, impl Wire>, segment: &Segment) {
        self.state = State::Established;
        self.snd.una = 1;
        self.snd.nxt = 1;
        self.snd.high = 1;
        self.snd.rwnd = segment.window;
        self.snd.rto_at = Time::NEVER;
        self.law.allot(segment.mcw_echo);
        match self.snd.timed.take() {
            Some((_, sent)) => {
                self.snd.rtt.sample(call.params, call.now.since(sent));
                self.law.sample(call.now.since(sent));
                if let Some(rack) = &mut self.rack {
                    rack.note_rtt(call.now.since(sent));
                }
            }
            // RFC 5681, section 3.1: after a lost SYN the window starts at one segment.
            None => self.snd.window.cwnd = self.snd.window.cwnd.min(call.params.mss),
        }
        self.snd.rtt.forget_backoff();
    }

    fn send_syn(&mut self, call: &mut Call<'_, impl Wire>) {
        let answer = self.state == State::SynReceived;
        let ecn = call.params.ect.is_some() && (!answer || self.ecn);
        let flags = Flags::SYN
            | Flags::ACK.when(answer)
            | Flags::ECE.when(ecn)
            | Flags::CWR.when(ecn && !answer)
            | Flags::ECT
                .when(ecn && (call.params.ect == Some(Ect::All) || answer && call.params.ect == Some(Ect::Agreed)));
        let first = self.snd.nxt == 0;
        self.snd.timed = first.then_some((NonZeroU64::MIN, call.now));
        (self.snd.nxt, self.snd.high) = (1, 1);
        let header = header_bytes(call.params.option_bytes() + call.params.syn_option_bytes(), 0);
        let segment = Segment { seq: 0, header, len: 0, ..self.blank(call, flags) };
        self.snd.last_sent = call.now;
        self.stats.segments_sent = self.stats.segments_sent.wrapping_add(1);
        call.wire.send(segment, &[]);
    }

    fn retry_syn(&mut self, call: &mut Call<'_, impl Wire>) {
        self.snd.rtt.back_off();
        self.snd.rto_at = call.now.saturating_add(self.snd.rtt.backed_off_from(call.params.syn_timeout, call.params));
        self.send_syn(call);
    }

    /// A segment with everything but sequence number, payload and header size.
    #[inline]
    pub(crate) fn blank(&self, call: &Call<'_, impl Wire>, flags: Flags) -> Segment {
        Segment {
            seq: 0,
            ack: self.rcv.nxt as u32,
            window: call.params.receive_window,
            mcw_offer: u32::MAX,
            mcw_echo: self.rcv.mcw,
            ts_val: if call.params.timestamps { microseconds(call.now) } else { 0 },
            ts_ecr: self.rcv.ts_recent,
            len: 0,
            header: 0,
            flags,
        }
    }

    /// The 64-bit acknowledgement number of a segment.
    #[inline]
    pub(crate) fn ack_of(&self, segment: &Segment) -> u64 {
        widen(segment.ack, self.snd.una)
    }
}

/// The clock of timestamps: microseconds, of which 32 bits travel.
#[inline]
pub(crate) fn microseconds(now: Time) -> u32 {
    (now.0 / 1_000_000) as u32
}
