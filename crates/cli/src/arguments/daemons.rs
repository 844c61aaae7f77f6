//! Arguments of the daemons, `fanin front` and `fanin agent`, and of the separate program behind `fanin kernel`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

/// The proxy's arguments, and what only a program with the simulator can do.
#[derive(Args)]
#[group(skip)]
pub struct FrontArguments {
    #[command(flatten)]
    pub proxy: fanin_proxy::FrontArguments,
    /// Predict incast before pools with `incast`, print remedies as `fanin advise` does, and exit: for multigets that the running
    /// proxy observes, else for those in the configuration; save a scenario of each pool in DIR, which printed commands use
    #[arg(long, value_name = "DIR", requires = "config", num_args = 0..=1, conflicts_with_all = ["check", "reload", "diff", "import", "listen", "log", "threads", "take_over"])]
    pub advise: Option<Option<PathBuf>>,
}

/// The program `fanin-kernel` parses these; only the help is here, too.
#[derive(Args)]
pub struct KernelArguments {
    /// list, check, load gss, load grants, status or unload, with options
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub rest: Vec<OsString>,
}

/// The program `fanin-kernel` parses these.
#[derive(Args)]
pub struct WatchArguments {
    /// --interface eth0, with options
    #[arg(value_name = "OPTIONS", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub rest: Vec<OsString>,
}

/// Commands and options of `fanin-kernel`.
pub const KERNEL_HELP: &str = "Commands:
  list               List congestion controls, with their names in the kernel
  check [grants]     Check this machine's kernel, and name missing features
  load gss           Load gentle slow start, for routes, sockets or cgroups to select
  load grants        Load windows that this host grants to the connections that it receives on
  status             Show loaded congestion controls, and how many connections use each
  unload             Unload; connections that use it keep it until they close

Options of load grants, beside --cgroup, --canary and what belongs to it:
  --device eth0      Network device at which windows are granted
  --queue BYTES      Bytes that may wait at the switch's port to this host [default: 16384]
  --rate-mbit MBIT   Rate of its link [default: as the device reports it]
  --turn N           Segments of a turn: 2, or 1 if the route to the senders has `quickack 1` [default: 2]
  --for 1h           Grant nothing after this time; of a trial, its duration

Options of load gss:
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

/// Options of `fanin watch`.
pub const WATCH_HELP: &str = "Options:
  --interface eth0   Network device at which packets arrive
  --rate-mbit MBIT   Rate of its link [default: as the device reports it; 1000 for a virtual device]
  --bin-us US        Time over which arrivals are counted [default: 1000]
  --for 10m          Duration [default: until a signal]
  --json             Print one JSON object a line
  --save DIR         Save the second around bursts for `fanin diagnose`
  --worse-than fan-in=8,resent=1
                     Figures that a burst must reach to be saved: fan-in, ms, marks, resent [default: fan-in=8]
  --keep N           Number of bursts that stay saved [default: 16]
  --metrics 127.0.0.1:9153
                     Serve figures for Prometheus at this address
  --write DIR        Append figures of each hour to a file in this folder
  --summary FILE...  Summarise such files, of any number of hosts, and exit
  --anonymous        Hash addresses in rows and saved packets
  --advise           Diagnose the first burst that is saved (in `bursts` unless --save is set), and advise on it

Example:
  fanin watch --interface eth0
  fanin watch --interface eth0 --for 1h --json
  fanin watch --interface eth0 --advise --worse-than fan-in=16";
