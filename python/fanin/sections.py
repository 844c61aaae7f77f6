"""The sections of a scenario, whose keys complete in an editor. Written by scripts/sections.py: do not edit.

>>> fanin.Scenario({"schemes": ["dctcp"], "link": Link(rate="10 Gbit/s"), "workload": Workload(fragment="64 KiB")})
"""

from __future__ import annotations

from typing import Any, TypedDict


class Link(TypedDict, total=False):
    """`[link]` Every link: both directions alike."""

    rate: str
    """Rate of every link. Right is a rate above zero with its unit, such as "10 Gbit/s"; 1 kbit/s to 1000
    Tbit/s. Default: "1 Gbit/s"."""
    client_rate: str
    """Rate of the client's link, where it differs. Right is a rate above zero with its unit, such as "10
    Gbit/s", or "none"; 1 kbit/s to 1000 Tbit/s. Default: "none"."""
    delay: str
    """Propagation delay of each link, one way. Right is a time with its unit, such as "25 us"; at most 10 s.
    Default: "25 us"."""
    framing: str
    """What the link layer adds to each packet. "ethernet": 38 B on the wire (preamble 8, header and checksum
    18, gap 12), of which 18 B lie in a buffer too, in a frame of at least 64 B there. A size: so many bytes,
    on the wire and in buffers alike, and no least frame. Right is "ethernet", or at most 1000 B on the wire
    and in buffers alike, such as "2 B". Default: "ethernet"."""
    frames: str
    """How large packets are: "by-mss", as `tcp.mss` makes them; "standard", up to 1,500 B of IP; "jumbo", up
    to 9,000 B, 9,018 of a buffer and 9,038 of the wire. With the last two, `tcp.mss` is what fills such a
    packet (1,460 and 8,960 B; with `tcp.timestamps` 12 B less) unless it is given, and one that does not fit,
    or leaves jumbo frames no larger than others, is refused. What counts segments or packets grows along:
    windows (RFC 6928 would begin with 2 segments of 8,960 B, Linux does with its 10), buffers and thresholds
    in packets; buffers in bytes hold fewer. Right is "by-mss", "standard" or "jumbo". Default: "by-mss"."""


class Fabric(TypedDict, total=False):
    """`[fabric]` How hosts and switches are joined."""

    kind: str
    """The form of the network. Right is "star", "leaf-spine", "fat-tree" or "edges". Default: "star"."""
    edges: list[str]
    """The links of an "edges" fabric: two nodes each, then a rate and a delay where they are not those of
    [link]. Hosts are client and server1, server2, ..., a range as server1..8; other names are switches. Right
    is a list of texts, such as ["client tor1", "server1..8 tor1"]. Default: []."""
    racks: int | str
    """Racks of a leaf-spine or fat-tree fabric, each with its switch. Right is a whole number, or "none".
    Default: "none"."""
    hosts_per_rack: int | str
    """Hosts in each rack; the client is the first host of the first rack. Right is a whole number, or "none".
    Default: "none"."""
    spines: int | str
    """Spines that every rack has a link to: of a leaf-spine fabric in all, of a fat tree in each pod. Right
    is a whole number, or "none". Default: "none"."""
    pods: int | str
    """Pods of a fat tree, over which its racks are shared evenly; each spine has as many cores as its pod has
    racks, on links of the uplinks' rate. Right is a whole number, or "none". Default: "none"."""
    arity: int | str
    """k of a k-ary fat tree: k pods of k/2 racks of k/2 hosts under k/2 spines, all links alike; in place of
    racks, hosts_per_rack, spines and pods. Right is a whole number, or "none". Default: "none"."""
    uplink_rate: str
    """Rate of each link between switches of a leaf-spine or fat-tree fabric; "none": what oversubscription
    makes it, else link.rate. Right is a rate above zero with its unit, such as "10 Gbit/s", or "none"; 1
    kbit/s to 1000 Tbit/s. Default: "none"."""
    oversubscription: int | str
    """The rate of a rack's hosts over that of its uplinks, as a whole number, from which uplink_rate follows.
    Right is a whole number, or "none". Default: "none"."""
    changes: list[str]
    """Links that fail, heal or change their rate, both directions: a time, two nodes, then down, up or a
    rate, such as "10 ms leaf1 spine1 down". What waits at a link that fails is lost; flows take the ways of
    equal length that are left, at once. Right is a list of texts, such as ["client tor1", "server1..8 tor1"].
    Default: []."""
    hosts: int | str
    """Hosts, the client among them: of a workload between any hosts those that take part, of others those
    that Poisson flows and a service are between; "none": as many as the workload asks for. Right is a whole
    number, or "none"; 2 to 1000001. Default: "none"."""
    placement: str
    """Which rack of a leaf-spine or fat-tree fabric the next host is in. Right is "by-rack" or "spread".
    Default: "by-rack"."""


class Switch(TypedDict, total=False):
    """`[switch]` The switch: one queue a port, with a buffer each, or a memory that all ports share."""

    profile: str
    """A switch whose memory somebody published: sets shared_buffer, alpha, reserved, headroom and ports; what
    is set beside it stands over it. `fanin list` has them all. Right is the name of a switch,
    "dctcp-triumph", "force10-s6000", "arista-7060cx", "arista-7050cx3", "arista-7060x6" or "mellanox-sn2700",
    its model, such as "7050CX3", or "none". Default: "none"."""
    buffer: str
    """What the queue of one port holds; the packet on the wire does not count. Right is a size with its unit,
    such as "64 KiB" or "250 packets". Default: "64 KiB"."""
    shared_buffer: str
    """The memory that the ports of a switch share in the place of `buffer`, each switch one: a queue may hold
    what is reserved for it and alpha times what nobody uses of the rest (dynamic thresholds, Choudhury and
    Hahne). Hosts' queues are not part of it. "none": each port has its buffer. Right is bytes with their
    unit, such as "256 KiB", or "none"; 1 B to 1024 GiB. Default: "none"."""
    alpha: float | str
    """How much of what is free of the memory a port may have: a lone congested one gets alpha/(1 + alpha) of
    it. Right is a number from 0 up, such as 0.25, "1/8" or 8; 1/1024 to 1024. Default: 1."""
    reserved: str
    """What each port has of the memory to itself, whatever others hold; it is not shared. Right is bytes with
    their unit, such as "64 KiB" or "1460 B". Default: "0 B"."""
    headroom: str
    """What is set apart of the memory for what is not modelled, such as packets under way behind a pause
    (PFC). Right is bytes with their unit, such as "64 KiB" or "1460 B". Default: "0 B"."""
    ports: list[str]
    """What is otherwise at ports of some rate, such as "100 Gbit/s: k 200 packets, buffer 1 MB": K in the
    place of `ecn_threshold.k`, a buffer in that of `buffer`; either may be left out. Right is a list of
    texts, such as ["client tor1", "server1..8 tor1"]. Default: []."""


