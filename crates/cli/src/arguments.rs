//! The command line.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use fanin::{Bytes, Gathering, Rate, Time};

/// The version, with the commit that it was built from where that is known.
pub const VERSION: &str = env!("FANIN_VERSION");

/// Predicts, compares and fixes incast: the collapse of a many-to-one exchange.
#[derive(Parser)]
#[command(name = "fanin", version = VERSION, max_term_width = 100)]
#[command(after_help = "Example:\n  fanin new star > my.toml\n  fanin compare my.toml --schemes newreno,dctcp")]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Compare schemes over a sweep: goodput, query times, what is behind them, and the onset of collapse
    #[command(after_help = "Example:\n  fanin compare scenarios/fixed-fragment.toml\n  \
        fanin compare my.toml --schemes newreno,newreno+m21 --fan-in 2,8,32 --set switch.buffer=128KiB\n  \
        fanin compare my.toml --fan-in 32 --sweep switch.buffer=\"64 KiB,128 KiB,256 KiB\"\n  fanin compare my.toml --onset\n  fanin compare my.toml --precision 2% --out results")]
    Compare(CompareArguments),
    /// Say what to change about a cluster that incast hurts: remedies simulated, ranked, with the lines that make them
    #[command(after_help = "Example:\n  fanin advise my.toml\n  \
        fanin advise --servers 48 --rate 25Gbit/s --answer 1MiB --switch arista-7050cx3 --save cluster.toml\n  \
        fanin advise my.toml --goal \"p99 < 10 ms\" --budget 100M --out advice")]
    Advise(AdviseArguments),
    /// Say what captures and counters of a machine show: rounds, what held them up, a scenario that behaves alike
    #[command(
        after_help = "INPUT is a capture (pcap, pcapng), or what nstat, ss -ti, ethtool -S, tc -s or a switch prints; compressed or not, told \
        by content, `-` for standard input.\n\nExample:\n  fanin diagnose client.pcapng\n  fanin diagnose client.pcap.gz nstat.txt --out found --advise\n  \
        ssh client tcpdump -i eth0 -s 120 -w - tcp | fanin diagnose -"
    )]
    Diagnose(DiagnoseArguments),
    /// Print the commands that record on a host what a diagnosis needs, or run them
    #[command(after_help = "Example:\n  fanin record\n  fanin record --run 10 --device eth0")]
    Record(RecordArguments),
    /// Run one scheme once: totals, queries and ports
    #[command(
        after_help = "Example:\n  fanin run scenarios/fixed-fragment.toml --scheme newreno --fan-in 32 --seed 7\n  \
        fanin run scenarios/fixed-fragment.toml --scheme newreno --fan-in 32 \\\n    \
        --out inside --samples 50us --server server3,server7"
    )]
    Run(RunArguments),
    /// Write the packets of one run as pcapng, for tshark and Wireshark
    #[command(
        after_help = "Example:\n  fanin trace scenarios/fixed-fragment.toml --scheme newreno --fan-in 8 \\\n    \
        --set workload.duration=\"50 ms\" --at client --out client.pcapng"
    )]
    Trace(TraceArguments),
    /// Plan which objects should live together, from a log of requests, and say what that would do to it
    #[command(
        after_help = "LOG is a table (.csv, .parquet) of time (seconds), query, key and size (bytes), a key a row, or the lines of \
        memcached's `watch fetchers mutations`.\n\nExample:\n  fanin plan --demo try\n  fanin plan try/log.csv --cluster try/cluster.toml --out plan\n  \
        fanin plan cache1.log cache2.log --cluster cluster.toml --gap 2ms --skip-bad --set picc.theta=5000"
    )]
    Plan(PlanArguments),
    /// Stand between memcached's clients and servers, and ask for multigets by the laws that are simulated here
    #[command(
        after_help = "Example:\n  fanin front --listen 127.0.0.1:11211 --servers 10.0.0.1:11211,10.0.0.2:11211\n  \
        fanin front --config front.toml --check"
    )]
    Front(FrontArguments),
    /// List schemes, workloads and fabrics
    #[command(after_help = "Example:\n  fanin list --json")]
    List(ListArguments),
    /// Explain a scheme and its laws, every key of a scenario, the closed forms of incast, or what is not modelled
    #[command(after_help = "Example:\n  fanin explain dctcp+gss\n  fanin explain scenario\n  fanin explain model\n  \
        fanin explain rdma")]
    Explain(ExplainArguments),
    /// Reproduce the figures of papers and judge what they claim
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
    /// Print what completes fanin's commands and options in a shell
    #[command(after_help = "Example:\n  fanin completions bash > ~/.local/share/bash-completion/completions/fanin\n  \
        fanin completions zsh > ~/.zfunc/_fanin\n  fanin completions fish > ~/.config/fish/completions/fanin.fish")]
    Completions(CompletionsArguments),
}

