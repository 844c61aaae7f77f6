//! The words in which a workload's row (`Kind::facts`) says what is known of it besides what it does.

use crate::problem::Wrong;
use crate::settings::Settings;

/// What a host or server is asked to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// A fragment each, or a block shared by all.
    Answers,
    /// A fragment from each host to each other one.
    Fragments,
    /// What the workload itself says.
    Own,
}

/// What may be left out at the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaves {
    /// Nothing: it is measured whole.
    Nothing,
    /// A time.
    Time,
    /// A time or rounds.
    TimeOrRounds,
}

/// What a run moves, as its settings tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Moves {
    /// Flows; connections, where each has a new one.
    pub flows: f64,
    /// Payload.
    pub bytes: f64,
    /// Draws made before it begins.
    pub draws: f64,
    /// Bytes that the workload holds from the beginning, and those that it has come to hold by its end.
    pub held: [f64; 2],
}

/// What a sentence about a workload says of a whole sweep.
pub struct Swept<'a> {
    /// The numbers of hosts.
    pub hosts: &'a str,
    /// Poisson flows: their sizes and loads.
    pub poisson: &'a str,
    /// Prints a number in three digits.
    pub three: fn(f64) -> String,
}

/// Facts of a workload.
#[derive(Clone, Copy)]
pub struct Facts {
    /// Whether many send to one client; otherwise flows go between any hosts.
    pub many_to_one: bool,
    /// Whether the client asks again and again: then it may ask some at once.
    pub(crate) asks: bool,
    /// Whether several clients may ask at once.
    pub(crate) many_clients: bool,
    /// Whether it lasts as long as it is given, whatever is done; others end by themselves.
    pub(crate) lasts: bool,
    /// Whether it takes all of the fabric's hosts where nothing says how many.
    pub(crate) all_hosts: bool,
    /// Whether its flows have no end.
    pub endless: bool,
    /// Whether its flows are those of a list.
    pub listed: bool,
    /// Whether its flows are Poisson flows: they need a load, and nothing of that kind runs beside.
    pub poisson: bool,
    /// What is sent.
    pub payload: Payload,
    pub(crate) leaves: Leaves,
    /// Whether its connections usually stand, and carry answer after answer.
    pub stands: bool,
    /// Round trips before the first byte of who sends unasked over a new connection.
    pub(crate) setup_rtts: Option<f64>,
    /// What a run moves: of one that lasts, in a round.
    pub(crate) moves: fn(&Settings) -> Moves,
    /// What it does, in a few words, for whoever reads its figures.
    pub says: fn(&Settings, &Swept) -> String,
    /// Refuses what cannot work under it alone.
    pub(crate) check: fn(&Settings) -> Result<(), Wrong>,
}

impl Facts {
    /// Reads, round after round, over standing connections.
    pub(crate) const READS: Facts = Facts {
        many_to_one: true,
        asks: true,
        many_clients: false,
        lasts: true,
        all_hosts: false,
        endless: false,
        listed: false,
        poisson: false,
        payload: Payload::Answers,
        leaves: Leaves::TimeOrRounds,
        stands: true,
        setup_rtts: None,
        moves: |_| Moves::default(),
        says: |_, _| String::new(),
        check: |_| Ok(()),
    };
    /// Flows between any hosts, until they are done.
    pub(crate) const BETWEEN: Facts = Facts {
        many_to_one: false,
        asks: false,
        lasts: false,
        payload: Payload::Own,
        leaves: Leaves::Nothing,
        stands: false,
        ..Facts::READS
    };
}
