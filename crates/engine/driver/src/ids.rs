//! Typed identifiers.

/// The number of one end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndpointId(u32);

/// The number of a connection: its owner, and its index among the owner's, so that other owners' connections do not affect it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(u32);

/// Bits of the index below the owner.
const PLACE_BITS: u32 = 28;

impl ConnectionId {
    /// The connection of this owner with index `place`.
    pub fn new(owner: Owner, place: u32) -> ConnectionId {
        assert!(place >> PLACE_BITS == 0, "a run opens more than {} connections", 1 << PLACE_BITS);
        ConnectionId(u32::from(owner.0) << PLACE_BITS | place)
    }

    /// Its owner: zero for the workload, one for the background, then background applications.
    pub fn owner(self) -> Owner {
        Owner((self.0 >> PLACE_BITS) as u8)
    }

    /// Its index among its owner's connections.
    pub fn place(self) -> u32 {
        self.0 & ((1 << PLACE_BITS) - 1)
    }

    /// The end that opened it. The two ends of a connection have adjacent numbers.
    pub fn opener(self) -> EndpointId {
        EndpointId(2 * self.0)
    }

    /// The end that accepted it.
    pub fn answerer(self) -> EndpointId {
        EndpointId(2 * self.0 + 1)
    }
}

impl EndpointId {
    /// The endpoint of this number.
    #[inline]
    pub fn new(number: u32) -> EndpointId {
        EndpointId(number)
    }

    /// Its number.
    #[inline]
    pub fn number(self) -> u32 {
        self.0
    }

    /// Its connection.
    #[inline]
    pub fn connection(self) -> ConnectionId {
        ConnectionId(self.0 / 2)
    }

    /// The other end.
    #[inline]
    pub fn peer(self) -> EndpointId {
        EndpointId(self.0 ^ 1)
    }

    /// Whether it opened the connection.
    pub fn is_opener(self) -> bool {
        self == self.connection().opener()
    }
}

/// Owner of connections and timers, which receives their events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner(u8);

impl Owner {
    /// Maximum number of owners, limited by the bits in connections' numbers.
    pub const MOST: usize = 8;
    /// The workload.
    pub const WORKLOAD: Owner = Owner(0);
    /// Long-lived flows in the background, whose events are not reported.
    pub const LONG_FLOWS: Owner = Owner(1);

    /// A background application.
    pub fn background(number: u8) -> Owner {
        let owner = Owner(Owner::FIRST_BACKGROUND + number);
        assert!(usize::from(owner.0) < Owner::MOST, "more runs beside the workload than numbers have room for");
        owner
    }

    /// The owner of this number.
    pub fn new(number: u8) -> Owner {
        Owner(number)
    }

    /// Its number.
    pub fn number(self) -> u8 {
        self.0
    }

    /// Index among background applications.
    pub fn place(self) -> usize {
        usize::from(self.0 - Owner::FIRST_BACKGROUND)
    }

    const FIRST_BACKGROUND: u8 = 2;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_identify_connection_and_peer() {
        let connection = ConnectionId::new(Owner::background(1), 21);
        let (opener, answerer) = (connection.opener(), connection.answerer());
        assert_eq!((opener.peer(), answerer.peer()), (answerer, opener));
        assert_eq!((opener.connection(), answerer.connection()), (connection, connection));
        assert_eq!((opener.is_opener(), answerer.is_opener()), (true, false));
        assert_eq!((connection.owner(), connection.place()), (Owner::background(1), 21));
    }

    #[test]
    fn connection_numbers_have_limits() {
        let last = Owner::background(Owner::MOST as u8 - 1 - Owner::FIRST_BACKGROUND);
        let answerer = ConnectionId::new(last, (1 << PLACE_BITS) - 1).answerer();
        assert_eq!(answerer.number(), u32::MAX);
        assert!(std::panic::catch_unwind(|| ConnectionId::new(last, 1 << PLACE_BITS)).is_err());
    }
}