class Host(TypedDict, total=False):
    """`[host]` The hosts."""

    buffer: str
    """What a host's transmit queue holds; the packet on the wire does not count. Right is a size with its
    unit, such as "128 KiB", or "none". Default: "none"."""
    queue: str
    """The law of a host's transmit queue: "switch" gives it that of the scheme's switch ports and, unless
    buffer is set, their size (ns-2). Right is "plain" or "switch". Default: "plain"."""
    packet_jitter: str
    """How late packets of a host come to the other end of its link: each uniform in 0 up to this, in their
    order. "transmission": up to the time of a full packet on the slowest link (Floyd and Jacobson's rule
    against phase effects); "none": as in simulators, where flows may starve for their phase. Right is
    "transmission", "none", or a time of at most 10 ms, such as "2 us". Default: "transmission"."""
    service_time: str
    """Time that a server works on a request before it answers; of a key_value workload, on each object. Right
    is a time with its unit, such as "25 us"; at most 1000 s. Default: "0 s"."""
    service_jitter: str
    """Uniform random addition to the service time, up to this. Right is a time with its unit, such as "25
    us"; at most 1000 s. Default: "0 s"."""


class Tcp(TypedDict, total=False):
    """`[tcp]` TCP at every host."""

    profile: str
    """A real host's TCP: sets what `fanin explain scheme` says of it; what is set beside it stands over it.
    Right is the name of a TCP, "linux" or "linux-6.1", or "none". Default: "none"."""
    mss: str
    """Largest payload of a segment. Right is bytes with their unit, such as "64 KiB" or "1460 B"; 64 B to 9
    KB. Default: "1460 B"."""
    initial_window: int
    """Congestion window of a new connection, in segments. Right is a whole number; 1 to 1000. Default: 10."""
    rto_min: str
    """Least retransmission timeout. Right is a time with its unit, such as "25 us"; above 0. Default: "200
    ms"."""
    rto_floor: str
    """What rto_min bounds: the timeout (RFC 6298), or four times RTTVAR within it, so that SRTT comes on top
    (Linux). Right is "timeout" (RFC 6298) or "variance" (Linux). Default: "timeout"."""
    rtt_variance: str
    """RTTVAR: a smoothed deviation (RFC 6298), or the largest of such a deviation in a round trip, which
    comes down by a quarter a round trip (Linux): a single late ACK then counts for some round trips, and not
    for some samples. Right is "rfc6298" or "linux". Default: "rfc6298"."""
    rto_max: str
    """Largest retransmission timeout after backoff. Right is a time with its unit, such as "25 us"; at most
    3600 s. Default: "60 s"."""
    rto_initial: str
    """Retransmission timeout before the first round-trip sample. Right is a time with its unit, such as "25
    us"; above 0. Default: "1 s"."""
    rto_clock: str
    """Granularity G of the timeout's clock (RFC 6298). Right is a time with its unit, such as "25 us".
    Default: "1 ms"."""
    max_retransmissions: int | str
    """How often a segment is sent again by timeout before its connection is given up and the peer told so
    with a reset, which may be lost (RFC 9293's R2, Linux's tcp_retries2); "none": for ever. With a key_value
    workload alone, whose front ends then ask elsewhere; and there with `key_value.patience` or
    `key_value.deadline`. Right is a whole number, or "none"; 1 to 255. Default: "none"."""
    karn_backoff: bool
    """Keep a backed-off timeout until a segment sent once is acknowledged (Karn); off: until any new ACK, as
    deployed stacks do. Right is true or false. Default: false."""
    syn_timeout: str
    """Timeout of the first SYN; "none" takes rto_initial. Right is a time with its unit, such as "40 ms", or
    "none"; above 0. Default: "none"."""
    sack: bool
    """Selective acknowledgements (RFC 2018, 6675) with proportional rate reduction (RFC 6937); off: NewReno
    recovery (RFC 6582). Right is true or false. Default: true."""
    rack: bool
    """Loss told by time (RACK, RFC 8985): what was sent a round trip before something that arrived is lost, a
    retransmission too; off: by counts (RFC 6675). Needs sack. Right is true or false. Default: false."""
    sacks_first: bool
    """Of an ACK its SACKs are taken before what it acknowledges (Linux), so that RACK.rtt, for which RFC 8985
    names no order, is that of the latter: a delayed ACK makes it long, and what was sent with what is
    acknowledged waits for the reordering timer. Right is true or false. Default: false."""
    tail_loss_probe: bool
    """A probe after two round trips without news of a tail (TLP, RFC 8985, section 7); its time-outs are not
    counted. Needs sack. Right is true or false. Default: false."""
    max_ack_delay: str
    """How long a probe allows the peer to keep an ACK back where one segment is out; "rto_min" takes that
    (Linux 6.12), "none" delayed_ack_timeout. Right is a time with its unit, such as "200 ms" or "25 us"; or
    "rto_min" or "none"; at most 10 s. Default: "none"."""
    timer_margin: str
    """Added to RACK's reordering timer, and to a probe's where more than one segment is out (Linux 6.12: 2
    ms; 6.1: two ticks of its clock). Right is a time with its unit, such as "25 us"; at most 10 s. Default:
    "0 s"."""
    tick: str
    """The tick of hosts' timers: a wait is rounded up to whole ticks and ends on one (Linux: 4 ms with
    Debian's HZ = 250). Hosts tick at different phases unless ticks_together is true. Zero: timers are exact.
    Right is a time with its unit, such as "25 us"; at most 1 s. Default: "0 s"."""
    ticks_together: bool
    """All hosts' ticks at one phase, as those of namespaces or containers of one kernel: what a timer sends
    again leaves all of them at once. Right is true or false. Default: false."""
    newreno: str
    """NewReno's fast recovery where sack is off: duplicates inflate the window (RFC 6582), or leave the pipe
    (ns-3). Right is "inflate" (RFC 6582) or "pipe" (ns-3). Default: "inflate"."""
    limited_transmit: bool
    """New data on the first two duplicate ACKs (RFC 3042). Right is true or false. Default: true."""
    timestamps: bool
    """Timestamps (RFC 7323): twelve bytes a segment, a round-trip sample an ACK. Right is true or false.
    Default: false."""
    delayed_ack: int
    """Full segments that one ACK may cover; 1 acknowledges every packet. Right is a whole number; 1 to 64.
    Default: 2."""
    ack_cwr: bool
    """Acknowledge at once a segment that says CWR, in spite of delayed_ack, as Linux does: its sender may
    have a window of one segment. Right is true or false. Default: true."""
    delayed_ack_timeout: str
    """Longest time that an ACK waits. Right is a time with its unit, such as "25 us". Default: "40 ms"."""
    acks_wait_for_reader: bool
    """While the client is still sending a round's requests (workload.request_gap) it reads nothing, and what
    comes in order is not acknowledged: as in Linux, where the window does not move before the application
    reads. Right is true or false. Default: false."""
    pingpong: bool
    """An end that sends within delayed_ack_timeout of what it received is answering: none of quick_acks,
    until an ACK had to wait for its whole time or data came again. One that is not answering acknowledges at
    once what is shorter than a full segment (Linux's pingpong mode). Right is true or false. Default:
    false."""
    ack_compression: bool
    """From the fourth on, ACKs of what comes out of order in one place wait for those of more, a twentieth of
    the round trip and at most 1 ms (Linux: tcp_comp_sack_delay_ns). Right is true or false. Default:
    false."""
    quick_acks: int
    """Data segments that are acknowledged at once, in spite of delayed_ack: the first of a connection, after
    a pause of one RTO, after data that came twice (Linux: 16). Right is a whole number; at most 255. Default:
    0."""
    idle_restart: bool
    """Restart from the initial window after an idle time of one RTO (RFC 5681, section 4.1). Right is true or
    false. Default: false."""
    byte_counting: bool
    """A window grows by what an ACK acknowledges (RFC 3465, without its limit, as Linux has it), so that
    delayed ACKs do not slow it down; off: by each ACK (RFC 5681). With rack or tail_loss_probe by what an ACK
    says was delivered, and what ends a recovery counts (Linux). Right is true or false. Default: false."""
    cut_window: bool
    """A loss or a mark cuts the window as it stood (Linux), in the place of what was in flight (RFC 5681, RFC
    9438), which is less where the application has little to send. With rack or tail_loss_probe a timeout in a
    recovery leaves ssthresh as the recovery has cut it (Linux). Right is true or false. Default: false."""
    window_validation: bool
    """A window grows only where it is filled: in slow start up to twice what was out, later as it was in the
    way; with idle_restart one that was not filled for an RTO comes down half the way to what was used (Linux;
    RFC 7661's idea, RFC 2861's rule). Right is true or false. Default: false."""
    undo: bool
    """A cut of the window that turns out to have been needless is taken back: as all that was sent again had
    come already, of which the receiver tells (DSACK, RFC 2883 and 3708), or as what is acknowledged was sent
    before it (Eifel, RFC 3522 and 4015; with timestamps). As Linux has it. Right is true or false. Default:
    false."""
    receive_window: str
    """Receive window. Right is bytes with their unit, such as "64 KiB" or "1460 B"; at most 1 GiB. Default:
    "16 MiB"."""
    ect: str
    """Packets that are ECN-capable where the scheme uses ECN. Right is "data" (new data alone, RFC 3168),
    "agreed" (every packet but the first SYN, ns-2's DCTCP) or "all" (every packet, Linux's DCTCP). Default:
    "data"."""


