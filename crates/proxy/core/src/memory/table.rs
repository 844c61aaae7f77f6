//! Slab. Indexes are reused, but an [`Id`] is not: one of a removed item finds nothing.

use std::num::NonZeroU32;

use super::Charge;

/// Id of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id {
    /// Its slot.
    pub index: u32,
    /// Generation of the slot; not zero, so that an optional id is no larger.
    life: NonZeroU32,
}

/// Maximum growth step, since memory may be short.
const LARGEST_STEP: usize = 1024;

/// A slab.
#[derive(Debug)]
pub struct Table<T> {
    places: Vec<(NonZeroU32, Option<T>)>,
    free: Vec<u32>,
    /// Generation of a new slot.
    first_life: NonZeroU32,
    charge: Charge,
}

impl Id {
    /// An id that no item ever has.
    pub const NOBODY: Id = Id { index: u32::MAX, life: NonZeroU32::MAX };
}

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table { places: Vec::new(), free: Vec::new(), first_life: NonZeroU32::MIN, charge: Charge::default() }
    }
}

impl<T> Table<T> {
    /// Adds an item.
    pub fn insert(&mut self, thing: T) -> Id {
        let index = self.free.pop().unwrap_or_else(|| {
            if self.places.len() == self.places.capacity() {
                self.places.reserve_exact(self.places.len().clamp(4, LARGEST_STEP));
            }
            self.places.push((self.first_life, None));
            self.charge.set(self.places.capacity() * size_of::<(NonZeroU32, Option<T>)>());
            self.places.len() as u32 - 1
        });
        let (life, place) = &mut self.places[index as usize];
        *place = Some(thing);
        Id { index, life: *life }
    }

    /// Index of the next item inserted.
    pub fn next(&self) -> usize {
        self.free.last().map_or(self.places.len(), |index| *index as usize)
    }

    /// The item of an id, unless it was removed.
    pub fn get(&self, id: Id) -> Option<&T> {
        self.places.get(id.index as usize).filter(|(life, _)| *life == id.life).and_then(|(_, thing)| thing.as_ref())
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, id: Id) -> Option<&mut T> {
        self.places
            .get_mut(id.index as usize)
            .filter(|(life, _)| *life == id.life)
            .and_then(|(_, thing)| thing.as_mut())
    }

    /// Removes an item, if it is still there.
    pub fn remove(&mut self, id: Id) -> Option<T> {
        let (life, place) = self.places.get_mut(id.index as usize).filter(|(life, _)| *life == id.life)?;
        let thing = place.take()?;
        *life = next(*life);
        self.free.push(id.index);
        if self.len() == 0 && self.places.len() > LARGEST_STEP {
            // An [`Id`] of a removed slot finds nothing in a new one.
            self.first_life = self.places.iter().map(|(life, _)| *life).max().map_or(NonZeroU32::MIN, next);
            (self.places, self.free) = (Vec::new(), Vec::new());
            self.charge.set(0);
        }
        Some(thing)
    }

    /// Id of the item that has this index now.
    pub fn at(&self, index: usize) -> Option<Id> {
        let (life, thing) = self.places.get(index)?;
        thing.as_ref().map(|_| Id { index: index as u32, life: *life })
    }

    /// Ids of all items, by slot.
    pub fn ids(&self) -> Vec<Id> {
        (0..self.places.len()).filter_map(|index| self.at(index)).collect()
    }

    /// Number of items.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

/// The next generation of a slot.
fn next(life: NonZeroU32) -> NonZeroU32 {
    life.checked_add(1).unwrap_or(NonZeroU32::MIN)
}
