"""The sections of a scenario, whose keys complete in an editor. Written by scripts/sections.py: do not edit.

>>> fanin.Scenario({"schemes": ["dctcp"], "link": Link(rate="10 Gbit/s"), "workload": Workload(fragment="64 KiB")})
"""

from __future__ import annotations

from typing import Any, TypedDict


class Link(TypedDict, total=False):
    """`[link]` Every link, in both directions."""

    rate: str
    """Rate of every link. Use a rate above zero with its unit, such as "10 Gbit/s"; 1 kbit/s to 1000 Tbit/s.
    Default: "1 Gbit/s"."""
    client_rate: str
    """Rate of the client's link, if different. Use a rate above zero with its unit, such as "10 Gbit/s", or
    "none"; 1 kbit/s to 1000 Tbit/s. Default: "none"."""
    delay: str
    """One-way propagation delay of each link. Use a time with its unit, such as "25 us"; at most 10 s.
    Default: "25 us"."""
    framing: str
    """Overhead of the link layer per packet. "ethernet": 38 B on the wire (preamble 8, header and checksum
    18, gap 12); 18 B of these also occupy buffers, in frames of at least 64 B. A size: this many bytes, on
    the wire and in buffers, without a minimum frame. Use "ethernet", or at most 1000 B on the wire and in
    buffers alike, such as "2 B". Default: "ethernet"."""
    frames: str
    """Packet size: "by-mss", as set by `tcp.mss`; "standard", up to 1,500 B of IP; "jumbo", up to 9,000 B of
    IP (9,018 B in a buffer, 9,038 B on the wire). "standard" and "jumbo" set `tcp.mss` to fill the packet
    (1,460 and 8,960 B, 12 B less with `tcp.timestamps`). An explicit `tcp.mss` must fit, and must need jumbo
    frames with "jumbo". Larger packets also scale everything counted in segments or packets: windows (RFC
    6928 starts with 2 segments of 8,960 B, Linux with its usual 10), buffers and thresholds in packets.
    Buffers in bytes hold fewer packets. Use "by-mss", "standard" or "jumbo". Default: "by-mss"."""


class Fabric(TypedDict, total=False):
    """`[fabric]` Network topology."""

    kind: str
    """Topology of the network. Use "star", "leaf-spine", "fat-tree", "rails", "dragonfly" or "edges".
    Default: "star"."""
    topology: str
    """htsim's topology file (.topo): a leaf-spine or fat-tree fabric, with the rates and the delay of its
    links. It replaces kind, the other keys of its shape, link.rate and link.delay. Use the path of a file,
    relative to the scenario's, or "none". Default: "none"."""
    edges: list[str]
    """Links of an "edges" fabric: two nodes, then optionally a rate and a delay, such as "tor1 spine1 40
    Gbit/s". These override [link]. Hosts are client and server1, server2, ..., or a range such as server1..8;
    other names are switches. A host on several edges has that number of links, each with a queue of its own:
    each flow uses one of those on a shortest path, by its hash, and no path leads through a host. The second
    link between the same host and switch is named tor1>server1#2. Use a list of strings. Default: []."""
    racks: int | str
    """Number of racks of a leaf-spine, fat-tree or dragonfly fabric; each has one switch. Of a "rails"
    fabric, the number of rail switches: a multiple of rails. Use a whole number, or "none". Default:
    "none"."""
    hosts_per_rack: int | str
    """Hosts in each rack, or at each rail switch; the client is the first host of the first rack. Use a whole
    number, or "none". Default: "none"."""
    spines: int | str
    """Spines that every rack or rail switch links to: all of a leaf-spine or "rails" fabric, or those of a
    fat tree's pod. Use a whole number, or "none". Default: "none"."""
    pods: int | str
    """Pods of a fat tree, or groups of a dragonfly. Racks are divided evenly among them; each spine of a fat
    tree links to as many cores as its pod has racks, at the uplinks' rate. Use a whole number, or "none".
    Default: "none"."""
    arity: int | str
    """k of a k-ary fat tree: k pods of k/2 racks of k/2 hosts under k/2 spines, with identical links.
    Replaces racks, hosts_per_rack, spines and pods. Use a whole number, or "none". Default: "none"."""
    rails: int | str
    """Rails of a "rails" fabric: the number of hosts (GPUs) of a machine. Host i of every machine is on rail
    i. Machines fill the switches in the order of their numbers. Use a whole number, or "none". Default:
    "none"."""
    machine_rate: str
    """Rate of each host's link to the switch inside its machine, for traffic within the machine; "none":
    machines have no such switch, and that traffic crosses the rails. Use a rate above zero with its unit,
    such as "10 Gbit/s", or "none"; 1 kbit/s to 1000 Tbit/s. Default: "none"."""
    global_links: int | str
    """Links of each switch of a dragonfly to other groups. Racks in a group times these links are a multiple
    of the other groups: every two groups have the same number of links. Use a whole number, or "none".
    Default: "none"."""
    uplink_rate: str
    """Rate of each link between switches; "none": derived from oversubscription, or else link.rate. Use a
    rate above zero with its unit, such as "10 Gbit/s", or "none"; 1 kbit/s to 1000 Tbit/s. Default:
    "none"."""
    oversubscription: int | str
    """Total rate of a rack's hosts divided by the total rate of its uplinks, a whole number; it determines
    uplink_rate. Use a whole number, or "none". Default: "none"."""
    changes: list[str]
    """Links that fail, recover or change their rate, in both directions: a time, two nodes, then down, up or
    a rate, such as "10 ms leaf1 spine1 down"; "server1 tor1#2" is the second of several links between the
    same nodes. Packets queued at a failing link are lost; flows move at once to the remaining paths of equal
    length. Use a list of strings. Default: []."""
    hosts: int | str
    """Number of hosts, including the client: the participants of an any-to-any workload, or the hosts that
    Poisson flows and a service run between; "none": as many as the workload needs. Use a whole number, or
    "none"; 2 to 1000001. Default: "none"."""
    placement: str
    """Assignment of hosts to racks in a leaf-spine or fat-tree fabric. Use "by-rack" or "spread". Default:
    "by-rack"."""


class Switch(TypedDict, total=False):
    """`[switch]` Switches: one queue per port, with its own buffer or in a memory that all ports share."""

    profile: str
    """Switch model with published memory: sets shared_buffer, alpha, reserved, headroom and ports; explicit
    keys override it. `fanin list` prints all models. Use the name of a switch, "dctcp-triumph",
    "force10-s6000", "arista-7060cx", "arista-7050cx3", "arista-7060x6" or "mellanox-sn2700", its model, such
    as "7050CX3", or "none". Default: "none"."""
    buffer: str
    """Capacity of a port's queue, not counting the packet in transmission. Use a size with its unit, such as
    "64 KiB" or "250 packets". Default: "64 KiB"."""
    shared_buffer: str
    """Memory shared by all ports of a switch, in place of `buffer`: a queue may hold its reserved part plus
    alpha times the unused rest (dynamic thresholds, Choudhury and Hahne). Hosts' queues do not use it.
    "none": each port has its own buffer. Use bytes with their unit, such as "256 KiB", or "none"; 1 B to 1024
    GiB. Default: "none"."""
    alpha: float | str
    """Share of the free memory that a port may use: a single congested port gets alpha/(1 + alpha) of it. Use
    a number from 0 up, such as 0.25, "1/8" or 8; 1/1024 to 1024. Default: 1."""
    reserved: str
    """Memory reserved for each port and not shared. Use bytes with their unit, such as "64 KiB" or "1460 B".
    Default: "0 B"."""
    headroom: str
    """Memory set aside and used by no port, such as the headroom of lossless classes that the scenario leaves
    out. Use bytes with their unit, such as "64 KiB" or "1460 B". Default: "0 B"."""
    ports: list[str]
    """Overrides for ports of a given rate, such as "100 Gbit/s: k 200 packets, buffer 1 MB":
    `ecn_threshold.k`, `buffer` or both. Use a list of strings. Default: []."""


class Host(TypedDict, total=False):
    """`[host]` Hosts."""

    buffer: str
    """Capacity of a host's transmit queue, not counting the packet in transmission. Use a size with its unit,
    such as "128 KiB", or "none". Default: "none"."""
    queue: str
    """Queue discipline of a host's transmit queue; "switch" uses that of the scheme's switch ports and,
    unless buffer is set, their size (ns-2). Use "plain" or "switch". Default: "plain"."""
    packet_jitter: str
    """Random delay of a host's packets at the other end of its link, uniform between 0 and this time, without
    reordering. "transmission": up to the transmission time of a full packet on the slowest link (Floyd and
    Jacobson's rule against phase effects); "0.3 of a transmission": up to this share of that time, the
    default with `tcp.profile`; "none": no jitter, as in other simulators, where phase effects may starve
    flows. Use "none", "transmission", a share such as "0.3 of a transmission", or a time of at most 10 ms,
    such as "2 us". Default: "transmission"."""
    service_time: str
    """Time that a server processes a request before it responds; for a key_value workload, per object. Use a
    time with its unit, such as "25 us"; at most 1000 s. Default: "0 s"."""
    service_jitter: str
    """Upper end of a uniform random addition to the service time. Use a time with its unit, such as "25 us";
    at most 1000 s. Default: "0 s"."""


