//! Driver of a concurrency limit over the servers of one request: which server is next, how many are outstanding, and which are late.
//!
//! The queue counts only. Its user has the servers and the times of its requests, so that nothing is allocated or stored twice.

use fanin_units::Time;

use crate::window::Window;

/// The servers of a request, numbered in the order in which they are requested from.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServerQueue {
    count: u32,
    /// The next server to request from.
    next: u32,
    /// Number of outstanding servers.
    busy: u32,
    /// The limit knows about all late servers before this one.
    oldest: u32,
}

impl ServerQueue {
    /// A queue of this many servers.
    pub fn new(count: u32) -> ServerQueue {
        ServerQueue { count, ..ServerQueue::default() }
    }

    /// Takes the next server if the limit allows one more; it is outstanding from now on. `others` is the number of outstanding servers of
    /// other requests under the same limit.
    pub fn take_next(&mut self, limit: &Window, others: u32) -> Option<u32> {
        if self.next == self.count || others + self.busy >= limit.window() {
            return None;
        }
        self.next += 1;
        self.busy += 1;
        Some(self.next - 1)
    }

    /// Whether every server has been taken.
    pub fn is_empty(&self) -> bool {
        self.next == self.count
    }

    /// Number of outstanding servers.
    pub fn busy(&self) -> u32 {
        self.busy
    }

    /// Counts an outstanding server that is not in the queue, such as one of a repeated request.
    pub fn begin(&mut self) {
        self.busy += 1;
    }

    /// Counts a server as no longer outstanding.
    pub fn end(&mut self) {
        self.busy -= 1;
    }

    /// Reports late servers to the limit, each once; returns the time of the next report. `asked` returns when an outstanding server was
    /// requested from, and nothing for other servers.
    pub fn report_late(&mut self, now: Time, limit: &mut Window, asked: impl Fn(u32) -> Option<Time>) -> Option<Time> {
        while self.oldest < self.next {
            if let Some(asked) = asked(self.oldest) {
                let at = asked.saturating_add(limit.late()?);
                if at > now {
                    return Some(at);
                }
                limit.lost(now);
            }
            self.oldest += 1;
        }
        None
    }

    /// Time of the next report, if the limit uses reports and a server is outstanding.
    pub fn late_at(&self, limit: &Window, asked: impl Fn(u32) -> Option<Time>) -> Option<Time> {
        let late = limit.late()?;
        (self.oldest..self.next).find_map(asked).map(|asked| asked.saturating_add(late))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sliding_window::{Params, SlidingWindow};

    fn limit() -> Window {
        Window::Sliding(SlidingWindow::start(&Params { initial: 2, ..Params::default() }))
    }

    #[test]
    fn limit_includes_other_requests() {
        let (limit, mut queue) = (limit(), ServerQueue::new(3));
        assert_eq!([queue.take_next(&limit, 1), queue.take_next(&limit, 1)], [Some(0), None]);
        assert_eq!((queue.take_next(&limit, 0), queue.busy()), (Some(1), 2));
        queue.end();
        queue.begin();
        assert_eq!(queue.take_next(&limit, 0), None);
        queue.end();
        assert_eq!((queue.take_next(&limit, 0), queue.is_empty()), (Some(2), true));
        queue.end();
        assert_eq!(queue.take_next(&limit, 0), None);
    }

    #[test]
    fn reports_each_late_server_once() {
        let (mut limit, mut queue) = (limit(), ServerQueue::new(4));
        let late = limit.late().unwrap();
        (0..2).for_each(|_| assert!(queue.take_next(&limit, 0).is_some()));
        let answered_first = |server| (server > 0).then_some(Time(10 + u64::from(server)));
        assert_eq!(queue.late_at(&limit, answered_first), Some(Time(11) + late));
        assert_eq!(queue.report_late(Time(10) + late, &mut limit, answered_first), Some(Time(11) + late));
        assert_eq!(limit.window(), 2);
        assert_eq!(queue.report_late(Time(11) + late, &mut limit, answered_first), None);
        assert_eq!((limit.window(), queue.late_at(&limit, answered_first)), (1, None));
        assert_eq!(queue.report_late(Time(99) + late, &mut limit, answered_first), None);
        assert_eq!(limit.window(), 1);
    }
}
