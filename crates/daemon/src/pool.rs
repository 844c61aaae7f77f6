//! A pool as a thread has it: where its keys are, and how much is asked for at once.

use std::collections::VecDeque;
use std::sync::Arc;

use fanin_fanout::Window;
use fanin_memcache::Limits;

use crate::carrying::{Place, Standing};
use crate::clock::{Nanos, nanos};
use crate::memory::Charge;
use crate::routing::Router;
use crate::server::ServerError;
use crate::settings;
use crate::table::Id;

/// A list of multigets that is empty keeps room for no more.
const MOST_KEPT: usize = 1024;
/// Laws count time in picoseconds, of which 64 bits hold some months: after a day a window that is kept begins anew.
const LONGEST_KEPT: Nanos = 24 * 3600 * 1_000_000_000;

/// One pool.
pub struct Pool {
    pub name: String,
    pub router: Router,
    /// The plan that is being carried out, if there is one.
    pub standing: Option<Arc<Standing>>,
    pub limits: Limits,
    /// The longest value that is passed on, its end included.
    pub longest_answer: u32,
    /// Its servers, in the order of all.
    pub first: usize,
    pub servers: usize,
    /// What a multiget begins with that knows nothing of others before.
    fresh: Window,
    /// The window that the last one ended with, and since when it counts its time; where windows are kept.
    kept: Option<(Nanos, Window)>,
    pub timeout: Nanos,
    /// Whether equal gets are asked once.
    pub joins: bool,
    /// Whether clients may administer the servers.
    pub admin: bool,
    /// Whether a get of a key whose server is away is a miss.
    misses_when_down: bool,
    /// Multigets whose window wants to know whether batches are late, each with when: all wait equally long.
    late: VecDeque<(Nanos, Id)>,
    charge: Charge,
}

impl Pool {
    /// Where a key is.
    pub fn place(&self, key: &[u8]) -> Place {
        match &self.standing {
            None => Place::At(self.router.server(key)),
            Some(standing) => standing.place(key, &self.router),
        }
    }

    /// Whether the place that a key is asked of may hold something from before the key's last change.
    pub fn is_unclear(&self, place: &Place, plainly: bool) -> bool {
        let (Place::Moving(way), Some(standing)) = (place, &self.standing) else { return false };
        !standing.moves.is_clear(way.index, way.side_asked(plainly))
    }

    /// What a multiget begins with: since when its window counts time, and the window.
    pub fn begins(&mut self, now: Nanos) -> (Nanos, Window) {
        if let Some((since, window)) = &mut self.kept
            && now.saturating_sub(*since) > LONGEST_KEPT
        {
            (*since, *window) = (now, self.fresh);
        }
        self.kept.unwrap_or((now, self.fresh))
    }

    /// A multiget that began so is over.
    pub fn ends(&mut self, since: Nanos, window: Window) {
        if let Some(kept) = self.kept.as_mut().filter(|kept| kept.0 == since) {
            kept.1 = window;
        }
    }

    /// Whether a get that meets this trouble is answered as a miss.
    pub fn misses(&self, trouble: ServerError) -> bool {
        self.misses_when_down && trouble.is_away()
    }

    /// A multiget's window is to be asked then whether batches are late.
    pub fn look_for_late(&mut self, at: Nanos, get: Id) {
        self.late.push_back((at, get));
        self.charge.set(self.late.capacity() * size_of::<(Nanos, Id)>());
    }

    /// When the first of them is due.
    pub fn late_at(&self) -> Option<Nanos> {
        self.late.front().map(|(at, _)| *at)
    }

    /// The first of them, if it is due now.
    pub fn next_late(&mut self, now: Nanos) -> Option<Id> {
        let next = self.late.pop_front_if(|(at, _)| *at <= now).map(|(_, get)| get);
        if self.late.is_empty() && self.late.capacity() > MOST_KEPT {
            self.late.shrink_to(MOST_KEPT);
            self.charge.set(self.late.capacity() * size_of::<(Nanos, Id)>());
        }
        next
    }

    pub fn new(pool: &settings::Pool, first: usize) -> Pool {
        let fresh = pool.multiget.window(&pool.laws, pool.link).expect("a law that asks servers");
        let value = u32::try_from(pool.item.0).unwrap_or(u32::MAX);
        Pool {
            name: pool.name.clone(),
            router: pool.router(),
            longest_answer: value.max(1 << 20).saturating_add(2),
            standing: None,
            limits: Limits { value, keys: usize::try_from(pool.keys.0).unwrap_or(usize::MAX) },
            first,
            servers: pool.servers.len(),
            fresh,
            kept: pool.keeps_windows.then_some((0, fresh)),
            timeout: nanos(pool.timeout),
            joins: pool.join,
            admin: pool.admin,
            misses_when_down: pool.misses_when_down,
            late: VecDeque::new(),
            charge: Charge::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use fanin_units::Time;

    use super::*;
    use crate::settings::Settings;

    fn pool(windows: &str) -> Pool {
        let text = format!(
            "[[pool]]\nlisten = \"127.0.0.1:0\"\nservers = [\"127.0.0.1:1\"]\nmultiget = \"sliding-window\"\nwindows = \"{windows}\"\n"
        );
        Pool::new(&Settings::of_file("f.toml", &text).unwrap().pools[0], 0)
    }

    #[test]
    fn a_window_that_is_kept_begins_as_the_last_one_ended_for_a_day() {
        for (windows, next) in [("kept", 20), ("anew", 10)] {
            let mut pool = pool(windows);
            let (since, mut window) = pool.begins(5);
            assert_eq!(window.window(), 10);
            (0..10).for_each(|_| window.answered(Time(1), 1, Time(1)));
            pool.ends(since, window);
            assert_eq!(pool.begins(9).1.window(), next);
            let (since, window) = pool.begins(10 + LONGEST_KEPT);
            assert_eq!((since, window.window()), (10 + LONGEST_KEPT, 10));
        }
    }
}
