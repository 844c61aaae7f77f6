//! What is not modelled: what people ask for that no driver here can answer, in what results can therefore not be trusted, and
//! what comes near; and what there is under another name. `fanin explain` answers from these lists, and `docs/limits.md` is made of them.

/// Something that is not modelled.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// What it is called here.
    pub name: &'static str,
    /// What else people call it, or parts of it, in small letters.
    pub also: &'static [&'static str],
    /// What there is not.
    pub missing: &'static str,
    /// What follows for results.
    pub so: &'static str,
    /// What comes near.
    pub near: &'static str,
}

impl Limit {
    /// What is not modelled under a name, whatever its case.
    pub fn named(name: &str) -> Option<&'static Limit> {
        let name = name.trim().to_ascii_lowercase();
        LIMITS.iter().find(|limit| limit.name == name || limit.also.contains(&name.as_str()))
    }

    /// In a sentence or two, for a message.
    pub fn told(&self, name: &str) -> String {
        format!("`{name}` is not modelled: {}; {} (docs/limits.md)", self.missing, self.near)
    }
}

/// Something that there is under another name.
#[derive(Clone, Copy, Debug)]
pub struct Elsewhere {
    /// What people call it, in small letters.
    pub names: &'static [&'static str],
    /// What it is here.
    pub says: &'static str,
}

impl Elsewhere {
    /// What there is under another name than this, whatever its case.
    pub fn named(name: &str) -> Option<&'static Elsewhere> {
        let name = name.trim().to_ascii_lowercase();
        ELSEWHERE.iter().find(|one| one.names.contains(&name.as_str()))
    }
}

/// All that is asked for under another name.
pub const ELSEWHERE: &[Elsewhere] = &[
    Elsewhere {
        names: &["pcap", "pcapng", "tcpdump", "tshark", "wireshark"],
        says: "`fanin diagnose` reads captures of real machines and writes a scenario that behaves alike; `fanin trace` writes a run's packets as pcapng",
    },
    Elsewhere {
        names: &["counters", "nstat", "ss", "netstat", "ethtool", "tc"],
        says: "`fanin diagnose` reads what these print, beside a capture or alone, and `fanin record` prints the commands for it; no key of a scenario is set by them",
    },
    Elsewhere {
        names: &["all-to-all", "alltoall"],
        says: "`workload.kind = \"shuffle\"`: every host sends as much to every other one; what differs from pair to pair is a list of flows (`workload.file`)",
    },
];

/// What is to be added where a name is refused that is not modelled, or is called otherwise; else nothing.
pub(crate) fn hint(name: &str) -> String {
    let elsewhere = Elsewhere::named(name).map(|one| format!("; `{name}`: {}", one.says));
    Limit::named(name).map(|limit| format!("; {}", limit.told(name))).or(elsewhere).unwrap_or_default()
}

