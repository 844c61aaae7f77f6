//! Plans, each made once: runs that differ in a link's rate or in how they ask have the same log, and a plan of it takes as long as
//! many of its requests. A plan follows from its arguments alone, so that nobody sees whether it was made before.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use fanin_placement::picc::Params;
use fanin_placement::{Cluster, Gathering, Kind, Move, Placement, RequestLog, plan};

/// So many are kept: those of a paper's points under one seed after another.
const KEPT: usize = 64;

/// What a run needs of a plan.
pub(super) struct Made {
    pub moves: Vec<Move>,
    pub gathering: Vec<Gathering>,
}

type Kept = VecDeque<(u128, Arc<OnceLock<Made>>)>;

static MADE: Mutex<Kept> = Mutex::new(VecDeque::new());

/// What a plan is made of.
pub(super) struct Asked<'a> {
    pub cluster: Cluster,
    pub sizes: Vec<u64>,
    pub placement: Placement,
    pub log: RequestLog,
    pub kind: Kind,
    pub settings: &'a Params,
}

/// The plan of these, which were checked; another thread that makes it is waited for.
pub(super) fn planned(asked: &Asked<'_>) -> Arc<OnceLock<Made>> {
    let key = key(asked);
    let place = {
        let mut kept = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.iter().find(|(other, _)| *other == key).map(|(_, made)| made.clone());
        found.unwrap_or_else(|| {
            kept.truncate(KEPT - 1);
            kept.push_front((key, Arc::default()));
            kept[0].1.clone()
        })
    };
    place.get_or_init(|| {
        let Asked { cluster, sizes, placement, log, kind, settings } = asked;
        let made = plan(cluster, sizes, placement, log, None, *kind, settings);
        let made = made.unwrap_or_else(|error| unreachable!("it was checked: {error}"));
        Made { moves: made.moves, gathering: made.gathering }
    });
    place
}

/// Two hashes of 64 bits: one alone might be another's among millions.
fn key(asked: &Asked<'_>) -> u128 {
    let Asked { cluster, sizes, placement, log, kind, settings } = asked;
    let by = format!("{kind:?} {settings:?}");
    let hash = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, cluster, sizes, placement, log, &by).hash(&mut hasher);
        u128::from(hasher.finish())
    };
    hash(0) << 64 | hash(1)
}
