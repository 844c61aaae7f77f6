//! Limits of the simulator: features that it does not model, the consequences for results, and the closest substitutes; and features
//! that exist under another name. `fanin explain` and `docs/limits.md` print these lists.

/// A feature that is not modelled.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// Name.
    pub name: &'static str,
    /// Other names for it or parts of it, in lower case.
    pub also: &'static [&'static str],
    /// The missing feature.
    pub missing: &'static str,
    /// Consequence for results.
    pub so: &'static str,
    /// Closest substitute.
    pub near: &'static str,
}

impl Limit {
    /// The limit with this name, ignoring case.
    pub fn named(name: &str) -> Option<&'static Limit> {
        let name = name.trim().to_ascii_lowercase();
        LIMITS.iter().find(|limit| limit.name == name || limit.also.contains(&name.as_str()))
    }

    /// A summary for an error message.
    pub fn told(&self, name: &str) -> String {
        format!("`{name}` is not modelled: {}; {} (docs/limits.md)", self.missing, self.near)
    }
}

/// A feature that exists under another name.
#[derive(Clone, Copy, Debug)]
pub struct Elsewhere {
    /// The other names, in lower case.
    pub names: &'static [&'static str],
    /// Its description here.
    pub says: &'static str,
}

impl Elsewhere {
    /// The entry for this name, ignoring case.
    pub fn named(name: &str) -> Option<&'static Elsewhere> {
        let name = name.trim().to_ascii_lowercase();
        ELSEWHERE.iter().find(|one| one.names.contains(&name.as_str()))
    }
}

/// All features with other names.
pub const ELSEWHERE: &[Elsewhere] = &[
    Elsewhere {
        names: &["pcap", "pcapng", "tcpdump", "tshark", "wireshark"],
        says: "`fanin diagnose` reads captures of real machines and writes a matching scenario; `fanin trace` writes a run's packets as pcapng",
    },
    Elsewhere {
        names: &["counters", "nstat", "ss", "netstat", "ethtool", "tc"],
        says: "`fanin diagnose` reads the output of these tools, with a capture or alone; `fanin record` prints the commands to collect it",
    },
    Elsewhere {
        names: &["rdma", "rocev2", "queue-pair"],
        says: "schemes `dcqcn`, `dcqcn-window`, `hpcc`, `timely` and `rdma-dctcp` are RDMA over lossless Ethernet, or with `pfc.enabled = false` over ports that drop (docs/rdma.md)",
    },
    Elsewhere {
        names: &["uet", "receiver-driven", "credits", "packet-trimming"],
        says: "schemes `nscc`, `rccc`, `eqds` and `ndp` run over ports that trim (docs/uet.md)",
    },
    Elsewhere {
        names: &[
            "pfc",
            "pause",
            "storm",
            "pause-storm",
            "deadlock",
            "802.1qbb",
            "lossless",
            "lossless-ethernet",
            "priority-flow-control",
        ],
        says: "`[pfc]`: switches of RDMA schemes pause the links by which they fill (docs/rdma.md)",
    },
    Elsewhere {
        names: &["nvlink", "nvswitch", "gpu"],
        says: "`fabric.kind = \"rails\"` links the GPUs of a machine at `fabric.machine_rate` (docs/collectives.md)",
    },
    Elsewhere {
        names: &["torus", "slimfly", "topology"],
        says: "`fabric.kind = \"edges\"` is any network of switches, given by its links (`fabric.edges`); packets take its shortest paths only",
    },
    Elsewhere {
        names: &["multi-homed", "multihomed", "dual-homed", "bond", "bonding", "lag", "mlag"],
        says: "a host on several edges (`fabric.kind = \"edges\"`, `fabric.edges`) has as many links; each flow uses one of them, by its hash",
    },
    Elsewhere {
        names: &[
            "lossy",
            "lossy-ethernet",
            "lossy roce",
            "lossy-roce",
            "pfc off",
            "pfc-off",
            "no pfc",
            "no-pfc",
            "without pfc",
            "roce without pfc",
            "roce-without-pfc",
            "drop-tail",
            "droptail",
        ],
        says: "ports drop what exceeds `switch.buffer` under every scheme of TCP, and under RDMA's schemes with `pfc.enabled = false` (docs/rdma.md; scenarios/roce-lossy.toml)",
    },
    Elsewhere {
        names: &["selective-repeat", "irn", "go-back-n", "gobackn", "local-ack-timeout", "retry_cnt"],
        says: "`rdma.recovery`, `rdma.local_ack_timeout`, `rdma.retries`: what queue pairs send again after a loss, and when (docs/rdma.md)",
    },
    Elsewhere {
        names: &["nic", "network-card", "cnp", "notification-point", "host.nic", "ingress-buffer", "rx-buffer"],
        says: "`[host.nic]`: a receiving card that drains more slowly than its link, drops, and marks itself (docs/rdma.md); `dcqcn.cnp_interval`",
    },
    Elsewhere {
        names: &[
            "priorities",
            "priority",
            "qos",
            "dscp",
            "cos",
            "wrr",
            "dwrr",
            "ets",
            "strict-priority",
            "strict priority",
            "scheduling",
            "traffic-class",
            "traffic-classes",
            "traffic class",
            "traffic classes",
            "headroom",
            "xoff",
            "rdma beside tcp",
            "tcp beside rdma",
        ],
        says: "`[classes]`: up to eight traffic classes at every port, with strict priority or DWRR, buffers and PFC by class, and the class or DSCP of the workload's packets; TCP beside RDMA (docs/classes.md; scenarios/tcp-beside-rdma.toml)",
    },
    Elsewhere {
        names: &["mixed", "coexistence", "background-traffic"],
        says: "`workload.background` adds long flows, `workload.load` small flows between all hosts, `workload.file` listed flows, and `[service]` small requests",
    },
    Elsewhere {
        names: &["erasure-code", "erasure-coding", "stripe", "ceph"],
        says: "`workload.stripe`: a client requests from that number of its servers, drawn at random for each round, such as the data servers of an erasure code",
    },
    Elsewhere {
        names: &["alltoall", "moe", "experts"],
        says: "`workload.kind = \"all-to-all\"`: every host sends to every other one, again and again; `workload.matrix` has unequal parts, such as tokens of experts (docs/collectives.md)",
    },
    Elsewhere {
        names: &["goal", "chakra", "astra-sim", "atlahs", "loggopsim", "dag", "training", "training-step"],
        says: "`workload.kind = \"trace\"`: hosts send, receive, compute and run collectives by a trace: GOAL's text and binary form, or Chakra's (docs/traces.md)",
    },
    Elsewhere {
        names: &["kv-cache", "kvcache", "kv-pull"],
        says: "`workload.kind = \"pulls\"`: hosts request data from one or several others, by a trace (docs/collectives.md)",
    },
];

