//! The command line.

mod daemons;
mod values;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use fanin::{Bytes, Gathering, Rate, Time};

pub use daemons::{FrontArguments, KernelArguments, WatchArguments};
use daemons::{KERNEL_HELP, WATCH_HELP};
use fanin_proxy::AgentArguments;
use values::{device, jobs, method, percentage, period, rate, size, step};

/// The version, with the commit of the build if known.
pub const VERSION: &str = env!("FANIN_VERSION");

/// Predict, compare and fix incast, the collapse of many-to-one traffic
#[derive(Parser)]
#[command(name = "fanin", version = VERSION, max_term_width = 100)]
#[command(after_help = "Example:\n  fanin new star > my.toml\n  fanin compare my.toml --schemes newreno,dctcp")]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Compare schemes over a sweep: goodput, query times, their causes, and where each scheme collapses
    #[command(after_help = "Example:\n  fanin compare scenarios/fixed-fragment.toml\n  \
        fanin compare my.toml --schemes newreno,newreno+m21 --fan-in 2,8,32 --set switch.buffer=128KiB\n  \
        fanin compare my.toml --fan-in 32 --sweep switch.buffer=\"64 KiB,128 KiB,256 KiB\"\n  fanin compare my.toml --onset\n  fanin compare my.toml --precision 2% --out results")]
    Compare(CompareArguments),
    /// Advise how to fix a cluster's incast: simulate and rank remedies, with the commands that apply them
    #[command(after_help = "Example:\n  fanin advise my.toml\n  \
        fanin advise --servers 48 --rate 25Gbit/s --answer 1MiB --switch arista-7050cx3 --save cluster.toml\n  \
        fanin advise my.toml --goal \"p99 < 10 ms\" --budget 100M --out advice")]
    Advise(AdviseArguments),
    /// Diagnose captures and counters: find slow rounds and their causes, and write a matching scenario
    #[command(
        after_help = "INPUT is a capture (pcap, pcapng), or the output of nstat, ss -ti, ethtool -S, tc -s or a switch. \
        fanin recognises the format by content and decompresses it; `-` reads standard input.\n\nExample:\n  fanin diagnose client.pcapng\n  fanin diagnose client.pcap.gz nstat.txt --out found --advise\n  \
        ssh client tcpdump -i eth0 -s 120 -w - tcp | fanin diagnose -"
    )]
    Diagnose(DiagnoseArguments),
    /// Print or run the commands that record a diagnosis's input on a host
    #[command(after_help = "Example:\n  fanin record\n  fanin record --run 10 --device eth0")]
    Record(RecordArguments),
    /// Run one scheme once and print its totals, queries and ports
    #[command(
        after_help = "Example:\n  fanin run scenarios/fixed-fragment.toml --scheme newreno --fan-in 32 --seed 7\n  \
        fanin run scenarios/fixed-fragment.toml --scheme newreno --fan-in 32 \\\n    \
        --out inside --samples 50us --server server3,server7"
    )]
    Run(RunArguments),
    /// Run a scenario on this machine's TCP, in network namespaces, beside its prediction
    #[command(
        after_help = "Example:\n  fanin testbed my.toml --schemes cubic --fan-in 2,8\n  fanin testbed my.toml --json"
    )]
    Testbed(TestbedArguments),
    /// Write the packets of one run to a pcapng file, for tshark and Wireshark
    #[command(
        after_help = "Example:\n  fanin trace scenarios/fixed-fragment.toml --scheme newreno --fan-in 8 \\\n    \
        --set workload.duration=\"50 ms\" --at client --out client.pcapng"
    )]
    Trace(TraceArguments),
    /// Plan which objects to store together, from a log of requests, and estimate the benefit
    #[command(
        after_help = "LOG is a table (.csv, .parquet) with columns time (seconds), query, key and size (bytes), one key a row, or the \
        output of memcached's `watch fetchers mutations`.\n\nExample:\n  fanin plan --demo try\n  fanin plan try/log.csv --cluster try/cluster.toml --out plan\n  \
        fanin plan cache1.log cache2.log --cluster cluster.toml --gap 2ms --skip-bad --set picc.theta=5000"
    )]
    Plan(PlanArguments),
    /// Run a memcached proxy that schedules multigets with the simulated algorithms
    #[command(
        after_help = "Example:\n  fanin front --listen 127.0.0.1:11211 --servers 10.0.0.1:11211,10.0.0.2:11211\n  \
        fanin front --config front.toml --check\n  fanin front --import nutcracker.yml > front.toml"
    )]
    Front(FrontArguments),
    /// Run an agent beside a memcached: a hub that collects the responses of its rack for `fanin front` (docs/agents.md)
    #[command(after_help = "Example:\n  fanin agent --config agent.toml")]
    Agent(AgentArguments),
    /// Load gentle slow start into this machine's kernel, or try it on a cgroup's connections (docs/kernel.md); runs `fanin-kernel`
    #[command(after_help = KERNEL_HELP)]
    Kernel(KernelArguments),
    /// Find bursts that arrive at a network device of this machine, with their fan-in (docs/watch.md); runs `fanin-kernel` as root
    #[command(after_help = WATCH_HELP)]
    Watch(WatchArguments),
    /// List schemes, workloads and fabrics
    #[command(after_help = "Example:\n  fanin list --json")]
    List(ListArguments),
    /// Explain a scheme, the keys of a scenario, the closed-form model of incast, or the limits of the simulator
    #[command(after_help = "Example:\n  fanin explain dctcp+gss\n  fanin explain scenario\n  fanin explain model\n  \
        fanin explain rdma")]
    Explain(ExplainArguments),
    /// Reproduce the figures of papers and judge their claims
    #[command(after_help = "Example:\n  fanin reproduce m21 gss --out scorecard\n  \
        fanin reproduce m21 --figure M-6 --set red.instantaneous=false")]
    Reproduce(ReproduceArguments),
    /// Show or prune the cache of finished runs
    #[command(after_help = "Example:\n  fanin cache\n  fanin cache prune --all")]
    Cache(CacheArguments),
    /// Print a commented scenario to start from
    #[command(after_help = "Example:\n  fanin new star > my.toml\n  fanin new leaf-spine > racks.toml\n  \
        fanin new cluster --servers 48 --rate 25Gbit/s > cluster.toml")]
    New(NewArguments),
    /// Generate shell completions
    #[command(after_help = "Example:\n  fanin completions bash > ~/.local/share/bash-completion/completions/fanin\n  \
        fanin completions zsh > ~/.zfunc/_fanin\n  fanin completions fish > ~/.config/fish/completions/fanin.fish")]
    Completions(CompletionsArguments),
}

