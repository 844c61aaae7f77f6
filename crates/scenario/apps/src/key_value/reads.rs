//! Requests of a `key_value` workload without its roles, for a front end that carries them out in another way.

use fanin_driver::Stream;
use fanin_fabric::HostId;
use fanin_placement::{Object, Placement};
use fanin_roles::wire::{Numbered, Size};
use fanin_spec::RunSpec;

use super::gathered::Gathered;
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

    /// The server of each object's first replica before the scheme's plan, and after its moves; a scheme without a placement moves nothing.
    pub fn places(spec: &RunSpec) -> Vec<[HostId; 2]> {
        let mut store = Store::new(spec);
        store.place(spec, fanin_assemble::racks(spec));
        let (_, before) = store.sizes_and_placement();
        let mut after = before.clone();
        if let Some(gathered) = Gathered::new(spec, &mut store) {
            gathered.moves().for_each(|of| after.apply(of));
        }
        let first = |of: &Placement, object: u32| HostId(of.homes(Object(object))[0].0);
        (0..spec.settings.key_value.objects).map(|object| [&before, &after].map(|of| first(of, object))).collect()
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