class Workload(TypedDict, total=False):
    """`[workload]` What is sent."""

    kind: str
    """The pattern of requests and answers. Right is "barrier", "one-shot", "web-search", "long", "flows",
    "shuffle", "poisson", "mapreduce", "all-reduce", "bursts" or "key_value". Default: "barrier"."""
    fan_in: int
    """Servers that answer the client, where `fan_in` is not swept; of a workload between any hosts, the hosts
    besides the client where nothing else says. Right is a whole number; 1 to 1000000. Default: 16."""
    clients: int
    """Clients that ask at once, each in rounds of its own; `fan_in` is of each, and `queries`, too. Right is
    a whole number; 1 to 4096. Default: 1."""
    servers: str
    """Whom they ask: "same", all the same servers; "own", each its own, the hosts behind it; "others", each
    the hosts behind it, the first one following the last, so that clients are servers, too, and as many
    clients as hosts ask all others. Right is "same", "own" or "others". Default: "same"."""
    fragment: str
    """What each server sends, whatever their number, or each host of a shuffle to each other one; of an
    all-reduce the vector that each host has; excludes block. Right is bytes with their unit, such as "256
    KiB", or "none"; at most 1024 GiB. Default: "none"."""
    block: str
    """What all servers together send, shared evenly; excludes fragment. Right is bytes with their unit, such
    as "256 KiB", or "none"; at most 1024 GiB. Default: "none"."""
    request: str
    """Size of a request; 0 B: none is sent and the servers start by themselves. Right is bytes with their
    unit, such as "64 KiB" or "1460 B"; at most 1 MiB. Default: "64 B"."""
    connections: str
    """What requests and answers go over: a standing connection, which carries answer after answer (of a
    barrier or web search opened before the first), or a new one for each; "usual": standing for a barrier, an
    all-reduce, bursts and a key_value workload, new for the others. Right is "usual", "standing" or "new".
    Default: "usual"."""
    start_jitter: str
    """Each server's start is uniform in 0 up to this, every round; of a shuffle each flow's, of a mapreduce
    job each fetch's, of an all-reduce each host's. Right is a time with its unit, such as "25 us"; at most
    1000 s. Default: "0 s"."""
    duration: str
    """Measured time of a barrier or long workload; of a poisson one or of bursts, in which they start; the
    others end when they are done, at the latest then. Right is a time with its unit, such as "25 us"; above 0
    and at most 100000 s. Default: "5 s"."""
    warm_up: str
    """What is left out of all figures at the beginning: rounds or queries, or a time, behind which a barrier
    or web search goes on to the next round. The measured time, or the queries, come after it. Right is rounds
    or a time with its unit, such as "2 rounds" or "100 ms", or "none". Default: "none"."""
    pairs: float | str
    """Of all ordered pairs of hosts, the share between which a shuffle sends, drawn at random. Right is a
    share from 0 to 1, such as 0.0625, "1/16" or "6.25 %". Default: 1."""
    queries: int
    """Queries of a web search, all-reduces, or requests of each front end of a key_value workload, one after
    another, but for `key_value.within`. Right is a whole number. Default: 100."""
    in_flight: int | str
    """Servers asked at once; "none" asks all. Right is a whole number, or "none"; at least 1. Default:
    "none"."""
    request_gap: str
    """From one request to the next as a round or query begins: the client writes them one after another. An
    answer that comes before the last of them makes room for one more, behind those. Right is a time with its
    unit, such as "25 us"; at most 1000 s. Default: "0 s"."""
    pause: str
    """From the end of a round, query or request to the next one of the same client. It counts as measured
    time, not as a query's, and is no stall. Standing connections are idle in it and keep their windows,
    unless `tcp.idle_restart` is on and it is longer than their timeout. Right is a time with its unit, such
    as "25 us"; at most 1000 s. Default: "0 s"."""
    deadline: str
    """Time in which an answer ought to be complete, from when it was asked for: d2tcp alone looks at it.
    Right is a time with its unit, such as "40 ms", or "none". Default: "none"."""
    background: int
    """Long flows into the client beside the workload, each from a host of its own. Right is a whole number.
    Default: 0."""
    file: str
    """A list of flows, which are the flows workload, or beside another one, from its beginning to its end:
    HPCC's flow file (.txt, .flow), htsim's connection matrix (.cm), or a table with the header
    src,dst,bytes,start_us (.csv). With stop_us behind it, one without bytes has no end and stops at that
    time, if it has one, and the table of flows has a row for each time between two starts or stops of such
    flows. Hosts count from 0, the client; of a flows workload there are as many as the file needs, unless
    fabric.hosts says how many. Right is the path of a file, relative to the scenario's, or "none". Default:
    "none"."""
    bursts: str
    """Bursts: a table with the header gap_us,fan_in,bytes, which are played in their order, again and again,
    each so long after the one before it began; or with the header of,value,cdf, whose lines are points of the
    distributions of gap_us, fan_in and bytes, linear in between, from which each burst is drawn. A burst's
    bytes are shared evenly by its servers, which are drawn anew. Right is the path of a file, relative to the
    scenario's, or "none". Default: "none"."""
    load: float | str
    """Poisson flows between client and servers, as the poisson workload or beside another one: the mean
    payload that each host offers, as a share of its own link's rate. Right is a share above 0 and at most 1,
    such as 0.5 or "50 %", or "none"; above 0 and at most 1. Default: "none"."""
    sizes: str
    """Sizes of Poisson flows: of a published distribution, or of a file whose lines `bytes percent` say which
    percentage of flows is no larger, linear in between. Right is "web-search", "data-mining", "hadoop", or
    the path of a file (with an ending) of lines `bytes percent`. Default: "web-search"."""


