//! Every key of a scenario, with its default: the one place where a setting is declared, but for those of laws, which stand
//! in their laws' own files.

use std::sync::Arc;

use fanin_laws::settings::Key;
use fanin_placement::Resources;
use fanin_tcp::{Ect, NewReno, RtoFloor, RttVariance};
use fanin_units::{Bytes, QueueSize, Rate, Ratio, Share, Time};

use crate::chips::Chip;
use crate::declare::{KeyDoc, Section, section, words};
use crate::range::{FAN_IN_MAX, RATE_MAX, RATE_MIN};
use crate::requests::Requests;
use crate::setting::{Optional, Setting};
use crate::sizes::Sizes;
use crate::stacks::Stack;
use crate::workload::{Connections, KeyValue, Servers, Workload};
use crate::{Bursts, FAN_IN, Flows, Framing, Literal, PacketJitter, Plan, laws};

section! {
    /// Every link: both directions alike.
    Link in "link" {
        /// Rate of every link.
        #[range(RATE_MIN..=RATE_MAX)]
        rate: Rate = Rate(1_000_000_000),
        /// Rate of the client's link, where it differs.
        #[range(RATE_MIN..=RATE_MAX)]
        client_rate: Optional<Rate> = Optional::NONE,
        /// Propagation delay of each link, one way.
        #[range(..=Time::from_secs(10))]
        delay: Time = Time::from_micros(25),
        /// What the link layer adds to each packet. "ethernet": 38 B on the wire (preamble 8, header and checksum 18, gap 12), of which 18 B lie in a buffer too, in a frame of at least 64 B there. A size: so many bytes, on the wire and in buffers alike, and no least frame.
        framing: Framing = Framing::ETHERNET,
        /// How large packets are: "by-mss", as `tcp.mss` makes them; "standard", up to 1,500 B of IP; "jumbo", up to 9,000 B, 9,018 of a buffer and 9,038 of the wire. With the last two, `tcp.mss` is what fills such a packet (1,460 and 8,960 B; with `tcp.timestamps` 12 B less) unless it is given, and one that does not fit, or leaves jumbo frames no larger than others, is refused. What counts segments or packets grows along: windows (RFC 6928 would begin with 2 segments of 8,960 B, Linux does with its 10), buffers and thresholds in packets; buffers in bytes hold fewer.
        frames: Frames = Frames::ByMss,
    }
}

words! {
    /// How large a packet may be.
    Frames, "\"by-mss\", \"standard\" or \"jumbo\"" {
        /// As large as `tcp.mss` makes them.
        ByMss = "by-mss",
        /// Up to 1,500 B of IP.
        Standard = "standard",
        /// Up to 9,000 B of IP.
        Jumbo = "jumbo",
    }
}

impl Frames {
    /// The largest packet as IP has it, where it says.
    pub(crate) fn packet(self) -> Option<Bytes> {
        match self {
            Frames::ByMss => None,
            Frames::Standard => Some(Bytes(1_500)),
            Frames::Jumbo => Some(Bytes(9_000)),
        }
    }
}

words! {
    /// How hosts and switches are joined.
    FabricKind, "\"star\", \"leaf-spine\", \"fat-tree\" or \"edges\"" {
        /// One switch, each host on a link of its own.
        Star = "star",
        /// Racks, each with a switch that has a link to every spine; flows are spread over the spines by their hash.
        LeafSpine = "leaf-spine",
        /// Pods of racks under spines of their own, joined by cores: k-ary, or of any rack size and over-subscription.
        FatTree = "fat-tree",
        /// Any network of switches, given by its links; flows are spread over ways of equal length by their hash.
        Edges = "edges",
    }
}

words! {
    /// Which rack hosts are in, by their numbers.
    Placement, "\"by-rack\" or \"spread\"" {
        /// A rack is filled before the next one.
        ByRack = "by-rack",
        /// Each host goes into the rack after the last one's.
        Spread = "spread",
    }
}