class Nic(TypedDict, total=False):
    """`[nic]` Network cards of hosts, written `[host.nic]`. They cost nothing and lose nothing unless a key
    is set."""

    drain: str
    """Rate at which a card drains its ingress buffer, in bytes of frames, below the link's; "none": it drains
    as fast as packets come, and loses none. Use a rate above zero with its unit, such as "10 Gbit/s", or
    "none". Default: "none"."""
    buffer: str
    """Its ingress buffer. Packets that find it full are dropped by the card, apart from the drops of ports.
    Use bytes with their unit, such as "64 KiB" or "1460 B". Default: "256 KiB"."""
    notify_at: str
    """Bytes in that buffer beyond which the card marks packets itself, so that it returns congestion
    notifications although no switch marks; "none": it marks none. Use bytes with their unit, such as "256
    KiB", or "none". Default: "none"."""
    message_cost: str
    """Time that a sending card needs between two messages of a queue pair: it begins the next one so long
    after the last packet of the one before, or after the acknowledgement for which it waited. A queue pair
    that is idle begins at once. Use a time with its unit, such as "25 us"; at most 1 ms. Default: "0 s"."""


class Classes(TypedDict, total=False):
    """`[classes]` Traffic classes: up to eight queues at every port of switches and hosts, with strict
    priority or weights (DWRR), buffers and PFC by class. Without `queues`, ports have one queue of data."""

    queues: list[str]
    """Queues, such as "3: dwrr 60, lossless, dscp 26": the class, 0 to 7, and its scheduler: strict (before
    all classes with weights, the highest number first) or dwrr with its weight. Optional parts: lossless
    (switches pause the class, by `[pfc]`; others drop), headroom SIZE of a lossless class for each link into
    a switch (in place of `pfc.headroom`), buffer SIZE of another class at a switch's port (in place of
    `switch.buffer`), and dscp with the DSCPs that ports put into the class. Use a list of strings. Default:
    []."""
    workload: int | str
    """Traffic class of the workload's packets. A scheme may set its own. Use a traffic class from 0 to 7, or
    a DSCP, such as 3 or "dscp 26". Default: 0."""
    background: int | str
    """Traffic class of background traffic: `workload.background`, `workload.load`, `workload.file` beside
    another workload, and `[service]`. Use a traffic class from 0 to 7, or a DSCP, such as 3 or "dscp 26".
    Default: 0."""
    control: int | str
    """Traffic class of RDMA's acknowledgements and congestion notifications; "none": that of the data. Use a
    traffic class from 0 to 7, a DSCP such as "dscp 48", or "none". Default: "none"."""
    background_scheme: str
    """Scheme of background traffic beside a scheme of RDMA: one of TCP, such as "dctcp", with the settings of
    `[tcp]`; "none": the scheme itself. Schemes of TCP ignore it. Use the name of a scheme, such as "dctcp",
    or "none". Default: "none"."""


class Tcp(TypedDict, total=False):
    """`[tcp]` TCP of every host."""

    profile: str
    """A real operating system's TCP: sets the keys that `fanin explain SCHEME` lists; explicit keys override
    it. Use the name of a TCP, "linux" or "linux-6.1", or "none". Default: "none"."""
    mss: str
    """Largest payload of a segment. Use bytes with their unit, such as "64 KiB" or "1460 B"; 64 B to 9 KB.
    Default: "1460 B"."""
    initial_window: int
    """Initial congestion window, in segments. Use a whole number; 1 to 1000. Default: 10."""
    rto_min: str
    """Minimum retransmission timeout (RTO). Use a time with its unit, such as "25 us"; above 0. Default: "200
    ms"."""
    rto_floor: str
    """Lower bound set by rto_min: of the whole RTO (RFC 6298), or of its term 4 × RTTVAR, to which SRTT is
    added (Linux). Use "timeout" (RFC 6298) or "variance" (Linux). Default: "timeout"."""
    rtt_variance: str
    """RTTVAR: a smoothed deviation (RFC 6298); or the largest smoothed deviation of a round trip, which
    decreases by a quarter per round trip (Linux), so that one late ACK matters for several round trips
    instead of several samples. Use "rfc6298" or "linux". Default: "rfc6298"."""
    rto_max: str
    """Maximum retransmission timeout after backoff. Use a time with its unit, such as "25 us"; at most 3600
    s. Default: "60 s"."""
    rto_initial: str
    """Retransmission timeout before the first RTT sample. Use a time with its unit, such as "25 us"; above 0.
    Default: "1 s"."""
    rto_clock: str
    """Clock granularity G of the RTO (RFC 6298). Use a time with its unit, such as "25 us". Default: "1
    ms"."""
    max_retransmissions: int | str
    """Number of timeout retransmissions of a segment before the connection is aborted with a reset, which may
    itself be lost (RFC 9293's R2, Linux's tcp_retries2); "none": unlimited. Applies only to key_value
    workloads that set `key_value.timeout` or `key_value.deadline`, whose front ends then use another server.
    Use a whole number, or "none"; 1 to 255. Default: "none"."""
    karn_backoff: bool
    """Keep a backed-off RTO until a segment that was sent once is acknowledged (Karn); off: until any new
    ACK, as deployed stacks do. Use true or false. Default: false."""
    syn_timeout: str
    """Timeout of the first SYN; "none": rto_initial. Use a time with its unit, such as "40 ms", or "none";
    above 0. Default: "none"."""
    sack: bool
    """Selective acknowledgements (RFC 2018, 6675) with proportional rate reduction (RFC 6937); off: NewReno
    recovery (RFC 6582). Use true or false. Default: true."""
    rack: bool
    """Time-based loss detection (RACK, RFC 8985): segments sent a round trip before a delivered one are lost,
    retransmissions included; off: duplicate-ACK counting (RFC 6675). Needs sack. Use true or false. Default:
    false."""
    tail_loss_probe: bool
    """Tail-loss probe after two round trips without an ACK (TLP, RFC 8985, section 7); it does not count as a
    timeout. Needs sack. Use true or false. Default: false."""
    max_ack_delay: str
    """Time that a probe allows for the peer's delayed ACK if one segment is in flight: a time, "rto_min"
    (Linux 6.12) or "none", which means delayed_ack_timeout. Use a time with its unit, such as "200 ms" or "25
    us"; or "rto_min" or "none"; at most 10 s. Default: "none"."""
    timer_margin: str
    """Time added to RACK's reordering timer, and to a probe's timer if several segments are in flight (Linux
    6.12: 2 ms; 6.1: two ticks of its clock). Use a time with its unit, such as "25 us"; at most 10 s.
    Default: "0 s"."""
    tick: str
    """Tick of hosts' timers: a timer fires on the first tick after its time (Linux: 4 ms with Debian's HZ =
    250). Hosts tick at different phases unless ticks_together is true. With a tick, a round trip of less than
    a microsecond counts as a tick for RACK's minimum (Linux). Zero: exact timers. Use a time with its unit,
    such as "25 us"; at most 1 s. Default: "0 s"."""
    ticks_together: bool
    """Give all hosts the same tick phase, as with namespaces or containers of one kernel: their timer
    retransmissions leave simultaneously. Use true or false. Default: false."""
    newreno: str
    """NewReno's fast recovery without sack: duplicate ACKs inflate the window (RFC 6582), or leave the pipe
    (ns-3). Use "inflate" (RFC 6582) or "pipe" (ns-3). Default: "inflate"."""
    limited_transmit: bool
    """Send new data on the first two duplicate ACKs (RFC 3042). Use true or false. Default: true."""
    timestamps: bool
    """Timestamps (RFC 7323): twelve bytes per segment, and an RTT sample per ACK. Use true or false. Default:
    false."""
    delayed_ack: int
    """Full segments per delayed ACK; 1 acknowledges every packet. Use a whole number; 1 to 64. Default: 2."""
    ack_cwr: bool
    """Acknowledge a segment with CWR immediately, as Linux does, because its sender may have a window of one
    segment. Use true or false. Default: true."""
    delayed_ack_timeout: str
    """Maximum delay of an ACK. Use a time with its unit, such as "25 us". Default: "40 ms"."""
    acks_wait_for_reader: bool
    """While the client sends a round's requests (workload.request_gap), it does not read and does not
    acknowledge in-order data, as in Linux, whose window does not move until the application reads. Use true
    or false. Default: false."""
    pingpong: bool
    """Linux's pingpong mode: a host that sends within delayed_ack_timeout of receiving is interactive and
    uses no quick_acks until an ACK waits its whole time or data is duplicated. A host that is not interactive
    immediately acknowledges segments shorter than full size. Use true or false. Default: false."""
    ack_compression: bool
    """ACK compression: from the fourth ACK of one gap on, ACKs of out-of-order data wait for more data, for a
    twentieth of the round trip and at most 1 ms (Linux: tcp_comp_sack_delay_ns). Use true or false. Default:
    false."""
    quick_acks: int
    """Data segments acknowledged immediately in spite of delayed_ack: at a connection's start, after one RTO
    of idle time, and after duplicate data (Linux: 16). Use a whole number; at most 255. Default: 0."""
    idle_restart: bool
    """Restart from the initial window after one RTO of idle time (RFC 5681, section 4.1); with
    window_validation, the window halves for each RTO instead, down to the initial one (Linux; RFC 2861,
    section 3). Use true or false. Default: false."""
    byte_counting: bool
    """Appropriate byte counting: grow the window by the bytes that an ACK acknowledges (RFC 3465, without its
    limit, as in Linux), so that delayed ACKs do not slow growth; off: by ACKs (RFC 5681). With rack or
    tail_loss_probe, by the bytes delivered, including those of the ACK that ends a recovery (Linux). Use true
    or false. Default: false."""
    cut_window: bool
    """Reduce from the current window (Linux) instead of from the flight size (RFC 5681, RFC 9438), which is
    smaller if the application sends little. With rack or tail_loss_probe, a timeout during recovery keeps
    recovery's ssthresh (Linux). Use true or false. Default: false."""
    window_validation: bool
    """Congestion window validation: grow the window only if it is full; in slow start up to twice the data in
    flight, later only if the window was the limit. With idle_restart, a window that was not full for an RTO
    moves halfway down to its used part (Linux; RFC 7661's idea, RFC 2861's rule). Use true or false. Default:
    false."""
    packet_window: bool
    """The congestion window counts packets, as in Linux: a segment with few bytes takes as much of it as a
    full one, which matters where small objects fill the window; off: it counts bytes (RFC 5681). Use true or
    false. Default: false."""
    undo: bool
    """Undo a window reduction that proves unnecessary: if all retransmissions were duplicates (DSACK, RFC
    2883 and 3708), or the acknowledged data was sent before the retransmission (Eifel, RFC 3522 and 4015;
    needs timestamps). As in Linux. Use true or false. Default: false."""
    frto: bool
    """F-RTO (RFC 5682): after a timeout, the first ACK lets new data go instead of retransmissions; if data
    that was not retransmitted is acknowledged next, the timeout was spurious and the window is restored. As
    in Linux. Use true or false. Default: false."""
    hystart: bool
    """HyStart as in Linux: end CUBIC's slow start at windows of 16 segments or more if the ACKs of a round
    trip take more than half of the least one, or if round trips have grown by 4 ms. Off: slow start ends with
    a loss. Use true or false. Default: false."""
    receive_window: str
    """Receive window. Use bytes with their unit, such as "64 KiB" or "1460 B"; at most 1 GiB. Default: "16
    MiB"."""
    ect: str
    """Packets marked ECN-capable if the scheme uses ECN. Use "data" (only new data, RFC 3168), "agreed"
    (every packet but the first SYN, ns-2's DCTCP) or "all" (every packet, Linux's DCTCP). Default: "data"."""


