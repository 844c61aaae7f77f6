//! The timer of a host's roles: one, at their deadline or before.

use fanin_driver::Driver;
use fanin_roles::Node;
use fanin_units::Time;

use super::{KeyValue, Timer};

impl KeyValue {
    /// Arm the timer of a host's roles.
    pub(super) fn arm(&mut self, driver: &mut dyn Driver, host: u32) {
        let at = &mut self.hosts[host as usize];
        let deadline = at.roles.deadline();
        if deadline < at.armed {
            at.armed = deadline;
            driver.after(deadline.since(driver.now()), Timer::Roles(host).into());
        }
    }

    pub(super) fn roles_are_due(&mut self, driver: &mut dyn Driver, host: u32) {
        let now = driver.now();
        let at = &mut self.hosts[host as usize];
        if now < at.armed {
            return;
        }
        at.armed = Time::NEVER;
        let measured = at.roles.measures(now).then(|| self.post.measured(driver, &self.spec, Node(host)));
        at.roles.due(now, measured, &self.store, &mut self.out);
        self.act(driver, Node(host));
        self.arm(driver, host);
    }
}
