//! Front ends that request objects.

use fanin_units::Time;

use crate::facts::{Facts, Leaves, Moves, Payload};
use crate::problem::{Wrong, wrong};
use crate::setting::WarmUp;
use crate::settings::{KeyValue, Popularity, Settings};

pub(super) const FACTS: Facts = Facts {
    lasts: false,
    payload: Payload::Own,
    leaves: Leaves::TimeOrRounds,
    moves,
    says: |s, _| {
        let k = &s.key_value;
        let ends =
            if k.front_ends == 1 { "a front end".into() } else { format!("each of {} front ends", k.front_ends) };
        let apart = k.within.0.map_or(String::new(), |within| format!(" within {within}"));
        let (times, objects) = (s.workload.queries, k.per_request);
        format!("{ends} requests {objects} objects of {} to {} up to {times} times{apart}", k.least, k.most)
    },
    check,
    ..Facts::READS
};

fn moves(s: &Settings) -> Moves {
    let k = &s.key_value;
    let requests = f64::from(s.workload.queries) * f64::from(k.front_ends);
    let objects = requests * f64::from(k.per_request);
    let bytes = objects * (k.least.0 + k.most.0) as f64 / 2.0;
    let pages = if k.popularity == Popularity::Pages { f64::from(k.pages) * f64::from(k.per_request) } else { 0.0 };
    Moves { flows: objects, bytes, draws: f64::from(k.objects) * f64::from(k.replicas) + pages, ..Moves::default() }
}

fn check(s: &Settings) -> Result<(), Wrong> {
    let k = &s.key_value;
    let servers = s.servers();
    if k.per_request > k.objects {
        let what = format!("a request for {} of {} objects: use at most as many", k.per_request, k.objects);
        return wrong(&["key_value.per_request", "key_value.objects"], what);
    }
    if k.popularity == Popularity::Pages {
        pages_check(k)?;
    }
    if k.least > k.most {
        let what = format!("objects of {} to {}: `least` is above `most`", k.least, k.most);
        return wrong(&["key_value.least", "key_value.most"], what);
    }
    if k.replicas > servers {
        let what = format!("{} replicas of an object on {servers} servers: use at most {servers}", k.replicas);
        return wrong(&["key_value.replicas", "workload.fan_in"], what);
    }
    if k.front_ends > servers + 1 {
        let what = format!("{} front ends among {} hosts", k.front_ends, servers + 1);
        return wrong(&["key_value.front_ends", "workload.fan_in"], what);
    }
    if s.workload.queries == 0 {
        return wrong(&["workload.queries"], "the workload needs at least 1 query");
    }
    own_times(s)?;
    if let (Some(within), pause @ Time(1..)) = (k.within.0, s.workload.pause) {
        let what = format!(
            "requests start independently within {within}, so a pause of {pause} does not apply: remove `key_value.within` or `workload.pause`"
        );
        return wrong(&["workload.pause", "key_value.within"], what);
    }
    Ok(())
}

/// Independent start times are distinct, and the warm-up does not hold more requests than a run can process.
fn own_times(s: &Settings) -> Result<(), Wrong> {
    const EARLY_MAX: f64 = 1e7;
    let (Some(interval), queries) = (s.request_interval(), s.workload.queries) else { return Ok(()) };
    if interval == Time::ZERO {
        let what = format!("{queries} requests start within fewer picoseconds: use a longer time");
        return wrong(&["key_value.within", "workload.queries"], what);
    }
    let Some(WarmUp::For(warm_up)) = s.workload.warm_up.0 else { return Ok(()) };
    let early = warm_up.0 as f64 / interval.0 as f64 * f64::from(s.key_value.front_ends);
    if early > EARLY_MAX {
        let what = format!(
            "about {early:.0} requests start in a warm-up of {warm_up}: use at most {EARLY_MAX:.0}, by a shorter warm-up or a longer interval"
        );
        return wrong(&["workload.warm_up", "key_value.within"], what);
    }
    Ok(())
}

/// Pages fit into memory, and replace at most as many objects as they have.
fn pages_check(k: &KeyValue) -> Result<(), Wrong> {
    const OBJECTS_OF_PAGES_MAX: u64 = 100_000_000;
    let all = u64::from(k.pages) * u64::from(k.page);
    if all > OBJECTS_OF_PAGES_MAX {
        let what =
            format!("{} pages of {} objects: use at most {OBJECTS_OF_PAGES_MAX} objects in all pages", k.pages, k.page);
        return wrong(&["key_value.pages", "key_value.page"], what);
    }
    if k.page > k.objects {
        let what = format!("a page of {} of {} objects: use at most as many", k.page, k.objects);
        return wrong(&["key_value.page", "key_value.objects", "key_value.popularity"], what);
    }
    if k.replaced > k.page {
        let what = format!("{} of {} objects replaced: use at most as many", k.replaced, k.page);
        return wrong(&["key_value.replaced", "key_value.page", "key_value.popularity"], what);
    }
    Ok(())
}