class Workload(TypedDict, total=False):
    """`[workload]` The traffic to simulate."""

    kind: str
    """Pattern of requests and responses. Use "barrier", "one-shot", "web-search", "long", "flows", "shuffle",
    "poisson", "mapreduce", "all-reduce", "all-to-all", "pulls", "trace", "bursts" or "key_value". Default:
    "barrier"."""
    fan_in: int
    """Servers that respond to the client if `fan_in` is not swept; for an any-to-any workload, the default
    number of hosts other than the client. Use a whole number; 1 to 1000000. Default: 16."""
    streams: int
    """Connections of each server of a long workload, such as the queue pairs of an RDMA benchmark. Use a
    whole number; 1 to 1024. Default: 1."""
    clients: int
    """Number of clients, each with its own rounds, fan_in and queries. Use a whole number; 1 to 4096.
    Default: 1."""
    servers: str
    """Servers of each client: "same", the same servers for all; "own", separate ones, the hosts after each
    client; "others", the hosts after each client, wrapping around, so that clients are also servers, and as
    many clients as hosts use all others. Use "same", "own" or "others". Default: "same"."""
    stripe: int | str
    """Servers that a client requests from in a round, drawn at random for each, such as the data servers of
    an erasure code; "none", or more than there are: all of them. Use a whole number, or "none"; 1 to 1000000.
    Default: "none"."""
    fragment: str
    """Bytes that each server sends, independent of their number; of a shuffle, that each host sends to each
    other host, as in an all-to-all; of an all-reduce, each host's vector. Excludes block. Use bytes with
    their unit, such as "256 KiB", or "none"; at most 1024 GiB. Default: "none"."""
    block: str
    """Total bytes of all servers, divided evenly. Excludes fragment. Use bytes with their unit, such as "256
    KiB", or "none"; at most 1024 GiB. Default: "none"."""
    request: str
    """Size of a request; 0 B: servers start without a request. Use bytes with their unit, such as "64 KiB" or
    "1460 B"; at most 1 MiB. Default: "64 B"."""
    connections: str
    """Connections: "standing", persistent ones that carry several responses (of a barrier or web search,
    opened before the first); "new", one for each response; "usual", persistent for a barrier, an all-reduce,
    an all-to-all, pulls, bursts and key_value, new for the others. Use "usual", "standing" or "new". Default:
    "usual"."""
    start_jitter: str
    """Upper end of a uniform random start delay: of each server in each round, each flow of a shuffle, each
    fetch of a mapreduce job, or each host of an all-reduce or all-to-all. Use a time with its unit, such as
    "25 us"; at most 1000 s. Default: "0 s"."""
    duration: str
    """Measured time of a barrier or long workload; time in which Poisson flows and bursts start; for the
    others a time limit. Use a time with its unit, such as "25 us"; above 0 and at most 100000 s. Default: "5
    s"."""
    warm_up: str
    """Warm-up excluded from all figures: rounds or queries, or a time, after which a barrier or web search
    continues with the next round. The measured time, or the queries, come after it. Use rounds or a time with
    its unit, such as "2 rounds" or "100 ms", or "none". Default: "none"."""
    pairs: float | str
    """Share of ordered pairs of hosts that a shuffle uses, drawn at random. Use a share from 0 to 1, such as
    0.0625, "1/16" or "6.25 %". Default: 1."""
    queries: int
    """Queries of a web search, all-reduces, all-to-alls, or requests of each front end of a key_value
    workload, in sequence unless `key_value.within` is set. Use a whole number. Default: 100."""
    in_flight: int | str
    """Maximum servers with an outstanding request of a client; of an all-to-all, hosts that a host sends to
    at once; "none": all. Use a whole number, or "none"; at least 1. Default: "none"."""
    bytes_in_flight: str
    """Maximum bytes that a client, or a reduce, has requested and not received (Spark:
    spark.reducer.maxSizeInFlight); one request is always allowed. A front end of objects counts a server's
    response at the mean of the last ones, as `fanin-limit` does. "none": unlimited. Use bytes with their
    unit, such as "256 KiB", or "none"; 1 B to 1024 GiB. Default: "none"."""
    algorithm: str
    """How an all-reduce moves its parts, also in a trace. Use "ring", "tree" or "halving-doubling". Default:
    "ring"."""
    chunk: str
    """Bytes that a host of a tree passes on at once: larger chunks cost less, smaller ones fill a tree's
    links earlier. Use bytes with their unit, such as "64 KiB" or "1460 B"; 1 B to 1024 GiB. Default: "512
    KiB"."""
    matrix: str
    """Bytes between all hosts of each all-to-all: a table with the header src,dst,bytes, or
    operation,src,dst,bytes for several, which are used in turn. Hosts count from 0, the client; there are as
    many as the table needs unless fabric.hosts is set. Excludes fragment. Use the path of a file, relative to
    the scenario's, or "none". Default: "none"."""
    pulls: str
    """Pulls: a table with the header pull,start_us,src,dst,bytes. Lines with the same pull have the same
    start and dst, the host that requests; src are the hosts that answer. Hosts count from 0, the client;
    there are as many as the table needs unless fabric.hosts is set. Use the path of a file, relative to the
    scenario's, or "none". Default: "none"."""
    request_gap: str
    """Time between two requests at the start of a round or query, which the client writes one after another.
    A response that arrives before the last request frees a slot, which goes to the end of the queue. Use a
    time with its unit, such as "25 us"; at most 1000 s. Default: "0 s"."""
    pause: str
    """Pause between the end of a round, query or request and the next one of the same client. It counts as
    measured time, but not as query time or as a stall. Persistent connections are idle and keep their
    windows, unless `tcp.idle_restart` is on and the pause exceeds their RTO. Use a time with its unit, such
    as "25 us"; at most 1000 s. Default: "0 s"."""
    deadline: str
    """Response deadline, counted from the request; used by d2tcp only. Use a time with its unit, such as "40
    ms", or "none". Default: "none"."""
    background: int
    """Long-lived flows into the client in the background, each from a separate host. Use a whole number.
    Default: 0."""
    file: str
    """For the trace workload (docs/traces.md) GOAL's text or binary form, or Chakra's execution traces (.et),
    a file for each rank: "step.{0..7}.et". Ranks are hosts. Otherwise a flow list, for the flows workload or
    as background traffic of another one for its whole time: HPCC's flow file (.txt, .flow), htsim's
    connection matrix (.cm), or a table with the header src,dst,bytes,start_us (.csv). In a table with an
    additional column stop_us, a flow without bytes is unlimited and stops at that time, if given; the table
    of flows then has a row for each interval between starts and stops of such flows. Hosts count from 0, the
    client; a flows workload has as many hosts as the file needs unless fabric.hosts is set. Use the path of a
    file, relative to the scenario's, or "none". Default: "none"."""
    bursts: str
    """Bursts: either a table with the header gap_us,fan_in,bytes, played in order and repeated, each starting
    that long after the previous one started; or a table with the header of,value,cdf with points of the
    distributions of gap_us, fan_in and bytes, interpolated linearly, from which each burst is drawn. A
    burst's bytes are divided evenly among its servers, which are drawn for each burst. Use the path of a
    file, relative to the scenario's, or "none". Default: "none"."""
    load: float | str
    """Poisson flows between client and servers, as the poisson workload or in the background of another one:
    mean payload offered by each host, as a share of the total rate of its links. Use a share above 0 and at
    most 1, such as 0.5 or "50 %", or "none"; above 0 and at most 1. Default: "none"."""
    sizes: str
    """Sizes of Poisson flows: a published distribution, or a file with lines `bytes percent`, the cumulative
    percentage of flows up to that size, interpolated linearly. Use "web-search", "data-mining", "hadoop", or
    the path of a file (with an ending) of lines `bytes percent`. Default: "web-search"."""


