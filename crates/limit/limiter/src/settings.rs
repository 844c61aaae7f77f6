//! Settings of a limiter. Those of its algorithm are the sections of a scenario.

use fanin_fanout::mean::ASSUMED;
use fanin_fanout::{Kind, Settings as Fanout, Window};
use fanin_units::Rate;

/// Settings of a limiter.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Name of the concurrency limit, as in scenarios.
    pub law: Law,
    /// Rate of the host's link, which `ictcp-window` fills.
    pub link: Rate,
    /// Maximum number of bytes on their way, whatever the algorithm permits; none by default.
    pub budget: Option<u64>,
    /// Assumed size of a response while no response has ended and no request has stated a size.
    pub expected: u64,
    /// Number of the group whose members may share the budget; none by default: only processes of one user share it.
    pub group: Option<u32>,
    /// Settings of the algorithms.
    pub fanout: Fanout,
}

/// A concurrency limit of direct requests, by its name in scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// `one-all`: no limit but the budget.
    OneAll,
    /// `sw`: grows until responses are late, then halves.
    SlidingWindow,
    /// `ictcp-window`: grows until the link is in use, shrinks when responses wait in a queue.
    IctcpWindow,
}

impl Law {
    /// Each of them.
    pub const ALL: [Law; 3] = [Law::OneAll, Law::SlidingWindow, Law::IctcpWindow];

    /// Its name.
    pub fn name(self) -> &'static str {
        self.kind().row().offers[0].name
    }

    /// The algorithm with this name or alias.
    pub fn named(name: &str) -> Option<Law> {
        let is_named = |law: &Law| {
            let offers = law.kind().row().offers;
            offers.iter().any(|offer| offer.name == name || offer.aliases.contains(&name))
        };
        Law::ALL.into_iter().find(is_named)
    }

    fn kind(self) -> Kind {
        match self {
            Law::OneAll => Kind::OneAll,
            Law::SlidingWindow => Kind::SlidingWindow,
            Law::IctcpWindow => Kind::IctcpWindow,
        }
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            law: Law::IctcpWindow,
            link: Rate(10_000_000_000),
            budget: None,
            expected: ASSUMED,
            group: None,
            fanout: Fanout::default(),
        }
    }
}

impl Settings {
    /// The algorithm, with this initial window in place of the settings' own.
    pub(crate) fn window(&self, initial: Option<u32>) -> Window {
        let mut fanout = self.fanout.clone();
        if let Some(initial) = initial {
            (fanout.sliding_window.initial, fanout.ictcp_window.initial) = (initial, initial);
        }
        self.law.kind().window(&fanout, self.link).unwrap_or(Window::OneAll(fanin_fanout::one_all::OneAll))
    }
}