#[derive(Args)]
pub struct CompareArguments {
    /// The scenario (TOML)
    #[arg(value_name = "FILE", required_unless_present_any = ["servers", "rate", "answer"])]
    pub scenario: Option<String>,
    /// Without a file: servers that answer at once
    #[arg(long, value_name = "N", conflicts_with = "scenario", allow_negative_numbers = true)]
    pub servers: Option<String>,
    #[command(flatten)]
    pub cluster: ClusterArguments,
    /// Schemes to compare, in this order: names of `fanin list`, or labels of the file's [[schemes]]
    #[arg(long, value_name = "A,B")]
    pub schemes: Option<String>,
    /// Numbers of servers, in place of sweep.fan_in
    #[arg(long, value_name = "2,4,8", allow_negative_numbers = true)]
    pub fan_in: Option<String>,
    /// Values of any key that one run has, in place of those of [sweep]; may be given again, for all combinations
    #[arg(long, value_name = "KEY=A,B,...")]
    pub sweep: Vec<String>,
    /// Runs of every point, in place of run.seeds
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub seeds: Option<String>,
    /// The first seed, in place of run.first_seed
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub first_seed: Option<String>,
    /// Look for the onset with few points, by bisection along the first key of the sweep that has several values
    #[arg(long)]
    pub onset: bool,
    /// Add seeds at every point until its goodput is known within so much: half of the 95 % interval over the mean
    #[arg(long, value_name = "2%", value_parser = percentage)]
    pub precision: Option<f64>,
    /// Threads; all cores unless told
    #[arg(long, value_name = "N", value_parser = jobs, allow_negative_numbers = true)]
    pub jobs: Option<NonZeroUsize>,
    /// Carry the runs out on the workers of a Dask cluster, by its scheduler (docs/clusters.md): needs the Python package
    #[arg(long, value_name = "tcp://HOST:PORT", conflicts_with = "jobs")]
    pub on: Option<String>,
    #[command(flatten)]
    pub common: CommonArguments,
}

/// A cluster in a line, in place of a scenario's file.
#[derive(Args)]
pub struct ClusterArguments {
    /// Without a file: the rate of every link; 25G and 25GbE are 25Gbit/s
    #[arg(long, value_name = "25Gbit/s", conflicts_with = "scenario")]
    pub rate: Option<String>,
    /// Without a file: the size of each server's answer
    #[arg(long, value_name = "1MiB", conflicts_with = "scenario")]
    pub answer: Option<String>,
    /// Without a file: the switch, a name of `fanin list` or a model, such as 7050CX3-32S
    #[arg(long, value_name = "NAME", conflicts_with = "scenario")]
    pub switch: Option<String>,
    /// Without a file: the hosts' TCP, a name of `fanin list` [default: linux]
    #[arg(long, value_name = "NAME", conflicts_with = "scenario")]
    pub tcp: Option<String>,
}

