//! Search for the number of servers from which multigets collapse, and for a limit that prevents it.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fanin::{CompareOptions, Lab, Scenario, Time, Verdict, verdict_at};
use fanin_daemon::incast::{Prediction, Workload};
use fanin_daemon::settings::Pool;

use super::scenario::{Multigets, text};

/// Verdict and mean time of simulated multigets.
type Found = (Verdict, Time);

/// A search for one pool.
pub struct Search<'a> {
    pool: &'a Pool,
    workload: Workload,
    lab: Lab,
    /// Runs so far.
    known: Vec<(Multigets, Found)>,
}

impl Search<'_> {
    /// A search that ends when `stop` is set.
    ///
    /// # Errors
    /// The pool has no `incast`.
    pub fn new(pool: &Pool, workload: Workload, stop: Arc<AtomicBool>) -> Result<Search<'_>, String> {
        if pool.incast.is_none() {
            return Err("the pool has no `incast`".to_owned());
        }
        let lab = Lab::default().jobs(NonZeroUsize::MIN).without_cache().stopped_by(stop);
        Ok(Search { pool, workload, lab, known: Vec::new() })
    }

    /// The prediction.
    ///
    /// # Errors
    /// A simulation fails, or there is not enough time.
    pub fn predict(&mut self) -> Result<Prediction, String> {
        let own = Multigets::of_pool(self.pool, &self.workload);
        let (_, unlimited) = self.found(&own.unlimited())?;
        let most = self.pool.servers.len() as u32;
        let all = own.wide(most, &self.workload);
        let widest = self.found(&all.unlimited())?.0;
        if !widest.is_impaired() {
            let (verdict, expected) = self.found(&own)?;
            return Ok(Prediction {
                collapse: None,
                limit: None,
                unlimited,
                expected,
                sustains: !verdict.is_impaired(),
            });
        }
        let first_impaired = self.first(most, Verdict::is_impaired)?;
        let collapse = if is_collapsed(widest) { Some(self.first(most, is_collapsed)?) } else { None };
        let limit = self.limit(&all, first_impaired - 1)?;
        let (verdict, expected) = self.found(&own.limited(limit))?;
        Ok(Prediction { collapse, limit, unlimited, expected, sustains: !verdict.is_impaired() })
    }

    /// The smallest number of servers, at most `most`, with which unlimited multigets have such a verdict, as they have with `most`. One
    /// server is never tried.
    fn first(&mut self, most: u32, is_such: fn(Verdict) -> bool) -> Result<u32, String> {
        let own = Multigets::of_pool(self.pool, &self.workload).unlimited();
        let (mut other, mut such) = (1, most.max(2));
        while such - other > 1 {
            let middle = other + (such - other) / 2;
            match is_such(self.found(&own.wide(middle, &self.workload))?.0) {
                true => such = middle,
                false => other = middle,
            }
        }
        Ok(such)
    }

    /// Three quarters of the largest limit, of at most `most` servers, with which multigets over all servers are not impaired; none if the
    /// algorithm has no limit, does not need one, or no limit prevents it.
    fn limit(&mut self, all: &Multigets, most: u32) -> Result<Option<u32>, String> {
        let has_limit = self.pool.window(None).window() < u32::MAX;
        if !has_limit || !self.found(all)?.0.is_impaired() {
            return Ok(None);
        }
        let least = self.pool.window(Some(1)).window();
        let (mut good, mut bad) = (least, most.max(least) + 1);
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            match self.found(&all.limited(Some(middle)))?.0.is_impaired() {
                true => bad = middle,
                false => good = middle,
            }
        }
        // Other traffic takes a part of the buffer.
        let limit = (3 * good / 4).max(least);
        Ok((!self.found(&all.limited(Some(limit)))?.0.is_impaired()).then_some(limit))
    }

    /// Simulates multigets.
    fn found(&mut self, multigets: &Multigets) -> Result<Found, String> {
        if let Some((_, found)) = self.known.iter().find(|(known, _)| known == multigets) {
            return Ok(*found);
        }
        let text = text(self.pool, multigets).unwrap_or_default();
        let resolved = Scenario::parse(&self.pool.name, text).and_then(|scenario| scenario.resolve());
        let resolved = resolved.map_err(|error| error.to_string())?;
        let compared = self.lab.compare(&resolved, CompareOptions::default(), &mut |_| {});
        let compared = compared.map_err(|error| error.to_string())?;
        let row = compared.summary().rows.first().and_then(|row| Some((verdict_at(row), row.qct_ms.mean?)));
        let (verdict, mean) = row.ok_or("the simulation takes too long")?;
        let found = (verdict, Time::from_micros((mean * 1e3) as u64));
        self.known.push((multigets.clone(), found));
        Ok(found)
    }
}

fn is_collapsed(verdict: Verdict) -> bool {
    verdict == Verdict::Collapsed
}