class Mapreduce(TypedDict, total=False):
    """`[mapreduce]` A MapReduce job, after MRPerf (MASCOTS 2009) and Hadoop 1."""

    input: str
    """Input of the job; the outputs of Terasort's maps and reduces are the same size. Use bytes with their
    unit, such as "64 KiB" or "1460 B". Default: "6400 MB"."""
    maps: int
    """Number of map tasks, one per split. Use a whole number; 1 to 100000. Default: 100."""
    reduces: int | str
    """Number of reduce tasks; "none": as many as servers. Use a whole number, or "none"; 1 to 100000.
    Default: "none"."""
    replicas: int
    """Nodes that store each split (Hadoop: dfs.replication). Use a whole number; 1 to 512. Default: 3."""
    output_replicas: int
    """Nodes that the output is written to; Terasort writes one copy. Use a whole number; 1 to 512. Default:
    1."""
    map_slots: int
    """Concurrent maps of a node (Hadoop: mapred.tasktracker.map.tasks.maximum). Use a whole number; 1 to
    100000. Default: 2."""
    reduce_slots: int
    """Concurrent reduces of a node. Use a whole number; 1 to 100000. Default: 2."""
    heartbeat: str
    """Interval at which a node reports and requests work (Hadoop 1: at least 3 s). Use a time with its unit,
    such as "25 us"; at least 1 ms. Default: "3 s"."""
    heartbeat_spread: str
    """First heartbeats of nodes are uniform between 0 and this time; "none": one heartbeat interval. Use a
    time with its unit, such as "40 ms", or "none". Default: "none"."""
    tasks_per_heartbeat: int
    """Maximum number of maps, and of reduces, that a node gets with one heartbeat. Use a whole number; 1 to
    100000. Default: 1."""
    tell: str
    """When reduces learn that a map has finished. Use "heartbeat" (Hadoop) or "at-once" (MRPerf). Default:
    "heartbeat"."""
    slow_start: float | str
    """Share of maps that must finish before reduces start (Hadoop: mapred.reduce.slowstart.completed.maps).
    Use a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %". Default: "1/20"."""
    parallel_fetches: int
    """Concurrent fetches of a reduce (Hadoop: mapred.reduce.parallel.copies). Use a whole number; 1 to
    100000. Default: 5."""
    fetches_per_node: int
    """Concurrent fetches of a reduce from one node. Use a whole number; 1 to 100000. Default: 1."""
    task_start: str
    """Time to start a task's process. Use a time with its unit, such as "25 us". Default: "1 s"."""
    disk_read: str
    """Read rate of a disk, shared by concurrent transfers of a node. Use a rate above zero with its unit,
    such as "10 Gbit/s". Default: "640 Mbit/s"."""
    disk_write: str
    """Write rate of a disk. Use a rate above zero with its unit, such as "10 Gbit/s". Default: "640
    Mbit/s"."""
    sort_buffer: str
    """Largest map output that is written once; a larger one is written in parts, then read and written again
    (Hadoop: io.sort.mb). Use bytes with their unit, such as "64 KiB" or "1460 B". Default: "100 MB"."""
    map_rate: str
    """Input rate of a map's function. Use a rate above zero with its unit, such as "10 Gbit/s". Default: "500
    Mbit/s"."""
    reduce_rate: str
    """Input rate of a reduce's function. Use a rate above zero with its unit, such as "10 Gbit/s". Default:
    "500 Mbit/s"."""
    task_spread: float | str
    """Durations of task steps are log-normal: standard deviation of their logarithm. Use a share from 0 to 1,
    such as 0.0625, "1/16" or "6.25 %". Default: 0."""


class Service(TypedDict, total=False):
    """`[service]` A query service in the background of the workload: at random times, a random host queries
    others over separate connections and waits for all responses."""

    queries_per_s: int | str
    """Queries per second over all hosts; "none": no service. Use a whole number, or "none"; at least 1.
    Default: "none"."""
    fan_out: int
    """Number of hosts that each query asks. Use a whole number. Default: 20."""
    answer: str
    """Size of each host's response, which is immediate. Use bytes with their unit, such as "64 KiB" or "1460
    B"; at least 1 B. Default: "2 KB"."""
    request: str
    """Size of a request. Use bytes with their unit, such as "64 KiB" or "1460 B"; at least 1 B. Default: "64
    B"."""
    connections: str
    """Connections: one persistent connection per pair of hosts, or a new one for each response (the usual
    choice). Use "usual", "standing" or "new". Default: "usual"."""


class Bursts(TypedDict, total=False):
    """`[bursts]` A generator of bursts into the client, in place of `workload.bursts`. A burst carries what
    the client's link carries in its width."""

    spacing: str
    """Mean time from the start of one cluster of bursts to that of the next, exponentially distributed;
    "none": there is no generator. Use a time with its unit, such as "40 ms", or "none"; 1 ns to 1000 s.
    Default: "none"."""
    width: str
    """Mean time for which a burst fills the client's link, exponentially distributed. Use a time with its
    unit, such as "25 us"; 1 ns to 10 s. Default: "100 us"."""
    height: int
    """Mean number of servers that send at once, each as fast as it may: a burst arrives at this multiple of
    the client's link rate at most. Uniform from 1 to twice this less 1. Use a whole number; 1 to 500000.
    Default: 8."""
    clustering: float | str
    """Share of bursts that another one of the same cluster follows: 0, each cluster has one burst; 0.5, two
    on average. Use a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %"; at most 99/100. Default: 0."""
    cluster_gap: str
    """Mean time from the start of a burst to that of the next one of its cluster, exponentially distributed.
    Use a time with its unit, such as "25 us"; 1 ns to 1000 s. Default: "200 us"."""


class KeyValue(TypedDict, total=False):
    """`[key_value]` Objects on servers, and front ends that request many of them at once."""

    objects: int
    """Total number of objects. Use a whole number; 1 to 10000000. Default: 100000."""
    replicas: int
    """Replicas of each object, on servers drawn at random. Use a whole number; 1 to 64. Default: 3."""
    replica_racks: str
    """Whether the replicas of an object are in different racks; servers are then drawn from racks that have
    no replica yet. Use "any" or "distinct". Default: "any"."""
    servers: list[str]
    """Servers whose resources differ from [picc], such as "server1..8: memory 4 GB, requests_per_s 20000";
    either resource may be omitted. A server's link limits the bytes that it sends in a period. Use a list of
    strings. Default: []."""
    placement: str
    """Placement file, in one of two formats. With the header object,from,to,reason (reason: popular or
    correlated), such as `plan.csv` of `fanin plan`, its moves are applied in order before the run. With the
    header key,server, such as `placement.csv` of `fanin plan`, it lists the servers of the first objects,
    numbered in the order of their keys. Objects count from 0; hosts count from the client, which is 0. A
    placement file refers to one placement: under every seed, objects start where `run.first_seed` puts them.
    Use the path of a file, relative to the scenario's, or "none". Default: "none"."""
    route: str
    """How a front end requests an object that has moved: "links", from its old server, which forwards the
    request; or "direct". Use "links" or "direct". Default: "links"."""
    replica: str
    """Which replica a front end requests: "random"; "together", for an object that has moved, one on a server
    that already takes part in the request, if any; or "cover", servers with most of the request first, each
    up to the limit `groups.busiest`. Use "random", "together" or "cover". Default: "random"."""
    windows: str
    """Lifetime of a concurrency limit over servers: "kept", the front end's lifetime; "anew", one request.
    Use "kept" or "anew". Default: "kept"."""
    least: str
    """Smallest object; sizes are uniform. Use bytes with their unit, such as "64 KiB" or "1460 B"; 1 B to 1
    MiB. Default: "20 B"."""
    most: str
    """Largest object. Use bytes with their unit, such as "64 KiB" or "1460 B"; 1 B to 1 MiB. Default: "1
    KB"."""
    per_request: int
    """Distinct objects in each request, drawn at random. Use a whole number; 1 to 1000000. Default: 1000."""
    popularity: str
    """Distribution of requests over objects. Use "uniform", "zipfian", "two-class" or "pages". Default:
    "uniform"."""
    zipfian: float | str
    """Exponent of the zipfian distribution: the object of rank r is requested in proportion to 1/r to this
    power. Use a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %"; above 0 and at most 999/1000. Default:
    "99/100"."""
    popular: float | str
    """Share of objects in the popular class, for "two-class". Use a share from 0 to 1, such as 0.0625, "1/16"
    or "6.25 %". Default: "1/100"."""
    popular_asked: float | str
    """Share of requests for objects in the popular class. Use a share from 0 to 1, such as 0.0625, "1/16" or
    "6.25 %". Default: "8/10"."""
    pages: int
    """Number of pages; a request combines as many pages as its number of objects needs. Use a whole number; 1
    to 1000000. Default: 5000."""
    page: int
    """Objects of each page, drawn at random. Use a whole number; 1 to 1000000. Default: 50."""
    replaced: int
    """Number of a page's objects that each request replaces by zipfian draws; which ones is random. Use a
    whole number. Default: 10."""
    missing: float | str
    """Share of requested objects that no server stores; a miss is also a response. Use a share from 0 to 1,
    such as 0.0625, "1/16" or "6.25 %". Default: 0."""
    front_ends: int
    """Number of front ends: the client and the hosts after it, which are also servers. Use a whole number; 1
    to 100000. Default: 1."""
    within: str
    """Time over which a front end's requests start, as a Poisson process, whether earlier requests have
    finished or not; pauses do not count as stalls. "none": each request starts when the previous one ends.
    Use a time with its unit, such as "40 ms", or "none"; above 0 and at most 100000 s. Default: "none"."""
    deadline: str
    """An object has failed if it has not arrived this long after its request started; "none": wait forever.
    Use a time with its unit, such as "40 ms", or "none"; above 0 and at most 1000 s. Default: "none"."""
    timeout: str
    """A peer that is silent for this long is considered failed and gets no more requests. A hub considers its
    servers failed after half of this time, so that it can report them before it is considered failed itself.
    "none": never. Use a time with its unit, such as "40 ms", or "none"; above 0 and at most 1000 s. Default:
    "10 s"."""
    tries: int
    """Attempts to request an object before it has failed. Use a whole number; 1 to 255. Default: 6."""
    lookups: int
    """Concurrent lookups of a server; it refuses further ones. Use a whole number; 1 to 1000000. Default:
    10000."""
    server: str
    """Order in which a server sends objects: "parallel", each when its lookup ends; "fifo", one after
    another; "reordered", one after another, by waiting time to a power divided by size within a sub-queue
    (PICC). Use "parallel", "fifo" or "reordered". Default: "parallel"."""
    sub_queue: int
    """PICC's m, the sub-queue's length: the server orders and sends this many waiting objects before it looks
    at the next ones. Use a whole number; 1 to 1000000. Default: 10."""
    wait_exponent: int
    """Exponent of the waiting time. Use a whole number; at most 8. Default: 3."""
    overloaded: float | str
    """Share of hubs whose machines are busy with other work; drawn for each request. Use a share from 0 to 1,
    such as 0.0625, "1/16" or "6.25 %". Default: 0."""
    overloaded_speed: float | str
    """Sending rate of a busy hub, as a share of its initially assigned speed. Use a share from 0 to 1, such
    as 0.0625, "1/16" or "6.25 %"; at least 1/1000. Default: "1/10"."""