#[derive(Args)]
pub struct CompareArguments {
    /// Scenario file (TOML)
    #[arg(value_name = "FILE", required_unless_present_any = ["servers", "rate", "answer"])]
    pub scenario: Option<String>,
    /// Number of servers that respond at once (instead of a file)
    #[arg(long, value_name = "N", conflicts_with = "scenario", allow_negative_numbers = true)]
    pub servers: Option<String>,
    #[command(flatten)]
    pub cluster: ClusterArguments,
    #[command(flatten)]
    pub sweep: SweepArguments,
    /// Find the collapse point by bisection along the sweep's first key that has several values
    #[arg(long)]
    pub onset: bool,
    /// Also print unfinished rounds and idle periods with their main causes
    #[arg(long)]
    pub details: bool,
    /// Add seeds at each point until half the width of goodput's 95 % CI is below this share of the mean
    #[arg(long, value_name = "2%", value_parser = percentage)]
    pub precision: Option<f64>,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = jobs, allow_negative_numbers = true)]
    pub jobs: Option<NonZeroUsize>,
    /// Run on the workers of a Dask cluster, by its scheduler's address (docs/clusters.md); needs the Python package
    #[arg(long, value_name = "tcp://HOST:PORT", conflicts_with = "jobs")]
    pub on: Option<String>,
    #[command(flatten)]
    pub common: CommonArguments,
}

/// Schemes, sweep and seeds to run.
#[derive(Args)]
pub struct SweepArguments {
    /// Schemes to compare, in this order: names from `fanin list` or labels of the file's [[schemes]]
    #[arg(long, value_name = "A,B")]
    pub schemes: Option<String>,
    /// Numbers of servers, overriding sweep.fan_in
    #[arg(long, value_name = "2,4,8", allow_negative_numbers = true)]
    pub fan_in: Option<String>,
    /// Sweep a key over these values, overriding [sweep]; repeat for all combinations
    #[arg(long, value_name = "KEY=A,B,...")]
    pub sweep: Vec<String>,
    /// Runs of each point, overriding run.seeds
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub seeds: Option<String>,
    /// First seed, overriding run.first_seed
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub first_seed: Option<String>,
}

