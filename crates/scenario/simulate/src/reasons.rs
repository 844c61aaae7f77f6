//! Reasons to simulate a run on one core.

use fanin_assemble::{changes, fabric, host_faults};
use fanin_fabric::Fabric;
use fanin_spec::{Base, Kind, RunSpec};

/// Why a run is simulated on one core in any case; `None` if it gains from more.
pub fn one_core(spec: &RunSpec) -> Option<String> {
    let fabric = fabric(spec);
    let why = of_workload(spec).or_else(|| of_settings(spec, &fabric)).map(String::from);
    why.or_else(|| fanin_sim::one_core(&fabric, spec.settings.link.framing))
}

fn of_workload(spec: &RunSpec) -> Option<&'static str> {
    match spec.settings.workload.kind {
        Kind::Flows | Kind::Poisson | Kind::Shuffle | Kind::OneShot => None,
        Kind::AllReduce | Kind::AllToAll if !spec.settings.connections_stand() => {
            Some("its connections are numbered as they open")
        }
        Kind::AllToAll if spec.settings.workload.in_flight.0.is_some() => {
            Some("its senders learn at once that a part has arrived")
        }
        Kind::AllReduce | Kind::AllToAll => None,
        Kind::Barrier | Kind::WebSearch => Some("its rounds are counted over all clients"),
        Kind::Bursts | Kind::Long => Some("all its flows end at one client, whose stalls depend on events anywhere"),
        Kind::MapReduce => Some("its master learns of every task at once"),
        Kind::KeyValue => Some("its connections are numbered as they open"),
        Kind::Trace => Some("its operations wait for one another"),
        Kind::Pulls => Some("its flows are numbered in the order of requests"),
    }
}

fn of_settings(spec: &RunSpec, fabric: &Fabric) -> Option<&'static str> {
    let settings = &spec.settings;
    let faults = &settings.faults;
    let losses = [faults.loss, faults.duplication, faults.reordering];
    match () {
        () if fanin_apps::has_background(spec) => Some("it has background traffic"),
        () if settings.inputs.flows.iter().flat_map(|flows| flows.list()).any(|flow| flow.bytes.is_none()) => {
            Some("it has long-lived flows, whose bytes are counted when any of them starts or stops")
        }
        () if !losses.iter().all(|share| share.is_zero()) || !host_faults(spec, fabric).is_empty() => {
            Some("it has random packet faults or host faults")
        }
        () if !changes(spec, fabric).is_empty() => Some("links change"),
        () if settings.has_classes() => Some("its ports have traffic classes"),
        () if settings.nic.drain.0.is_some() => Some("its network cards drain their buffers slowly"),
        () if matches!(spec.scheme.base, Base::Foreign(_)) => Some("its congestion control is the caller's own"),
        () if spec.scheme.m21 => Some("its ports identify flows by slots that later flows reuse"),
        () if spec.scheme.sets_receive_windows() => Some("its hosts set receive windows"),
        () if settings.measure.latency || settings.measure.ports => Some("it measures latencies or ports"),
        () => None,
    }
}