section! {
    /// How hosts and switches are joined.
    FabricSettings in "fabric" {
        /// The form of the network.
        kind: FabricKind = FabricKind::Star,
        /// The links of an "edges" fabric: two nodes each, then a rate and a delay where they are not those of [link]. Hosts are client and server1, server2, ..., a range as server1..8; other names are switches.
        edges: Vec<String> = Vec::new(),
        /// Racks of a leaf-spine or fat-tree fabric, each with its switch.
        racks: Optional<u32> = Optional::NONE,
        /// Hosts in each rack; the client is the first host of the first rack.
        hosts_per_rack: Optional<u32> = Optional::NONE,
        /// Spines that every rack has a link to: of a leaf-spine fabric in all, of a fat tree in each pod.
        spines: Optional<u32> = Optional::NONE,
        /// Pods of a fat tree, over which its racks are shared evenly; each spine has as many cores as its pod has racks, on links of the uplinks' rate.
        pods: Optional<u32> = Optional::NONE,
        /// k of a k-ary fat tree: k pods of k/2 racks of k/2 hosts under k/2 spines, all links alike; in place of racks, hosts_per_rack, spines and pods.
        arity: Optional<u32> = Optional::NONE,
        /// Rate of each link between switches of a leaf-spine or fat-tree fabric; "none": what oversubscription makes it, else link.rate.
        #[range(RATE_MIN..=RATE_MAX)]
        uplink_rate: Optional<Rate> = Optional::NONE,
        /// The rate of a rack's hosts over that of its uplinks, as a whole number, from which uplink_rate follows.
        oversubscription: Optional<u32> = Optional::NONE,
        /// Links that fail, heal or change their rate, both directions: a time, two nodes, then down, up or a rate, such as "10 ms leaf1 spine1 down". What waits at a link that fails is lost; flows take the ways of equal length that are left, at once.
        changes: Vec<String> = Vec::new(),
        /// Hosts, the client among them: of a workload between any hosts those that take part, of others those that Poisson flows and a service are between; "none": as many as the workload asks for.
        #[needs(ANY_HOSTS)]
        #[range(2..=FAN_IN_MAX + 1)]
        hosts: Optional<u32> = Optional::NONE,
        /// Which rack of a leaf-spine or fat-tree fabric the next host is in.
        #[needs(RACKS)]
        placement: Placement = Placement::ByRack,
    }
}

section! {
    /// The switch: one queue a port, with a buffer each, or a memory that all ports share.
    Switch in "switch" {
        /// A switch whose memory somebody published: sets shared_buffer, alpha, reserved, headroom and ports; what is set beside it stands over it. `fanin list` has them all.
        profile: Optional<Chip> = Optional::NONE,
        /// What the queue of one port holds; the packet on the wire does not count.
        #[needs(NO_MEMORY)]
        buffer: QueueSize = QueueSize::Bytes(65_536),
        /// The memory that the ports of a switch share in the place of `buffer`, each switch one: a queue may hold what is reserved for it and alpha times what nobody uses of the rest (dynamic thresholds, Choudhury and Hahne). Hosts' queues are not part of it. "none": each port has its buffer.
        #[range(Bytes(1)..=Bytes(1 << 40))]
        shared_buffer: Optional<Bytes> = Optional::NONE,
        /// How much of what is free of the memory a port may have: a lone congested one gets alpha/(1 + alpha) of it.
        #[needs(MEMORY)]
        #[range(Ratio::of(1, 1_024)..=Ratio::of(1_024, 1), "at 0 no port would get anything")]
        alpha: Ratio = Ratio::of(1, 1),
        /// What each port has of the memory to itself, whatever others hold; it is not shared.
        #[needs(MEMORY)]
        reserved: Bytes = Bytes(0),
        /// What is set apart of the memory for what is not modelled, such as packets under way behind a pause (PFC).
        #[needs(MEMORY)]
        headroom: Bytes = Bytes(0),
        /// What is otherwise at ports of some rate, such as "100 Gbit/s: k 200 packets, buffer 1 MB": K in the place of `ecn_threshold.k`, a buffer in that of `buffer`; either may be left out.
        ports: Vec<String> = Vec::new(),
    }
}

words! {
    /// What law a host's transmit queue has.
    HostQueue, "\"plain\" or \"switch\"" {
        /// It drops what does not fit.
        Plain = "plain",
        /// That of the scheme's switch ports, as in ns-2, where both ends of a link have one.
        Switch = "switch",
    }
}

section! {
    /// The hosts.
    Host in "host" {
        /// What a host's transmit queue holds; the packet on the wire does not count.
        buffer: Optional<QueueSize> = Optional::NONE,
        /// The law of a host's transmit queue: "switch" gives it that of the scheme's switch ports and, unless buffer is set, their size (ns-2).
        queue: HostQueue = HostQueue::Plain,
        /// How late packets of a host come to the other end of its link: each uniform in 0 up to this, in their order. "transmission": up to the time of a full packet on the slowest link (Floyd and Jacobson's rule against phase effects); "none": as in simulators, where flows may starve for their phase.
        packet_jitter: PacketJitter = PacketJitter::Transmission,
        /// Time that a server works on a request before it answers; of a key_value workload, on each object.
        #[only(Barrier, WebSearch, KeyValue)]
        #[range(..=Time::from_secs(1_000))]
        service_time: Time = Time::ZERO,
        /// Uniform random addition to the service time, up to this.
        #[only(Barrier, WebSearch, KeyValue)]
        #[range(..=Time::from_secs(1_000))]
        service_jitter: Time = Time::ZERO,
    }
}