#[derive(Args)]
pub struct TestbedArguments {
    /// Scenario file (TOML)
    #[arg(value_name = "FILE", required_unless_present_any = ["prepare", "run_in"])]
    pub scenario: Option<String>,
    /// Where to measure: `here`, this machine's kernel, which needs root; `instant`, a kernel whose processor takes no time; `counted`, a kernel
    /// whose processor takes a nanosecond for each instruction
    #[arg(long, value_name = "MACHINE", default_value = "here")]
    pub machine: TestbedMachine,
    /// Carry out key_value requests with memcached on every server, by `fanin front`
    #[arg(long, requires = "scenario")]
    pub memcached: bool,
    /// Get the kernel of the machine and exit. `instant`: 10 minutes, 150 MB to fetch, 2 GB of disk; `counted`: a minute, 70 MB, 10 MB
    #[arg(long, conflicts_with = "scenario")]
    pub prepare: bool,
    /// Measure the run of a folder, as the first process of a machine, whose kernel may append words
    #[arg(long, hide = true, value_name = "DIR", num_args = 1.., conflicts_with = "scenario")]
    pub run_in: Vec<PathBuf>,
    #[command(flatten)]
    pub sweep: SweepArguments,
    #[command(flatten)]
    pub common: CommonArguments,
}

/// Where a testbed measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TestbedMachine {
    /// This machine's kernel.
    Here,
    /// A kernel whose processor takes no time.
    Instant,
    /// A kernel whose processor takes a nanosecond for each instruction.
    Counted,
}

/// Options that describe a cluster instead of a scenario file.
#[derive(Args)]
pub struct ClusterArguments {
    /// Rate of every link (instead of a file); 25G and 25GbE mean 25Gbit/s
    #[arg(long, value_name = "25Gbit/s", conflicts_with = "scenario")]
    pub rate: Option<String>,
    /// Size of each server's response (instead of a file)
    #[arg(long, value_name = "1MiB", conflicts_with = "scenario")]
    pub answer: Option<String>,
    /// Switch (instead of a file): a name from `fanin list`, or a model such as 7050CX3-32S
    #[arg(long, value_name = "NAME", conflicts_with = "scenario")]
    pub switch: Option<String>,
    /// TCP of the hosts (instead of a file): a name from `fanin list` [default: linux]
    #[arg(long, value_name = "NAME", conflicts_with = "scenario")]
    pub tcp: Option<String>,
    /// Number of clients that request from the servers (instead of a file) [default: 1]
    #[arg(long, value_name = "N", conflicts_with = "scenario", allow_negative_numbers = true)]
    pub clients: Option<String>,
}

#[derive(Args)]
pub struct AdviseArguments {
    /// Scenario file (TOML): its first scheme is today's, its largest fan-in is the cluster's
    #[arg(value_name = "FILE", required_unless_present_any = ["servers", "rate", "answer"])]
    pub scenario: Option<String>,
    /// Number of servers; without a file, all of them respond at once
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub servers: Option<String>,
    #[command(flatten)]
    pub cluster: ClusterArguments,
    /// Number of servers that respond to a request, drawn at random: 12, or an erasure code's data and parity, 12+4, of which the
    /// data are read
    #[arg(long, value_name = "N[+M]", allow_negative_numbers = true)]
    pub stripe: Option<String>,
    /// Number of servers to plan for: report the cluster now and then, with margins and remedies for then
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub grow_to: Option<String>,
    /// Save the scenario built from these options and --set, for use with the printed commands
    #[arg(long, value_name = "FILE", conflicts_with = "scenario")]
    pub save: Option<PathBuf>,
    /// Goal: "p99 < 10 ms" (or mean, p50, p95, p99.9, max), or "goodput > 80 %" of the upper bound
    #[arg(long, value_name = "GOAL")]
    pub goal: Option<String>,
    /// Data packets to simulate, such as 250M; or a time limit, such as 30s, whose advice depends on the machine
    #[arg(long, value_name = "250M", default_value = "250M")]
    pub budget: String,
    /// Consider these remedies only: rto-min, initial-window, dctcp, and so on
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub remedies: Vec<String>,
    /// Measure the cluster and its first three remedies on a testbed (`fanin testbed --help`)
    #[arg(long, value_name = "MACHINE", num_args = 0..=1, require_equals = true, default_missing_value = "here", conflicts_with = "grow_to")]
    pub prove: Option<TestbedMachine>,
    /// Print one screen: the state, its causes and the remedies, without commands
    #[arg(long, conflicts_with_all = ["json", "details"])]
    pub brief: bool,
    /// Print the commands of the remedies of these ranks [default: the first five]
    #[arg(long, value_name = "1,2", value_delimiter = ',', conflicts_with = "json")]
    pub details: Vec<usize>,
    /// Set a key of the scenario, such as link.rate="10 Gbit/s"; may be repeated
    #[arg(long, value_name = "path.to.key=VALUE")]
    pub set: Vec<String>,
    /// New or empty folder for advice.json, each remedy's scripts, and tables and a report of today's cluster and the first remedies
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print a JSON object
    #[arg(long)]
    pub json: bool,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = jobs, allow_negative_numbers = true)]
    pub jobs: Option<NonZeroUsize>,
    /// Do not read or write the cache of finished runs
    #[arg(long)]
    pub no_cache: bool,
}

