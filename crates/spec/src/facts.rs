//! What there is to know of each workload besides what it does: `Kind::facts` has a row a workload.

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

/// Facts of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Whether many send to one client; otherwise flows go between any hosts.
    pub many_to_one: bool,
    /// Whether the client asks again and again: then it may ask some at once.
    pub(crate) asks: bool,
    /// Whether it lasts as long as it is given, whatever is done; others end by themselves.
    pub(crate) lasts: bool,
    /// Whether it takes all of the fabric's hosts where nothing says how many.
    pub(crate) all_hosts: bool,
    /// Whether its flows are Poisson flows: they need a load, and nothing of that kind runs beside.
    pub poisson: bool,
    /// What is sent.
    pub payload: Payload,
    pub(crate) leaves: Leaves,
    /// Whether its connections usually stand, and carry answer after answer.
    pub(crate) stands: bool,
    /// Round trips before the first byte of who sends unasked over a new connection.
    pub(crate) setup_rtts: Option<f64>,
}

impl Facts {
    /// Reads, round after round, over standing connections.
    pub(crate) const READS: Facts = Facts {
        many_to_one: true,
        asks: true,
        lasts: true,
        all_hosts: false,
        poisson: false,
        payload: Payload::Answers,
        leaves: Leaves::TimeOrRounds,
        stands: true,
        setup_rtts: None,
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