words! {
    for Ect, "\"data\" (new data alone, RFC 3168), \"agreed\" (every packet but the first SYN, ns-2's DCTCP) or \"all\" (every packet, Linux's DCTCP)" {
        Data = "data",
        Agreed = "agreed",
        All = "all",
    }
}

words! {
    for NewReno, "\"inflate\" (RFC 6582) or \"pipe\" (ns-3)" {
        Inflate = "inflate",
        Pipe = "pipe",
    }
}

words! {
    for RtoFloor, "\"timeout\" (RFC 6298) or \"variance\" (Linux)" {
        Timeout = "timeout",
        Variance = "variance",
    }
}

words! {
    for RttVariance, "\"rfc6298\" or \"linux\"" {
        Rfc6298 = "rfc6298",
        Linux = "linux",
    }
}

section! {
    /// TCP at every host.
    Tcp in "tcp" {
        /// A real host's TCP: sets what `fanin explain scheme` says of it; what is set beside it stands over it.
        profile: Optional<Stack> = Optional::NONE,
        /// Largest payload of a segment.
        #[range(Bytes(64)..=Bytes(9_000))]
        mss: Bytes = Bytes(1460),
        /// Congestion window of a new connection, in segments.
        #[needs(NO_GSS)]
        #[range(1..=1_000)]
        initial_window: u32 = 10,
        /// Least retransmission timeout.
        #[range(Time(1).., "what times out at once is sent again for ever")]
        rto_min: Time = Time::from_millis(200),
        /// What rto_min bounds: the timeout (RFC 6298), or four times RTTVAR within it, so that SRTT comes on top (Linux).
        rto_floor: RtoFloor = RtoFloor::Timeout,
        /// RTTVAR: a smoothed deviation (RFC 6298), or the largest of such a deviation in a round trip, which comes down by a quarter a round trip (Linux): a single late ACK then counts for some round trips, and not for some samples.
        #[needs(VARIANCE)]
        rtt_variance: RttVariance = RttVariance::Rfc6298,
        /// Largest retransmission timeout after backoff.
        #[range(..=Time::from_secs(3_600))]
        rto_max: Time = Time::from_secs(60),
        /// Retransmission timeout before the first round-trip sample.
        #[range(Time(1).., "what times out at once is sent again for ever")]
        rto_initial: Time = Time::from_secs(1),
        /// Granularity G of the timeout's clock (RFC 6298).
        rto_clock: Time = Time::from_millis(1),
        /// How often a segment is sent again by timeout before its connection is given up and the peer told so with a reset, which may be lost (RFC 9293's R2, Linux's tcp_retries2); "none": for ever. With a key_value workload alone, whose front ends then ask elsewhere; and there with `key_value.patience` or `key_value.deadline`.
        #[range(1..=255, "\"none\" is for ever")]
        max_retransmissions: Optional<u32> = Optional::NONE,
        /// Keep a backed-off timeout until a segment sent once is acknowledged (Karn); off: until any new ACK, as deployed stacks do.
        karn_backoff: bool = false,
        /// Timeout of the first SYN; "none" takes rto_initial.
        #[range(Time(1).., "what times out at once is sent again for ever")]
        syn_timeout: Optional<Time> = Optional::NONE,
        /// Selective acknowledgements (RFC 2018, 6675) with proportional rate reduction (RFC 6937); off: NewReno recovery (RFC 6582).
        sack: bool = true,
        /// Loss told by time (RACK, RFC 8985): what was sent a round trip before something that arrived is lost, a retransmission too; off: by counts (RFC 6675). Needs sack.
        rack: bool = false,
        /// Of an ACK its SACKs are taken before what it acknowledges (Linux), so that RACK.rtt, for which RFC 8985 names no order, is that of the latter: a delayed ACK makes it long, and what was sent with what is acknowledged waits for the reordering timer.
        #[needs(RACK)]
        sacks_first: bool = false,
        /// A probe after two round trips without news of a tail (TLP, RFC 8985, section 7); its time-outs are not counted. Needs sack.
        tail_loss_probe: bool = false,
        /// How long a probe allows the peer to keep an ACK back where one segment is out; "none" takes delayed_ack_timeout.
        #[needs(PROBES)]
        #[range(..=Time::from_secs(10))]
        max_ack_delay: Optional<Time> = Optional::NONE,
        /// Added to RACK's reordering timer, and to a probe's where more than one segment is out (Linux: two ticks of its clock).
        #[needs(RACK_TIMERS)]
        #[range(..=Time::from_secs(10))]
        timer_margin: Time = Time::ZERO,
        /// The clock of hosts' timers, each host's at a phase of its own: a wait is so many whole ticks and ends at one (Linux: 4 ms with Debian's HZ = 250); zero: timers are exact.
        #[range(..=Time::from_secs(1))]
        tick: Time = Time::ZERO,
        /// NewReno's fast recovery where sack is off: duplicates inflate the window (RFC 6582), or leave the pipe (ns-3).
        #[needs(NO_SACK)]
        newreno: NewReno = NewReno::Inflate,
        /// New data on the first two duplicate ACKs (RFC 3042).
        limited_transmit: bool = true,
        /// Timestamps (RFC 7323): twelve bytes a segment, a round-trip sample an ACK.
        timestamps: bool = false,
        /// Full segments that one ACK may cover; 1 acknowledges every packet.
        #[range(1..=64, "1 acknowledges every packet")]
        delayed_ack: u32 = 2,
        /// Acknowledge at once a segment that says CWR, in spite of delayed_ack, as Linux does: its sender may have a window of one segment.
        #[needs(DELAYED_ACKS_AND_ECN)]
        ack_cwr: bool = true,
        /// Longest time that an ACK waits.
        #[needs(DELAYED_ACKS)]
        delayed_ack_timeout: Time = Time::from_millis(40),
        /// While the client is still sending a round's requests (workload.request_gap) it reads nothing, and what comes in order is not acknowledged: as in Linux, where the window does not move before the application reads.
        #[needs(DELAYED_ACKS_AND_GAPS)]
        acks_wait_for_reader: bool = false,
        /// An end that sends within delayed_ack_timeout of what it received is answering: none of quick_acks, until an ACK had to wait for its whole time or data came again. One that is not answering acknowledges at once what is shorter than a full segment (Linux's pingpong mode).
        #[needs(DELAYED_ACKS)]
        pingpong: bool = false,
        /// From the fourth on, ACKs of what comes out of order in one place wait for those of more, a twentieth of the round trip and at most 1 ms (Linux: tcp_comp_sack_delay_ns).
        #[needs(SACK)]
        ack_compression: bool = false,
        /// Data segments that are acknowledged at once, in spite of delayed_ack: the first of a connection, after a pause of one RTO, after data that came twice (Linux: 16).
        #[needs(DELAYED_ACKS)]
        #[range(..=255)]
        quick_acks: u32 = 0,
        /// Restart from the initial window after an idle time of one RTO (RFC 5681, section 4.1).
        idle_restart: bool = false,
        /// A window grows by what an ACK acknowledges (RFC 3465, without its limit, as Linux has it), so that delayed ACKs do not slow it down; off: by each ACK (RFC 5681). With rack or tail_loss_probe by what an ACK says was delivered, and what ends a recovery counts (Linux).
        byte_counting: bool = false,
        /// A loss or a mark cuts the window as it stood (Linux), in the place of what was in flight (RFC 5681, RFC 9438), which is less where the application has little to send. With rack or tail_loss_probe a timeout in a recovery leaves ssthresh as the recovery has cut it (Linux).
        cut_window: bool = false,
        /// A window grows only where it is filled: in slow start up to twice what was out, later as it was in the way; with idle_restart one that was not filled for an RTO comes down half the way to what was used (Linux; RFC 7661's idea, RFC 2861's rule).
        #[needs(VALIDATION)]
        window_validation: bool = false,
        /// A cut of the window that turns out to have been needless is taken back: as all that was sent again had come already, of which the receiver tells (DSACK, RFC 2883 and 3708), or as what is acknowledged was sent before it (Eifel, RFC 3522 and 4015; with timestamps). As Linux has it.
        #[needs(UNDO)]
        undo: bool = false,
        /// Receive window.
        #[range(..=Bytes(1 << 30))]
        receive_window: Bytes = Bytes(16 << 20),
        /// Packets that are ECN-capable where the scheme uses ECN.
        #[needs(ECN)]
        ect: Ect = Ect::Data,
    }
}

