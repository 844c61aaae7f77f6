//! Conditions under which keys have an effect: when each is met, and why a key has no effect otherwise.

use fanin_laws::sender::cubic;

use crate::declare::Need;
use crate::{
    Algorithm, Base, FabricKind, FanOut, Kind, MaxAckDelay, Popularity, RttVariance, Scheme, ServerOrder, Settings,
};

/// A condition.
struct Condition {
    met: fn(&Scheme, &Settings) -> bool,
    /// Why the key has no effect otherwise.
    without: &'static str,
}

/// Why a key with this condition has no effect; `None` if the condition is met.
pub(crate) fn unmet(need: Need, scheme: &Scheme, settings: &Settings) -> Option<&'static str> {
    let Condition { met, without } = condition(need);
    (!met(scheme, settings)).then_some(without)
}

/// The condition of a name.
fn condition(need: Need) -> Condition {
    match need {
        Need::Racks => RACKS,
        Need::NoGss => NO_GSS,
        Need::NoSack => NO_SACK,
        Need::Sack => SACK,
        Need::Probes => PROBES,
        Need::Ticks => TICKS,
        Need::RackTimers => RACK_TIMERS,
        Need::Validation => VALIDATION,
        Need::Undo => UNDO,
        Need::HyStart => HYSTART,
        Need::Variance => VARIANCE,
        Need::DelayedAcks => DELAYED_ACKS,
        Need::DelayedAcksAndGaps => DELAYED_ACKS_AND_GAPS,
        Need::DelayedAcksAndEcn => DELAYED_ACKS_AND_ECN,
        Need::Ecn => ECN,
        Need::Deadlines => DEADLINES,
        Need::SeveralClients => SEVERAL_CLIENTS,
        Need::Load => LOAD,
        Need::Service => SERVICE,
        Need::Hubs => HUBS,
        Need::AsksServers => ASKS_SERVERS,
        Need::Windowed => WINDOWED,
        Need::Zipfian => ZIPFIAN,
        Need::TwoClasses => TWO_CLASSES,
        Need::Pages => PAGES,
        Need::Plan => PLAN,
        Need::Gathers => GATHERS,
        Need::Reordered => REORDERED,
        Need::Reordering => REORDERING,
        Need::Memory => MEMORY,
        Need::NoMemory => NO_MEMORY,
        Need::AnyHosts => ANY_HOSTS,
        Need::Tree => TREE,
        Need::Generator => GENERATOR,
        Need::Drain => DRAIN,
        Need::Rdma => RDMA,
        Need::Classes => CLASSES,
        Need::ClassesOfRdma => CLASSES_OF_RDMA,
    }
}

const DRAIN: Condition = Condition {
    met: |_, s| s.nic.drain.0.is_some(),
    without: "`host.nic.drain` is not set, so that cards drain as fast as packets come",
};
const RDMA: Condition =
    Condition { met: |scheme, _| scheme.rdma().is_some(), without: "only messages of RDMA have a cost in the card" };
const CLASSES: Condition =
    Condition { met: |_, s| s.has_classes(), without: "ports have no traffic classes without `classes.queues`" };
const CLASSES_OF_RDMA: Condition = Condition {
    met: |scheme, s| s.has_classes() && scheme.rdma().is_some(),
    without: "it needs `classes.queues` and a scheme of RDMA, such as dcqcn",
};
const RACKS: Condition = Condition {
    met: |_, s| matches!(s.fabric.kind, FabricKind::LeafSpine | FabricKind::FatTree),
    without: "this fabric fixes the place of each host; leaf-spine and fat-tree do not",
};
const NO_GSS: Condition =
    Condition { met: |scheme, _| !scheme.gss, without: "gentle slow start uses `gss.initial_window` instead" };
const NO_SACK: Condition =
    Condition { met: |_, s| !s.tcp.sack, without: "recovery uses SACK; set `tcp.sack = false` for NewReno's" };
const SACK: Condition = Condition { met: |_, s| s.tcp.sack, without: "ACK compression needs `tcp.sack`" };
const PROBES: Condition =
    Condition { met: |_, s| s.tcp.tail_loss_probe, without: "there are no probes without `tcp.tail_loss_probe`" };
const TICKS: Condition =
    Condition { met: |_, s| s.tcp.tick.0 > 0, without: "timers are exact unless `tcp.tick` is above zero" };
