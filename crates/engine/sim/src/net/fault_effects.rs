//! Effects of injected faults: packets of hosts are lost, duplicated or delayed after they crossed their host's link, and hosts are
//! down or slow.

use fanin_driver::ConnectionId;
use fanin_fabric::{HostFault, HostId, HostState, LinkId};
use fanin_tables::FaultRow;
use fanin_units::{Rate, Share, Time};

use super::Net;
use super::faults::{ByLink, Counts, Fate, Faults, Host, Lost};
use crate::event::Key;
use crate::link::Cleared;
use crate::packet::InFlight;
use crate::probe::{LoggedEvent, LostPacket, Probe};

impl<P: Probe> Net<P> {
    /// Whether a packet that has crossed a link continues immediately; otherwise it is lost or delayed.
    #[cold]
    pub(super) fn passes(&mut self, now: u64, link: LinkId, packet: &InFlight) -> bool {
        let fanin_fabric::Link { from, to, .. } = *self.fabric.link(link);
        if self.fabric.is_host(to) && self.is_down(HostId(to.0)) {
            self.lose_by_fault(now, link, packet, Lost::WithHost);
            return false;
        }
        let Some(Faults { settings, hosts, .. }) = self.faults.as_deref_mut() else { return true };
        // Hosts are the first nodes.
        let Some(host) = hosts.get_mut(from.index()) else { return true };
        let Fate { lost, twice, late } = host.fate(settings);
        if lost {
            self.lose_by_fault(now, link, packet, Lost::OnPurpose);
            return false;
        }
        if twice {
            let copy = InFlight { beside: self.metadata.copy(packet.beside), ..*packet };
            // One more packet arrives than was sent.
            self.count_lost(packet, 1u32.wrapping_neg());
            self.put_off(now, link, copy, |counts| &mut counts.duplicated);
        }
        if let Some(by) = late {
            self.put_off(now + by, link, *packet, |counts| &mut counts.reordered);
        }
        late.is_none()
    }

    /// Delay a packet that has crossed a link; it continues after others of the same instant.
    fn put_off(&mut self, at: u64, link: LinkId, packet: InFlight, count: fn(&mut Counts) -> &mut u64) {
        let Some(faults) = &mut self.faults else { return };
        *count(faults.counts.entry(link).or_default()) += 1;
        let late = faults.late.entry(link).or_default();
        late.insert(late.partition_point(|&(other, _)| other <= at), (at, packet));
        self.events.push_far(Key::late(at, link));
    }

    /// Serve a delayed packet: at a host it is delivered.
    #[cold]
    pub fn come_late(&mut self, now: u64, link: LinkId) -> Option<InFlight> {
        let (_, packet) = self.faults.as_mut()?.late.get_mut(&link)?.pop_front()?;
        self.reaches_host(now, link, &packet).then_some(packet)
    }

    /// Schedule host faults.
    pub fn await_faults(&mut self) {
        for (fault, number) in self.ports.config.host_faults.iter().zip(0..) {
            self.events.push_far(Key::fault(fault.at.0, number));
        }
    }

    /// A host crashes, returns or changes its speed.
    pub fn apply_host_fault(&mut self, now: u64, number: u32) -> HostFault {
        let fault = self.ports.config.host_faults[number as usize];
        let uplinks: Vec<LinkId> = self.fabric.uplinks(fault.host).collect();
        let Some(faults) = &mut self.faults else { return fault };
        let host = &mut faults.hosts[fault.host.0 as usize];
        host.on_host_fault = Some(Time(now));
        match fault.to {
            HostState::Returned => host.down = false,
            HostState::Slowed(pace) => {
                host.pace = pace;
                for uplink in uplinks {
                    let rate = faults.rates.get(&uplink).copied().unwrap_or(self.fabric.link(uplink).rate);
                    self.links[uplink.index()].set_rate(Rate(pace.part_of(rate.0)));
                }
            }
            HostState::Crashed => {
                host.down = true;
                for uplink in uplinks {
                    for Cleared { packet, .. } in self.links[uplink.index()].clear() {
                        self.lose_by_fault(now, uplink, &packet, Lost::WithHost);
                    }
                    self.probe.port(Time(now), uplink, &self.links[uplink.index()]);
                }
            }
        }
        fault
    }