/// Text to append when an unknown name is refused: its limit or other name, if any.
pub(crate) fn hint(name: &str) -> String {
    let elsewhere = Elsewhere::named(name).map(|one| format!("; `{name}`: {}", one.says));
    Limit::named(name).map(|limit| format!("; {}", limit.told(name))).or(elsewhere).unwrap_or_default()
}

/// All limits: transports, networks, hosts.
pub const LIMITS: &[Limit] = &[
    Limit {
        name: "infiniband",
        also: &["iwarp", "verbs"],
        missing: "InfiniBand's credits between ports; rdma schemes are RoCEv2 over Ethernet's pauses, or over ports that drop",
        so: "results do not show InfiniBand's flow control, nor operations other than writes",
        near: "dcqcn, hpcc and timely run over lossless ports, or with `pfc.enabled = false` over ports that drop (docs/rdma.md)",
    },
    Limit {
        name: "bbr",
        also: &["bbr2", "bbrv2", "bbr3", "bbrv3", "pacing", "fq", "copa"],
        missing: "models of a path's bandwidth, and pacing of TCP: a TCP sender other than Swift transmits all that its window allows back to back",
        so: "bursts are as large as windows allow, so buffers overflow earlier than with paced senders",
        near: "gss sends less at the start, m21 caps the window; swift paces below one packet per round trip",
    },
    Limit {
        name: "homa",
        also: &["phost", "pfabric", "expresspass"],
        missing: "receivers and switches that prioritise short remaining flows, and credits that ports limit",
        so: "short messages wait behind long ones here that such transports would serve first",
        near: "ndp, eqds and rccc have receivers that grant credit to all senders in turn (docs/uet.md)",
    },
    Limit {
        name: "quic",
        also: &["udp", "http3", "sctp", "mptcp", "multipath"],
        missing: "QUIC, and transports with several streams or interfaces in a connection",
        so: "results say nothing about streams within a connection, several interfaces at once, or traffic without congestion control",
        near: "tcp.rack with tcp.tail_loss_probe recovers as QUIC does (RFC 9002 follows RFC 8985)",
    },
    Limit {
        name: "buffer-classes",
        also: &["service-pool", "lossless-pool", "buffer-slices", "cells", "static-threshold"],
        missing: "pools of switch memory: without traffic classes there is one pool for all ports with one alpha; with them, lossless classes share one memory, and each other class has a fixed buffer at each port; there are no pools per port group, and packets occupy bytes, not cells",
        so: "a lossy class cannot borrow memory of another port, and small packets occupy less than in cells",
        near: "set switch.shared_buffer to the pool of the class in question, and switch.headroom to memory reserved for others (docs/modelling-a-switch.md); or set each class's buffer in `[classes]`",
    },
    Limit {
        name: "load-balancing",
        also: &["ecmp", "conga", "letflow", "drill", "flowlet", "flowlets", "wcmp", "valiant", "ugal"],
        missing: "load-dependent paths, except for Ultra Ethernet's schemes (`uet.spraying`); a flow of TCP or RDMA stays on the equal-length path that its hash selects",
        so: "flow collisions last as long as the flows, and paths reorder no packets of TCP",
        near: "several seeds draw several hashes: their spread shows the influence of collisions",
    },
    Limit {
        name: "routing",
        also: &["bgp", "ospf", "convergence", "rerouting"],
        missing: "routing protocols; all switches learn of a failed link at once and use only shortest paths",
        so: "results after a failure exclude losses before a routing protocol converges",
        near: "fabric.changes takes a link down and up; keep it down for the protocol's convergence time",
    },
    Limit {
        name: "pie",
        also: &["fq_codel", "fq-codel", "cake", "sfq", "choke", "blue", "wred"],
        missing: "other queue disciplines than drop-tail, RED, marking above a threshold, CoDel, and M21's windows",
        so: "results do not show the gain from another discipline or from per-flow queues",
        near: "codel drops by waiting time, red drops early",
    },
    Limit {
        name: "hosts",
        also: &["cpu", "tso", "gso", "gro", "lro", "interrupts", "coalescing", "offload", "kernel"],
        missing: "host processing; a host sends and receives packets at its link's rate, without delay or batching, unless `[host.nic]` drains more slowly",
        so: "results at 100 Gbit/s and above describe the network only: a real host adds tens of microseconds, larger bursts and clustered ACKs",
        near: "host.service_time and host.service_jitter delay responses, host.packet_jitter delays packets, faults.hosts slows a host, tcp.delayed_ack reduces ACKs",
    },
    Limit {
        name: "collectives",
        also: &["nccl", "mpi", "all-gather", "reduce-scatter", "broadcast"],
        missing: "collectives other than all-reduce, all-to-all, and in a trace all-gather, reduce-scatter, broadcast, reduce, gather and scatter, and libraries that choose among algorithms",
        so: "several collectives at once, and overlap with computation, need a trace (`workload.kind = \"trace\"`)",
        near: "workload.kind = \"all-reduce\" has rings, trees and halving-doubling, \"all-to-all\" measured matrices, \"pulls\" a trace of requests; a list of flows replays any trace",
    },
    Limit {
        name: "several-links",
        also: &["multi-rail"],
        missing: "applications that choose among a host's links; a flow keeps the link that its hash selects, whatever the load",
        so: "results do not show libraries that balance their traffic among a host's network cards",
        near: "a host on several edges (fabric.kind = \"edges\") has as many links; in fabric.kind = \"rails\" each GPU is a host on the switch of its rail, with links to the others of its machine (`fabric.machine_rate`)",
    },
    Limit {
        name: "cut-through",
        also: &["cutthrough", "switch-latency", "pipeline"],
        missing: "cut-through switching; a switch stores each packet completely and forwards it without delay",
        so: "for round trips of few microseconds, a real one may be some packet times shorter or some hundred nanoseconds per switch longer",
        near: "include a switch's delay in link.delay",
    },
];
