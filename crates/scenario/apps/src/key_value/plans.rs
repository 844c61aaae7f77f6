//! Cache of plans: runs that differ in a link's rate or in how they send requests have the same log, and planning takes as long as
//! many requests. A plan depends only on its arguments, so the cache is not observable.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use fanin_placement::{
    Cluster, Edge, Gathering, Kind, Move, Placement, PlanError, RequestLog, Settings, plan, plan_groups,
};

/// Capacity: a paper's points with one seed after another.
const KEPT: usize = 64;

/// A plan's data that a run needs.
pub(super) struct Made {
    pub moves: Vec<Move>,
    pub gathering: Vec<Gathering>,
    pub history: Vec<Edge>,
}

type Place = Arc<OnceLock<Result<Made, PlanError>>>;
type Kept = VecDeque<(u128, Place)>;

static MADE: Mutex<Kept> = Mutex::new(VecDeque::new());

/// Inputs of a plan.
pub(super) struct Asked<'a> {
    pub cluster: Cluster,
    pub sizes: Vec<u64>,
    pub placement: Placement,
    pub log: RequestLog,
    /// History from the last plan.
    pub history: Option<&'a [Edge]>,
    pub kind: Kind,
    pub settings: &'a Settings,
}

/// The plan of these inputs, if there is one; waits for another thread that is making it.
pub(super) fn planned(asked: &Asked<'_>) -> Place {
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
        let Asked { cluster, sizes, placement, log, history, kind, settings } = asked;
        let made = match kind {
            Kind::Groups => plan_groups(cluster, sizes, placement, log, &settings.groups, None)?,
            kind => plan(cluster, sizes, placement, log, *history, *kind, &settings.picc)?,
        };
        Ok(Made { moves: made.moves, gathering: made.gathering, history: made.history })
    });
    place
}

/// Two 64-bit hashes, since one may collide among millions.
fn key(asked: &Asked<'_>) -> u128 {
    let Asked { cluster, sizes, placement, log, history, kind, settings } = asked;
    let by = format!("{kind:?} {settings:?}");
    let hash = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, cluster, sizes, placement, log, history, &by).hash(&mut hasher);
        u128::from(hasher.finish())
    };
    hash(0) << 64 | hash(1)
}

#[cfg(test)]
mod tests {
    use fanin_placement::picc::Params;
    use fanin_placement::{Object, Resources, Server};
    use fanin_units::Time;

    use super::*;

    /// Twenty objects on four servers, each in its own rack; all are requested together `queries` times.
    fn made(queries: u64, history: Option<&[Edge]>, kind: Kind, settings: &Settings) -> Place {
        let all = Resources { storage: 1 << 20, computing: 1 << 20, io: 1 << 20, bandwidth: 1 << 30 };
        let mut log = RequestLog::new(20, usize::MAX);
        (0..queries).for_each(|query| log.add(Time::from_secs(query), (0..20).map(Object)));
        planned(&Asked {
            cluster: Cluster { racks: (0..4).collect(), capacities: vec![all; 4] },
            sizes: vec![100; 20],
            placement: Placement::new(1, (0..20).map(|object| Server(object % 4)).collect()),
            log,
            history,
            kind,
            settings,
        })
    }

    #[test]
    fn plans_are_cached_by_input() {
        let settings = Settings::default();
        let first = made(9, None, Kind::Picc, &settings);
        assert!(!first.get().unwrap().as_ref().unwrap().moves.is_empty());
        assert!(Arc::ptr_eq(&first, &made(9, None, Kind::Picc, &settings)));
        let fewer = Settings { picc: Params { theta: 1, ..settings.picc }, ..settings };
        let others = [
            made(8, None, Kind::Picc, &settings),
            made(9, Some(&[]), Kind::Picc, &settings),
            made(9, None, Kind::PiccNoCorrelation, &settings),
            made(9, None, Kind::Picc, &fewer),
        ];
        assert!(others.iter().all(|other| !Arc::ptr_eq(&first, other)));
    }
}