class Mapreduce(TypedDict, total=False):
    """`[mapreduce]` A MapReduce job, after MRPerf (MASCOTS 2009) and Hadoop 1."""

    input: str
    """Bytes of the job's input; Terasort's maps put out as much, and so do its reduces. Right is bytes with
    their unit, such as "64 KiB" or "1460 B". Default: "6400 MB"."""
    maps: int
    """Map tasks, one a split. Right is a whole number; 1 to 100000. Default: 100."""
    reduces: int | str
    """Reduce tasks; "none" takes as many as there are servers. Right is a whole number, or "none"; 1 to
    100000. Default: "none"."""
    replicas: int
    """Nodes that hold each split (Hadoop: dfs.replication). Right is a whole number; 1 to 512. Default: 3."""
    output_replicas: int
    """Nodes that the output is written to; Terasort writes one. Right is a whole number; 1 to 512. Default:
    1."""
    map_slots: int
    """Maps that a node runs at once (Hadoop: mapred.tasktracker.map.tasks.maximum). Right is a whole number;
    1 to 100000. Default: 2."""
    reduce_slots: int
    """Reduces that a node runs at once. Right is a whole number; 1 to 100000. Default: 2."""
    heartbeat: str
    """How often a node reports and asks for work (Hadoop 1: 3 s and more). Right is a time with its unit,
    such as "25 us"; at least 1 ms. Default: "3 s"."""
    heartbeat_spread: str
    """Nodes' first heartbeats are uniform in 0 up to this; "none": up to a heartbeat. Right is a time with
    its unit, such as "40 ms", or "none". Default: "none"."""
    tasks_per_heartbeat: int
    """Maps, and as many reduces, that a node is given at most with a heartbeat. Right is a whole number; 1 to
    100000. Default: 1."""
    tell: str
    """When reduces get to know that a map is done. Right is "heartbeat" (Hadoop) or "at-once" (MRPerf).
    Default: "heartbeat"."""
    slow_start: float | str
    """Share of maps that have to be done before reduces start (Hadoop:
    mapred.reduce.slowstart.completed.maps). Right is a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %".
    Default: "1/20"."""
    parallel_fetches: int
    """Fetches that a reduce has at once (Hadoop: mapred.reduce.parallel.copies). Right is a whole number; 1
    to 100000. Default: 5."""
    fetches_per_node: int
    """Of these, from one node. Right is a whole number; 1 to 100000. Default: 1."""
    task_start: str
    """Time in which a task's process starts. Right is a time with its unit, such as "25 us". Default: "1
    s"."""
    disk_read: str
    """Rate at which a disk is read; what goes on at once at a node shares its disk. Right is a rate above
    zero with its unit, such as "10 Gbit/s". Default: "640 Mbit/s"."""
    disk_write: str
    """Rate at which it is written. Right is a rate above zero with its unit, such as "10 Gbit/s". Default:
    "640 Mbit/s"."""
    sort_buffer: str
    """Output of a map up to which it is written once; above, it is written in parts, then read and written as
    one (Hadoop: io.sort.mb). Right is bytes with their unit, such as "64 KiB" or "1460 B". Default: "100
    MB"."""
    map_rate: str
    """Input that a map's function takes in. Right is a rate above zero with its unit, such as "10 Gbit/s".
    Default: "500 Mbit/s"."""
    reduce_rate: str
    """What a reduce's function takes in. Right is a rate above zero with its unit, such as "10 Gbit/s".
    Default: "500 Mbit/s"."""
    task_spread: float | str
    """Steps of tasks take a log-normal time: the standard deviation of its logarithm. Right is a share from 0
    to 1, such as 0.0625, "1/16" or "6.25 %". Default: 0."""