#[derive(Args)]
pub struct DiagnoseArguments {
    /// Captures and counters
    #[arg(value_name = "INPUT", required = true)]
    pub inputs: Vec<String>,
    /// New or empty folder for scenario.toml, diagnosis.json and a picture
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print a JSON object
    #[arg(long)]
    pub json: bool,
    /// Continue with `fanin advise`; without --out, write the scenario next to the capture, with the extension .toml
    #[arg(long)]
    pub advise: bool,
    /// Number of threads for the advice [default: all cores]
    #[arg(long, value_name = "N", value_parser = jobs, allow_negative_numbers = true)]
    pub jobs: Option<NonZeroUsize>,
    /// Do not read or write the cache of finished runs
    #[arg(long)]
    pub no_cache: bool,
}

#[derive(Args)]
pub struct RecordArguments {
    /// Run the commands for this many seconds and write to a new folder, `recording`, instead of printing them
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub run: Option<u32>,
    /// Network device [default: all]
    #[arg(long, value_name = "eth0", value_parser = device)]
    pub device: Option<String>,
}

#[derive(Args)]
pub struct RunArguments {
    /// Scenario file (TOML)
    #[arg(value_name = "FILE")]
    pub scenario: String,
    /// Scheme: a name from `fanin list`, or a label of the file's [[schemes]]
    #[arg(long, value_name = "S")]
    pub scheme: String,
    /// Number of servers; optional if the scenario has only one. Select other sweep values with --set sweep.KEY=[VALUE]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub fan_in: Option<String>,
    /// Seed [default: run.first_seed]
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub seed: Option<String>,
    /// Also write a timeline to --out: the queue at the client's port and the servers' windows, at most one sample per step
    /// [default: 100 us], and every drop, timeout and fast retransmit
    #[arg(long, value_name = "STEP", num_args = 0..=1, default_missing_value = "100us", value_parser = step)]
    #[arg(requires = "out")]
    pub samples: Option<Time>,
    /// Write the windows of these servers only
    #[arg(long, value_name = "server1,server2", value_delimiter = ',', requires = "samples")]
    pub server: Vec<String>,
    /// Number of cores for one run of a large network, which is split by racks; results do not change [default: 1]
    #[arg(long, value_name = "N", value_parser = jobs, allow_negative_numbers = true, conflicts_with = "samples")]
    pub cores: Option<NonZeroUsize>,
    /// Print only each collective operation of a trace, as a JSON line soon after it ends: the columns of the table `collectives`
    #[arg(long, conflicts_with_all = ["json", "samples", "cores"])]
    pub follow: bool,
    #[command(flatten)]
    pub common: CommonArguments,
}

#[derive(Args)]
pub struct TraceArguments {
    /// Scenario file (TOML)
    #[arg(value_name = "FILE")]
    pub scenario: String,
    /// Scheme: a name from `fanin list`, or a label of the file's [[schemes]]
    #[arg(long, value_name = "S")]
    pub scheme: String,
    /// Number of servers; optional if the scenario has only one. Select other sweep values with --set sweep.KEY=[VALUE]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub fan_in: Option<String>,
    /// Seed [default: run.first_seed]
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub seed: Option<String>,
    /// Where to capture: a host (client, server3) or a port (switch>client)
    #[arg(long, value_name = "HOST | PORT", default_value = "client")]
    pub at: String,
    /// Set a key of the scenario, such as workload.duration="50 ms"; may be repeated
    #[arg(long, value_name = "path.to.key=VALUE")]
    pub set: Vec<String>,
    /// File to write
    #[arg(long, value_name = "FILE.pcapng")]
    pub out: PathBuf,
}

