//! Slab of numbered values.

/// Values by number; a number is reused once its value is taken.
pub(super) struct Slab<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    pub fn put(&mut self, thing: T) -> u32 {
        match self.free.pop() {
            Some(number) => {
                self.places[number as usize] = Some(thing);
                number
            }
            None => {
                self.places.push(Some(thing));
                self.places.len() as u32 - 1
            }
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Drops the others.
    pub fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        for (place, number) in self.places.iter_mut().zip(0..) {
            if place.take_if(|thing| !keep(thing)).is_some() {
                self.free.push(number);
            }
        }
    }

    /// Take the value of a number, once.
    pub fn take(&mut self, number: u32) -> T {
        self.free.push(number);
        self.places[number as usize].take().unwrap_or_else(|| unreachable!("{number} was taken before"))
    }
}
