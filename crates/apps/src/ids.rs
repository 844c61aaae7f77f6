//! Numbers that cannot be taken for one another.

/// The number of one end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndpointId(u32);

/// The number of a connection: whose it is, and how many that owner had opened before it. So what others open moves no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(u32);

/// Below a connection's owner, its place.
const PLACE_BITS: u32 = 28;

impl ConnectionId {
    /// The connection of an owner that opened `place` ones before it.
    pub fn new(owner: Owner, place: u32) -> ConnectionId {
        assert!(place >> PLACE_BITS == 0, "a run opens more than {} connections", 1 << PLACE_BITS);
        ConnectionId(u32::from(owner.0) << PLACE_BITS | place)
    }

    /// Whose it is: zero for the workload's, one for the background's, then what else runs beside the workload.
    pub fn owner(self) -> Owner {
        Owner((self.0 >> PLACE_BITS) as u8)
    }

    /// How many its owner had opened before it.
    pub fn place(self) -> u32 {
        self.0 & ((1 << PLACE_BITS) - 1)
    }

    /// The end that opened it. Ends are numbered so that the two of a connection lie side by side in memory.
    pub fn opener(self) -> EndpointId {
        EndpointId(2 * self.0)
    }

    /// The end that answered.
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

    /// The connection that it is an end of.
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

/// Who opened a connection or set a timer, and is told of what becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner(u8);

impl Owner {
    /// So many are there at the most: their numbers stand in connections' numbers.
    pub const MOST: usize = 8;
    /// The workload.
    pub const WORKLOAD: Owner = Owner(0);
    /// The background's long flows, which nobody is told of.
    pub const BACKGROUND: Owner = Owner(1);

    /// One of those that run beside the workload.
    pub fn guest(number: u8) -> Owner {
        let owner = Owner(Owner::FIRST_GUEST + number);
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

    /// A guest's place among guests.
    pub fn place(self) -> usize {
        usize::from(self.0 - Owner::FIRST_GUEST)
    }

    const FIRST_GUEST: u8 = 2;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_ends_of_a_connection_know_it_and_each_other() {
        let connection = ConnectionId::new(Owner::guest(1), 21);
        let (opener, answerer) = (connection.opener(), connection.answerer());
        assert_eq!((opener.peer(), answerer.peer()), (answerer, opener));
        assert_eq!((opener.connection(), answerer.connection()), (connection, connection));
        assert_eq!((opener.is_opener(), answerer.is_opener()), (true, false));
        assert_eq!((connection.owner(), connection.place()), (Owner::guest(1), 21));
    }

    #[test]
    fn the_last_connection_of_the_last_owner_has_a_number_of_its_own_and_one_more_is_refused() {
        let last = Owner::guest(Owner::MOST as u8 - 1 - Owner::FIRST_GUEST);
        let answerer = ConnectionId::new(last, (1 << PLACE_BITS) - 1).answerer();
        assert_eq!(answerer.number(), u32::MAX);
        assert!(std::panic::catch_unwind(|| ConnectionId::new(last, 1 << PLACE_BITS)).is_err());
    }
}