section! {
    /// A query service beside the workload, from its beginning to its end: at random times a random host asks others over
    /// connections of their own, and waits for all answers.
    Service in "service" {
        /// Queries a second, of all hosts together; "none": there is no service.
        #[range(1.., "\"none\" is for no service")]
        queries_per_s: Optional<u32> = Optional::NONE,
        /// How many hosts a query asks.
        #[needs(SERVICE)]
        fan_out: u32 = 20,
        /// What each of them answers, at once.
        #[needs(SERVICE)]
        #[range(Bytes(1)..)]
        answer: Bytes = Bytes(2_000),
        /// Size of a request.
        #[needs(SERVICE)]
        #[range(Bytes(1)..)]
        request: Bytes = Bytes(64),
        /// What they go over: a standing connection between two hosts, or a new one for each, which is usual.
        #[needs(SERVICE)]
        connections: Connections = Connections::Usual,
    }
}

words! {
    /// When reduces get to know that a map is done.
    Tell, "\"heartbeat\" (Hadoop) or \"at-once\" (MRPerf)" {
        /// With the next heartbeat of its node.
        Heartbeat = "heartbeat",
        /// When it is.
        AtOnce = "at-once",
    }
}

section! {
    /// A MapReduce job, after MRPerf (MASCOTS 2009) and Hadoop 1.
    #[only(MapReduce)]
    MapReduce in "mapreduce" {
        /// Bytes of the job's input; Terasort's maps put out as much, and so do its reduces.
        input: Bytes = Bytes(6_400_000_000),
        /// Map tasks, one a split.
        #[range(1..=100_000)]
        maps: u32 = 100,
        /// Reduce tasks; "none" takes as many as there are servers.
        #[range(1..=100_000)]
        reduces: Optional<u32> = Optional::NONE,
        /// Nodes that hold each split (Hadoop: dfs.replication).
        #[range(1..=512, "Hadoop has no more either")]
        replicas: u32 = 3,
        /// Nodes that the output is written to; Terasort writes one.
        #[range(1..=512, "Hadoop has no more either")]
        output_replicas: u32 = 1,
        /// Maps that a node runs at once (Hadoop: mapred.tasktracker.map.tasks.maximum).
        #[range(1..=100_000)]
        map_slots: u32 = 2,
        /// Reduces that a node runs at once.
        #[range(1..=100_000)]
        reduce_slots: u32 = 2,
        /// How often a node reports and asks for work (Hadoop 1: 3 s and more).
        #[range(Time::from_millis(1).., "a node that reports more often does nothing else; Hadoop's is 3 s")]
        heartbeat: Time = Time::from_secs(3),
        /// Nodes' first heartbeats are uniform in 0 up to this; "none": up to a heartbeat.
        heartbeat_spread: Optional<Time> = Optional::NONE,
        /// Maps, and as many reduces, that a node is given at most with a heartbeat.
        #[range(1..=100_000)]
        tasks_per_heartbeat: u32 = 1,
        /// When reduces get to know that a map is done.
        tell: Tell = Tell::Heartbeat,
        /// Share of maps that have to be done before reduces start (Hadoop: mapred.reduce.slowstart.completed.maps).
        slow_start: Share = Share::of(1, 20),
        /// Fetches that a reduce has at once (Hadoop: mapred.reduce.parallel.copies).
        #[range(1..=100_000)]
        parallel_fetches: u32 = 5,
        /// Of these, from one node.
        #[range(1..=100_000)]
        fetches_per_node: u32 = 1,
        /// Time in which a task's process starts.
        task_start: Time = Time::from_secs(1),
        /// Rate at which a disk is read; what goes on at once at a node shares its disk.
        disk_read: Rate = Rate(640_000_000),
        /// Rate at which it is written.
        disk_write: Rate = Rate(640_000_000),
        /// Output of a map up to which it is written once; above, it is written in parts, then read and written as one (Hadoop: io.sort.mb).
        sort_buffer: Bytes = Bytes(100_000_000),
        /// Input that a map's function takes in.
        map_rate: Rate = Rate(500_000_000),
        /// What a reduce's function takes in.
        reduce_rate: Rate = Rate(500_000_000),
        /// Steps of tasks take a log-normal time: the standard deviation of its logarithm.
        task_spread: Share = Share::of(0, 1),
    }
}

