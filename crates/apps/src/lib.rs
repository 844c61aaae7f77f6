//! Applications: workloads and their measurements. An [`App`] handles events of its own connections, messages and timers, and acts
//! through a [`Driver`], which hides the transport.

mod application;
mod applications;
mod bursts;
mod collective;
mod endless;
mod ids;
mod key_value;
mod listed;
mod long;
mod mapreduce;
mod message;
mod message_queue;
mod one_shot;
mod poisson;
mod pool;
mod pulls;
mod rounds;
mod service;
mod shuffle;
#[cfg(test)]
mod still;
mod transfers;
mod waits;
mod warm_up;

use fanin_spec::{Kind, RunSpec};
use fanin_tables::FlowKind;

pub use application::{App, Driver, Record, View};
pub use applications::{Applications, Network, has_background};
pub use ids::{ConnectionId, EndpointId, Owner};
pub use key_value::Reads;
pub use message::{Meaning, Message};
pub use message_queue::MessageQueue;
pub use waits::Waits;

/// The workload of a spec.
pub(crate) fn workload(spec: &RunSpec) -> Box<dyn App> {
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
    }
}

/// Its background applications, with connections and timers of their own.
pub(crate) fn background(spec: &RunSpec) -> Vec<Box<dyn App>> {
    let mut background: Vec<Box<dyn App>> = Vec::new();
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
