//! Workload of a run in parts: serves its timers ahead of other events and passes their actions to the parts.

use std::sync::MutexGuard;

use fanin_driver::{ConnectionId, Driver, EndpointId, Meaning, Message, Owner, View, Watch};
use fanin_fabric::HostId;
use fanin_tables::FlowKind;
use fanin_transport::Transport;
use fanin_units::{Rate, Time};

use crate::event::{Key, Timer};
use crate::heap::Heap;
use crate::parts::borders::Borders;
use crate::parts::part::{Order, Part};
use crate::probe::Probe;
use crate::slot::Slot;
use crate::socket::ExpectedMessage;
use crate::world::{World, ends_of};

/// The workload's view when one of its timers is due, or a message has arrived.
pub(crate) struct Ahead<'a, 'p, P: Probe, T: Transport> {
    pub world: &'a mut World<P, T>,
    pub borders: &'a Borders,
    pub parts: &'a mut [MutexGuard<'p, Part<T>>],
    pub timers: &'a mut Heap,
    pub now: Key,
    /// Bytes written to connections that this timer opened, opener first.
    pub written: Vec<(EndpointId, u64)>,
}

const LOOKS: &str = "what is foreseen looks at nothing that happens";
const ACTS: &str = "what is foreseen opens connections, sends and closes, and no more";

impl<P: Probe, T: Transport> Ahead<'_, '_, P, T> {
    fn slot(&self, at: EndpointId) -> (Slot, usize) {
        let slot = self.world.sockets.book.slot(at).unwrap_or_else(|| unreachable!("{ACTS}"));
        (slot, self.borders.of_host(self.world.net.host_of(slot)))
    }

    fn order(&mut self, part: usize, order: Order) {
        self.parts[part].order(self.now, order);
    }
}

impl<P: Probe, T: Transport> View for Ahead<'_, '_, P, T> {
    fn now(&self) -> Time {
        Time(self.now.time())
    }

    fn measured_from(&self) -> Time {
        self.world.measured_from()
    }

    fn ideal(&self, from: HostId, to: HostId, bytes: u64) -> Option<Time> {
        self.world.ideal(from, to, bytes)
    }

    fn rate(&self, host: HostId) -> Rate {
        self.world.rate(host)
    }

    fn share_a_rack(&self, one: HostId, other: HostId) -> bool {
        self.world.share_a_rack(one, other)
    }

    fn hosts(&self) -> u32 {
        self.world.hosts()
    }

    fn rack(&self, host: HostId) -> u32 {
        self.world.rack(host)
    }

    fn pod(&self, host: HostId) -> u32 {
        self.world.pod(host)
    }

    fn rate_into_rack(&self, host: HostId) -> Rate {
        self.world.rate_into_rack(host)
    }

    fn watch(&self) -> Option<&Watch> {
        None
    }

    fn delivered(&self, _at: EndpointId) -> u64 {
        unreachable!("{LOOKS}")
    }

    fn timeouts(&self) -> Option<u64> {
        unreachable!("{LOOKS}")
    }

    fn at_work(&self, _host: HostId, _span: Time) -> Time {
        unreachable!("{LOOKS}")
    }

    fn queue_into_rack(&self, _host: HostId) -> Option<(u64, u64)> {
        unreachable!("{LOOKS}")
    }

    fn srtt(&self, _at: EndpointId) -> Option<Time> {
        unreachable!("{LOOKS}")
    }

    fn carries(&self, _at: EndpointId) -> bool {
        unreachable!("{LOOKS}")
    }
}

impl<P: Probe, T: Transport> Driver for Ahead<'_, '_, P, T> {
    fn act_for(&mut self, owner: Owner) {
        debug_assert_eq!(owner, Owner::WORKLOAD, "nothing runs beside the workload of a run in parts");
    }

    fn connect(&mut self, from: HostId, to: HostId, _kind: FlowKind) -> ConnectionId {
        let (parts, borders, net) = (&mut *self.parts, self.borders, &mut self.world.net);
        let end = |slot: Slot| parts[borders.of_host(net.host_of(slot))].running.world.sockets.ends.seen_at(slot);
        let lost = |slot: Slot| {
            let parts = parts.iter().map(|part| part.running.world.net.lost(slot));
            parts.fold(net.lost(slot), u32::wrapping_add)
        };
        self.world.sockets.book.give_back(end, lost);
        let (connection, slots) = self.world.sockets.book.open(Owner::WORKLOAD);
        for (slot, (id, (host, from))) in slots.into_iter().zip(ends_of(connection, from, to)) {
            let socket = self.world.new_socket(id, host, from);
            parts[borders.of_host(host)].running.world.sockets.ends.put(slot, socket);
            self.world.net.know(slot, id, host);
            parts.iter_mut().for_each(|part| part.running.world.net.know(slot, id, host));
            let net = &self.world.net;
            for link in net.fabric.way(from, host, net.flow_of(slot)) {
                parts[borders.sends(link)].running.world.net.set_up(link);
            }
            self.written.push((id, 0));
        }
        self.order(self.borders.of_host(from), Order::Open(slots[0]));
        connection
    }

    fn send(&mut self, from: EndpointId, Message { bytes, meaning, deadline }: Message) -> u64 {
        self.world.messages_sent += 1;
        let written = self.written.iter_mut().find(|(id, _)| *id == from);
        let (_, written) = written.unwrap_or_else(|| unreachable!("{ACTS}"));
        let before = std::mem::replace(written, *written + bytes);
        let (slot, part) = self.slot(from);
        self.order(part, Order::Write(slot, bytes, deadline));
        let (slot, part) = self.slot(from.peer());
        self.order(part, Order::Expect(ExpectedMessage { at: slot, until: before + bytes, meaning }));
        before
    }

    fn close(&mut self, at: EndpointId) {
        let (slot, part) = self.slot(at);
        self.order(part, Order::Close(slot));
    }

    fn after(&mut self, span: Time, what: Meaning) {
        let at = View::now(self).saturating_add(span);
        self.timers.push(Key::app(at.0, Timer { owner: Owner::WORKLOAD, what }));
    }

    fn finish(&mut self) {
        self.world.done = true;
    }

    fn prepare(&mut self, _from: HostId, _to: HostId, _kind: FlowKind) -> ConnectionId {
        unreachable!("{ACTS}")
    }

    fn stand(&mut self, _from: HostId, _to: HostId, _kind: FlowKind) -> ConnectionId {
        unreachable!("{ACTS}")
    }

    fn send_endlessly(&mut self, _from: EndpointId) {
        unreachable!("{ACTS}")
    }

    fn reads(&mut self, _at: EndpointId, _reads: bool) {
        unreachable!("{ACTS}")
    }

    fn stop(&mut self, _at: EndpointId) {
        unreachable!("{ACTS}")
    }

    fn begin(&mut self) {
        unreachable!("{ACTS}")
    }

    fn await_responses(&mut self, _clients: &[HostId], _work: Time) {
        unreachable!("{ACTS}")
    }

    fn rest(&mut self, _client: HostId, _span: Time) {
        unreachable!("{ACTS}")
    }

    fn clock_starts(&mut self) {
        unreachable!("{ACTS}")
    }

    fn has_begun(&self) -> bool {
        true
    }

    fn measure_from_here(&mut self, _payload: u64) {
        unreachable!("{ACTS}")
    }

    fn excluded_until(&self) -> Time {
        self.world.excluded_until()
    }

    fn round_ended(&mut self, _round: u32) {
        unreachable!("{ACTS}")
    }
}