section! {
    /// What goes wrong, at random or at its time, under every workload.
    Faults in "faults" {
        /// Share of the packets that hosts send, data and ACKs alike, that are lost: each is drawn once, at the other end of its host's link, so that as many are lost whatever way they have before them. Beside what ports drop.
        loss: Share = Share::of(0, 1),
        /// Share of these packets that come there twice, one copy right behind the other.
        duplication: Share = Share::of(0, 1),
        /// Share of these packets that come there late, behind some sent after them.
        reordering: Share = Share::of(0, 1),
        /// How late: uniform in 0 up to this.
        #[needs(REORDERING)]
        #[range(Time(1)..=Time::from_secs(10), "in no time nothing is overtaken")]
        reordering_delay: Time = Time::from_micros(100),
        /// Hosts that crash, return or slow down: a time, a host, then crashes, returns or slows to a share, such as "10 ms server3 crashes", "30 ms server3 returns", "20 ms server5 slows to 0.1". With a crash all connections of a host are gone, what waits in its port, and what comes for it until it returns; then it answers what it does not know with a reset. A slow host sends at that share of its link's rate and takes as much longer for a service or a task; "slows to 1" ends that.
        hosts: Vec<String> = Vec::new(),
    }
}

/// What is swept where nothing else is said.
pub(crate) const FAN_INS: [u32; 7] = [2, 4, 8, 16, 32, 64, 128];
/// The section `[sweep]`: its keys are those of other sections.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sweep;

