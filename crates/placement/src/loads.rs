//! What servers are asked for, with objects where they are to be.

use crate::{Cluster, Move, Object, Placement, Reason, RequestLog, Resources, Server};

/// What an object's replicas ask of the server that each is at: its size, and its requests, shared evenly among them.
pub(crate) struct Demands<'a> {
    pub sizes: &'a [u64],
    pub log: &'a RequestLog,
    pub replicas: u64,
}

impl Demands<'_> {
    pub(crate) fn of(&self, object: Object) -> Resources {
        let size = self.sizes[object.0 as usize];
        let requests = u64::from(self.log.frequency(object)).div_ceil(self.replicas);
        Resources { storage: size, computing: requests, io: requests, bandwidth: size.saturating_mul(requests) }
    }
}

/// Servers' loads under a placement that is being changed.
pub(crate) struct Loads<'a> {
    pub cluster: &'a Cluster,
    pub demands: Demands<'a>,
    pub placement: Placement,
    pub loads: Vec<Resources>,
    /// Why each replica was moved last.
    pub reasons: Vec<Reason>,
}

impl<'a> Loads<'a> {
    pub(crate) fn of(cluster: &'a Cluster, demands: Demands<'a>, placement: &Placement) -> Loads<'a> {
        let mut loads = vec![Resources::default(); cluster.racks.len()];
        for object in placement.all() {
            let demand = demands.of(object);
            placement.homes(object).iter().for_each(|home| loads[home.0 as usize] += demand);
        }
        let reasons = vec![Reason::Popular; placement.objects() * demands.replicas as usize];
        Loads { cluster, demands, placement: placement.clone(), loads, reasons }
    }

    /// Whether a server has room for what it does not have.
    pub(crate) fn fits(&self, demand: Resources, server: Server) -> bool {
        (self.loads[server.0 as usize] + demand).fits(self.cluster.capacity(server))
    }

    /// Moves an object's replica if the new server has room.
    pub(crate) fn relocate(&mut self, of: Move) -> bool {
        let demand = self.demands.of(of.object);
        if !self.fits(demand, of.to) {
            return false;
        }
        self.reasons[self.placement.replica(&of)] = of.reason;
        self.placement.apply(&of);
        self.loads[of.to.0 as usize] += demand;
        let from = &mut self.loads[of.from.0 as usize];
        *from = *from - demand;
        true
    }
}