#[derive(Args)]
pub struct ReproduceArguments {
    /// Folders of `papers/`, or `all`; the program includes those of its version
    #[arg(value_name = "PAPER", required = true)]
    pub papers: Vec<String>,
    /// Only this figure, such as M-6
    #[arg(long, value_name = "ID")]
    pub figure: Option<String>,
    /// Use fewer seeds and shorter runs than the papers
    #[arg(long)]
    pub quick: bool,
    /// Runs of each point, overriding the scenarios
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
    pub seeds: Option<u32>,
    /// First seed, overriding the scenarios
    #[arg(long, value_name = "K")]
    pub first_seed: Option<u64>,
    /// Set a key of the scenarios, to see which claims depend on it; may be repeated
    #[arg(long, value_name = "path.to.key=VALUE")]
    pub set: Vec<String>,
    /// Folder of the papers [default: `papers` if it exists, else the papers included in the program]
    #[arg(long, value_name = "DIR")]
    pub papers_in: Option<PathBuf>,
    /// New or empty folder for scorecard.json, the figures' tables and the report
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the scorecard as a JSON object
    #[arg(long)]
    pub json: bool,
    /// Exit 1 if any claim fails or is undecided, even as recorded
    #[arg(long)]
    pub strict: bool,
    /// Record the verdicts in each paper's expected.json
    #[arg(long, conflicts_with_all = ["set", "seeds", "first_seed"])]
    pub record: bool,
    /// Vary the papers' open parameters one at a time, and write sensitivity.json and sensitivity.md
    #[arg(long, conflicts_with_all = ["figure", "quick", "seeds", "first_seed", "set", "out", "json", "strict", "record"])]
    pub sensitivity: bool,
    /// Run each failed claim without its recorded cause; exit 1 if a result differs from the record
    #[arg(long, conflicts_with_all = ["set", "out", "json", "strict", "record", "sensitivity"])]
    pub check_causes: bool,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = jobs, allow_negative_numbers = true)]
    pub jobs: Option<NonZeroUsize>,
    /// Do not read or write the cache of finished runs
    #[arg(long)]
    pub no_cache: bool,
}

/// Arguments of `run` and `compare`.
#[derive(Args)]
pub struct CommonArguments {
    /// Set a key of the scenario, such as link.rate="10 Gbit/s"; may be repeated
    #[arg(long, value_name = "path.to.key=VALUE")]
    pub set: Vec<String>,
    /// New or empty folder for the tables (CSV and Parquet), the manifest, and a comparison's report
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print a JSON object
    #[arg(long)]
    pub json: bool,
    /// Do not read or write the cache of finished runs
    #[arg(long)]
    pub no_cache: bool,
}