class Faults(TypedDict, total=False):
    """`[faults]` Faults, at random or at given times, under any workload."""

    loss: float | str
    """Share of hosts' packets, data and ACKs, that are lost. Each packet is drawn once, at the other end of
    its host's link, so the share does not depend on the path. Ports drop packets in addition. Use a share
    from 0 to 1, such as 0.0625, "1/16" or "6.25 %". Default: 0."""
    duplication: float | str
    """Share of hosts' packets that are duplicated; the copy follows immediately. Use a share from 0 to 1,
    such as 0.0625, "1/16" or "6.25 %". Default: 0."""
    reordering: float | str
    """Share of hosts' packets that are delayed past packets sent after them. Use a share from 0 to 1, such as
    0.0625, "1/16" or "6.25 %". Default: 0."""
    reordering_delay: str
    """Largest delay of a reordered packet; delays are uniform from 0. Use a time with its unit, such as "25
    us"; above 0 and at most 10 s. Default: "100 us"."""
    hosts: list[str]
    """Hosts that crash, return or slow down: a time, a host, then crashes, returns or slows to a share, such
    as "10 ms server3 crashes", "30 ms server3 returns", "20 ms server5 slows to 0.1". A crash removes the
    host's connections and its ports' queues, and packets to it are lost until it returns; it then answers
    unknown segments with a reset. A slow host sends at that share of its links' rates and needs
    proportionally longer for a service or task; "slows to 1" ends this. Use a list of strings. Default:
    []."""


class Measure(TypedDict, total=False):
    """`[measure]` Optional measurements."""

    latency: bool
    """Record the end-to-end delay of each packet in the table `latency`. Use true or false. Default:
    false."""
    ports: bool
    """Record queue occupancy and link utilisation over time in `ports` and `port_series`. Use true or false.
    Default: false."""


class Run(TypedDict, total=False):
    """`[run]` Repetitions of each point."""

    seeds: int
    """Runs of each point, each with its own seed. Use a whole number; 1 to 1000000. Default: 3."""
    first_seed: int
    """First seed; the others are consecutive. Use a whole number. Default: 1."""


class Newreno(TypedDict, total=False):
    """`[newreno]` NewReno (RFC 5681)."""

    variant: str
    """Variant of NewReno: the RFC's, or Linux's, which counts whole segments. Use "rfc5681" or "linux".
    Default: "rfc5681"."""


class Dctcp(TypedDict, total=False):
    """`[dctcp]` DCTCP (RFC 8257), and the settings that d2tcp and l2dct share with it."""

    g: float | str
    """Weight of a new sample in alpha. Use a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %"; at least
    1/131072. Default: "1/16"."""
    initial_alpha: float | str
    """Alpha of a new connection. Use a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %". Default: 1."""
    min_window: int
    """Minimum window after a mark, in segments: 2 in Linux, FreeBSD and the paper's arithmetic (section
    4.2.1); 1 in ns-3, which has only TCP's own minimum. After a loss it is 2 either way. Use a whole number;
    1 to 2. Default: 2."""


class Cubic(TypedDict, total=False):
    """`[cubic]` CUBIC (RFC 9438)."""

    variant: str
    """Variant of CUBIC: the RFC's, or Linux's, which counts whole segments and updates its growth rate every
    31 ms. Use "rfc9438" or "linux". Default: "rfc9438"."""
    beta: float | str
    """Share of the window that remains after a loss. Use a share from 0 to 1, such as 0.0625, "1/16" or "6.25
    %"; at least 1/2048. Default: "7/10"."""
    c: float | str
    """The constant C of the cubic function, in segments per second cubed. Use a share from 0 to 1, such as
    0.0625, "1/16" or "6.25 %"; at least 1/2048. Default: "4/10"."""
    fast_convergence: bool
    """Give up bandwidth to newer flows sooner (RFC 9438, section 4.7). Use true or false. Default: true."""


class Vegas(TypedDict, total=False):
    """`[vegas]` TCP Vegas."""

    alpha: int
    """Grow the window if fewer segments than this are in the path's queues. Use a whole number; at most 1000.
    Default: 2."""
    beta: int
    """Shrink the window if more segments than this are in the path's queues. Use a whole number; at most
    1000. Default: 4."""
    gamma: int
    """End slow start if more segments than this are in the path's queues. Use a whole number; at most 1000.
    Default: 1."""


class Swift(TypedDict, total=False):
    """`[swift]` Swift."""

    base_target: str
    """Target delay without switches and without flow scaling. Use a time with its unit, such as "25 us"; at
    least 1 ns. Default: "20 us"."""
    hop_target: str
    """Added to the target per switch of the longest path. Use a time with its unit, such as "25 us". Default:
    "3.053 us"."""
    flow_target: str
    """Largest addition to the target, for small windows: the more flows share a queue, the longer it is. Use
    a time with its unit, such as "25 us". Default: "100 us"."""
    flow_min_window: float | str
    """The addition to the target is largest at this window, a share of a packet, and below. Use a share from
    0 to 1, such as 0.0625, "1/16" or "6.25 %"; at least 1/1000. Default: "1/10"."""
    flow_max_window: int
    """Nothing is added to the target at this window, in packets, and above. Use a whole number; 2 to 100000.
    Default: 100."""
    additive: float | str
    """Packets added to the window per round trip below the target. Use a share from 0 to 1, such as 0.0625,
    "1/16" or "6.25 %"; at least 1/10000. Default: 1."""
    beta: float | str
    """Share of the excess delay by which the window shrinks. Use a share from 0 to 1, such as 0.0625, "1/16"
    or "6.25 %". Default: "4/5"."""
    max_decrease: float | str
    """Largest share of the window that one reduction takes. Use a share from 0 to 1, such as 0.0625, "1/16"
    or "6.25 %". Default: "1/2"."""
    min_window: float | str
    """Smallest window, a share of a packet; 1 allows no window below one packet. Use a share from 0 to 1,
    such as 0.0625, "1/16" or "6.25 %"; at least 1/1000000. Default: "1/1000"."""
    max_window: int
    """Largest window, in packets. Use a whole number; 1 to 100000. Default: 1000."""