impl Section for Sweep {
    const NAME: &'static str = "sweep";
    const DOC: &'static str = "What is swept: one key or more, each with its values. `fan_in`, or any key of one run with its section, such as \"workload.load\" = [\"20 %\", \"60 %\"]; points are all combinations. An onset is looked for along the first key of more than one value.";
    const KEYS: &'static [&'static str] = &[FAN_IN];
    const WORKLOADS: &'static [&'static str] = &[];

    fn set(&mut self, _: &str, _: &Literal) -> Result<(), String> {
        unreachable!("an axis is no setting")
    }

    fn value(&self, _: &str) -> (String, Option<f64>) {
        unreachable!("an axis is no setting")
    }

    fn out_of_range(&self) -> Option<(&'static str, String)> {
        None
    }

    fn docs(&self) -> Vec<KeyDoc> {
        vec![KeyDoc {
            path: "sweep.fan_in".into(),
            form: "a list of whole numbers, such as [2, 4, 8]",
            range: None,
            default: Literal::List(FAN_INS.map(|n| Literal::Integer(n.into())).to_vec()).show(),
            doc: "Numbers of servers that answer, `workload.fan_in`, rising; of a workload between any hosts, the hosts besides the client. The default is for where nothing is swept and nothing says how many.".into(),
            workloads: &[],
            need: None,
        }]
    }
}

section! {
    /// What is measured beyond what every run does.
    Measure in "measure" {
        /// How long each packet takes from end to end: the table `latency`.
        latency: bool = false,
        /// How full ports are over time and how busy their links, in `ports` and `port_series`.
        ports: bool = false,
    }
}

section! {
    /// How often each point is run.
    Run in "run" {
        /// Runs of every point, each with its own seed.
        #[range(1..=1_000_000)]
        seeds: u32 = 3,
        /// The first seed; the others follow it.
        first_seed: u64 = 1,
    }
}

/// What is read from files, beside the scenario's own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inputs {
    /// The list of a flows workload.
    pub flows: Option<Arc<Flows>>,
    /// The sizes of Poisson flows, where there are any.
    pub sizes: Option<Arc<Sizes>>,
    /// The bursts of a bursts workload.
    pub bursts: Option<Arc<Bursts>>,
    /// What front ends ask for, where that is not drawn.
    pub requests: Option<Arc<Requests>>,
    /// The plan of a key_value workload's placement.
    pub plan: Option<Arc<Plan>>,
}