class Service(TypedDict, total=False):
    """`[service]` A query service beside the workload, from its beginning to its end: at random times a
    random host asks others over connections of their own, and waits for all answers."""

    queries_per_s: int | str
    """Queries a second, of all hosts together; "none": there is no service. Right is a whole number, or
    "none"; at least 1. Default: "none"."""
    fan_out: int
    """How many hosts a query asks. Right is a whole number. Default: 20."""
    answer: str
    """What each of them answers, at once. Right is bytes with their unit, such as "64 KiB" or "1460 B"; at
    least 1 B. Default: "2 KB"."""
    request: str
    """Size of a request. Right is bytes with their unit, such as "64 KiB" or "1460 B"; at least 1 B. Default:
    "64 B"."""
    connections: str
    """What they go over: a standing connection between two hosts, or a new one for each, which is usual.
    Right is "usual", "standing" or "new". Default: "usual"."""


class KeyValue(TypedDict, total=False):
    """`[key_value]` Objects on servers, and front ends that ask for many of them at once."""

    objects: int
    """Objects in all. Right is a whole number; 1 to 10000000. Default: 100000."""
    replicas: int
    """Servers that have each object, drawn at random. Right is a whole number; 1 to 64. Default: 3."""
    replica_racks: str
    """Whether the replicas of an object are in racks of their own: then the servers of each rack that has
    none of them yet are drawn from. Right is "any" or "distinct". Default: "any"."""
    servers: list[str]
    """What data servers can give that differ from what [picc] says of all, such as "server1..8: memory 4 GB,
    requests_per_s 20000"; either may be left out. What one can send in a period is its link's. Right is a
    list of texts, such as ["client tor1", "server1..8 tor1"]. Default: []."""
    placement: str
    """A plan of placement: a table with the header object,from,to,reason (popular or correlated), whose moves
    are made, in their order, before a run begins; or one with the header key,server, such as `placement.csv`
    of `fanin plan`, which has the servers of the first objects, numbered as their keys come. Objects count
    from 0, hosts from the client, which is 0. It is a plan of one placement: under every seed the objects are
    put where `run.first_seed` puts them, and moved from there. Right is the path of a file, relative to the
    scenario's, or "none". Default: "none"."""
    route: str
    """How a front end asks for an object that was moved: "links", at its old place, which passes the question
    on to the new one, or "direct". Right is "links" or "direct". Default: "links"."""
    replica: str
    """Which replica of an object is asked for: "random", or, of one that was moved, "together", one at a
    server that answers the request anyway, if there is one; or "cover", of any object: servers go first that
    have most of the request, as long as they are not asked for more than `groups.busiest`. Right is "random",
    "together" or "cover". Default: "random"."""
    windows: str
    """How long a window over servers lasts: "kept", as long as the front end, over all its requests, or
    "anew" with each request. Right is "kept" or "anew". Default: "kept"."""
    least: str
    """The least object; sizes are uniform. Right is bytes with their unit, such as "64 KiB" or "1460 B"; 1 B
    to 1 MiB. Default: "20 B"."""
    most: str
    """The largest. Right is bytes with their unit, such as "64 KiB" or "1460 B"; 1 B to 1 MiB. Default: "1
    KB"."""
    per_request: int
    """Objects that a request is for, drawn at random, none twice. Right is a whole number; 1 to 1000000.
    Default: 1000."""
    popularity: str
    """Which objects are asked for. Right is "uniform", "zipfian", "two-class" or "pages". Default:
    "uniform"."""
    zipfian: float | str
    """The constant of zipfian popularity: what is of rank r is asked for in proportion to 1/r to this power.
    Right is a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %"; above 0 and at most 999/1000. Default:
    "99/100"."""
    popular: float | str
    """The share of the objects that are popular, where there are two classes. Right is a share from 0 to 1,
    such as 0.0625, "1/16" or "6.25 %". Default: "1/100"."""
    popular_asked: float | str
    """The share of the objects asked for that are popular ones. Right is a share from 0 to 1, such as 0.0625,
    "1/16" or "6.25 %". Default: "8/10"."""
    pages: int
    """Pages; a request is for as many of them as have its objects. Right is a whole number; 1 to 1000000.
    Default: 5000."""
    page: int
    """Objects of a page, drawn at random. Right is a whole number; 1 to 1000000. Default: 50."""
    replaced: int
    """Of a page's objects, how many a request has others in the place of, drawn as by "zipfian"; which, is
    drawn too. Right is a whole number. Default: 10."""
    missing: float | str
    """Of the objects asked for, the share that no server has: a miss is an answer, too. Right is a share from
    0 to 1, such as 0.0625, "1/16" or "6.25 %". Default: 0."""
    front_ends: int
    """Hosts that ask: the client and those after it, which are servers, too. Right is a whole number; 1 to
    100000. Default: 1."""
    within: str
    """In which the requests of a front end begin, at random times as a Poisson process has it, whether those
    before are over or not; no pause counts as a stall. "none": one after another. Right is a time with its
    unit, such as "40 ms", or "none"; above 0 and at most 100000 s. Default: "none"."""
    deadline: str
    """What is not there so long after its request began has failed; "none": it is waited for. Right is a time
    with its unit, such as "40 ms", or "none"; above 0 and at most 1000 s. Default: "none"."""
    patience: str
    """Who has been silent for so long is taken for gone, and asked no more; a hub takes its servers for gone
    after half of that, so that it can say so before it is taken for gone itself; "none": nobody is. Right is
    a time with its unit, such as "40 ms", or "none"; above 0 and at most 1000 s. Default: "none"."""
    tries: int
    """How often an object is asked for before it has failed. Right is a whole number; 1 to 255. Default:
    6."""
    lookups: int
    """Objects that a server looks for at once; it refuses more. Right is a whole number; 1 to 1000000.
    Default: 10000."""
    server: str
    """In which order a server sends what it found. "fifo" and "reordered": one answer after another;
    "reordered": those of a sub-queue by their waits to a power over their sizes (PICC). Right is "parallel",
    "fifo" or "reordered". Default: "parallel"."""
    sub_queue: int
    """PICC's m: the first so many that wait are put in order and sent before the next so many are looked at.
    Right is a whole number; 1 to 1000000. Default: 10."""
    wait_exponent: int
    """The power of the wait. Right is a whole number; at most 8. Default: 3."""
    overloaded: float | str
    """The share of hubs, drawn anew for each request, whose machines are busy with something else. Right is a
    share from 0 to 1, such as 0.0625, "1/16" or "6.25 %". Default: 0."""
    overloaded_speed: float | str
    """What such a hub sends at, as a share of the speed that it is first assigned. Right is a share from 0 to
    1, such as 0.0625, "1/16" or "6.25 %"; at least 1/1000. Default: "1/10"."""


