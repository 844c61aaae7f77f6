//! The laws of clients that ask servers themselves, as their driver has them.

use fanin_units::Time;

use crate::ictcp_window::IctcpWindow;
use crate::one_all::OneAll;
use crate::sliding_window::SlidingWindow;

/// How many servers may be asked at once.
#[derive(Clone, Copy, Debug)]
pub enum Window {
    /// All.
    OneAll(OneAll),
    /// By loss.
    Sliding(SlidingWindow),
    /// By the bandwidth in use.
    Ictcp(IctcpWindow),
}

impl Window {
    /// How many may be asked and not have answered.
    pub fn window(&self) -> u32 {
        match self {
            Window::OneAll(law) => law.window(),
            Window::Sliding(law) => law.window(),
            Window::Ictcp(law) => law.window(),
        }
    }

    /// After how long without its answer a query is [`lost`](Window::lost), where the law heeds that.
    pub fn late(&self) -> Option<Time> {
        match self {
            Window::Sliding(law) => Some(law.late()),
            Window::OneAll(_) | Window::Ictcp(_) => None,
        }
    }

    /// A server has answered whole, with so many bytes, so long after it was asked.
    pub fn answered(&mut self, now: Time, bytes: u64, took: Time) {
        match self {
            Window::OneAll(_) => {}
            Window::Sliding(law) => law.answered(),
            Window::Ictcp(law) => law.answered(now, bytes, took),
        }
    }

    /// A query has been without its answer for [`late`](Window::late). It is told of once.
    pub fn lost(&mut self, now: Time) {
        if let Window::Sliding(law) = self {
            law.lost(now);
        }
    }
}
