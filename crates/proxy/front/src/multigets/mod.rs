//! Multigets and joined gets of a thread: responses that several servers, or several clients, share.

mod batch;
pub mod coalescing;
mod multiget;
pub mod schedule;
mod spare;

use fanin_fanout::Window;
use fanin_memcache::Get;
use fanin_placement::Server as Replica;

pub use batch::{KeyResult, Settled};
pub use coalescing::{ClientRequest, Coalescing};
pub use multiget::{Multiget, Origin, Retrieval};
pub use spare::Spare;

use fanin_proxy_core::clock::Nanos;
use fanin_proxy_core::memory::table::{Id, Table};

use crate::upstreams::pool::Pool;

/// Place of a key in a multiget.
#[derive(Clone, Copy, Debug)]
pub struct PlaceInBatch {
    pub get: Id,
    pub batch: u32,
    pub place: u32,
}

/// A batch that has ended with all its results.
#[derive(Clone, Copy, Debug)]
pub struct WholeBatch {
    pub client: Id,
    /// Keys with a result, of which this many are values of this size in all.
    pub keys: usize,
    pub values: usize,
    pub bytes: usize,
}

/// A batch, after a key that was looked up elsewhere has its result.
#[derive(Clone, Copy, Debug)]
pub struct SettledBatch {
    pub client: Id,
    /// Bytes before and after.
    pub before: usize,
    pub after: usize,
    /// Whether it was the last of these keys.
    pub is_whole: bool,
}

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

    /// Ends a batch with a complete response.
    pub fn end_batch(&mut self, get: Id, batch: u32, now: Nanos) -> Option<WholeBatch> {
        let multiget = self.table.get_mut(get)?;
        let failed = multiget.is_over(batch);
        let (values, bytes) = multiget.answered(batch, now);
        let keys = if failed { values } else { multiget.keys_of(batch) };
        Some(WholeBatch { client: multiget.client, keys, values, bytes })
    }

    /// Settles a key of a batch that was looked up elsewhere.
    pub fn settle(&mut self, of: PlaceInBatch, settled: Settled, failed: Option<&'static str>) -> Option<SettledBatch> {
        let multiget = self.table.get_mut(of.get)?;
        multiget.fail_first(failed);
        let before = multiget.bytes_of(of.batch) as usize;
        let is_whole = multiget.settle(of.batch, of.place, settled);
        Some(SettledBatch { client: multiget.client, before, after: multiget.bytes_of(of.batch) as usize, is_whole })
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

    /// Removes a multiget whose client is gone.
    pub fn drop(&mut self, get: Id) {
        if let Some(multiget) = self.remove(get) {
            self.recycle(multiget);
        }
    }
}