class Faults(TypedDict, total=False):
    """`[faults]` What goes wrong, at random or at its time, under every workload."""

    loss: float | str
    """Share of the packets that hosts send, data and ACKs alike, that are lost: each is drawn once, at the
    other end of its host's link, so that as many are lost whatever way they have before them. Beside what
    ports drop. Right is a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %". Default: 0."""
    duplication: float | str
    """Share of these packets that come there twice, one copy right behind the other. Right is a share from 0
    to 1, such as 0.0625, "1/16" or "6.25 %". Default: 0."""
    reordering: float | str
    """Share of these packets that come there late, behind some sent after them. Right is a share from 0 to 1,
    such as 0.0625, "1/16" or "6.25 %". Default: 0."""
    reordering_delay: str
    """How late: uniform in 0 up to this. Right is a time with its unit, such as "25 us"; above 0 and at most
    10 s. Default: "100 us"."""
    hosts: list[str]
    """Hosts that crash, return or slow down: a time, a host, then crashes, returns or slows to a share, such
    as "10 ms server3 crashes", "30 ms server3 returns", "20 ms server5 slows to 0.1". With a crash all
    connections of a host are gone, what waits in its port, and what comes for it until it returns; then it
    answers what it does not know with a reset. A slow host sends at that share of its link's rate and takes
    as much longer for a service or a task; "slows to 1" ends that. Right is a list of texts, such as ["client
    tor1", "server1..8 tor1"]. Default: []."""


class Measure(TypedDict, total=False):
    """`[measure]` What is measured beyond what every run does."""

    latency: bool
    """How long each packet takes from end to end: the table `latency`. Right is true or false. Default:
    false."""
    ports: bool
    """How full ports are over time and how busy their links, in `ports` and `port_series`. Right is true or
    false. Default: false."""


class Run(TypedDict, total=False):
    """`[run]` How often each point is run."""

    seeds: int
    """Runs of every point, each with its own seed. Right is a whole number; 1 to 1000000. Default: 3."""
    first_seed: int
    """The first seed; the others follow it. Right is a whole number. Default: 1."""


class Newreno(TypedDict, total=False):
    """`[newreno]` NewReno (RFC 5681)."""

    variant: str
    """Whose NewReno: the RFC's, or Linux's, which counts whole segments. Right is "rfc5681" or "linux".
    Default: "rfc5681"."""


class Dctcp(TypedDict, total=False):
    """`[dctcp]` DCTCP (RFC 8257), and what d2tcp and l2dct take over from it."""

    g: float | str
    """Weight of a new sample in alpha. Right is a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %"; at
    least 1/131072. Default: "1/16"."""
    initial_alpha: float | str
    """Alpha of a new connection. Right is a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %". Default:
    1."""
    min_window: int
    """Least window after a mark, in segments: 2 in Linux, FreeBSD and the paper's arithmetic (section 4.2.1),
    1 where it is TCP's own, as in ns-3, whose law has no floor. A loss leaves two either way. Right is a
    whole number; 1 to 2. Default: 2."""


class Cubic(TypedDict, total=False):
    """`[cubic]` CUBIC (RFC 9438)."""

    variant: str
    """Whose CUBIC: the RFC's, or Linux's, which counts whole segments and works out its growth every 31 ms.
    Right is "rfc9438" or "linux". Default: "rfc9438"."""
    beta: float | str
    """What is left of the window after a loss. Right is a share from 0 to 1, such as 0.0625, "1/16" or "6.25
    %"; at least 1/2048. Default: "7/10"."""
    c: float | str
    """The constant C of the cubic function, in segments a cubed second. Right is a share from 0 to 1, such as
    0.0625, "1/16" or "6.25 %"; at least 1/2048. Default: "4/10"."""
    fast_convergence: bool
    """Give up bandwidth to newer flows sooner (RFC 9438, section 4.7). Right is true or false. Default:
    true."""


class Vegas(TypedDict, total=False):
    """`[vegas]` TCP Vegas."""

    alpha: int
    """Fewer segments than this in the path's queues, and the window grows. Right is a whole number; at most
    1000. Default: 2."""
    beta: int
    """More segments than this in the path's queues, and the window shrinks. Right is a whole number; at most
    1000. Default: 4."""
    gamma: int
    """More segments than this in the path's queues, and slow start ends. Right is a whole number; at most
    1000. Default: 1."""


class Gss(TypedDict, total=False):
    """`[gss]` Gentle slow start."""

    initial_window: int
    """Congestion window of a new connection, in segments, in place of tcp.initial_window. Right is a whole
    number; 1 to 1000. Default: 2."""
    handshake: bool
    """Whether the handshake's round trip counts for RTTmin and RTTmax, or round trips of data alone. Right is
    true or false. Default: false."""


class M21(TypedDict, total=False):
    """`[m21]` A window handed out by the switch (M21)."""

    offer: str
    """What the switches write: each flow's window, or the number of flows. Right is "window" or "count".
    Default: "window"."""


class Ictcp(TypedDict, total=False):
    """`[ictcp]` ICTCP."""

    alpha: float | str
    """Share of the host's link that is given out. Right is a share from 0 to 1, such as 0.0625, "1/16" or
    "6.25 %". Default: "9/10"."""
    beta: float | str
    """Weight of the past in a connection's throughput; the paper has no value. Right is a share from 0 to 1,
    such as 0.0625, "1/16" or "6.25 %". Default: "1/2"."""
    gamma1: float | str
    """A window is raised where its connection is short of what it allows by no more than this share. Right is
    a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %". Default: "1/10"."""
    gamma2: float | str
    """It is lowered where that is more than this share. Right is a share from 0 to 1, such as 0.0625, "1/16"
    or "6.25 %". Default: "1/2"."""
    fair_below: float | str
    """Windows above the average are lowered where less than this share of the link is left. Right is a share
    from 0 to 1, such as 0.0625, "1/16" or "6.25 %". Default: "1/5"."""


