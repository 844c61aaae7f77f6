//! The words in which a workload's row (`Kind::facts`) says what is known of it besides what it does.

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
