//! Lossless ports of RDMA: the memory of a switch, divided among the links into it.

use fanin_fabric::{Fabric, LinkId, NodeId};
use fanin_laws::pfc::{Held, Memory, needed_headroom, usual_headroom};
use fanin_laws::rate::rdma::HEADERS;
use fanin_units::{Rate, Share, Time};

use crate::problem::{Wrong, wrong};
use crate::{RateBased, Settings};

impl Settings {
    /// Bytes of a full data packet of RDMA in a buffer, with the longest headers of any scheme.
    pub(crate) fn rdma_frame(&self) -> u64 {
        let extra = RateBased::ALL.iter().map(|kind| kind.header_bytes()).max().unwrap_or(0);
        u64::from(self.link.framing.frame(self.laws.rates.rdma.payload.0 as u32 + HEADERS + extra))
    }

    /// Headroom of a link into a switch.
    pub(crate) fn headroom(&self, fabric: &Fabric, id: LinkId) -> u64 {
        let link = fabric.link(id);
        let own = self.laws.rates.pfc.headroom.map(|size| self.in_bytes(size));
        own.unwrap_or_else(|| usual_headroom(link.rate, link.delay, self.needed_headroom(fabric, id)))
    }

    /// Headroom without which a link into a switch would lose packets.
    pub(crate) fn needed_headroom(&self, fabric: &Fabric, id: LinkId) -> u64 {
        let link = fabric.link(id);
        let jitter = if fabric.is_host(link.from) { self.packet_jitter(fabric) } else { Time::ZERO };
        needed_headroom(link.rate, link.delay, jitter, self.rdma_frame(), self.link.framing.on_wire(0).into())
    }

    /// The largest headroom of a link into a switch, and the largest that one needs, in bytes.
    pub fn headrooms(&self) -> Option<(u64, u64)> {
        let fabric = self.network().ok()?;
        let into_switches = fabric.link_ids().filter(|&id| !fabric.is_host(fabric.link(id).to));
        let of = |id: LinkId| (self.headroom(&fabric, id), self.needed_headroom(&fabric, id));
        into_switches.map(of).reduce(|(has, needs), (other, least)| (has.max(other), needs.max(least)))
    }

    /// A sender's least rate, and its key.
    pub fn least_rate(&self, kind: RateBased) -> (&'static str, Rate) {
        let (rates, line) = (&self.laws.rates, self.link.rate);
        let share = |share: Share| Rate(share.part_of(line.0));
        match kind {
            RateBased::Dcqcn | RateBased::DcqcnWindow => ("dcqcn.min_rate", rates.dcqcn.min_rate.on(line)),
            RateBased::Hpcc => ("hpcc.min_rate", share(rates.hpcc.min_rate)),
            RateBased::Timely => ("timely.min_rate", share(rates.timely.min_rate)),
            RateBased::RdmaDctcp => ("rdma_dctcp.min_rate", share(rates.rdma_dctcp.min_rate)),
        }
    }

    /// Bytes of a switch's memory: `switch.shared_buffer`, or the buffers of its ports together.
    pub fn memory_of(&self, ports: u64) -> u64 {
        self.switch
            .shared_buffer
            .0
            .map_or_else(|| self.in_bytes(self.switch.buffer).saturating_mul(ports), |memory| memory.0)
    }

    /// Headrooms of a link into a switch, one for each lossless class.
    fn headrooms_of(&self, fabric: &Fabric, id: LinkId) -> Vec<u64> {
        let usual = self.headroom(fabric, id);
        match self.has_classes() {
            true => self.lossless_classes().map(|class| class.headroom.map_or(usual, |own| own.0)).collect(),
            false => vec![usual],
        }
    }

    /// The memory of a switch with these links into it, divided among them and their lossless classes, each with its headroom; `None` if reserves and
    /// headrooms take all of it.
    pub fn lossless_memory(&self, fabric: &Fabric, links: &[LinkId]) -> Option<(Memory, Vec<(LinkId, Held)>)> {
        let (pfc, bytes) = (&self.laws.rates.pfc, self.memory_of(links.len() as u64));
        let slowest = links.iter().map(|&id| fabric.link(id).rate).min().unwrap_or(Rate(1));
        let memory = Memory::new(pfc, bytes, links.iter().flat_map(|&id| self.headrooms_of(fabric, id)))?;
        let held = |&id: &LinkId| {
            let times = (fabric.link(id).rate.0 / slowest.0.max(1)).max(1);
            self.headrooms_of(fabric, id).into_iter().map(move |headroom| (id, Held::new(pfc, headroom, times)))
        };
        Some((memory, links.iter().flat_map(held).collect()))
    }

    /// Refuses reserves and headrooms that take all of a switch's memory.
    pub(crate) fn lossless_memories_suffice(&self, fabric: &Fabric) -> Result<(), Wrong> {
        let full = |(_, links): &(NodeId, Vec<LinkId>)| self.lossless_memory(fabric, links).is_none();
        let Some((switch, links)) = fabric.links_into_switches().find(full) else { return Ok(()) };
        let reserved = self.laws.rates.pfc.reserved.0;
        let own = |&id: &LinkId| self.headrooms_of(fabric, id).iter().map(|has| has + reserved).sum::<u64>();
        let all: u64 = links.iter().map(own).sum::<u64>();
        let what = format!(
            "reserves and headrooms of the {} links into {} take {all} B, all of its memory: use a larger `switch.shared_buffer`",
            links.len(),
            fabric.name(switch)
        );
        wrong(&["switch.shared_buffer", "switch.buffer", "pfc.reserved", "pfc.headroom", "classes.queues"], what)
    }
}
