//! Requests of a `key_value` workload without its roles, for a front end that carries them out in another way.

use fanin_assemble::Stream;
use fanin_roles::wire::{Numbered, Size};
use fanin_spec::RunSpec;

use super::store::Store;

/// The objects of a run and the requests of its first front end, the same as in the workload.
pub struct Reads {
    store: Store,
    draws: Stream,
    objects: u32,
    begun: u32,
}

impl Reads {
    /// Those of a run.
    pub fn new(spec: &RunSpec) -> Reads {
        let store = Store::new(spec);
        let draws = Stream::new(spec.seed, store.purpose(), 0);
        Reads { store, draws, objects: spec.settings.key_value.objects, begun: 0 }
    }

    /// The stored objects with their sizes in bytes.
    pub fn objects(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..self.objects)
            .map(|object| (object, self.store.value(Numbered(object.into())).map_or(0, |Size(bytes)| bytes)))
    }

    /// Distinct objects of the next request; numbers that are not stored are missing objects.
    pub fn request(&mut self) -> Vec<u32> {
        self.begun += 1;
        self.store.draw(self.begun - 1, &mut self.draws)
    }
}
