//! The applications: who asks whom for what, and what is measured of it.

mod application;
mod barrier;
mod beside;
mod disk;
mod listed;
mod long;
mod mapreduce;
mod one_shot;
mod poisson;
mod service;
mod shuffle;
mod transfers;
mod warm_up;
mod web_search;

use fanin_spec::{FlowKind, Kind, RunSpec};

use crate::probe::Probe;

pub(crate) use application::{App, Record};

/// The application of a spec.
pub(crate) fn new<P: Probe + 'static>(spec: &RunSpec) -> Box<dyn App<P>> {
    let workload: Box<dyn App<P>> = match spec.settings.workload.kind {
        Kind::Barrier => Box::new(barrier::Barrier::new(spec)),
        Kind::OneShot => Box::new(one_shot::OneShot::new(spec)),
        Kind::WebSearch => Box::new(web_search::WebSearch::new(spec)),
        Kind::Long => Box::new(long::Long::new(spec)),
        Kind::MapReduce => Box::new(mapreduce::MapReduce::new(spec)),
        Kind::Flows => Box::new(listed::Listed::new(spec)),
        Kind::Shuffle => Box::new(shuffle::Shuffle::new(spec)),
        Kind::Poisson => return Box::new(poisson::Alone::new(spec)),
    };
    let mut guests: Vec<Box<dyn beside::Guest<P>>> = Vec::new();
    if spec.settings.workload.load.0.is_some() {
        guests.push(Box::new(poisson::Poisson::new(spec, FlowKind::Beside)));
    }
    if spec.settings.service.queries_per_s.0.is_some() {
        guests.push(Box::new(service::Service::new(spec)));
    }
    if guests.is_empty() { workload } else { Box::new(beside::Beside::new(workload, guests)) }
}
