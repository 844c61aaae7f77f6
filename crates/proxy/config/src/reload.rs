//! Which settings a running front end can take over.

use super::types::{Pool, Problem, Settings};

impl Settings {
    /// Checks that a front end with these settings can take over `new` ones.
    ///
    /// # Errors
    /// A setting that only a new process can change.
    pub fn check_reload(&self, new: &Settings) -> Result<(), Problem> {
        let same = [
            ("threads", self.threads == new.threads),
            ("event_loop", self.event_loop == new.event_loop),
            ("memory", self.memory == new.memory),
            ("[log]", self.log == new.log),
            ("[metrics]", self.metrics == new.metrics),
            ("[messages]", self.messages == new.messages),
        ];
        let refused =
            |text: String| Err(Problem { place: None, text: format!("{text}; restart the front end instead") });
        if let Some((key, _)) = same.iter().find(|(_, same)| !same) {
            return refused(format!("{key} cannot change in a reload"));
        }
        let old: Vec<&Pool> = self.pools.iter().collect();
        let goes_on = |pool: &Pool| pool.predecessor(&new.pools, &old).map(|place| old[place]);
        for pool in &new.pools {
            let before = goes_on(pool);
            if pool.plan != before.and_then(|before| before.plan.clone()) {
                return refused(format!("the plan of pool {} cannot change in a reload", pool.name));
            }
        }
        for before in self.pools.iter().filter(|pool| pool.plan.is_some()) {
            let is_kept = |pool: &Pool| pool.listen == before.listen && pool.migrates_like(before);
            if !new.pools.iter().any(is_kept) {
                let name = &before.name;
                return refused(format!(
                    "pool {name} has a plan: its name, address, servers, hash, placement and replicas cannot change in a reload"
                ));
            }
        }
        Ok(())
    }
}

impl Pool {
    /// Whether a plan means the same in both pools.
    fn migrates_like(&self, other: &Pool) -> bool {
        (&self.name, &self.servers, self.hash, self.placement, self.replicas)
            == (&other.name, &other.servers, other.hash, other.placement, other.replicas)
    }
}
