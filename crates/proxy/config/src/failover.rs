//! Settings of pools in which other servers answer for one that is down.

use std::ops::{Range, RangeInclusive};

use fanin_units::{Share, Time};
use serde::Deserialize;
use toml::Spanned;

use super::types::{Hedge, OnDown, Pool};
use super::values::{Written, Wrong, bounded, quantity, right, whole, word};
use fanin_proxy_routing::MOST_REPLICAS;

/// The keys of a pool in a file.
pub struct FailoverInFile {
    pub on_down: Option<Spanned<String>>,
    pub replicas: Option<Spanned<i64>>,
    pub hedge: Option<Spanned<HedgeInFile>>,
}

/// A hedge in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HedgeInFile {
    after: Spanned<Written>,
    share: Option<Spanned<Written>>,
}

/// Bounds of the time after which a get is sent again.
const AFTER: RangeInclusive<Time> = Time::from_micros(100)..=Time::from_secs(3600);

/// Converts them; the pool has its servers.
pub fn failover(file: FailoverInFile, pool: &mut Pool) -> Result<(), Wrong> {
    let [on_down, replicas] = [file.on_down.as_ref().map(Spanned::span), file.replicas.as_ref().map(Spanned::span)];
    let place = file.hedge.as_ref().map(Spanned::span);
    pool.on_down = word(file.on_down, pool.on_down, &OnDown::WORDS)?;
    pool.replicas = whole(file.replicas, pool.replicas, MOST_REPLICAS as i64)?;
    pool.hedge = file.hedge.map(|file| hedge(file.into_inner())).transpose()?;
    failover_is_possible(pool, on_down, replicas)?;
    match pool.hedge {
        Some(_) if pool.replicas == 1 => {
            Err(Wrong(place, "`hedge` needs a second replica: set replicas = 2, or remove it".to_owned()))
        }
        Some(hedge) if hedge.after >= pool.timeout => {
            let what =
                format!("`after` is not less than the timeout of {}: use a value such as \"5 ms\"", pool.timeout);
            Err(Wrong(place, what))
        }
        _ => Ok(()),
    }
}

fn hedge(file: HedgeInFile) -> Result<Hedge, Wrong> {
    let place = file.share.as_ref().map(Spanned::span);
    let after = bounded(Some(file.after), *AFTER.start(), right("after", "5 ms", "ms"), AFTER)?;
    let share = quantity(file.share, Share::of(1, 20), right("share", "5 %", "%"))?;
    if !(1..=1 << 30).contains(&share.in_q(30)) {
        return Err(Wrong(place, "the share must be above 0 and at most 1, such as share = \"5 %\"".to_owned()));
    }
    Ok(Hedge { after, share })
}

/// Place in a file.
type Place = Option<Range<usize>>;

/// Checks that a pool can do without a server, given the places of `on_down` and `replicas`.
fn failover_is_possible(pool: &Pool, on_down: Place, replicas: Place) -> Result<(), Wrong> {
    let next = pool.on_down == OnDown::Next;
    let wrong = |place: &Place, text: String| Err(Wrong(place.clone(), text));
    match pool.replicas {
        1 if !next => Ok(()),
        1 if pool.servers.len() < 2 => wrong(&on_down, "`next` needs at least two servers".to_owned()),
        count if count > pool.servers.len() => {
            wrong(&replicas, format!("{count} replicas need as many servers; the pool has {}", pool.servers.len()))
        }
        count if count > 1 && next => wrong(
            &on_down,
            "with `replicas`, the other replicas replace a server: remove `on_down = \"next\"`".to_owned(),
        ),
        _ => Ok(()),
    }
}
