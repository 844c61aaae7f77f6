//! Multigets and joined gets of a thread: responses that several servers, or several clients, share.

mod batch;
pub mod coalescing;
mod multiget;
pub mod schedule;
mod spare;

use fanin_fanout::Window;
use fanin_memcache::Get;
use fanin_placement::Server as Replica;

pub use batch::Settled;
pub use coalescing::Coalescing;
pub use multiget::{Multiget, Origin, Retrieval};
pub use spare::Spare;

use fanin_proxy_core::memory::table::{Id, Table};

use super::upstreams::pool::Pool;

/// The multigets, and unused buffers.
#[derive(Debug)]
pub struct Multigets {
    table: Table<Multiget>,
    spare: Spare,
}

impl Multigets {
    /// No multigets; unused buffers take at most this much memory.
    pub fn new(most_spare: usize) -> Multigets {
        Multigets { table: Table::default(), spare: Spare::new(most_spare) }
    }

    /// Unused buffers.
    pub fn spare(&mut self) -> &mut Spare {
        &mut self.spare
    }

    /// Builds the multiget of a client's first keys, and returns the remaining ones; see [`Multiget::new`].
    pub fn build<'a>(
        &mut self,
        get: &Get<'a>,
        most: usize,
        origin: Origin,
        window: Window,
        pool: &Pool,
        chosen: Option<Vec<Replica>>,
    ) -> Option<(Multiget, Option<Get<'a>>)> {
        Multiget::new(get, most, origin, window, pool, chosen, &mut self.spare)
    }

    /// Adds a multiget.
    pub fn add(&mut self, multiget: Multiget) -> Id {
        self.table.insert(multiget)
    }

    pub fn get(&self, get: Id) -> Option<&Multiget> {
        self.table.get(get)
    }

    pub fn get_mut(&mut self, get: Id) -> Option<&mut Multiget> {
        self.table.get_mut(get)
    }

    /// Takes response bytes of a batch; returns whether the multiget exists.
    pub fn hold(&mut self, get: Id, batch: u32, bytes: &[u8]) -> bool {
        let Some(multiget) = self.table.get_mut(get) else { return false };
        multiget.hold(batch, bytes, &mut self.spare);
        true
    }

    /// A multiget, and unused buffers.
    pub fn with_spare(&mut self, get: Id) -> Option<(&mut Multiget, &mut Spare)> {
        Some((self.table.get_mut(get)?, &mut self.spare))
    }

    /// Takes a multiget out; return its buffers with [`Multigets::recycle`].
    pub fn remove(&mut self, get: Id) -> Option<Multiget> {
        self.table.remove(get)
    }

    /// Reuses the buffers of a multiget.
    pub fn recycle(&mut self, multiget: Multiget) {
        multiget.over(&mut self.spare);
    }
}