#[derive(Args)]
pub struct AdviseArguments {
    /// The scenario (TOML): its first scheme is today's, the most servers that it has are the cluster's
    #[arg(value_name = "FILE", required_unless_present_any = ["servers", "rate", "answer"])]
    pub scenario: Option<String>,
    /// Servers; without a file, those that answer at once
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub servers: Option<String>,
    #[command(flatten)]
    pub cluster: ClusterArguments,
    /// Of the servers, how many answer a request: 12, or data and parity of an erasure code, 12+4, whose data are read
    #[arg(long, value_name = "N[+M]", allow_negative_numbers = true)]
    pub stripe: Option<String>,
    /// Servers that there will be: where the cluster stands now and then; margins and remedies are of then
    #[arg(long, value_name = "N", conflicts_with = "stripe", allow_negative_numbers = true)]
    pub grow_to: Option<String>,
    /// Without a file: write the scenario that was taken, which the commands name
    #[arg(long, value_name = "FILE", conflicts_with = "scenario")]
    pub save: Option<PathBuf>,
    /// What is to be reached: \"p99 < 10 ms\" (or mean, p50, p95, p99.9, max), or \"goodput > 80 %\" of what could be
    #[arg(long, value_name = "GOAL")]
    pub goal: Option<String>,
    /// How many data packets may be simulated, such as 250M; or for how long, such as 30s, which may give other advice elsewhere
    #[arg(long, value_name = "250M", default_value = "250M")]
    pub budget: String,
    /// Look at these remedies alone: rto-min, initial-window, dctcp, and so on
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub remedies: Vec<String>,
    /// Set any key of the scenario, such as link.rate=\"10 Gbit/s\"; may be given again
    #[arg(long, value_name = "path.to.key=VALUE")]
    pub set: Vec<String>,
    /// A new or empty folder for advice.json, scripts of each remedy, and tables and report of today beside the first remedies
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Threads; all cores unless told
    #[arg(long, value_name = "N", value_parser = jobs, allow_negative_numbers = true)]
    pub jobs: Option<NonZeroUsize>,
    /// Neither take finished runs from the cache nor keep them there
    #[arg(long)]
    pub no_cache: bool,
}

#[derive(Args)]
pub struct DiagnoseArguments {
    /// What was recorded
    #[arg(value_name = "INPUT", required = true)]
    pub inputs: Vec<String>,
    /// A new or empty folder for scenario.toml, diagnosis.json and a picture
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Go on at once, and say what to change; without --out the scenario is written beside, as the capture's name with .toml
    #[arg(long)]
    pub advise: bool,
    /// Threads for advice; all cores unless told
    #[arg(long, value_name = "N", value_parser = jobs, allow_negative_numbers = true)]
    pub jobs: Option<NonZeroUsize>,
    /// Neither take finished runs from the cache nor keep them there
    #[arg(long)]
    pub no_cache: bool,
}

#[derive(Args)]
pub struct RecordArguments {
    /// Run them for this many seconds and write into a new folder, `recording`, instead of printing them
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub run: Option<u32>,
    /// The network card; all of them unless told
    #[arg(long, value_name = "eth0", value_parser = device)]
    pub device: Option<String>,
}

#[derive(Args)]
pub struct RunArguments {
    /// The scenario (TOML)
    #[arg(value_name = "FILE")]
    pub scenario: String,
    /// The scheme: a name of `fanin list`, or a label of the file's [[schemes]]
    #[arg(long, value_name = "S")]
    pub scheme: String,
    /// The number of servers; may be left out where the scenario has one alone. --set sweep.KEY=[VALUE] names any point
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub fan_in: Option<String>,
    /// The seed; run.first_seed unless told
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub seed: Option<String>,
    /// Write into --out what happened inside, too: the queue at the client's port and the servers' windows, at most one
    /// sample a step (100 us unless told), every drop, timeout and fast retransmit
    #[arg(long, value_name = "STEP", num_args = 0..=1, default_missing_value = "100us", value_parser = step)]
    #[arg(requires = "out")]
    pub samples: Option<Time>,
    /// Write the windows of these servers alone, in place of all
    #[arg(long, value_name = "server1,server2", value_delimiter = ',', requires = "samples")]
    pub server: Vec<String>,
    /// Simulate a large network on several cores, by racks, with the tables of one; one unless told
    #[arg(long, value_name = "N", value_parser = jobs, allow_negative_numbers = true, conflicts_with = "samples")]
    pub cores: Option<NonZeroUsize>,
    #[command(flatten)]
    pub common: CommonArguments,
}