const RACK_TIMERS: Condition = Condition {
    met: |_, s| s.tcp.rack || s.tcp.tail_loss_probe,
    without: "there is no such timer without `tcp.rack` or `tcp.tail_loss_probe`",
};
const VALIDATION: Condition = Condition {
    met: |_, s| s.tcp.rack || s.tcp.tail_loss_probe,
    without: "a window of this kind needs `tcp.rack` or `tcp.tail_loss_probe`",
};
const UNDO: Condition = Condition {
    met: |_, s| s.tcp.rack || s.tcp.tail_loss_probe,
    without: "undo needs `tcp.rack` or `tcp.tail_loss_probe`",
};
const HYSTART: Condition = Condition {
    met: |scheme, s| {
        matches!(scheme.base, Base::Cubic)
            && !scheme.gss
            && s.laws.senders.cubic.variant == cubic::Variant::Linux
            && (VARIANCE.met)(scheme, s)
            && s.tcp.rtt_variance == RttVariance::Linux
    },
    without: "HyStart is part of cubic, without gss; it needs `cubic.variant` and `tcp.rtt_variance` \"linux\", and `tcp.rack` or `tcp.tail_loss_probe`",
};
const VARIANCE: Condition = Condition {
    met: |_, s| s.tcp.rack || s.tcp.tail_loss_probe,
    without: "RFC 6298's is used without `tcp.rack` or `tcp.tail_loss_probe`",
};
const DELAYED_ACKS: Condition = Condition {
    met: |_, s| {
        s.tcp.delayed_ack > 1 || (s.tcp.tail_loss_probe && s.tcp.max_ack_delay == MaxAckDelay::DelayedAckTimeout)
    },
    without: "ACKs are not delayed with `tcp.delayed_ack = 1`",
};
const DELAYED_ACKS_AND_GAPS: Condition = Condition {
    met: |_, s| s.tcp.delayed_ack > 1 && s.workload.request_gap > fanin_units::Time::ZERO,
    without: "ACKs are not delayed with `tcp.delayed_ack = 1`, and a client reads immediately without `workload.request_gap`",
};
const DELAYED_ACKS_AND_ECN: Condition = Condition {
    met: |scheme, s| s.tcp.delayed_ack > 1 && scheme.ecn,
    without: "there is no CWR without ECN, and ACKs are not delayed with `tcp.delayed_ack = 1`",
};
const ECN: Condition =
    Condition { met: |scheme, _| scheme.ecn, without: "none of these schemes uses ECN; dctcp and newreno+red+ecn do" };
const DEADLINES: Condition = Condition {
    met: |scheme, _| scheme.base.row().reads_keys.contains(&"workload.deadline"),
    without: "only d2tcp uses it",
};
const SEVERAL_CLIENTS: Condition =
    Condition { met: |_, s| s.clients() > 1, without: "there is one client; set `workload.clients` to 2 or more" };
const LOAD: Condition = Condition {
    met: |_, s| s.workload.load.0.is_some(),
    without: "there are no Poisson flows without `workload.load`",
};
const SERVICE: Condition = Condition {
    met: |_, s| s.service.queries_per_s.0.is_some(),
    without: "there is no service without `service.queries_per_s`",
};
const HUBS: Condition = Condition {
    met: |scheme, s| scheme.fan_out.is_some_and(|fan_out| fan_out.parts(&s.fan_outs.sicc).is_some()),
    without: "none of these schemes uses hubs; sicc does",
};
const ASKS_SERVERS: Condition = Condition {
    met: |scheme, s| scheme.fan_out.is_none_or(|fan_out| fan_out.parts(&s.fan_outs.sicc).is_none()),
    without: "these schemes request from hubs; one-all, sw and ictcp-window request from servers",
};
const WINDOWED: Condition = Condition {
    met: |scheme, _| matches!(scheme.fan_out, Some(FanOut::SlidingWindow | FanOut::IctcpWindow)),
    without: "none of these schemes has a concurrency limit over servers; sw and ictcp-window do",
};
const ZIPFIAN: Condition = Condition {
    met: |_, s| matches!(s.key_value.popularity, Popularity::Zipfian | Popularity::Pages),
    without: "requests do not follow ranks; set `key_value.popularity` to \"zipfian\" or \"pages\"",
};
const TWO_CLASSES: Condition = Condition {
    met: |_, s| s.key_value.popularity == Popularity::TwoClass,
    without: "there are no two classes of objects without `key_value.popularity = \"two-class\"`",
};
const PAGES: Condition = Condition {
    met: |_, s| s.key_value.popularity == Popularity::Pages,
    without: "there are no pages without `key_value.popularity = \"pages\"`",
};
const PLAN: Condition = Condition {
    met: |scheme, s| s.key_value.placement.0.is_some() || scheme.gathering.is_some(),
    without: "objects do not move without `key_value.placement` or a scheme with a placement, such as picc",
};
const GATHERS: Condition = Condition {
    met: |scheme, _| scheme.gathering.is_some(),
    without: "there is no placement without a scheme that has one, such as picc, or `fanin plan`",
};
const REORDERED: Condition = Condition {
    met: |scheme, s| match s.key_value.server {
        ServerOrder::Parallel => false,
        ServerOrder::Fifo => scheme.gathering.is_some(),
        ServerOrder::Reordered => true,
    },
    without: "servers do not reorder without `key_value.server = \"reordered\"`",
};
const REORDERING: Condition = Condition {
    met: |_, s| !s.faults.reordering.is_zero(),
    without: "packets are not reordered without `faults.reordering`",
};
const MEMORY: Condition = Condition {
    met: |_, s| s.switch.shared_buffer.0.is_some(),
    without: "each port has its own buffer without `switch.shared_buffer`",
};
const NO_MEMORY: Condition = Condition {
    met: |_, s| s.switch.shared_buffer.0.is_none(),
    without: "ports share `switch.shared_buffer`, divided by `switch.alpha`",
};
const ANY_HOSTS: Condition = Condition {
    met: |_, s| {
        let w = &s.workload;
        let any_to_any = !w.kind.many_to_one() || w.load.0.is_some() || w.file.0.is_some();
        any_to_any || w.background > 0 || s.service.queries_per_s.0.is_some()
    },
    without: "no flows run between any hosts without `workload.load`, `workload.file`, `workload.background` or a service",
};
const TREE: Condition = Condition {
    met: |_, s| s.workload.algorithm == Algorithm::Tree || s.workload.kind == Kind::Trace,
    without: "only trees, and a trace's broadcasts and reduces, pass on chunks; set `workload.algorithm = \"tree\"`",
};
const GENERATOR: Condition =
    Condition { met: |_, s| s.bursts.spacing.0.is_some(), without: "there is no generator without `bursts.spacing`" };
