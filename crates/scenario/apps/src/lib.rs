//! Workloads and their measurements, as applications of a [`Driver`](fanin_driver::Driver).

mod bursts;
mod collective;
mod endless;
mod key_value;
mod listed;
mod long;
mod mapreduce;
mod one_shot;
mod poisson;
mod pool;
mod pulls;
mod rounds;
mod rows;
mod service;
mod shuffle;
#[cfg(test)]
mod still;
mod trace;
mod transfers;
mod warm_up;

use fanin_driver::{Application, Applications};
use fanin_spec::{Kind, RunSpec};
use fanin_tables::FlowKind;

pub use key_value::Reads;

/// The applications of a spec.
pub fn applications(spec: &RunSpec) -> Applications {
    let first = spec.settings.hosts();
    let long_flows = first..first + spec.settings.workload.background;
    Applications::new(workload(spec)).beside(background(spec), long_flows)
}

/// Whether anything runs beside a spec's workload, besides long-lived flows.
pub fn has_background(spec: &RunSpec) -> bool {
    !background(spec).is_empty()
}

/// The workload of a spec.
fn workload(spec: &RunSpec) -> Box<dyn Application> {
    match spec.settings.workload.kind {
        Kind::Barrier => Box::new(rounds::Rounds::barrier(spec)),
        Kind::OneShot => Box::new(one_shot::OneShot::new(spec)),
        Kind::WebSearch => Box::new(rounds::Rounds::web_search(spec)),
        Kind::Long => Box::new(long::Long::new(spec)),
        Kind::MapReduce => Box::new(mapreduce::MapReduce::new(spec)),
        Kind::Flows => Box::new(listed::Alone::new(spec)),
        Kind::Shuffle => Box::new(shuffle::Shuffle::new(spec)),
        Kind::Poisson => Box::new(poisson::Alone::new(spec)),
        Kind::Bursts => Box::new(bursts::Bursts::new(spec)),
        Kind::KeyValue => Box::new(key_value::KeyValue::new(spec)),
        Kind::AllReduce => Box::new(collective::Collective::all_reduce(spec)),
        Kind::AllToAll => Box::new(collective::Collective::all_to_all(spec)),
        Kind::Pulls => Box::new(pulls::Pulls::new(spec)),
        Kind::Trace => Box::new(trace::Trace::new(spec)),
    }
}

/// Its background applications, with connections and timers of their own.
fn background(spec: &RunSpec) -> Vec<Box<dyn Application>> {
    let mut background: Vec<Box<dyn Application>> = Vec::new();
    let workload = &spec.settings.workload;
    if workload.load.0.is_some() && !workload.kind.facts().poisson {
        background.push(Box::new(poisson::Poisson::new(spec, FlowKind::Background)));
    }
    if spec.settings.service.queries_per_s.0.is_some() && !workload.kind.facts().poisson {
        background.push(Box::new(service::Service::new(spec)));
    }
    if spec.settings.inputs.flows.is_some() && !workload.kind.facts().listed {
        background.push(Box::new(listed::Listed::new(spec, FlowKind::Background)));
    }
    background
}