class EcnThreshold(TypedDict, total=False):
    """`[ecn_threshold]` Marking above a threshold of the instantaneous queue, as DCTCP needs it."""

    k: int | str
    """K: a packet that finds more than this in the queue is marked, or dropped where it is not ECN-capable.
    "auto" takes it from the rate of the port's link: 20 packets up to 1 Gbit/s and 5 more for each further
    Gbit/s, so 65 at 10 Gbit/s, as the DCTCP paper has them; at most half of the port's buffer, but at least
    20. Right is a number of packets, or a size with its unit, such as 20, "20 packets" or "64 KiB"; or
    "auto". Default: "auto"."""


class Red(TypedDict, total=False):
    """`[red]` Random early detection."""

    min_th: int | str
    """Below this nothing is dropped or marked. Right is a number of packets, or a size with its unit, such as
    20, "20 packets" or "64 KiB". Default: "15 packets"."""
    max_th: int | str
    """Above this everything is, or with gentle from twice this. Right is a number of packets, or a size with
    its unit, such as 20, "20 packets" or "64 KiB". Default: "25 packets"."""
    target_delay: str
    """Thresholds by the rate of each link, in place of min_th and max_th (Adaptive RED): half of what it
    sends in this time, and three times that; none where the buffer ends before. Right is a time with its
    unit, such as "40 ms", or "none"; above 0 and at most 100 s. Default: "none"."""
    mean_packet: str
    """The size of packet in which target_delay, and in byte mode every threshold in packets, is counted.
    Right is bytes with their unit, such as "64 KiB" or "1460 B"; 1 B to 9 KB. Default: "500 B"."""
    max_p: float | str
    """Probability at max_th. Right is a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %". Default:
    "1/50"."""
    weight: float | str
    """Weight of a new sample in the average queue. Right is a share from 0 to 1, such as 0.0625, "1/16" or
    "6.25 %". Default: "1/500"."""
    instantaneous: bool
    """Take the instantaneous queue in place of the average. Right is true or false. Default: false."""
    gentle: bool
    """Rise from max_p to 1 between max_th and twice max_th. Right is true or false. Default: true."""
    wait: bool
    """Let 1/p packets at least pass after each that is dropped or marked (ns-2); off: p / (1 - n p) for the
    n-th after it (Floyd and Jacobson). Right is true or false. Default: false."""
    byte_mode: bool
    """Byte mode: the queue is counted in bytes, and a packet of twice mean_packet has twice the probability
    (ns-2); off: packets are alike. Right is true or false. Default: false."""


class Codel(TypedDict, total=False):
    """`[codel]` Controlled delay (RFC 8289)."""

    target: str
    """The delay that a standing queue may have. Right is a time with its unit, such as "25 us"; above 0.
    Default: "5 ms"."""
    interval: str
    """For how long it may be exceeded before packets are dropped or marked, about a long round trip. Right is
    a time with its unit, such as "25 us"; at most 100 s. Default: "100 ms"."""
    resume: str
    """How fast it drops where it begins again soon after it ended. Right is "rfc8289" or "ns-2". Default:
    "rfc8289"."""


class SlidingWindow(TypedDict, total=False):
    """`[sliding_window]` A window over servers that halves on loss (SW, TSW)."""

    initial: int
    """Servers asked at once at first, as TCP begins with 10 segments (RFC 6928). Right is a whole number; 1
    to 1000000. Default: 10."""
    grows: str
    """When the window grows: with each answer, or with each window of answers. Right is "answer" or "window".
    Default: "answer"."""
    step: int
    """Servers by which it grows. Right is a whole number; 1 to 1000000. Default: 1."""
    late: str
    """An answer that is not there after this is taken for lost: half of the 10 ms after which the papers'
    servers send again. Right is a time with its unit, such as "25 us"; 1 us to 100 s. Default: "5 ms"."""


class IctcpWindow(TypedDict, total=False):
    """`[ictcp_window]` A window over servers by the bandwidth in use (ICTCP as SICC and PICC describe it)."""

    initial: int
    """Servers asked at once at first: ICTCP begins with its least window. Right is a whole number; 2 to
    1000000. Default: 2."""
    usable: float | str
    """The share of the link that answers may fill, before the quota is none (ICTCP: 0.9). Right is a share
    from 0 to 1, such as 0.0625, "1/16" or "6.25 %"; at least 1/1024. Default: "9/10"."""
    gamma1: float | str
    """Up to this share of the expected throughput missing, the window grows (ICTCP: 0.1). Right is a share
    from 0 to 1, such as 0.0625, "1/16" or "6.25 %". Default: "1/10"."""
    gamma2: float | str
    """Above this share of the expected throughput missing, the window shrinks (ICTCP: 0.5). Right is a share
    from 0 to 1, such as 0.0625, "1/16" or "6.25 %". Default: "1/2"."""
    patience: int
    """For so many slots in turn it must be missing (ICTCP: three RTT). Right is a whole number; 1 to 1000.
    Default: 3."""