class Dcqcn(TypedDict, total=False):
    """`[dcqcn]` DCQCN; the defaults are those of NVIDIA's network cards."""

    profile: str
    """The default settings of NVIDIA's network cards ("connectx"), or of the simulator of HPCC's authors
    ("ns-3"). Sets the keys that `fanin explain dcqcn` lists; explicit keys override it. Use "connectx" or
    "ns-3". Default: "connectx"."""
    g: float | str
    """Weight of a new sample in alpha. Use a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %"; at least
    1/65536. Default: "5/1024"."""
    alpha_interval: str
    """Interval of alpha's updates. Use a time with its unit, such as "25 us"; 100 ns to 10 ms. Default: "1
    us"."""
    cut_interval: str
    """Least time between two cuts of the rate. Use a time with its unit, such as "25 us"; 100 ns to 10 ms.
    Default: "4 us"."""
    increase_interval: str
    """Interval of increases since the last cut. Use a time with its unit, such as "25 us"; 100 ns to 100 ms.
    Default: "300 us"."""
    byte_counter: str
    """Bytes sent between two increases, besides those by time; 0 B for none. Use bytes with their unit, such
    as "64 KiB" or "1460 B". Default: "32767 KB"."""
    fast_recovery: int
    """Steps that only recover the rate of the last cut, before the target rises. Use a whole number; 1 to
    100. Default: 1."""
    additive: float | str
    """Increase of the target in the step after fast recovery. Use a share of the link's rate, or a rate with
    its unit, such as "1/100" or "5 Mbit/s". Default: "5 Mbit/s"."""
    hyper: float | str
    """Increase of the target in later steps. Use a share of the link's rate, or a rate with its unit, such as
    "1/100" or "5 Mbit/s". Default: "50 Mbit/s"."""
    min_rate: float | str
    """Least rate of a sender, at least a millionth of the link's. If all senders together exceed the link at
    this rate, only pauses slow them. Use a share of the link's rate, or a rate with its unit, such as "1/100"
    or "5 Mbit/s". Default: "1 Mbit/s"."""
    clamp_target: bool
    """The target follows the rate at every cut, even if nothing was raised since the last one. Use true or
    false. Default: false."""
    cnp_interval: str
    """Least time between two congestion notifications of a connection; zero: each marked packet's ACK is one.
    Use a time with its unit, such as "25 us". Default: "4 us"."""


class Hpcc(TypedDict, total=False):
    """`[hpcc]` HPCC."""

    target: float | str
    """Target utilisation of links, eta. Use a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %"; at least
    1/100. Default: "19/20"."""
    max_stage: int
    """Additive increases in a row before the rate is set anew by the utilisation, maxStage: 5 in the paper, 0
    in its simulator's scripts. Use a whole number; 0 to 100. Default: 5."""
    increase: float | str
    """Additive increase, as a share of the link's rate: 50 Mbit/s at 100 Gbit/s. Use a share from 0 to 1,
    such as 0.0625, "1/16" or "6.25 %". Default: "1/2000"."""
    min_rate: float | str
    """Least rate, as a share of the link's. Use a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %"; at
    least 1/1000000. Default: "1/100"."""


class Timely(TypedDict, total=False):
    """`[timely]` TIMELY."""

    alpha: float | str
    """Weight of a new sample in the smoothed difference of round-trip times. Use a share from 0 to 1, such as
    0.0625, "1/16" or "6.25 %". Default: "7/8"."""
    beta: float | str
    """Factor of decreases. Use a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %". Default: "4/5"."""
    low: str
    """Below this round-trip time the rate rises. Use a time with its unit, such as "25 us". Default: "50
    us"."""
    high: str
    """Above this round-trip time the rate falls. Use a time with its unit, such as "25 us". Default: "500
    us"."""
    min_rtt: str
    """Round-trip time by which differences are divided. Use a time with its unit, such as "25 us"; at least 1
    ns. Default: "20 us"."""
    additive: float | str
    """Increase, as a share of the link's rate: 100 Mbit/s at 100 Gbit/s. Use a share from 0 to 1, such as
    0.0625, "1/16" or "6.25 %". Default: "1/1000"."""
    hyper: float | str
    """Increase after hyper_after increases in a row, likewise. Use a share from 0 to 1, such as 0.0625,
    "1/16" or "6.25 %". Default: "1/200"."""
    hyper_after: int
    """Increases in a row before hyperactive ones. Use a whole number. Default: 5."""
    min_rate: float | str
    """Least rate, as a share of the link's. Use a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %"; at
    least 1/1000000. Default: "1/100"."""


class RdmaDctcp(TypedDict, total=False):
    """`[rdma_dctcp]` DCTCP for RDMA."""

    g: float | str
    """Weight of a new sample in alpha. Use a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %"; at least
    1/65536. Default: "1/16"."""
    increase: float | str
    """Increase in a round trip without a cut, as a share of the link's rate: 615 Mbit/s at 100 Gbit/s, a
    packet of 1,000 B in 13 us. Use a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %". Default:
    "123/20000"."""
    min_rate: float | str
    """Least rate, as a share of the link's. Use a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %"; at
    least 1/1000000. Default: "1/100"."""


class Rdma(TypedDict, total=False):
    """`[rdma]` RDMA's reliable connection (RoCEv2), over lossless ports unless `pfc.enabled` is off."""

    payload: str
    """Payload of a full packet. Use bytes with their unit, such as "64 KiB" or "1460 B"; 64 B to 16 KiB.
    Default: "1 KiB"."""
    timeout: str
    """Time without an acknowledgement after which everything unacknowledged is sent again. Use a time with
    its unit, such as "25 us"; at least 10 us. Default: "4 ms"."""
    local_ack_timeout: int
    """Local ACK timeout as cards have it, in place of `timeout`: n for 4.096 us * 2^n; 0: `timeout` applies.
    Use a whole number; 0 to 31. Default: 0."""
    retries: int
    """Timeouts in a row after which a connection breaks, as `retry_cnt` of cards; 0: never. For a key_value
    workload only. Use a whole number; 0 to 255. Default: 0."""
    nack_interval: str
    """Least time between two requests for the same missing packet; "none": one request for each burst of
    loss, as cards have it, repeated only if the first packet that is sent again is lost, too. Use a time with
    its unit, such as "40 ms", or "none". Default: "500 us"."""
    recovery: str
    """Packets that are sent again after a loss: everything from the first missing packet on, or the missing
    packets only (IRN). Use "go-back-n" or "selective-repeat". Default: "go-back-n"."""
    window: int | str
    """Most bytes of a queue pair in flight; "auto": those of the scheme. Use a number of packets, or a size
    with its unit, such as 20, "20 packets" or "64 KiB"; or "auto". Default: "auto"."""
    message: str
    """Size of the messages into which a stream of bytes is divided; 0 B: each write of the application is one
    message. Use bytes with their unit, such as "64 KiB" or "1460 B"; at most 2 GiB. Default: "0 B"."""
    depth: int
    """Messages of a queue pair in flight, the depth of its send queue; 0: any number. Use a whole number.
    Default: 0."""


class Pfc(TypedDict, total=False):
    """`[pfc]` Lossless ports: switches pause the links by which they fill (PFC, IEEE 802.1Qbb)."""

    enabled: bool
    """Whether switches pause links. Without, ports drop packets that exceed their buffers, as those of TCP
    do. Use true or false. Default: true."""
    reserved: str
    """Memory reserved for each link into a switch. Use bytes with their unit, such as "64 KiB" or "1460 B".
    Default: "4 KiB"."""
    headroom: int | str
    """Memory for packets that arrive over a link after it was paused; "auto": three times the link's rate by
    its delay, but at least the bytes of two delays, of a random delay of hosts' packets, and of three frames,
    one of them the pause. Use a number of packets, or a size with its unit, such as 20, "20 packets" or "64
    KiB"; or "auto". Default: "auto"."""
    alpha: float | str
    """Share of the unused memory that one link may fill before it is paused. Links faster than the slowest
    may fill as many times more. Use a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %"; at least 1/1024.
    Default: "1/8"."""
    resume: str
    """How far below the threshold a paused link resumes. Use bytes with their unit, such as "64 KiB" or "1460
    B". Default: "3 KiB"."""


class Nscc(TypedDict, total=False):
    """`[nscc]` NSCC, Ultra Ethernet's sender-based congestion control."""

    target: float | str
    """Target of the queueing delay, as a share of the network's round trip; 1 is meant for ports that do not
    trim. Use a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %"; at least 1/100. Default: "3/4"."""
    window_percent: int
    """Largest window and first window, in percent of the bandwidth-delay product. Use a whole number; 10 to
    10000. Default: 150."""
    decrease: float | str
    """Share of the excess delay by which the window is reduced. Use a share from 0 to 1, such as 0.0625,
    "1/16" or "6.25 %". Default: "4/5"."""
    max_decrease: float | str
    """Largest reduction of the window at once. Use a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %".
    Default: "1/2"."""
    quick_adapt: int
    """Quick adapt: less than the largest window divided by two to the power of this must have arrived. Use a
    whole number; 0 to 16. Default: 3."""


class Rccc(TypedDict, total=False):
    """`[rccc]` RCCC, Ultra Ethernet's receiver-based congestion control."""

    window_percent: int
    """First credit of a message and the most that is granted, in percent of the bandwidth-delay product. Use
    a whole number; 10 to 10000. Default: 150."""
    grant: str
    """Credit of a turn. Use bytes with their unit, such as "64 KiB" or "1460 B"; 64 B to 1 MB. Default: "16
    KiB"."""


class Eqds(TypedDict, total=False):
    """`[eqds]` EQDS, credit from the receiver's edge."""

    window: int
    """Credit at the start of a message, in full packets, and the most that is granted. Use a whole number; 1
    to 100000. Default: 64."""
    grant: str
    """Credit of a turn. Use bytes with their unit, such as "64 KiB" or "1460 B"; 64 B to 1 MB. Default: "4
    KiB"."""