macro_rules! settings {
    ($($field:ident: $section:ty,)*) => {
        /// Every setting, resolved for one scheme.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Settings {
            $(#[doc = concat!("Section `[", stringify!($field), "]`.")] pub $field: $section,)*
            /// Those of laws, which their own files declare.
            pub laws: fanin_laws::Settings,
            /// Those of ways to ask servers, which their own files declare.
            pub fan_outs: fanin_fanout::Settings,
            /// Those of placements, which their own files declare.
            pub placements: fanin_placement::Settings,
            /// What the files hold that settings name.
            pub inputs: Inputs,
        }

        impl Settings {
            /// Each section that a law's file declares.
            pub fn of_laws(&self) -> Vec<&dyn fanin_laws::settings::Section> {
                [self.laws.sections(), self.fan_outs.sections(), self.placements.sections()].concat()
            }

            /// The names of the sections with what they hold.
            pub fn sections() -> Vec<(&'static str, &'static str)> {
                let mut sections = vec![$((<$section>::NAME, <$section>::DOC.trim_ascii())),*];
                let laws = Settings::default();
                sections.extend(laws.of_laws().iter().map(|section| (section.name(), section.says())));
                sections
            }

            /// The keys of a section, or `None` where there is no such section.
            pub(crate) fn keys_of(section: &str) -> Option<Vec<&'static str>> {
                match section {
                    $(stringify!($field) => Some(<$section>::KEYS.to_vec()),)*
                    _ => {
                        let laws = Settings::default();
                        let law = laws.of_laws().into_iter().find(|law| law.name() == section)?;
                        Some(law.keys().iter().map(|key| key.name).collect())
                    }
                }
            }

            /// Sets one key, which exists.
            pub(crate) fn set(&mut self, section: &str, key: &str, literal: &Literal) -> Result<(), String> {
                match section {
                    $(stringify!($field) => self.$field.set(key, literal),)*
                    _ => {
                        let mut laws = self.laws.sections_mut();
                        laws.extend(self.fan_outs.sections_mut());
                        laws.extend(self.placements.sections_mut());
                        let law = laws.into_iter().find(|law| law.name() == section);
                        laws::set(law.expect("sections are looked up before they are set"), key, literal)
                    }
                }
            }

            /// A key's value, printed, and its place among others.
            pub(crate) fn value(&self, section: &str, key: &str) -> (String, Option<f64>) {
                match section {
                    $(stringify!($field) => self.$field.value(key),)*
                    _ => {
                        let law = self.of_laws().into_iter().find(|law| law.name() == section);
                        laws::value(law.expect("sections are looked up before they are asked for"), key)
                    }
                }
            }

            /// The first key whose value lies out of its range, and what is wrong with it; of sections that are looked
            /// at, by their names and the workloads that do.
            pub(crate) fn out_of_range(
                &self,
                looked_at: impl Fn(&str, &[&str]) -> bool,
            ) -> Option<(&'static str, String)> {
                $(if looked_at(<$section>::NAME, <$section>::WORKLOADS)
                    && let Some(wrong) = self.$field.out_of_range()
                {
                    return Some(wrong);
                })*
                let laws = self.of_laws().into_iter();
                laws.filter(|law| looked_at(law.name(), &[])).find_map(laws::out_of_range)
            }

            /// Every key with its form, documentation and present value.
            pub fn docs(&self) -> Vec<KeyDoc> {
                let mut docs = Vec::new();
                $(docs.extend(self.$field.docs());)*
                for law in self.of_laws() {
                    docs.extend(law.keys().iter().map(law_doc));
                }
                docs
            }
        }
    };
}

settings! {
    link: Link,
    fabric: FabricSettings,
    switch: Switch,
    host: Host,
    tcp: Tcp,
    workload: Workload,
    mapreduce: MapReduce,
    service: Service,
    key_value: KeyValue,
    faults: Faults,
    measure: Measure,
    sweep: Sweep,
    run: Run,
}

/// A key of a law's section.
fn law_doc(key: &Key) -> KeyDoc {
    KeyDoc {
        path: key.path.into(),
        form: laws::form(key.value),
        range: laws::range(key),
        default: laws::show(key.value),
        doc: key.says.to_string(),
        workloads: &[],
        need: None,
    }
}

impl Settings {
    /// Every key with its value that results follow from, a line each: of a file that is named, what it holds.
    pub(crate) fn canonical(&self, keep: impl Fn(&str) -> bool) -> String {
        const NAMES_OF_FILES: [&str; 4] = ["workload.file", "workload.bursts", "workload.sizes", "key_value.placement"];
        let mut text = String::new();
        for key in self.docs().iter().filter(|key| keep(&key.path) && !NAMES_OF_FILES.contains(&key.path.as_str())) {
            text += &format!("{} = {}\n", key.path, key.default);
        }
        if let Some(flows) = &self.inputs.flows {
            text += &format!("flows = {} between {}\n", flows.digest(), flows.hosts());
        }
        if let Some(bursts) = &self.inputs.bursts {
            text += &format!("bursts = {}\n", bursts.digest());
        }
        if let Some(sizes) = &self.inputs.sizes {
            text += &format!("sizes = {:?}\n", sizes.points().collect::<Vec<_>>());
        }
        if let Some(requests) = &self.inputs.requests {
            text += &format!("requests = {}\n", requests.digest());
        }
        if let Some(plan) = &self.inputs.plan {
            text += &format!("plan = {} of the places of seed {}\n", plan.digest(), self.run.first_seed);
        }
        text
    }

    /// The payload that fills a packet, where `link.frames` says how large one is.
    pub(crate) fn mss_of_frames(&self) -> Option<Bytes> {
        self.link.frames.packet().map(|packet| Bytes(packet.0 - self.headers()))
    }

    /// Headers of a data packet: IP's, TCP's and timestamps'.
    pub(crate) fn headers(&self) -> u64 {
        if self.tcp.timestamps { 52 } else { 40 }
    }

    /// A full data packet as IP has it, without TCP options.
    pub fn full_packet(&self) -> Bytes {
        Bytes(self.tcp.mss.0 + 40)
    }

