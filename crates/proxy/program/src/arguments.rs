//! Arguments of the proxy and of the agent.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

/// Arguments of the proxy.
#[derive(Args, Debug)]
pub struct FrontArguments {
    /// Configuration file (TOML): pools, servers and multiget scheduling (docs/front.md)
    #[arg(long, value_name = "FILE", required_unless_present_any = ["listen", "import"])]
    pub config: Option<PathBuf>,
    /// Print the equivalent of another proxy's configuration, and what does not map: twemproxy's YAML or mcrouter's JSON
    #[arg(long, value_name = "FILE", conflicts_with_all = ["config", "listen", "log", "threads", "check", "reload", "take_over", "diff"])]
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
    #[arg(long, value_name = "N", value_parser = threads, allow_negative_numbers = true)]
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
}

/// Arguments of the agent.
#[derive(Args, Debug)]
pub struct AgentArguments {
    /// Configuration file (TOML): addresses of the agent and its memcached, and the racks (docs/agents.md)
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    /// Validate the configuration and exit
    #[arg(long)]
    pub check: bool,
}

fn threads(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "use a whole number of at least 1".into())
}