#[derive(Args)]
pub struct TraceArguments {
    /// The scenario (TOML)
    #[arg(value_name = "FILE")]
    pub scenario: String,
    /// The scheme: a name of `fanin list`, or a label of the file's [[schemes]]
    #[arg(long, value_name = "S")]
    pub scheme: String,
    /// The number of servers; may be left out where the scenario has one alone. --set sweep.KEY=[VALUE] names any point
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub fan_in: Option<String>,
    /// The seed; run.first_seed unless told
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub seed: Option<String>,
    /// Where: a host (client, server3) or a port (switch>client)
    #[arg(long, value_name = "HOST | PORT", default_value = "client")]
    pub at: String,
    /// Set any key of the scenario, such as workload.duration="50 ms"; may be given again
    #[arg(long, value_name = "path.to.key=VALUE")]
    pub set: Vec<String>,
    /// The file to write
    #[arg(long, value_name = "FILE.pcapng")]
    pub out: PathBuf,
}

#[derive(Args)]
pub struct ReproduceArguments {
    /// Folders of `papers/`, or `all`; the program carries those of its version
    #[arg(value_name = "PAPER", required = true)]
    pub papers: Vec<String>,
    /// One figure alone, such as M-6
    #[arg(long, value_name = "ID")]
    pub figure: Option<String>,
    /// Fewer seeds and shorter runs than the papers'
    #[arg(long)]
    pub quick: bool,
    /// Runs of every point, in place of the scenarios'
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
    pub seeds: Option<u32>,
    /// The first seed, in place of the scenarios'
    #[arg(long, value_name = "K")]
    pub first_seed: Option<u64>,
    /// Set any key of the scenarios, to see what the claims hang on; may be given again
    #[arg(long, value_name = "path.to.key=VALUE")]
    pub set: Vec<String>,
    /// Where the papers are; unless told `papers`, where there is such a folder, else those that the program carries
    #[arg(long, value_name = "DIR")]
    pub papers_in: Option<PathBuf>,
    /// A new or empty folder for scorecard.json, the figures' tables and the report
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the scorecard as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Exit 1 when any claim fails or is undecided, recorded or not
    #[arg(long)]
    pub strict: bool,
    /// Record the verdicts in the papers' expected.json
    #[arg(long, conflicts_with_all = ["set", "seeds", "first_seed"])]
    pub record: bool,
    /// Move what the papers leave open, one parameter at a time, and write their sensitivity.json and .md
    #[arg(long, conflicts_with_all = ["figure", "quick", "seeds", "first_seed", "set", "out", "json", "strict", "record"])]
    pub sensitivity: bool,
    /// Run claims that fail without the cause that is recorded for them, and exit 1 where one comes out otherwise than recorded
    #[arg(long, conflicts_with_all = ["set", "out", "json", "strict", "record", "sensitivity"])]
    pub check_causes: bool,
    /// Threads; all cores unless told
    #[arg(long, value_name = "N", value_parser = jobs, allow_negative_numbers = true)]
    pub jobs: Option<NonZeroUsize>,
    /// Neither take finished runs from the cache nor keep them there
    #[arg(long)]
    pub no_cache: bool,
}

/// What both running commands take.
#[derive(Args)]
pub struct CommonArguments {
    /// Set any key of the scenario, such as link.rate="10 Gbit/s"; may be given again
    #[arg(long, value_name = "path.to.key=VALUE")]
    pub set: Vec<String>,
    /// A new or empty folder for the tables (CSV and Parquet), the manifest, and the report of a comparison
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Neither take finished runs from the cache nor keep them there
    #[arg(long)]
    pub no_cache: bool,
}

#[derive(Args)]
pub struct CacheArguments {
    #[command(subcommand)]
    pub command: Option<CacheCommand>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Subcommand)]
