//! Ports of a network, set up when first needed.

use fanin_driver::{Purpose, Stream};
use fanin_fabric::{Fabric, LinkId};
use fanin_laws::port::Law;
use fanin_laws::scheduler::Scheduler;
use fanin_transport::Class;

use crate::link::{ClassQueues, Departures, Link};
use crate::network::{Classes, Config, Switches};

/// Sets up ports, each when its first flow begins, so that an unused host costs little.
pub(crate) struct PortSetup {
    pub config: Config,
    departures: Departures,
    /// Whether switches' ports trim, and whether they serve higher classes first.
    pub trims: bool,
    by_class: bool,
    pub classes: Option<Classes>,
}

impl PortSetup {
    /// The ports of a network.
    pub fn new(config: Config, departures: Departures, switches: &Switches) -> PortSetup {
        let Switches { trims, by_class, classes, .. } = *switches;
        PortSetup { config, departures, trims, by_class, classes }
    }

    /// Behaviour of their switches, but for flow control and the choice of paths.
    pub fn switches(&self) -> Switches {
        let PortSetup { trims, by_class, classes, .. } = *self;
        Switches { trims, by_class, classes, ..Switches::default() }
    }

    /// Whether departures are computed in advance.
    pub fn departures(&self) -> Departures {
        self.departures
    }

    /// Whether switches' ports trim, serve higher classes first, or have traffic classes.
    pub fn extended(&self) -> bool {
        self.trims || self.by_class || self.classes.is_some()
    }

    /// Set up the port of a link, unless done.
    pub fn set_up(&self, id: LinkId, fabric: &Fabric, link: &mut Link) {
        if link.is_ready() {
            return;
        }
        let (ports, fanin_fabric::Link { from, rate, .. }) = (&self.config.ports, *fabric.link(id));
        let law = match fabric.is_host(from) {
            // The disciplines of its classes decide.
            _ if self.classes.is_some() => Law { by_class: true, ..Law::UNLIMITED },
            true => ports.host(rate),
            false => {
                let trim = self.trims.then(|| ports.trim(rate));
                Law { trim, by_class: self.by_class, ..ports.switch(rate) }
            }
        };
        let departures = if self.config.is_fickle(id, fabric) { Departures::Lazy } else { self.departures };
        link.set_up(law, departures, self.config.changes(id), Stream::new(self.config.seed, Purpose::Port, id.0));
        if let Some(classes) = &self.classes {
            let law = |class| match fabric.is_host(from) {
                true => ports.host(rate),
                false => ports.class(rate, Class::new(class as u8)),
            };
            link.divide(ClassQueues::new(Scheduler::new(&classes.queues, classes.packet), std::array::from_fn(law)));
        }
    }
}
