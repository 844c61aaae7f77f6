//! Arguments of the daemons, `fanin front` and `fanin agent`, and of the separate program behind `fanin kernel`.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use super::values::jobs;

#[derive(Args)]
pub struct FrontArguments {
    /// Configuration file (TOML): pools, servers and multiget scheduling (docs/front.md)
    #[arg(long, value_name = "FILE", required_unless_present_any = ["listen", "import"])]
    pub config: Option<PathBuf>,
    /// Print the equivalent of another proxy's configuration, and what does not map: twemproxy's YAML or mcrouter's JSON
    #[arg(long, value_name = "FILE", conflicts_with_all = ["config", "listen", "log", "threads", "check", "reload", "take_over", "diff", "advise"])]
    pub import: Option<PathBuf>,
    /// Address to listen on
    #[arg(long, value_name = "HOST:PORT", requires = "servers", conflicts_with = "config")]
    pub listen: Option<String>,
    /// Servers, each as HOST:PORT or HOST:PORT:WEIGHT
    #[arg(long, value_name = "A,B", value_delimiter = ',', requires = "listen")]
    pub servers: Vec<String>,
    /// Log requests to this table (.csv) for `fanin plan` [default: 1 % of queries, or as configured]
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Number of threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = jobs, allow_negative_numbers = true)]
    pub threads: Option<NonZeroUsize>,
    /// Validate the configuration and exit
    #[arg(long)]
    pub check: bool,
    /// Make the running proxy read its configuration again, and report its result
    #[arg(long, requires = "config", conflicts_with_all = ["check", "log", "threads"])]
    pub reload: bool,
    /// Take over from the running proxy: its sockets, then its clients, without interruption
    #[arg(long, conflicts_with_all = ["check", "reload", "diff"])]
    pub take_over: bool,
    /// Print changes that a reload would make, and the share of keys that move: compared with the running proxy, or with OLD
    #[arg(long, value_name = "OLD", requires = "config", num_args = 0..=1, conflicts_with_all = ["check", "reload", "log", "threads"])]
    pub diff: Option<Option<PathBuf>>,
    /// Predict incast before pools with `incast`, print remedies as `fanin advise` does, and exit: for multigets that the running
    /// proxy observes, else for those in the configuration; save a scenario of each pool in DIR, which printed commands use
    #[arg(long, value_name = "DIR", requires = "config", num_args = 0..=1, conflicts_with_all = ["check", "reload", "diff", "log", "threads"])]
    pub advise: Option<Option<PathBuf>>,
}

#[derive(Args)]
pub struct AgentArguments {
    /// Configuration file (TOML): addresses of the agent and its memcached, and the racks (docs/agents.md)
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    /// Validate the configuration and exit
    #[arg(long)]
    pub check: bool,
}

/// The program `fanin-kernel` parses these; only the help is here, too.
#[derive(Args)]
pub struct KernelArguments {
    /// list, check, load gss, status or unload, with options
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub rest: Vec<OsString>,
}

/// Commands and options of `fanin-kernel`.
pub const KERNEL_HELP: &str = "Commands:
  list               List congestion controls, with their names in the kernel
  check              Check this machine's kernel, and name missing features
  load gss           Load gentle slow start, for routes, sockets or cgroups to select
  status             Show loaded congestion controls, and how many connections use each
  unload             Unload; connections that use it keep it until they close

Options of load:
  --over BASE        Congestion control that it extends: cubic, reno or dctcp [default: cubic]
  --cgroup PATH      Select it for new connections of this cgroup
  --canary cgroup=PATH --for 10m
                     Try it on new connections of this cgroup, beside others, and take it back
  --share 50%        Share of the new connections that the trial changes
  --keep-when-worse  Continue the trial when it is worse
  --scenario FILE    Print the simulator's prediction for this scenario beside the trial's figures
  --report FILE      Write the trial's report to a file
  --json             Print JSON; also of list, check and status

Example:
  fanin kernel check
  fanin kernel load gss --canary cgroup=system.slice/memcached.service --for 10m
  fanin kernel load gss --cgroup system.slice
  fanin kernel unload";