class Ndp(TypedDict, total=False):
    """`[ndp]` NDP, pulls from the receiver."""

    window: int
    """Packets that are sent before the first pull. Use a whole number; 1 to 100000. Default: 15."""
    payload: str
    """Payload of a full packet. Use bytes with their unit, such as "64 KiB" or "1460 B"; 64 B to 16 KiB.
    Default: "8936 B"."""


class Uet(TypedDict, total=False):
    """`[uet]` Ultra Ethernet's transport (UET) and its ancestors: selective acknowledgements over ports that
    trim, a path for each packet."""

    payload: str
    """Payload of a full packet; `ndp.payload` for NDP. Use bytes with their unit, such as "64 KiB" or "1460
    B"; 64 B to 16 KiB. Default: "4086 B"."""
    ack_after: str
    """Bytes after which a receiver acknowledges; marks, gaps that close and a sender's last packet are
    acknowledged at once. Use bytes with their unit, such as "64 KiB" or "1460 B"; 0 B to 1 MB. Default: "16
    KiB"."""
    timeout: str
    """Time beyond six drains of a full port after which an unacknowledged packet is sent again; at least a
    round trip. Use a time with its unit, such as "25 us"; at least 1 us. Default: "15 us"."""
    spraying: str
    """Choice of each packet's path among equal ones: at random; recycled from packets that arrived without a
    mark (REPS); in turn, without paths that marked, trimmed or lost packets lately (a bitmap); or by each
    switch, the shortest queue. Use "random", "reps", "bitmap" or "adaptive". Default: "random"."""
    paths: int
    """Entropies, by which switches select paths. Use a whole number; 1 to 65536. Default: 64."""


class Gss(TypedDict, total=False):
    """`[gss]` Gentle slow start."""

    initial_window: int
    """Initial congestion window, in segments, replacing tcp.initial_window. Use a whole number; 1 to 1000.
    Default: 2."""
    handshake: bool
    """Count the handshake's round trip for RTTmin and RTTmax; off: round trips of data only. Use true or
    false. Default: false."""


class M21(TypedDict, total=False):
    """`[m21]` A window assigned by the switch (M21)."""

    offer: str
    """Value that the switches write: each flow's window, or the number of flows. Use "window" or "count".
    Default: "window"."""


class Ictcp(TypedDict, total=False):
    """`[ictcp]` ICTCP."""

    alpha: float | str
    """Share of the host's link that ICTCP assigns. Use a share from 0 to 1, such as 0.0625, "1/16" or "6.25
    %". Default: "9/10"."""
    beta: float | str
    """Weight of the past in a connection's throughput; the paper gives no value. Use a share from 0 to 1,
    such as 0.0625, "1/16" or "6.25 %". Default: "1/2"."""
    gamma1: float | str
    """Raise the window if the measured throughput is below the expected by at most this share. Use a share
    from 0 to 1, such as 0.0625, "1/16" or "6.25 %". Default: "1/10"."""
    gamma2: float | str
    """Lower the window if the measured throughput is below the expected by more than this share. Use a share
    from 0 to 1, such as 0.0625, "1/16" or "6.25 %". Default: "1/2"."""
    fair_below: float | str
    """Lower windows above the average if less than this share of the link is free. Use a share from 0 to 1,
    such as 0.0625, "1/16" or "6.25 %". Default: "1/5"."""


class Grants(TypedDict, total=False):
    """`[grants]` Grants."""

    queue: str
    """Bytes that may wait at the switch's port to the host, beyond those on the path. At most half of that
    port's buffer. Use bytes with their unit, such as "64 KiB" or "1460 B"; 1 B to 1 GiB. Default: "16
    KiB"."""
    idle: str
    """Unused credit and silent connections count until this long after their last packet, up to twice as
    long. Use a time with its unit, such as "25 us"; 1 us to 60 s. Default: "10 ms"."""
    turn: int
    """Segments of a turn. With two, a receiver that delays ACKs acknowledges each turn at once, as Linux has
    to. Use a whole number; 1 to 64. Default: 1."""
    limit: float | str
    """Payload a second that the host grants in all: a limit below its link's rate, which no port has to
    enforce by drops. Use a share of the link's rate, or a rate with its unit, such as "1/100" or "5 Mbit/s".
    Default: 1."""


class EcnThreshold(TypedDict, total=False):
    """`[ecn_threshold]` Marking above a threshold of the instantaneous queue, for DCTCP."""

    k: int | str
    """K: a packet that arrives to a longer queue is marked, or dropped if it is not ECN-capable. "auto"
    derives K from the link rate: 20 packets up to 1 Gbit/s plus 5 for each further Gbit/s (65 at 10 Gbit/s),
    as in the DCTCP paper, of 1,538 B on the wire each, so that fewer larger ones; at most half of the port's
    buffer, but at least 20. Use a number of packets, or a size with its unit, such as 20, "20 packets" or "64
    KiB"; or "auto". Default: "auto"."""


class Red(TypedDict, total=False):
    """`[red]` Random early detection."""

    min_th: int | str
    """No drops or marks below this average queue. Use a number of packets, or a size with its unit, such as
    20, "20 packets" or "64 KiB". Default: "15 packets"."""
    max_th: int | str
    """All packets are dropped or marked above this average queue (with gentle: above twice this). Use a
    number of packets, or a size with its unit, such as 20, "20 packets" or "64 KiB". Default: "25
    packets"."""
    target_delay: str
    """Derive the thresholds from each link's rate, replacing min_th and max_th (Adaptive RED): half of what
    the link sends in this time, and three times that. RED is off if the buffer is smaller than the upper
    threshold. Use a time with its unit, such as "40 ms", or "none"; above 0 and at most 100 s. Default:
    "none"."""
    mean_packet: str
    """Packet size in which target_delay, and in byte mode every threshold in packets, is counted. Use bytes
    with their unit, such as "64 KiB" or "1460 B"; 1 B to 9 KB. Default: "500 B"."""
    max_p: float | str
    """Probability at max_th. Use a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %". Default: "1/50"."""
    weight: float | str
    """Weight of a new sample in the average queue. Use a share from 0 to 1, such as 0.0625, "1/16" or "6.25
    %". Default: "1/500"."""
    instantaneous: bool
    """Use the instantaneous queue instead of the average. Use true or false. Default: false."""
    gentle: bool
    """Rise from max_p to 1 between max_th and twice max_th. Use true or false. Default: true."""
    wait: bool
    """Pass at least 1/p packets after each drop or mark (ns-2); off: p / (1 - n p) for the n-th packet after
    it (Floyd and Jacobson). Use true or false. Default: false."""
    byte_mode: bool
    """Byte mode: count the queue in bytes; a packet of twice mean_packet has twice the probability (ns-2).
    Off: every packet has the same probability. Use true or false. Default: false."""


class Codel(TypedDict, total=False):
    """`[codel]` Controlled delay (RFC 8289)."""

    target: str
    """Acceptable standing queue delay. Use a time with its unit, such as "25 us"; above 0. Default: "5
    ms"."""
    interval: str
    """Time that the delay may exceed the target before packets are dropped or marked, about a long round
    trip. Use a time with its unit, such as "25 us"; at most 100 s. Default: "100 ms"."""
    resume: str
    """Drop rate if dropping restarts soon after it ended. Use "rfc8289" or "ns-2". Default: "rfc8289"."""


class EcnRamp(TypedDict, total=False):
    """`[ecn_ramp]` Marking of departing packets for DCQCN."""

    k_min: int | str
    """No marks up to this queue; "auto": 4 kB for each Gbit/s of the link, 400 kB at 100 Gbit/s. Use a number
    of packets, or a size with its unit, such as 20, "20 packets" or "64 KiB"; or "auto". Default: "auto"."""
    k_max: int | str
    """All packets are marked above this queue, at least k_min; "auto": four times the automatic k_min. Use a
    number of packets, or a size with its unit, such as 20, "20 packets" or "64 KiB"; or "auto". Default:
    "auto"."""
    p_max: float | str
    """Probability at k_max. Use a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %". Default: "1/5"."""


class Trimming(TypedDict, total=False):
    """`[trimming]` Ports that trim packets."""

    header: str
    """Bytes that remain of a packet in a buffer. Use bytes with their unit, such as "64 KiB" or "1460 B"; 64
    B to 256 B. Default: "64 B"."""
    queue: int | str
    """Queue of each port, beyond which it trims; "auto": `switch.buffer`, or a bandwidth-delay product of the
    hosts' links if the switch has a shared memory. Use a number of packets, or a size with its unit, such as
    20, "20 packets" or "64 KiB"; or "auto". Default: "auto"."""
    low: float | str
    """No marks up to this share of the buffer. Use a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %".
    Default: "1/5"."""
    high: float | str
    """All packets are marked above this share of the buffer. Use a share from 0 to 1, such as 0.0625, "1/16"
    or "6.25 %". Default: "4/5"."""