#[derive(Args)]
pub struct CacheArguments {
    #[command(subcommand)]
    pub command: Option<CacheCommand>,
    /// Print a JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Subcommand)]
pub enum CacheCommand {
    /// Remove runs of other versions of fanin, which this version cannot use
    #[command(after_help = "Example:\n  fanin cache prune --older-than 30\n  fanin cache prune --to \"500 MB\"")]
    Prune {
        /// Also remove this version's runs
        #[arg(long)]
        all: bool,
        /// Also remove this version's runs that are older than this many days
        #[arg(long, value_name = "DAYS", conflicts_with = "all")]
        older_than: Option<u32>,
        /// Also remove this version's oldest runs until the rest fit in this size
        #[arg(long, value_name = "500 MB", conflicts_with = "all", value_parser = size)]
        to: Option<Bytes>,
    },
}

#[derive(Args)]
pub struct ListArguments {
    /// Print a JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct ExplainArguments {
    /// A scheme, key (tcp.rto_min) or section, a workload, fabric, switch or TCP profile, `scenario`, `model`, `limits`, or a topic
    /// that may not be modelled, such as rdma
    #[arg(value_name = "SUBJECT", required_unless_present = "schema")]
    pub subject: Option<String>,
    /// Print a JSON object
    #[arg(long)]
    pub json: bool,
    /// Print the JSON Schema of scenarios, with which editors complete and check them
    #[arg(long, conflicts_with_all = ["subject", "json"])]
    pub schema: bool,
}

#[derive(Args)]
pub struct PlanArguments {
    /// Log of requests; several logs must cover the same time, and `watch` logs come one from each server
    #[arg(value_name = "LOG", conflicts_with = "demo")]
    pub logs: Vec<PathBuf>,
    /// Cluster: a scenario (TOML) whose fabric has one host per server and one for the client; `fanin new cluster` prints one
    #[arg(long, value_name = "FILE", conflicts_with = "demo")]
    pub cluster: Option<String>,
    /// Set a key of the cluster's file, such as picc.theta=5000; may be repeated
    #[arg(long, value_name = "path.to.key=VALUE")]
    pub set: Vec<String>,
    /// Placement algorithm: groups (local search on the probabilistic fan-out), picc (as in PICC's paper), or
    /// picc-no-correlation (popular objects only) [default: groups]
    #[arg(long, value_name = "NAME", value_parser = method)]
    pub method: Option<Gathering>,
    /// Configuration of a `fanin front` with one pool: its hash gives the current placement, its servers are the cluster's
    #[arg(long, value_name = "FILE", conflicts_with_all = ["current", "previous"])]
    pub front: Option<PathBuf>,
    /// Measure the capacity of the first server, of the second and so on: output of memcached's `stats` from two times under load; one file
    /// for each server, in place of `key_value.servers`
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "demo")]
    pub stats: Vec<PathBuf>,
    /// Current placement: a table key,server with a line for each replica [default: by the keys' hashes]
    #[arg(long, value_name = "FILE", conflicts_with = "previous")]
    pub current: Option<PathBuf>,
    /// Folder of an earlier plan that was applied: start from its placement and move few objects
    #[arg(long, value_name = "DIR")]
    pub previous: Option<PathBuf>,
    /// Maximum bytes to move, such as 1 GB; moves with the most benefit per byte go first
    #[arg(long, value_name = "BYTES", value_parser = size)]
    pub move_budget: Option<Bytes>,
    /// Also replay the log period by period, planning again after each; a period is at least 1 s
    #[arg(long, value_name = "TIME", value_parser = period)]
    pub every: Option<Time>,
    /// Run beside front ends: plan after every period (5 min) from their `[log]`, and lead them through the plans; this is the folder in
    /// their `plan`, and LOG the logs of all of them
    #[arg(long, value_name = "DIR", requires = "front", conflicts_with_all = ["out", "demo"])]
    pub watch: Option<PathBuf>,
    /// For `watch` logs: requests of a connection that are closer than this are one query
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = step)]
    pub gap: Time,
    /// Skip and count malformed lines
    #[arg(long)]
    pub skip_bad: bool,
    /// New or empty folder for the plan and its effect: tables (CSV and Parquet), plan.json, a picture
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print a JSON object
    #[arg(long)]
    pub json: bool,
    /// Write an example log and cluster to this folder
    #[arg(long, value_name = "DIR")]
    pub demo: Option<PathBuf>,
}

#[derive(Args)]
pub struct NewArguments {
    /// Fabric: star, leaf-spine, fat-tree or edges; or cluster, for `fanin plan`
    #[arg(value_name = "FABRIC", default_value = "star")]
    pub fabric: String,
    #[command(flatten)]
    pub placed: PlacedArguments,
}

/// Options of `fanin new cluster`; each sets a key of the file.
#[derive(Args, Default, PartialEq)]
pub struct PlacedArguments {
    /// For cluster: number of servers [default: 200]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub servers: Option<u32>,
    /// For cluster: number of racks [default: 5; fewer with fewer servers, more with more replicas]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub racks: Option<u32>,
    /// For cluster: replicas of each object, each in its own rack [default: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub replicas: Option<u32>,
    /// For cluster: rate of every link [default: 1 Gbit/s]
    #[arg(long, value_name = "25Gbit/s", value_parser = rate)]
    pub rate: Option<Rate>,
    /// For cluster: buffer of each switch port [default: 64 KiB]
    #[arg(long, value_name = "256KiB", value_parser = size)]
    pub buffer: Option<Bytes>,
    /// For cluster: memory of each server for objects [default: 64 GiB]
    #[arg(long, value_name = "64GiB", value_parser = size)]
    pub memory: Option<Bytes>,
}

#[derive(Args)]
pub struct CompletionsArguments {
    /// Shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// Supported shells.
#[derive(Clone, Copy, ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}
