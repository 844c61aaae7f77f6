//! Plan of a period: the moves in order, and their result.
//! Sources: Wang and Shen, "Proactive Incast Congestion Control in a Datacenter Serving Web Applications" (INFOCOM 2018),
//!          section III-A and III-B.
//! Law:     popular objects are co-located, clusters of close ones settled; a replica moves directly to its final server. Moves of the
//!          most requested objects come first; a move without free capacity comes after one that frees it.
//! Units:   bytes, requests of a period.
//! Owns:    nothing: the next period gets this one's history, and the placement after the moves.
//! Departs: objects that would have to swap without free capacity stay where they are.
//! Checked: tests/placement/plans.rs: no server above its capacity, and no two replicas in a rack, after every move.

use fanin_laws::settings::Section;

use crate::closeness::{Edge, UNIT, closeness};
use crate::co_location::{co_locate, popular};
use crate::cut_clusters::cut_clusters;
use crate::loads::{Demands, Loads};
use crate::moves::{Plan, PlanError, agree, gathering, in_order, wanted};
use crate::picc::Params;
use crate::settle::settle;
use crate::{Cluster, Kind, Object, Placement, RequestLog};

/// Plans after a period: `sizes` are objects' bytes, `history` is the last plan's.
pub fn plan(
    cluster: &Cluster,
    sizes: &[u64],
    placement: &Placement,
    log: &RequestLog,
    history: Option<&[Edge]>,
    kind: Kind,
    settings: &Params,
) -> Result<Plan, PlanError> {
    check(cluster, sizes, placement, log, settings)?;
    let popular = popular(log, settings.theta);
    let unmoved = || {
        let demands = Demands { sizes, log, replicas: placement.replicas() as u64 };
        Loads::of(cluster, demands, placement, &popular, settings.counts)
    };
    let mut loads = unmoved();
    co_locate(&mut loads, &popular).map_err(PlanError::TooLarge)?;
    let mut plan = Plan { moves: Vec::new(), gathering: Vec::new(), clusters: Vec::new(), history: Vec::new() };
    if kind.correlates() {
        plan.history = closeness(log, history, settings);
        let clusters = cut_clusters(placement.objects(), &plan.history, u64::from(settings.w) * u64::from(UNIT));
        plan.clusters = clusters.into_iter().map(|cluster| cluster.into_iter().map(Object).collect()).collect();
        let mut is_popular = vec![false; placement.objects()];
        popular.iter().for_each(|object| is_popular[object.0 as usize] = true);
        settle(&mut loads, &plan.clusters, |object| is_popular[object.0 as usize]);
    }
    let mut now = unmoved();
    plan.moves = in_order(&mut now, wanted(placement, &loads));
    plan.gathering = gathering(&now, popular.iter().flat_map(|object| now.placement.homes(*object)).copied());
    Ok(plan)
}

fn check(
    cluster: &Cluster,
    sizes: &[u64],
    placement: &Placement,
    log: &RequestLog,
    settings: &Params,
) -> Result<(), PlanError> {
    let wrong = |what: String| Err(PlanError::Settings(what));
    if settings.theta == 0 {
        return wrong("picc.theta is 0: use at least 1, or nothing is popular".into());
    }
    if settings.w == 0 || settings.strongest == 0 {
        return wrong("picc.w or picc.strongest is 0: use at least 1 for each".into());
    }
    if let Some(refusal) = settings.refuses() {
        return wrong(format!("{}: {}", refusal.paths.join(" and "), refusal.what));
    }
    agree(cluster, sizes, placement, log)
}