class SlidingWindow(TypedDict, total=False):
    """`[sliding_window]` Concurrency limit over servers that halves on loss (SW, TSW)."""

    initial: int
    """Initial number of outstanding servers, like TCP's 10 segments (RFC 6928). Use a whole number; 1 to
    1000000. Default: 10."""
    grows: str
    """Whether the window grows per response or per window of responses. Use "answer" or "window". Default:
    "answer"."""
    step: int
    """Number of servers by which it grows. Use a whole number; 1 to 1000000. Default: 1."""
    most: int
    """Maximum number of outstanding servers, which limits `initial` too. Use a whole number; 1 to 1000000.
    Default: 1000000."""
    late: str
    """Time after which a response counts as lost: half of the papers' minimum RTO of 10 ms. Use a time with
    its unit, such as "25 us"; 1 us to 100 s. Default: "5 ms"."""


class IctcpWindow(TypedDict, total=False):
    """`[ictcp_window]` Concurrency limit over servers by the used bandwidth (ICTCP as SICC and PICC describe
    it)."""

    initial: int
    """Initial number of outstanding servers: ICTCP starts with its minimum window. Use a whole number; 2 to
    1000000. Default: 2."""
    most: int
    """Maximum number of outstanding servers, which limits `initial` too. Use a whole number; 2 to 1000000.
    Default: 1000000."""
    usable: float | str
    """Share of the link that responses may use before the quota is zero (ICTCP: 0.9). Use a share from 0 to
    1, such as 0.0625, "1/16" or "6.25 %"; at least 1/1024. Default: "9/10"."""
    gamma1: float | str
    """The window grows while at most this share of the expected throughput is missing (ICTCP: 0.1). Use a
    share from 0 to 1, such as 0.0625, "1/16" or "6.25 %". Default: "1/10"."""
    gamma2: float | str
    """The window shrinks when more than this share of the expected throughput is missing (ICTCP: 0.5). Use a
    share from 0 to 1, such as 0.0625, "1/16" or "6.25 %". Default: "1/2"."""
    decrease_after: int
    """Number of consecutive slots in which it must be missing (ICTCP: three RTTs). Use a whole number; 1 to
    1000. Default: 3."""


class Sicc(TypedDict, total=False):
    """`[sicc]` Swarms of servers behind hubs (SICC)."""

    period: str
    """Interval of speed updates and redirections (section 4.4). Use a time with its unit, such as "25 us";
    100 us to 100 s. Default: "10 ms"."""
    threshold: float | str
    """T: share of the aggregation port's buffer from which front ends reduce their planned rate (section
    4.4). Use a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %"; at least 1/65536. Default: "1/10"."""
    alpha: float | str
    """Maximum increase of the planned rate per period (equation 6; section 4.4). Use a share from 0 to 1,
    such as 0.0625, "1/16" or "6.25 %"; at least 1/65536. Default: "1/5"."""
    beta: float | str
    """Maximum decrease of the planned rate per period (equation 5; section 4.4). Use a share from 0 to 1,
    such as 0.0625, "1/16" or "6.25 %"; at least 1/65536. Default: "1/5"."""
    bound: str
    """Number of hubs that may send to the front end at once, shared by the mean number of its concurrent
    requests (section 3.1): equation 1 as printed (S_e/s B_u/B_d, where B_u is a server's share of its rack's
    uplinks), corrected (S_e/s B_d/B_u: fewer on a slower downlink, as in section 4.3), or a fixed number for
    each request. Use "printed", "mended" or "fixed". Default: "printed"."""
    hubs: int
    """N if fixed: the number of racks in section 4. Use a whole number; 1 to 1000000. Default: 50."""
    mean_object: str
    """Mean object size, which the front end knows; for 20 to 1,000 B, as in section 4. Use bytes with their
    unit, such as "64 KiB" or "1460 B"; 1 B to 1 GB. Default: "510 B"."""
    hub: str
    """Hub of a rack: the server with the most requested objects (Algorithm 1), or with the most spare I/O
    (section 3.1). Use "most-objects" or "spare-io". Default: "most-objects"."""
    floor: float | str
    """Minimum speed of a hub, as a share of an equal one: equation 4 alone would reduce an idle hub's to
    zero. Use a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %"; at least 1/1024. Default: "1/20"."""
    busy: float | str
    """A hub with a backlog that reached this share of its assignment could use more; equation 3's condition
    as printed can never be true. Use a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %"; at least 1/2.
    Default: "19/20"."""
    linger: str
    """Maximum time that a packet waits to fill: a few round trips in a rack, and short compared with a
    request. Use a time with its unit, such as "25 us"; at most 1 s. Default: "100 us"."""
    hub_window: str
    """Maximum outstanding bytes of a hub in its rack: below half of an edge port's 100 KB, so that a rack's
    servers cannot overflow its port. Use bytes with their unit, such as "64 KiB" or "1460 B"; 1 B to 1 GB.
    Default: "32 KiB"."""
    queue: str
    """Whether routers report the queue of the aggregation port to front ends (section 3.2.2), or front ends
    estimate it. Use "reported" or "estimated". Default: "reported"."""
    start: str
    """Initial planned receive rate of front ends (section 3.2.1). Use "line" or "spare". Default: "line"."""
    split: str
    """Whether equations 3 and 4 start from equal shares (equation 2) in each period, or from the current
    assignments. Use "once" or "each-period". Default: "once"."""
    uncontrolled: str
    """Speed of hubs in sicc-nssc. Use "unpaced" or "assigned". Default: "unpaced"."""
    ablate: str
    """Basis of sicc-nps, sicc-nmt and sicc-nssc, each without one part: SICC without its enhancements, or all
    of it. Use "base" or "full". Default: "base"."""


class Picc(TypedDict, total=False):
    """`[picc]` Objects co-located on few servers (PICC)."""

    theta: int
    """θ: number of most popular objects to co-locate in their racks (section III-A; 1,000 is the best in
    Figure 9). Use a whole number; at least 1. Default: 1000."""
    alpha: float | str
    """α: weight of two objects requested in one query (equation 1; no value in the paper). It determines the
    number of servers per query. Use a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %". Default:
    "1/2"."""
    beta: float | str
    """β: weight of an object requested in the query after the other's (equation 1; no value in the paper). It
    saves connections, not servers. Use a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %". Default:
    "1/10"."""
    slot: str
    """Time within which the next query counts as a successor: the paper's time slot, which has no length
    there. Use a time with its unit, such as "25 us". Default: "10 s"."""
    w: int
    """w: weight of the artificial sink's edges (Algorithm 2; no value in the paper). Larger values give
    smaller and closer clusters. Use a whole number; 1 to 1000000. Default: 1."""
    strongest: int
    """Number of strongest edges per object; a query of 1,000 objects has half a million pairs. Use a whole
    number; 1 to 1000. Default: 10."""
    least: float | str
    """Minimum closeness, as a share of the more frequent object's requests. Without it, very frequent objects
    join all into one cluster, which fits nowhere (not in the paper: docs/performance.md). Use a share from 0
    to 1, such as 0.0625, "1/16" or "6.25 %". Default: "1/3"."""
    learn: str
    """Requests from which the plan is made (section IV uses the measured ones). Use "same", "earlier" or
    "running". Default: "earlier"."""
    period: str
    """T: period of these requests, for servers' capacities, and until the next plan (section IV). Use a time
    with its unit, such as "25 us"; 1 ms to 100000 s. Default: "300 s"."""
    counts: str
    """Load that counts against a server's capacity; section III-A counts only popular objects. Use "all" or
    "popular". Default: "all"."""
    memory: str
    """Storage of a server (section III-A; no value in the paper). Use bytes with their unit, such as "64 KiB"
    or "1460 B"; 1 B to 1048576 GiB. Default: "1 GiB"."""
    requests_per_s: int
    """Object requests per second that a server can answer, for both computing and I/O (section III-A; no
    value in the paper). Its bandwidth is its link's. Use a whole number; 1 to 1000000000. Default: 100000."""


class Groups(TypedDict, total=False):
    """`[groups]` Objects co-located on groups of servers, by local search on the probabilistic fan-out."""

    busiest: int
    """Maximum requests of a server, in per cent of the mean. Use a whole number; 105 to 100000. Default:
    200."""
    keep: float | str
    """An object leaves its group if that saves a server for this share of its requests; larger values give
    steadier plans. Use a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %". Default: "1/4"."""


class ScenarioDict(TypedDict, total=False):
    """A whole scenario."""

    title: str
    schemes: list[str | dict[str, Any]]
    link: Link
    fabric: Fabric
    switch: Switch
    host: Host
    nic: Nic
    classes: Classes
    tcp: Tcp
    workload: Workload
    mapreduce: Mapreduce
    service: Service
    bursts: Bursts
    key_value: KeyValue
    faults: Faults
    measure: Measure
    sweep: dict[str, list[Any]]
    run: Run
    newreno: Newreno
    dctcp: Dctcp
    cubic: Cubic
    vegas: Vegas
    swift: Swift
    dcqcn: Dcqcn
    hpcc: Hpcc
    timely: Timely
    rdma_dctcp: RdmaDctcp
    rdma: Rdma
    pfc: Pfc
    nscc: Nscc
    rccc: Rccc
    eqds: Eqds
    ndp: Ndp
    uet: Uet
    gss: Gss
    m21: M21
    ictcp: Ictcp
    grants: Grants
    ecn_threshold: EcnThreshold
    red: Red
    codel: Codel
    ecn_ramp: EcnRamp
    trimming: Trimming
    sliding_window: SlidingWindow
    ictcp_window: IctcpWindow
    sicc: Sicc
    picc: Picc
    groups: Groups