/// All of them: transports, networks, hosts.
pub const LIMITS: &[Limit] = &[
    Limit {
        name: "rdma",
        also: &["roce", "rocev2", "infiniband", "iwarp", "verbs", "uec", "ultra-ethernet"],
        missing: "there are no queue pairs, no go-back-N and no hardware retransmission, only TCP",
        so: "nothing can be said of storage or training traffic over RDMA, neither of its incast nor of its recovery",
        near: "DCTCP with a large buffer has queues of about the size that RoCE with ECN has; what RoCE does after a loss has nothing near",
    },
    Limit {
        name: "pfc",
        also: &["pause", "802.1qbb", "lossless", "lossless-ethernet", "priority-flow-control"],
        missing: "ports drop what does not fit, and never pause the one who sends to them",
        so: "a lossless network looks worse here at the port that is full and better everywhere else: pauses spread, block others and may deadlock",
        near: "a switch.buffer that is never full has the goodput without a pause, and none of its harm",
    },
    Limit {
        name: "dcqcn",
        also: &["qcn", "hpcc", "timely", "swift", "rate-control"],
        missing: "senders have windows that ACKs clock; none has a rate, delays that hardware measures or telemetry from switches",
        so: "how fast such a sender backs off at incast, and how much queue it leaves, cannot be seen",
        near: "dctcp reacts to the same marks, once a round trip",
    },
    Limit {
        name: "bbr",
        also: &["bbr2", "bbrv2", "bbr3", "bbrv3", "pacing", "fq", "copa"],
        missing: "no sender models the rate of its path or paces its packets: whatever a window allows leaves back to back",
        so: "bursts are the largest that a window makes, so that buffers overflow earlier than under paced senders",
        near: "gss sends less at the start, m21 caps the window; neither paces",
    },
    Limit {
        name: "homa",
        also: &["ndp", "phost", "pfabric", "expresspass", "receiver-driven", "credits", "trimming"],
        missing: "no receiver grants single packets or schedules who sends next, and no switch cuts payloads off or sorts by what is left",
        so: "transports that were made against incast cannot be compared with those that are here",
        near: "ictcp sizes the windows that a receiver offers, workload.in_flight asks only so many servers at once, as sw and ictcp-window do of a key_value workload, whose answers sicc gathers at hubs, and m21 hands out windows at the switch",
    },
    Limit {
        name: "quic",
        also: &["udp", "http3", "sctp", "mptcp", "multipath"],
        missing: "the only transport is TCP over one way through the network",
        so: "nothing can be said of streams in one connection, of several ways at once, or of traffic that does not give way",
        near: "tcp.rack with tcp.tail_loss_probe recovers as QUIC does (RFC 9002 follows RFC 8985)",
    },
    Limit {
        name: "priorities",
        also: &["qos", "dscp", "cos", "wrr", "dwrr", "ets", "strict-priority", "scheduling"],
        missing: "a port has one queue, first in, first out",
        so: "a class that is served first, or a share of a link that is kept for somebody, is not seen: all flows through a port delay one another",
        near: "two runs, one with and one without the other class, are the ends between which it lies",
    },
    Limit {
        name: "buffer-classes",
        also: &["headroom", "service-pool", "lossless-pool", "buffer-slices", "cells", "static-threshold"],
        missing: "the memory of a switch is one for all ports, with one alpha: there is none a class, at the ingress or for some of the ports, no limit a port beside alpha, and a packet takes its bytes, not whole cells",
        so: "what another class or slice holds is not missing here, so that a port may get more than on a switch whose memory is divided; small packets take less than in cells",
        near: "switch.shared_buffer with the pool of the class that is looked at; switch.headroom takes off what is set apart for others (docs/modelling-a-switch.md)",
    },
    Limit {
        name: "load-balancing",
        also: &["ecmp", "conga", "letflow", "drill", "flowlet", "flowlets", "spraying", "packet-spraying", "wcmp"],
        missing: "a flow keeps the way that its hash picks among those of equal length, whatever the load there",
        so: "collisions of flows last as long as the flows do, and no packet overtakes another on its account",
        near: "several seeds draw several hashes: their spread shows how much hangs on that",
    },
    Limit {
        name: "routing",
        also: &["bgp", "ospf", "convergence", "rerouting"],
        missing: "all switches know of a failed link at once, and no way is taken that is longer than the shortest",
        so: "what is lost until a routing protocol has settled is missing in every figure after a failure",
        near: "fabric.changes takes a link down and up: down for as long as the protocol needs, before the other ways are meant to count",
    },
    Limit {
        name: "pie",
        also: &["fq_codel", "fq-codel", "cake", "sfq", "choke", "blue", "wred"],
        missing: "ports have drop-tail, RED, marking above a threshold, CoDel, and M21's windows",
        so: "what a scheme gains from another queue law, or from flows that are kept apart in it, is not seen",
        near: "codel for what waited too long, red for what comes early",
    },
    Limit {
        name: "hosts",
        also: &["cpu", "nic", "tso", "gso", "gro", "lro", "interrupts", "coalescing", "offload", "kernel"],
        missing: "a host takes and sends packets as fast as its link, in no time; nothing is sent or received in batches",
        so: "figures at 100 Gbit/s and more are those of the network alone: a real host adds tens of microseconds, larger bursts and ACKs that come in clumps",
        near: "host.service_time and host.service_jitter delay answers, host.packet_jitter each packet, faults.hosts slows a host down, tcp.delayed_ack thins ACKs out",
    },
    Limit {
        name: "collectives",
        also: &["nccl", "mpi", "moe", "all-gather", "reduce-scatter", "training"],
        missing: "of what accelerators exchange there are ring all-reduces and shuffles, in which every host sends the same to every other one, and no library that chooses among algorithms",
        so: "experts that are not asked alike, trees, and what is computed meanwhile are not seen",
        near: "workload.kind = \"shuffle\" is an all-to-all, \"all-reduce\" a ring of them; a list of flows has whatever a trace has",
    },
    Limit {
        name: "cut-through",
        also: &["cutthrough", "switch-latency", "pipeline"],
        missing: "a switch has all of a packet before it sends it on, and takes no time to look at it",
        so: "at few microseconds a round trip, a real one is some packets' time shorter or some hundred nanoseconds a switch longer",
        near: "link.delay holds what a switch adds",
    },
];
