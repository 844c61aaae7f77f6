//! Slots of endpoints.

/// Index of an endpoint until its connection is over; later endpoints reuse it. Packets and timers refer to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slot(pub u32);

impl Slot {
    /// The slots of a pair of endpoints, by the pair's number: opener, then answerer.
    pub fn pair(number: u32) -> [Slot; 2] {
        [Slot(2 * number), Slot(2 * number + 1)]
    }

    /// Its index in a list.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The number of its pair.
    #[inline]
    pub fn of_pair(self) -> u32 {
        self.0 / 2
    }

    /// Whether it belongs to the end that opened its connection.
    pub fn is_opener(self) -> bool {
        self.0.is_multiple_of(2)
    }

    /// The slot of the other end.
    #[inline]
    pub fn peer(self) -> Slot {
        Slot(self.0 ^ 1)
    }
}