    /// What a full data packet takes of a buffer.
    pub fn full_frame(&self) -> Bytes {
        Bytes(self.link.framing.frame(self.full_packet().0 as u32).into())
    }

    /// What a queue of this size holds, a packet counted as a full frame.
    pub fn in_bytes(&self, size: QueueSize) -> u64 {
        match size {
            QueueSize::Bytes(bytes) => bytes,
            QueueSize::Packets(packets) => u64::from(packets).saturating_mul(self.full_frame().0),
        }
    }

    /// The hosts of the network but for those of background flows: the client and whoever takes part.
    pub fn hosts(&self) -> u32 {
        self.fabric.hosts.0.unwrap_or(self.taking_part())
    }

    /// Clients and servers of a workload that many send in; of others the hosts where nothing else says how many.
    pub(crate) fn taking_part(&self) -> u32 {
        let (clients, fan_in) = (self.clients(), self.workload.fan_in);
        match self.workload.servers {
            Servers::Same => fan_in.saturating_add(clients),
            Servers::Own => fan_in.saturating_add(1).saturating_mul(clients),
            Servers::Others => fan_in.saturating_add(1).max(clients),
        }
    }

    /// How many ask at once, each in rounds of its own.
    pub fn clients(&self) -> u32 {
        if self.workload.kind.facts().many_clients { self.workload.clients } else { 1 }
    }

    /// The host of a client; of the first one, which every workload has, 0.
    pub fn client_host(&self, client: u32) -> u32 {
        match self.workload.servers {
            Servers::Same if client > 0 => self.workload.fan_in + client,
            Servers::Own => client * (self.workload.fan_in + 1),
            Servers::Same | Servers::Others => client,
        }
    }

    /// The host of one of its servers.
    pub fn server_host(&self, client: u32, server: u32) -> u32 {
        match self.workload.servers {
            Servers::Same => server + 1,
            Servers::Own => self.client_host(client) + 1 + server,
            Servers::Others => (client + 1 + server) % self.taking_part(),
        }
    }

    /// The servers that answer the client; of a workload between any hosts, all of them but the client.
    pub fn servers(&self) -> u32 {
        if self.workload.kind.many_to_one() { self.workload.fan_in } else { self.hosts() - 1 }
    }

    /// The rate, in bits a second, at which a workload can move bytes at most: that of its clients' links, or of all hosts'
    /// together.
    pub fn line_rate(&self) -> u64 {
        let client = self.link.client_rate.0.unwrap_or(self.link.rate).0;
        match self.workload.kind.many_to_one() {
            true => client.saturating_add(self.link.rate.0.saturating_mul((self.clients() - 1).into())),
            false => client.saturating_add(self.link.rate.0.saturating_mul(self.servers().into())),
        }
    }

    /// What a server can give in a period of `picc`, whose plan is not to ask more of any.
    pub fn capacity(&self) -> Resources {
        let picc = &self.placements.picc;
        let in_period = |a_second: u64| {
            let all = u128::from(a_second) * u128::from(picc.period.0) / u128::from(Time::from_secs(1).0);
            u64::try_from(all).unwrap_or(u64::MAX)
        };
        let requests = in_period(picc.requests_per_s.into());
        let bandwidth = in_period(self.link.rate.0 / 8);
        Resources { storage: picc.memory.0, computing: requests, io: requests, bandwidth }
    }

    /// The mean time between two requests of a front end, where they do not wait for one another.
    pub fn request_interval(&self) -> Option<Time> {
        self.key_value.within.0.map(|within| Time(within.0 / u64::from(self.workload.queries.max(1))))
    }

    /// Whether the workload's connections stay and carry answer after answer.
    pub fn connections_stand(&self) -> bool {
        self.workload.connections.stand(self.workload.kind.facts().stands)
    }

    /// Round trips before an answer's first byte, where each comes over a new connection.
    pub fn setup_rtts(&self) -> Option<f64> {
        let facts = self.workload.kind.facts();
        match facts.asks {
            // A handshake takes one, a request and its answer's first byte another.
            true => (!self.connections_stand()).then_some(2.0),
            false => facts.setup_rtts,
        }
    }

    /// The length of one server's answer with `fan_in` servers: of the first `block % fan_in` servers one byte more.
    pub fn answer(&self, fan_in: u32, server: u32) -> Bytes {
        match (self.workload.fragment.0, self.workload.block.0) {
            (Some(fragment), _) => fragment,
            (None, Some(Bytes(block))) => {
                let (share, rest) = (block / u64::from(fan_in), block % u64::from(fan_in));
                Bytes(share + u64::from(u64::from(server) < rest))
            }
            (None, None) => Bytes(0),
        }
    }
}