pub enum CacheCommand {
    /// Remove runs of other versions of fanin, which are of no use to this one
    #[command(after_help = "Example:\n  fanin cache prune --older-than 30\n  fanin cache prune --to \"500 MB\"")]
    Prune {
        /// Remove this version's runs too
        #[arg(long)]
        all: bool,
        /// Remove those of this version, too, that were kept longer ago than so many days
        #[arg(long, value_name = "DAYS", conflicts_with = "all")]
        older_than: Option<u32>,
        /// Remove the oldest of this version, too, until the others take no more than this
        #[arg(long, value_name = "500 MB", conflicts_with = "all", value_parser = size)]
        to: Option<Bytes>,
    },
}

#[derive(Args)]
pub struct FrontArguments {
    /// Pools, their servers and how they are asked (TOML: docs/front.md)
    #[arg(long, value_name = "FILE", required_unless_present = "listen")]
    pub config: Option<PathBuf>,
    /// Where clients come
    #[arg(long, value_name = "HOST:PORT", requires = "servers", conflicts_with = "config")]
    pub listen: Option<String>,
    /// Servers, as HOST:PORT or HOST:PORT:WEIGHT
    #[arg(long, value_name = "A,B", value_delimiter = ',', requires = "listen")]
    pub servers: Vec<String>,
    /// Log what clients ask for, for `fanin plan`: a table (.csv), of a hundredth of the queries unless the settings say otherwise
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Threads; one a core unless told
    #[arg(long, value_name = "N", value_parser = jobs, allow_negative_numbers = true)]
    pub threads: Option<NonZeroUsize>,
    /// Say whether the settings are right, and end
    #[arg(long)]
    pub check: bool,
}

#[derive(Args)]
pub struct ListArguments {
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct ExplainArguments {
    /// A scheme's name, `scenario`, `model`, `limits`, or something that may not be modelled, such as rdma
    #[arg(value_name = "SCHEME | scenario | model | limits")]
    pub subject: String,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct PlanArguments {
    /// The log of requests, or several of one time: each its own server's where they are a watcher's lines
    #[arg(value_name = "LOG", conflicts_with = "demo")]
    pub logs: Vec<PathBuf>,
    /// The cluster: a scenario (TOML) whose fabric has a host for each server, and one that asks; `fanin new cluster` prints one
    #[arg(long, value_name = "FILE", conflicts_with = "demo")]
    pub cluster: Option<String>,
    /// Set any key of the cluster's file, such as picc.theta=5000; may be given again
    #[arg(long, value_name = "path.to.key=VALUE")]
    pub set: Vec<String>,
    /// How objects are gathered: groups, by local search on the probabilistic fan-out; picc, as PICC's paper has it; or
    /// picc-no-correlation, popular objects alone [default: groups]
    #[arg(long, value_name = "NAME", value_parser = method)]
    pub method: Option<Gathering>,
    /// The file of a front end with one pool: objects lie where its hash says, and its servers are the cluster's
    #[arg(long, value_name = "FILE", conflicts_with_all = ["current", "previous"])]
    pub front: Option<PathBuf>,
    /// Where objects lie now: a table key,server, a line for each replica; without, by the keys' hashes
    #[arg(long, value_name = "FILE", conflicts_with = "previous")]
    pub current: Option<PathBuf>,
    /// The folder of an earlier plan that was carried out: objects lie as it left them, and few of them move
    #[arg(long, value_name = "DIR")]
    pub previous: Option<PathBuf>,
    /// Move no more than so much, such as 1 GB: what saves most a byte
    #[arg(long, value_name = "BYTES", value_parser = size)]
    pub move_budget: Option<Bytes>,
    /// Go through the log period by period, too, as if it were planned again after each; a period has at least 1 s
    #[arg(long, value_name = "TIME", value_parser = period)]
    pub every: Option<Time>,
    /// Of a watcher's lines: keys that a connection asks for within so long of each other are one query
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = step)]
    pub gap: Time,
    /// Leave out lines that are not understood, and count them
    #[arg(long)]
    pub skip_bad: bool,
    /// A new or empty folder for the plan and what it does: tables (CSV and Parquet), plan.json, a picture
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Write a log and a cluster to begin with into a folder
    #[arg(long, value_name = "DIR")]
    pub demo: Option<PathBuf>,
}

