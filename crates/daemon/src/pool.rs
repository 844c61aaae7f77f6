//! A pool as a thread has it: where its keys are, and how much is asked for at once.

use std::collections::VecDeque;
use std::sync::Arc;

use fanin_fanout::Window;
use fanin_memcache::Limits;

use crate::carrying::{Place, Standing};
use crate::clock::{Nanos, nanos};
use crate::multiget::Asked;
use crate::routing::Router;
use crate::settings;
use crate::table::Id;

/// Of a client, so many bytes are asked for at once, as far as values are as long as others were: but so many keys at least, and no more.
const ENOUGH_ASKED: usize = 4 << 20;
const LEAST_KEYS: usize = 16;
const MOST_KEYS: usize = 1024;
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
    /// What values are long, the later ones counting for more, so that as many are asked for at once as come in a moment.
    mean_value: usize,
    /// Multigets whose window wants to know whether batches are late, each with when: all wait equally long.
    pub late: VecDeque<(Nanos, Id)>,
}

impl Pool {
    /// Where a key is.
    pub fn place(&self, key: &[u8]) -> Place {
        match &self.standing {
            None => Place::At(self.router.server(key)),
            Some(standing) => standing.place(key, &self.router),
        }
    }

    /// The server that a key is asked of among many.
    pub fn asked_of(&self, key: &[u8], asked: Asked) -> usize {
        match self.place(key) {
            Place::At(server) => server,
            Place::Moving(way) if asked == Asked::Plainly => way.read(),
            Place::Moving(way) => way.authority(),
        }
    }

    /// So many keys of a client may be asked for before it is another's turn.
    pub fn keys_at_once(&self) -> usize {
        (ENOUGH_ASKED / self.mean_value.max(1)).clamp(LEAST_KEYS, MOST_KEYS)
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

    /// So many values of so many bytes were seen.
    pub fn has_seen(&mut self, values: usize, bytes: usize) {
        if let Some(size) = bytes.checked_div(values) {
            // A list of many counts no more than eight.
            let weight = values.min(8);
            self.mean_value = (self.mean_value * (64 - weight) + size * weight) / 64;
        }
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
            mean_value: 0,
            late: VecDeque::new(),
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
        for (windows, next) in [("kept", 11), ("anew", 10)] {
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
