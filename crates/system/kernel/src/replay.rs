//! Steps of the algorithms' vectors, run by the kernel in the object that connections use (bpf/replay.h).

use libbpf_rs::{Object, ProgramInput};

use crate::control::{Control, GRANTS};
use crate::grants::Constants;
use crate::load;
use crate::trouble::Trouble;

/// Words of the program's argument: inputs, window, states, results.
const WORDS: usize = 27;
const WINDOW: usize = 10;
const ALPHA: usize = 25;
const CUT: usize = 26;

const HOUR_NS: u64 = 3_600_000_000_000;

/// Settings of a case.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Whether gentle slow start acts.
    pub gentle: bool,
    /// Whether the base is DCTCP.
    pub dctcp: bool,
    /// Weight of a sample in DCTCP's alpha, in 1/65536.
    pub g_q16: u32,
    /// DCTCP's first alpha, in 1/65536.
    pub initial_alpha_q16: u32,
}

/// An ACK of new data.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Segments that it acknowledges.
    pub segments: u32,
    /// The first byte not yet acknowledged.
    pub una: u32,
    /// The next byte to send.
    pub nxt: u32,
    /// Its round-trip time, us.
    pub rtt_us: Option<u32>,
    /// Whether it echoes a mark.
    pub marked: bool,
}

/// One step.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// An ACK outside recovery.
    Ack(Ack),
    /// An ACK in recovery.
    Observe(Ack),
    /// A mark.
    Mark,
    /// A loss.
    Loss,
    /// Only show the state.
    Nothing,
}

/// State after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Window, segments.
    pub cwnd: u32,
    /// Threshold after the last reduction, segments.
    pub cut: u32,
    /// Alpha of gentle slow start, or of DCTCP, in 1/65536.
    pub alpha_q16: u32,
}

/// An object in the kernel, and the state that its program gets and returns.
#[derive(Debug)]
pub struct Replayer {
    object: Object,
    words: [u32; WORDS],
}

impl Replayer {
    /// Loads an object without registering its congestion controls.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn load(control: &Control, settings: Settings) -> Result<Replayer, Trouble> {
        let mut object = load::open("fanin", control.object())?;
        for mut map in object.maps_mut().filter(|map| map.map_type() == libbpf_rs::MapType::StructOps) {
            map.set_autocreate(false).map_err(|error| load::refused("leave a map out", &error))?;
        }
        let object = object.load().map_err(|error| load::refused(&format!("load {control}"), &error))?;
        let mut words = [0; WORDS];
        (words[1], words[2]) = (u32::from(settings.dctcp), u32::from(settings.gentle));
        (words[8], words[9]) = (settings.g_q16, settings.initial_alpha_q16);
        let mut replayer = Replayer { object, words };
        replayer.run(0)?;
        Ok(replayer)
    }

    /// Sets the window, in segments.
    pub fn set_window(&mut self, cwnd: u32, ssthresh: u32) {
        (self.words[WINDOW], self.words[WINDOW + 1]) = (cwnd, ssthresh);
    }

    /// Runs a step.
    ///
    /// # Errors
    /// The kernel refuses to run it.
    pub fn step(&mut self, step: Step) -> Result<Shown, Trouble> {
        if let Step::Ack(ack) | Step::Observe(ack) = step {
            (self.words[3], self.words[4], self.words[5]) = (ack.segments, ack.una, ack.nxt);
            // No round trip is a negative one.
            (self.words[6], self.words[7]) = (ack.rtt_us.unwrap_or(u32::MAX), u32::from(ack.marked));
        }
        match step {
            Step::Observe(_) => self.run(1)?,
            Step::Ack(_) => self.run(2)?,
            Step::Mark => self.run(3)?,
            Step::Loss => self.run(4)?,
            Step::Nothing => {}
        }
        Ok(Shown { cwnd: self.words[WINDOW], cut: self.words[CUT], alpha_q16: self.words[ALPHA] })
    }

    fn run(&mut self, step: u32) -> Result<(), Trouble> {
        self.words[0] = step;
        let mut bytes: Vec<u8> = self.words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let program = self.object.progs_mut().find(|program| program.name() == "replay");
        let program = program.ok_or_else(|| Trouble::Environment("the object has no program `replay`".into()))?;
        let input = ProgramInput { context_in: Some(&mut bytes), ..ProgramInput::default() };
        program.test_run(input).map_err(|error| load::refused("run a step", &error))?;
        for (word, bytes) in self.words.iter_mut().zip(bytes.chunks_exact(4)) {
            *word = u32::from_ne_bytes(bytes.try_into().unwrap_or_default());
        }
        Ok(())
    }
}

