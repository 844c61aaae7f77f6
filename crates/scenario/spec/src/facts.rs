//! Vocabulary of a workload's facts (`Kind::facts`).

use crate::problem::Wrong;
use crate::settings::Settings;

/// How the bytes to send are configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// A fragment per server, or a block divided among all.
    Answers,
    /// A fragment from each host to each other host.
    Fragments,
    /// By the workload's own settings.
    Own,
}

/// Kinds of warm-up that a workload allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaves {
    /// None: the workload is measured from its start.
    Nothing,
    /// A time.
    Time,
    /// A time or a number of rounds.
    TimeOrRounds,
}

/// Volume of a run, estimated from its settings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Moves {
    /// Number of flows, or of connections if each flow has its own.
    pub flows: f64,
    /// Payload.
    pub bytes: f64,
    /// Connections that are open at once, if known.
    pub open: f64,
    /// Random draws before the start.
    pub draws: f64,
    /// Bytes of memory that the workload uses at its start and by its end.
    pub held: [f64; 2],
}

/// Descriptions of swept values, for a sentence about a workload.
pub struct Swept<'a> {
    /// Numbers of hosts.
    pub hosts: &'a str,
    /// Sizes and loads of Poisson flows.
    pub poisson: &'a str,
    /// Prints a number with three digits.
    pub three: fn(f64) -> String,
}

/// Facts of a workload.
#[derive(Clone, Copy)]
pub struct Facts {
    /// Whether many servers send to one client; otherwise flows run between any hosts.
    pub many_to_one: bool,
    /// Whether the client sends requests repeatedly, so that it may limit concurrent ones.
    pub(crate) asks: bool,
    /// Whether a client's concurrent requests, or a host's concurrent flows, may be limited.
    pub(crate) limits: bool,
    /// Whether several clients are possible.
    pub(crate) many_clients: bool,
    /// Whether it runs for the whole duration; others end by themselves.
    pub lasts: bool,
    /// Whether it uses all hosts of the fabric if nothing sets a number.
    pub(crate) all_hosts: bool,
    /// Whether its flows are unlimited.
    pub endless: bool,
    /// Whether its flows come from a list.
    pub listed: bool,
    /// Whether a file says which hosts take part, so that it cannot run without one.
    pub(crate) from_file: bool,
    /// Whether its flows are Poisson flows: they need a load, and exclude Poisson background traffic.
    pub poisson: bool,
    /// How its sizes are configured.
    pub payload: Payload,
    pub(crate) leaves: Leaves,
    /// Whether its connections persist by default.
    pub stands: bool,
    /// Round trips before the first byte of a sender that starts without a request on a new connection.
    pub(crate) setup_rtts: Option<f64>,
    /// Volume of a run, or of a round for a workload that lasts.
    pub(crate) moves: fn(&Settings) -> Moves,
    /// Short description for readers of its results.
    pub says: fn(&Settings, &Swept) -> String,
    /// Workload-specific validation.
    pub(crate) check: fn(&Settings) -> Result<(), Wrong>,
}

impl Facts {
    /// Repeated reads over persistent connections.
    pub(crate) const READS: Facts = Facts {
        many_to_one: true,
        asks: true,
        limits: true,
        many_clients: false,
        lasts: true,
        all_hosts: false,
        endless: false,
        listed: false,
        from_file: false,
        poisson: false,
        payload: Payload::Answers,
        leaves: Leaves::TimeOrRounds,
        stands: true,
        setup_rtts: None,
        moves: |_| Moves::default(),
        says: |_, _| String::new(),
        check: |_| Ok(()),
    };
    /// Flows between any hosts, until all are complete.
    pub(crate) const BETWEEN: Facts = Facts {
        many_to_one: false,
        asks: false,
        limits: false,
        lasts: false,
        payload: Payload::Own,
        leaves: Leaves::Nothing,
        stands: false,
        ..Facts::READS
    };
}
