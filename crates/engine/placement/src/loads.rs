//! Loads of servers under a planned placement.

use crate::picc::Counts;
use crate::{Cluster, Move, Object, Placement, Reason, RequestLog, Resources, Server};

/// Demand of an object's replicas on their servers: size, and an equal share of requests.
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

/// Loads of servers under a changing placement.
pub(crate) struct Loads<'a> {
    pub cluster: &'a Cluster,
    pub demands: Demands<'a>,
    pub placement: Placement,
    pub loads: Vec<Resources>,
    /// Replicas that count at their current server; a moved one counts from then on.
    counted: Vec<bool>,
    /// Reason of each replica's last move.
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

    /// Whether a server has capacity for an additional demand.
    pub(crate) fn fits(&self, demand: Resources, server: Server) -> bool {
        (self.loads[server.0 as usize] + demand).fits(self.cluster.capacity(server))
    }

    /// Moves a replica if the new server has capacity.
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
