//! End of requests, and the front end's next step.

use fanin_driver::{Driver, View};
use fanin_fabric::HostId;
use fanin_roles::Node;
use fanin_units::Time;

use super::post::Opened;
use super::request::{End, Request};
use super::{Front, Host, KeyValue, Timer};

impl KeyValue {
    pub(super) fn request_ended(&mut self, driver: &mut dyn Driver, front: u32, request: u32, opened: Opened) {
        let Request { number, early, .. } = self.close_request(driver, front, request, End { whole: true, opened });
        driver.round_ended(number);
        let at = &mut self.fronts[front as usize];
        at.done += u32::from(!self.warm_up.is_on() && !early);
        if at.done == self.spec.settings.workload.queries && !early {
            self.running -= 1;
            driver.rest(HostId(front), Time::NEVER);
            if self.running == 0 {
                debug_assert!(self.is_tidy(), "something is kept of requests that are over");
                driver.finish();
            }
            return;
        }
        if self.spec.settings.key_value.within.0.is_some() {
            return;
        }
        match self.spec.settings.workload.pause {
            Time::ZERO => self.ask_next(driver, front),
            pause => {
                self.fronts[front as usize].pauses = true;
                driver.rest(HostId(front), pause);
                driver.after(pause, Timer::Paused(front).into());
            }
        }
    }

    /// A front end makes its next request, which may begin the measured time.
    pub(super) fn ask_next(&mut self, driver: &mut dyn Driver, front: u32) {
        if self.warm_up.ends_with(driver.now(), self.asked) {
            self.measure(driver);
        }
        self.ask(driver, front);
    }

    /// A front end's pause is over; one that is down sends its request when it returns.
    pub(super) fn pause_ends(&mut self, driver: &mut dyn Driver, front: u32) {
        let at = &mut self.fronts[front as usize];
        at.pauses = false;
        if !at.down {
            self.ask_next(driver, front);
        }
    }

    /// Whether no state of finished requests remains, except at hubs that have not been notified yet.
    pub(super) fn is_tidy(&self) -> bool {
        let open = |host: &Host| host.roles.front_end().map_or(0, |front_end| front_end.requests());
        let keeps = |(front, host): (&Front, &Host)| open(host) != front.requests.len();
        !self.fronts.iter().zip(&self.hosts).any(keeps) && self.post.is_tidy()
    }

    /// Close a request.
    pub(super) fn close_request(&mut self, view: &dyn View, front: u32, request: u32, end: End) -> Request {
        let tag = self.tag(Node(front), request);
        let closed = self.fronts[front as usize].requests.remove(&request);
        let closed = closed.unwrap_or_else(|| unreachable!("a request ends once"));
        if let Some(hubs) = &mut self.hubs {
            hubs.ends(tag, &closed.answers(&self.store), &self.store);
        }
        if !closed.early {
            let (query, request) = closed.rows(view, front, self.began, end);
            self.queries.push(query);
            self.requests.push(request);
        }
        closed
    }
}