class Sicc(TypedDict, total=False):
    """`[sicc]` Swarms of servers behind hubs (SICC)."""

    period: str
    """How often speeds are set and queries redirected (section 4.4). Right is a time with its unit, such as
    "25 us"; 100 us to 100 s. Default: "10 ms"."""
    threshold: float | str
    """T: from this share of the aggregation port's buffer on, front ends ask for less (section 4.4). Right is
    a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %"; at least 1/65536. Default: "1/10"."""
    alpha: float | str
    """The most by which a front end asks for more, period by period (equation 6; section 4.4). Right is a
    share from 0 to 1, such as 0.0625, "1/16" or "6.25 %"; at least 1/65536. Default: "1/5"."""
    beta: float | str
    """The most by which a front end asks for less, period by period (equation 5; section 4.4). Right is a
    share from 0 to 1, such as 0.0625, "1/16" or "6.25 %"; at least 1/65536. Default: "1/5"."""
    bound: str
    """How many hubs may send to the front end at once: equation 1 as printed (S_e/s B_u/B_d, B_u being a
    server's part of its rack's uplinks), mended (S_e/s B_d/B_u: fewer on a slower downlink, as section 4.3
    has it), or a fixed number. Right is "printed", "mended" or "fixed". Default: "printed"."""
    hubs: int
    """N where it is fixed: the racks of section 4. Right is a whole number; 1 to 1000000. Default: 50."""
    requests: int
    """m: the requests of a front end at a time, which share M (section 3.1). Right is a whole number; 1 to
    1000000. Default: 1."""
    mean_object: str
    """The mean size of an object, which the front end knows without knowing each: of 20 to 1,000 B, as
    section 4 draws them. Right is bytes with their unit, such as "64 KiB" or "1460 B"; 1 B to 1 GB. Default:
    "510 B"."""
    hub: str
    """Which server of a rack is its hub: the one with most of the requested objects (Algorithm 1), or with
    most spare I/O (section 3.1). Right is "most-objects" or "spare-io". Default: "most-objects"."""
    floor: float | str
    """The least speed of a hub, as a share of an equal one: equation 4 alone would lower an idle hub to
    nothing. Right is a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %"; at least 1/1024. Default:
    "1/20"."""
    busy: float | str
    """A hub with a backlog that reached this share of its assignment could use more: equation 3's condition
    cannot hold as printed. Right is a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %"; at least 1/2.
    Default: "19/20"."""
    linger: str
    """How long a packet that is not full waits for more objects: a few round trips in a rack, and little of a
    request's milliseconds. Right is a time with its unit, such as "25 us"; at most 1 s. Default: "100 us"."""
    hub_window: str
    """What a hub has asked its rack for and not received, at most: under half of an edge port's 100 KB, so
    that one rack's servers cannot overflow its own port. Right is bytes with their unit, such as "64 KiB" or
    "1460 B"; 1 B to 1 GB. Default: "32 KiB"."""
    queue: str
    """Whether front ends are told the queue of their aggregation port (section 3.2.2) or estimate it. Right
    is "told" or "estimated". Default: "told"."""
    start: str
    """What front ends plan to receive as they begin to ask (section 3.2.1). Right is "line" or "spare".
    Default: "line"."""
    split: str
    """Whether equations 3 and 4 begin from equal parts (equation 2) in each period, or from what hubs were
    assigned. Right is "once" or "each-period". Default: "once"."""
    uncontrolled: str
    """How fast hubs of sicc-nssc send. Right is "unpaced" or "assigned". Default: "unpaced"."""
    ablate: str
    """What sicc-nps, sicc-nmt and sicc-nssc are without a part of: SICC without its enhancements, or all of
    it. Right is "base" or "full". Default: "base"."""


class Picc(TypedDict, total=False):
    """`[picc]` Objects gathered on few servers (PICC)."""

    theta: int
    """θ: so many of the most popular objects are gathered in their racks (section III-A; 1,000 is the best of
    Figure 9). Right is a whole number; at least 1. Default: 1000."""
    alpha: float | str
    """α: what it counts that two objects are asked for in one query (equation 1; the paper gives none: it is
    this that makes servers few). Right is a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %". Default:
    "1/2"."""
    beta: float | str
    """β: what it counts that one is asked for in the query after the other's (equation 1; the paper gives
    none: it spares connections, not servers). Right is a share from 0 to 1, such as 0.0625, "1/16" or "6.25
    %". Default: "1/10"."""
    slot: str
    """How late the query after another may come and still count as its sequel: the paper's time-slot, of
    which it gives no length. Right is a time with its unit, such as "25 us". Default: "10 s"."""
    w: int
    """w: the weight of the artificial sink's edges (Algorithm 2; the paper gives none): the larger, the
    smaller and closer the clusters. Right is a whole number; 1 to 1000000. Default: 1."""
    strongest: int
    """How many of its strongest edges an object keeps: all pairs of a query of 1,000 objects are half a
    million. Right is a whole number; 1 to 1000. Default: 10."""
    least: float | str
    """Two objects are close from this share of the more frequent one's requests on; without, what is asked
    for with everything joins all into one cluster, which fits nowhere (no part of the paper:
    docs/performance.md). Right is a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %". Default: "1/3"."""
    learn: str
    """Which requests the plan is made from (section IV has those that are measured). Right is "same",
    "earlier" or "running". Default: "earlier"."""
    period: str
    """T: how long these take, for what a server can give in that time, and until the next plan (section IV).
    Right is a time with its unit, such as "25 us"; 1 ms to 100000 s. Default: "300 s"."""
    counts: str
    """What of a server's load is held against what it can give: section III-A compares it with the demand of
    popular objects alone. Right is "all" or "popular". Default: "all"."""
    memory: str
    """What a server has room for (section III-A's storage; the paper gives none). Right is bytes with their
    unit, such as "64 KiB" or "1460 B"; 1 B to 1048576 GiB. Default: "1 GiB"."""
    requests_per_s: int
    """Requests for objects that a server can answer in a second: its computing and its I/O alike (section
    III-A; the paper gives none). Its bandwidth is its link's. Right is a whole number; 1 to 1000000000.
    Default: 100000."""


class Groups(TypedDict, total=False):
    """`[groups]` Objects gathered on groups of servers, by local search on the probabilistic fan-out."""

    busiest: int
    """No server is to be asked for more than so many per cent of what servers are asked for on average. Right
    is a whole number; 105 to 100000. Default: 200."""
    keep: float | str
    """An object leaves the group that it is in if that saves a server for this share of its requests: the
    more, the steadier are plans. Right is a share from 0 to 1, such as 0.0625, "1/16" or "6.25 %". Default:
    "1/4"."""


class ScenarioDict(TypedDict, total=False):
    """A whole scenario."""

    title: str
    schemes: list[str | dict[str, Any]]
    link: Link
    fabric: Fabric
    switch: Switch
    host: Host
    tcp: Tcp
    workload: Workload
    mapreduce: Mapreduce
    service: Service
    key_value: KeyValue
    faults: Faults
    measure: Measure
    sweep: dict[str, list[Any]]
    run: Run
    newreno: Newreno
    dctcp: Dctcp
    cubic: Cubic
    vegas: Vegas
    gss: Gss
    m21: M21
    ictcp: Ictcp
    ecn_threshold: EcnThreshold
    red: Red
    codel: Codel
    sliding_window: SlidingWindow
    ictcp_window: IctcpWindow
    sicc: Sicc
    picc: Picc
    groups: Groups