#[derive(Args)]
pub struct NewArguments {
    /// The fabric: star, leaf-spine, fat-tree or edges; or cluster, for one to plan a placement for
    #[arg(value_name = "FABRIC", default_value = "star")]
    pub fabric: String,
    #[command(flatten)]
    pub placed: PlacedArguments,
}

/// A cluster to plan a placement for, as `fanin new cluster` prints it: each option is a key, and what is not given is assumed.
#[derive(Args, Default, PartialEq)]
pub struct PlacedArguments {
    /// Of a cluster: its servers [default: 200]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub servers: Option<u32>,
    /// Of a cluster: racks of its servers [default: 5, or as many as there are servers or replicas]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub racks: Option<u32>,
    /// Of a cluster: replicas of each object, in racks of their own [default: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub replicas: Option<u32>,
    /// Of a cluster: the rate of every link [default: 1 Gbit/s]
    #[arg(long, value_name = "25Gbit/s", value_parser = rate)]
    pub rate: Option<Rate>,
    /// Of a cluster: what each port of a switch holds [default: 64 KiB]
    #[arg(long, value_name = "256KiB", value_parser = size)]
    pub buffer: Option<Bytes>,
    /// Of a cluster: a server's memory for objects [default: 64 GiB]
    #[arg(long, value_name = "64GiB", value_parser = size)]
    pub memory: Option<Bytes>,
}

#[derive(Args)]
pub struct CompletionsArguments {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// A shell whose completions are known.
#[derive(Clone, Copy, ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

fn method(text: &str) -> Result<Gathering, String> {
    let known = || Gathering::ALL.iter().copied();
    known().find(|method| method.row().word.eq_ignore_ascii_case(text)).ok_or_else(|| {
        let words: Vec<&str> = known().map(|method| method.row().word).collect();
        format!("right would be {}", words.join(", "))
    })
}

fn percentage(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').and_then(|n| n.trim().parse::<f64>().ok());
    match number {
        Some(percent) if percent > 0.0 && percent < 100.0 => Ok(percent / 100.0),
        _ => Err("right would be a percentage above 0 and under 100, such as 2%".into()),
    }
}

fn device(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@:".contains(c);
    match !text.is_empty() && text.len() < 16 && text.chars().all(plain) && !text.starts_with('-') {
        true => Ok(text.into()),
        false => Err("right would be a device's name, such as eth0".into()),
    }
}

fn step(text: &str) -> Result<Time, String> {
    const RIGHT: &str = "give a time above zero with its unit, such as 100us";
    match text.parse() {
        Ok(step) if step > Time::ZERO => Ok(step),
        Ok(_) => Err(RIGHT.into()),
        Err(why) => Err(format!("{why}; {RIGHT}")),
    }
}

fn period(text: &str) -> Result<Time, String> {
    const RIGHT: &str = "give a time of at least 1 s with its unit, such as \"5 min\"";
    match text.parse() {
        Ok(period) if period >= Time::from_secs(1) => Ok(period),
        Ok(_) => Err(RIGHT.into()),
        Err(why) => Err(format!("{why}; {RIGHT}")),
    }
}

fn rate(text: &str) -> Result<Rate, String> {
    text.parse().map_err(|why| format!("{why}; right would be a rate with its unit, such as 25Gbit/s"))
}

fn size(text: &str) -> Result<Bytes, String> {
    text.parse().map_err(|why| format!("{why}; right would be bytes with their unit, such as \"500 MB\""))
}

fn jobs(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "right would be a whole number from 1".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_is_a_time_of_at_least_a_second() {
        assert_eq!(period("5 min"), Ok(Time::from_secs(300)));
        assert_eq!(period("1h"), Ok(Time::from_secs(3600)));
        assert!(period("5m").is_err_and(|why| why.contains("`min` or `ms`")));
        assert!(period("10 ms").is_err_and(|why| why.starts_with("give a time of at least 1 s")));
    }
}
