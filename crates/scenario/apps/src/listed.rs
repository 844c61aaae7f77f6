//! Flows from a list, as a workload or as background traffic. The workload ends with the last byte of the last flow, or the last
//! stop of a long-lived one.

use std::sync::Arc;

use fanin_driver::{Application, Driver, EndpointId, Meaning, Record, View, meanings};
use fanin_fabric::HostId;
use fanin_spec::{Flow, Flows, RunSpec};
use fanin_tables::FlowKind;
use fanin_units::Time;

use super::endless::Endless;
use super::pool::Pool;
use super::transfers::{Carried, Transfers};

meanings! {
    pub(crate) enum Timer {
        /// A line's flow starts.
        Start(line),
        /// A long-lived flow stops.
        Stop(line),
        End,
    }
}

/// The listed flows, as background traffic of any workload.
pub(crate) struct Listed {
    /// Absent only in a spec without a scenario: nothing is sent then.
    flows: Option<Arc<Flows>>,
    kind: FlowKind,
    transfers: Transfers,
    endless: Endless,
    /// Flows that have not started.
    waiting: usize,
    /// Start of the first one.
    began: Option<Time>,
}

impl Listed {
    pub fn new(spec: &RunSpec, kind: FlowKind) -> Listed {
        let flows = spec.settings.inputs.flows.clone();
        let waiting = flows.as_ref().map_or(0, |flows| flows.list().len());
        let (transfers, endless) = (Transfers::new(Pool::New), Endless::default());
        Listed { flows, kind, transfers, endless, waiting, began: None }
    }

    fn line(&self, line: u32) -> Option<Flow> {
        self.flows.as_ref()?.list().get(line as usize).copied()
    }

    fn start_flow(&mut self, driver: &mut dyn Driver, line: u32) {
        let Some(flow) = self.line(line) else { return };
        self.waiting -= 1;
        self.began.get_or_insert(driver.now());
        let (from, to) = (HostId(flow.from), HostId(flow.to));
        match flow.bytes {
            Some(bytes) => self.transfers.start(driver, self.kind, from, to, bytes),
            None => {
                self.endless.start(driver, line, (from, to));
                if flow.stop != Time::NEVER {
                    driver.after(flow.stop.since(flow.start), Timer::Stop(line).into());
                }
            }
        }
    }

    fn is_over(&self) -> bool {
        self.waiting == 0 && self.transfers.missing == 0 && self.endless.is_empty()
    }
}

impl Application for Listed {
    fn start(&mut self, driver: &mut dyn Driver) {
        for (flow, line) in self.flows.iter().flat_map(|flows| flows.list()).zip(0..) {
            driver.after(flow.start, Timer::Start(line).into());
        }
    }

    fn received(&mut self, driver: &mut dyn Driver, _at: EndpointId, message: Meaning) {
        if let Carried::Flow(number) = Carried::from(message) {
            self.transfers.end(driver, number);
        }
    }

    fn due(&mut self, driver: &mut dyn Driver, timer: Meaning) {
        match Timer::from(timer) {
            Timer::Start(line) => self.start_flow(driver, line),
            Timer::Stop(line) => self.endless.stop(driver, line),
            Timer::End => {}
        }
    }

    fn measure(&mut self, view: &dyn View) {
        self.endless.measure(view);
    }

    fn record(&self, view: &dyn View, record: &mut Record) {
        record.flows.extend(self.transfers.rows(view, view.measured_from().0));
        record.flows.extend(self.endless.rows(view, view.measured_from()));
    }
}

/// The flows workload.
pub(crate) struct Alone {
    listed: Listed,
    duration: Time,
}

impl Alone {
    pub fn new(spec: &RunSpec) -> Alone {
        Alone { listed: Listed::new(spec, FlowKind::Listed), duration: spec.settings.workload.duration }
    }
}

impl Application for Alone {
    fn start(&mut self, driver: &mut dyn Driver) {
        driver.begin();
        driver.after(self.duration, Timer::End.into());
        Application::start(&mut self.listed, driver);
    }

    fn received(&mut self, driver: &mut dyn Driver, at: EndpointId, message: Meaning) {
        Application::received(&mut self.listed, driver, at, message);
        if self.listed.is_over() {
            driver.finish();
        }
    }

    fn due(&mut self, driver: &mut dyn Driver, timer: Meaning) {
        let stops = matches!(Timer::from(timer), Timer::Stop(_));
        Application::due(&mut self.listed, driver, timer);
        if Timer::from(timer) == Timer::End || stops && self.listed.is_over() {
            driver.finish();
        }
    }

    fn foresees(&self, timer: Meaning) -> bool {
        matches!(Timer::from(timer), Timer::Start(_))
    }

    fn ends_when_all_is_there(&self) -> bool {
        self.listed.waiting == 0
    }

    fn record(&self, view: &dyn View, record: &mut Record) {
        Application::record(&self.listed, view, record);
        record.payload_bytes = self.listed.transfers.delivered(view) + self.listed.endless.delivered(view);
        record.measured = view.now().since(self.listed.began.unwrap_or(Time::ZERO));
    }
}