    /// Set a link's rate from the next packet on, scaled by a slow host's speed.
    pub(super) fn set_rate(&mut self, id: LinkId, rate: Rate) {
        let from = self.fabric.link(id).from;
        let pace = self.faults.as_deref_mut().and_then(|Faults { hosts, rates, .. }| {
            let host = hosts.get(from.index())?;
            rates.insert(id, rate);
            Some(host.pace)
        });
        self.links[id.index()].set_rate(pace.map_or(rate, |pace| Rate(pace.part_of(rate.0))));
    }

    /// Whether a host is down.
    pub fn is_down(&self, host: HostId) -> bool {
        self.faults.as_ref().is_some_and(|faults| faults.hosts[host.0 as usize].down)
    }

    /// Whether a host is down or slow, or was since `since`.
    pub fn was_in_trouble(&self, host: HostId, since: Time) -> bool {
        let troubled = |host: &Host| host.down || host.pace != Share::of(1, 1) || host.on_host_fault >= Some(since);
        self.faults.as_ref().is_some_and(|faults| troubled(&faults.hosts[host.0 as usize]))
    }

    /// How a connection's last lost packet was lost, if faults are on.
    pub fn last_lost(&self, connection: ConnectionId) -> Option<Lost> {
        self.faults.as_ref()?.last_lost.get(&connection).copied()
    }

    /// How long a host now takes for work that takes `span` at full speed.
    pub fn at_work(&self, host: HostId, span: Time) -> Time {
        self.faults.as_ref().map_or(span, |faults| Time(faults.hosts[host.0 as usize].pace.whole_of(span.0)))
    }

    /// Delayed packets, off all links.
    pub(super) fn late(&self) -> u64 {
        self.faults.as_ref().map_or(0, |faults| faults.late.values().map(|late| late.len() as u64).sum())
    }

    /// Fault counters so far.
    pub fn met(&self) -> ByLink {
        self.faults.as_ref().map_or(ByLink::new(), |faults| faults.counts.clone())
    }

    /// One row per link with faults since `before`.
    pub fn fault_rows(&self, before: &ByLink) -> Vec<FaultRow> {
        let since = |(link, counts): (LinkId, Counts)| {
            let before = before.get(&link).copied().unwrap_or_default();
            let Counts { lost, duplicated, reordered, crashed } = counts.since(before);
            (lost + duplicated + reordered + crashed > 0).then(|| FaultRow {
                port: self.fabric.link_name(link),
                lost_packets: lost,
                duplicated_packets: duplicated,
                reordered_packets: reordered,
                crashed_packets: crashed,
            })
        };
        self.met().into_iter().filter_map(since).collect()
    }

    fn lose_by_fault(&mut self, now: u64, link: LinkId, packet: &InFlight, how: Lost) {
        let count: fn(&mut Counts) -> &mut u64 = match how {
            Lost::OnPurpose => |counts| &mut counts.lost,
            _ => |counts| &mut counts.crashed,
        };
        self.metadata.free(packet.beside);
        self.count_lost(packet, 1);
        let to = self.ends[packet.to.index()].id;
        if let Some(faults) = &mut self.faults {
            *count(faults.counts.entry(link).or_default()) += 1;
            faults.lost(to, how);
        }
        self.probe.happening(Time(now), LoggedEvent::Loss(link, to, LostPacket::of(packet)));
    }

    /// Count `more` lost packets to a slot; counts wrap.
    fn count_lost(&mut self, packet: &InFlight, more: u32) {
        let end = &mut self.ends[packet.to.index()];
        end.lost = end.lost.wrapping_add(more);
    }
}