/// An event of the vectors of grants.
#[derive(Clone, Copy, Debug)]
pub enum GrantStep {
    /// The connection opens: its first byte, and whether the host accepts it.
    Open(u32, bool),
    /// The host sends a request.
    Request,
    /// A segment arrives, or a probe if it has no payload.
    Data {
        /// Its first byte.
        seq: u32,
        /// Its payload, bytes.
        payload: u32,
        /// Whether TCP sends no ACK of its own.
        silent: bool,
    },
    /// The connection closes.
    Close,
    /// The link may have been idle for so long that turns are given.
    Timer,
}

/// State of grants after a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// Credit of the step's connection, bytes.
    pub credit: u32,
    /// Connections that were woken, one bit each.
    pub woken: u32,
    /// Connections that receive, and their credit.
    pub outstanding: (u32, u64),
}

/// The program of grants in the kernel.
#[derive(Debug)]
pub struct GrantReplayer(Object);

impl GrantReplayer {
    /// Loads it with its constants: rate (bytes a second), queue, idle (ns), limit (bytes a second, or 0); segment (bytes) and turn (segments).
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn load(words: [u64; 4], segment: u32, turn: u32) -> Result<GrantReplayer, Trouble> {
        let mut object = load::open("grants", GRANTS)?;
        let [rate, queue, idle_ns, limit] = words;
        let rate = if limit > 0 { limit } else { rate };
        let constants = Constants { limit: (limit, 0), ..Constants::of_all(rate, queue, idle_ns, segment, turn) };
        load::set_constants(&mut object, &constants.bytes(None))?;
        Ok(GrantReplayer(object.load().map_err(|error| load::refused("load grants", &error))?))
    }

    /// Runs a step of a connection at this time; round trip in ns, zero if unknown.
    ///
    /// # Errors
    /// The kernel refuses to run it.
    pub fn step(&self, now_ns: u64, rtt_ns: u64, place: u32, step: GrantStep) -> Result<Granted, Trouble> {
        let (number, seq, payload, silent) = match step {
            GrantStep::Open(first, accepts) => (u32::from(accepts), first, 0, false),
            GrantStep::Request => (2, 0, 0, false),
            GrantStep::Data { seq, payload, silent } => (3, seq, payload, silent),
            GrantStep::Close => (4, 0, 0, false),
            GrantStep::Timer => (5, 0, 0, true),
        };
        let mut bytes: Vec<u8> = [now_ns, rtt_ns].iter().flat_map(|word| word.to_ne_bytes()).collect();
        let words = [number, place, seq, payload, u32::from(silent), 0, 0, 0, 0, 0];
        bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        let program = self.0.progs_mut().find(|program| program.name() == "grants_replay");
        let program =
            program.ok_or_else(|| Trouble::Environment("the object has no program `grants_replay`".into()))?;
        let input = ProgramInput { context_in: Some(&mut bytes), ..ProgramInput::default() };
        program.test_run(input).map_err(|error| load::refused("run a step", &error))?;
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap_or_default());
        let credit = u64::from(word(48)) | u64::from(word(52)) << 32;
        Ok(Granted { credit: word(36), woken: word(40), outstanding: (word(44), credit) })
    }
}

/// The programs of grants on packets, without a device.
#[derive(Debug)]
pub struct GrantPackets(Object);

impl GrantPackets {
    /// Loads them for a link of this rate (bytes a second); queue and segment in bytes, turn in segments. Unused windows count for an hour.
    ///
    /// # Errors
    /// The kernel refuses them.
    pub fn load(rate: u64, queue: u64, segment: u32, turn: u32) -> Result<GrantPackets, Trouble> {
        let mut object = load::open("grants", GRANTS)?;
        let constants = Constants::of_all(rate, queue, HOUR_NS, segment, turn);
        load::set_constants(&mut object, &constants.bytes(Some(1)))?;
        Ok(GrantPackets(object.load().map_err(|error| load::refused("load grants", &error))?))
    }

    /// Lets a packet leave or arrive, and returns it as it is afterwards.
    ///
    /// # Errors
    /// The kernel refuses to run it.
    pub fn pass(&self, leaves: bool, packet: &[u8]) -> Result<Vec<u8>, Trouble> {
        let name = if leaves { "grants_leaves" } else { "grants_arrives" };
        let program = self.0.progs_mut().find(|program| program.name() == name);
        let program = program.ok_or_else(|| Trouble::Environment(format!("the object has no program `{name}`")))?;
        let mut after = vec![0; packet.len()];
        let input = ProgramInput { data_in: Some(packet), data_out: Some(&mut after), ..ProgramInput::default() };
        program.test_run(input).map_err(|error| load::refused("run a packet", &error))?;
        Ok(after)
    }
}
