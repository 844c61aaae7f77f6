//! Concurrency limits of clients with direct requests.

use fanin_units::Time;

use crate::ictcp_window::IctcpWindow;
use crate::one_all::OneAll;
use crate::sliding_window::SlidingWindow;

/// A concurrency limit.
#[derive(Clone, Copy, Debug)]
pub enum Window {
    /// Unlimited.
    OneAll(OneAll),
    /// Adapted to loss.
    Sliding(SlidingWindow),
    /// Adapted to the used bandwidth.
    Ictcp(IctcpWindow),
}

impl Window {
    /// Maximum number of outstanding servers.
    pub fn window(&self) -> u32 {
        match self {
            Window::OneAll(law) => law.window(),
            Window::Sliding(law) => law.window(),
            Window::Ictcp(law) => law.window(),
        }
    }

    /// Time without a response after which a query is [`lost`](Window::lost), if the algorithm uses that.
    pub fn late(&self) -> Option<Time> {
        match self {
            Window::Sliding(law) => Some(law.late()),
            Window::OneAll(_) | Window::Ictcp(_) => None,
        }
    }

    /// Records a server's complete response, with its size and response time.
    pub fn answered(&mut self, now: Time, bytes: u64, took: Time) {
        match self {
            Window::OneAll(_) => {}
            Window::Sliding(law) => law.answered(),
            Window::Ictcp(law) => law.answered(now, bytes, took),
        }
    }

    /// Records a query without a response after [`late`](Window::late), once.
    pub fn lost(&mut self, now: Time) {
        if let Window::Sliding(law) = self {
            law.lost(now);
        }
    }
}
