//! Use of a switch's memory by port when packets were refused.

use std::collections::BTreeMap;

use fanin_fabric::{Fabric, LinkId, NodeId};
use fanin_tables::HolderRow;

use crate::gauge::mean;
use crate::pools::Memory;

/// Refused packets by the port that they came to.
#[derive(Default)]
pub(crate) struct Refusals(BTreeMap<LinkId, Refused>);

#[derive(Default)]
struct Refused {
    packets: u64,
    /// Sum of each port's use over these refusals.
    held: BTreeMap<LinkId, u128>,
}

impl Refusals {
    /// A port refused a packet.
    pub fn add(&mut self, id: LinkId, memory: Memory<'_>) {
        let refused = self.0.entry(id).or_default();
        refused.packets += 1;
        for (holder, bytes) in memory.holders() {
            *refused.held.entry(holder).or_default() += u128::from(bytes);
        }
    }

    /// Packets that a switch's ports refused.
    pub fn of(&self, switch: NodeId, fabric: &Fabric) -> u64 {
        let own = self.0.iter().filter(|(id, _)| fabric.link(**id).from == switch);
        own.map(|(_, refused)| refused.packets).sum()
    }

    /// One row per refusing port and memory user, largest users first.
    pub fn rows(&self, fabric: &Fabric) -> Vec<HolderRow> {
        let mut rows = Vec::new();
        for (id, refused) in &self.0 {
            let first = rows.len();
            rows.extend(refused.held.iter().map(|(holder, &held)| HolderRow {
                port: fabric.link_name(*id),
                refused_packets: refused.packets,
                holder: fabric.link_name(*holder),
                held_mean_bytes: mean(held, refused.packets),
            }));
            rows[first..].sort_by_key(|row| std::cmp::Reverse(row.held_mean_bytes));
        }
        rows
    }
}
