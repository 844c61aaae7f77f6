//! Why a run is simulated on one core.

use fanin_assemble::{changes, fabric, host_faults};
use fanin_fabric::Fabric;
use fanin_spec::{Base, Kind, RunSpec};
use fanin_units::Time;

use crate::parts::borders::Borders;

/// Whether parts that hear of one another more often gain was not measured.
const LEAST_AHEAD: Time = Time::from_micros(1);

/// Why a run is simulated on one core, whatever it is given; `None` where it gains by more.
pub fn one_core(spec: &RunSpec) -> Option<String> {
    let fabric = fabric(spec);
    let why = of_workload(spec.settings.workload.kind).or_else(|| of_settings(spec, &fabric)).map(String::from);
    why.or_else(|| of_network(spec, &fabric))
}

fn of_workload(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Flows | Kind::Poisson | Kind::Shuffle => None,
        Kind::Barrier | Kind::WebSearch => Some("its rounds are counted over all clients"),
        Kind::OneShot | Kind::Bursts | Kind::Long => {
            Some("all its flows end at one client, whose stalls are told by what happens anywhere")
        }
        Kind::MapReduce => Some("its master hears of every task at once"),
        Kind::KeyValue => Some("its connections are numbered as they open"),
        Kind::AllReduce => {
            Some("its flows are numbered as parts are passed on, and its rounds are counted over all hosts")
        }
    }
}

fn of_settings(spec: &RunSpec, fabric: &Fabric) -> Option<&'static str> {
    let settings = &spec.settings;
    let faults = &settings.faults;
    let losses = [faults.loss, faults.duplication, faults.reordering];
    match () {
        () if !fanin_apps::guests(spec).is_empty() => Some("something runs beside its workload"),
        () if settings.inputs.flows.iter().flat_map(|flows| flows.list()).any(|flow| flow.bytes.is_none()) => {
            Some("it has flows without an end: what they have moved is looked at as each starts or stops")
        }
        () if !losses.iter().all(|share| share.is_zero()) || !host_faults(spec, fabric).is_empty() => {
            Some("packets are lost on purpose, or hosts fail")
        }
        () if !changes(spec, fabric).is_empty() => Some("links change"),
        () if matches!(spec.scheme.base, Base::Foreign(_)) => Some("its law is the caller's own"),
        () if spec.scheme.m21 => Some("its ports know flows by places that later ones take over"),
        () if spec.scheme.ictcp => Some("its hosts have a law of what they offer"),
        () if settings.measure.latency || settings.measure.ports => Some("latencies or ports are measured"),
        () => None,
    }
}

fn of_network(spec: &RunSpec, fabric: &Fabric) -> Option<String> {
    let borders = Borders::new(&spec.settings, fabric, 2);
    match () {
        () if borders.parts < 2 => Some("its hosts are at one switch".into()),
        () if borders.ahead < LEAST_AHEAD => Some(format!(
            "a packet is on its way from rack to rack for {} ns at the least, and parts must not hear of one another more often \
             than every {} ns",
            borders.ahead.0 / 1_000,
            LEAST_AHEAD.0 / 1_000
        )),
        () => None,
    }
}
