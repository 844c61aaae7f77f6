//! The flows of a list; the run ends with the last byte of the last one.

use std::sync::Arc;

use fanin_fabric::HostId;
use fanin_spec::{FlowKind, Flows, RunSpec};
use fanin_units::Time;

use super::application::{Application, Driver, Record, View};
use super::pool::Pool;
use super::transfers::{Carried, Transfers};
use crate::ids::EndpointId;
use crate::message::meanings;

meanings! {
    pub(crate) enum Timer {
        /// A line's flow starts.
        Start(line),
        End,
    }
}

pub(crate) struct Listed {
    /// Absent only in a spec that no scenario was read for: then nothing is sent.
    flows: Option<Arc<Flows>>,
    duration: Time,
    transfers: Transfers,
    waiting: usize,
}

impl Listed {
    pub fn new(spec: &RunSpec) -> Listed {
        let flows = spec.settings.inputs.flows.clone();
        let waiting = flows.as_ref().map_or(0, |flows| flows.list().len());
        let duration = spec.settings.workload.duration;
        Listed { flows, duration, transfers: Transfers::new(Pool::New), waiting }
    }
}

impl Application for Listed {
    type Timer = Timer;
    type Message = Carried;

    fn start(&mut self, driver: &mut dyn Driver) {
        driver.begin();
        driver.after(self.duration, Timer::End.into());
        for (flow, line) in self.flows.iter().flat_map(|flows| flows.list()).zip(0..) {
            driver.after(flow.start, Timer::Start(line).into());
        }
    }

    fn received(&mut self, driver: &mut dyn Driver, _at: EndpointId, message: Carried) {
        if let Carried::Flow(number) = message {
            self.transfers.end(driver, number);
        }
        if self.waiting == 0 && self.transfers.missing == 0 {
            driver.finish();
        }
    }

    fn due(&mut self, driver: &mut dyn Driver, timer: Timer) {
        let Timer::Start(line) = timer else { return driver.finish() };
        let Some(&flow) = self.flows.as_ref().and_then(|flows| flows.list().get(line as usize)) else { return };
        self.waiting -= 1;
        self.transfers.start(driver, FlowKind::Listed, (HostId(flow.from), HostId(flow.to)), flow.bytes);
    }

    fn record(&self, view: &dyn View, record: &mut Record) {
        record.flows.extend(self.transfers.rows(view, 0));
        record.payload_bytes = self.transfers.delivered(view);
        record.measured = view.now().since(Time(self.transfers.first_start()));
    }
}
