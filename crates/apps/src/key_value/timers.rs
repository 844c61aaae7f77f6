//! Timers of roles: one each, at its deadline or before.

use fanin_roles::Node;
use fanin_units::Time;

use super::{KeyValue, Timed, Timer};
use crate::application::Driver;

impl KeyValue {
    /// Arm a hub's timer.
    pub(super) fn arm_hub(&mut self, driver: &mut dyn Driver, host: u32) {
        let Some(hub) = &mut self.hosts[host as usize].hub else { return };
        let deadline = hub.role.deadline();
        if deadline < hub.armed {
            hub.armed = deadline;
            driver.after(deadline.since(driver.now()), Timer::Hub(host).into());
        }
    }

    pub(super) fn arm_front(&mut self, driver: &mut dyn Driver, front: u32) {
        let Timed { role, armed } = &mut self.fronts[front as usize].role;
        let deadline = role.deadline();
        if deadline < *armed {
            *armed = deadline;
            driver.after(deadline.since(driver.now()), Timer::FrontEnd(front).into());
        }
    }

    pub(super) fn hub_is_due(&mut self, driver: &mut dyn Driver, host: u32) {
        let Some(hub) = &mut self.hosts[host as usize].hub else { return };
        if hub.armed != driver.now() {
            return;
        }
        hub.armed = Time::NEVER;
        hub.role.due(driver.now(), &mut self.out);
        self.act(driver, Node(host));
        self.arm_hub(driver, host);
    }

    pub(super) fn front_end_is_due(&mut self, driver: &mut dyn Driver, front: u32) {
        let at = &mut self.fronts[front as usize].role;
        if at.armed != driver.now() {
            return;
        }
        at.armed = Time::NEVER;
        let measured = at.role.measures(driver.now()).then(|| self.post.measured(driver, &self.spec, Node(front)));
        at.role.due(driver.now(), measured, &self.store, &mut self.out);
        self.act(driver, Node(front));
        self.arm_front(driver, front);
    }
}
