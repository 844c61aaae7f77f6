//! What servers are asked for, with objects where they are to be.

use crate::picc::Counts;
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
    /// Which replicas count where they lie; one that is moved does from then on.
    counted: Vec<bool>,
    /// Why each replica was moved last.
    pub reasons: Vec<Reason>,
}

impl<'a> Loads<'a> {
    pub(crate) fn of(
        cluster: &'a Cluster,
        demands: Demands<'a>,
        placement: &Placement,
        popular: &[Object],
        counts: Counts,
    ) -> Loads<'a> {
        let replicas = placement.replicas();
        let mut counted = vec![counts == Counts::All; placement.objects() * replicas];
        popular.iter().for_each(|object| counted[object.0 as usize * replicas..][..replicas].fill(true));
        let mut loads = vec![Resources::default(); cluster.racks.len()];
        for object in placement.all().filter(|object| counted[object.0 as usize * replicas]) {
            let demand = demands.of(object);
            placement.homes(object).iter().for_each(|home| loads[home.0 as usize] += demand);
        }
        let reasons = vec![Reason::Popular; counted.len()];
        Loads { cluster, demands, placement: placement.clone(), loads, counted, reasons }
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
        let replica = self.placement.replica(&of);
        self.reasons[replica] = of.reason;
        self.placement.apply(&of);
        self.loads[of.to.0 as usize] += demand;
        if std::mem::replace(&mut self.counted[replica], true) {
            let from = &mut self.loads[of.from.0 as usize];
            *from = *from - demand;
        }
        true
    }
}
