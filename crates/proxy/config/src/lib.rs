//! Settings of a front end (a file of pools, or servers on the command line) and of an agent (a file). Errors have the line and a valid
//! value.

mod agent;
mod checks;
mod diff;
mod failover;
mod file;
mod foreign;
mod hubs;
pub mod import;
mod incast_settings;
mod log_settings;
mod messages_settings;
mod metrics_settings;
pub mod racks;
mod reload;
mod security;
mod text;
mod types;
mod values;

use std::path::Path;
use std::sync::Arc;

pub use agent::AgentSettings;
pub use diff::{ConfigText, diff};
pub use types::{
    AgentRole, Hedge, HubSettings, Incast, MetricsSettings, OnDown, Plan, Pool, Problem, Server, Settings,
};

pub use fanin_proxy_net::sockets::EventLoop;
pub use fanin_proxy_net::{Address, Entry, Target};
use values::{Wrong, address, server};

impl Settings {
    /// A pool with default settings, from command-line arguments.
    pub fn of_servers(listen: &str, servers: &[String]) -> Result<Settings, Problem> {
        let plain = |Wrong(_, text)| Problem { place: None, text };
        let listen = address(listen).map_err(|text| plain(Wrong(None, format!("--listen {listen}: {text}"))))?;
        let server = |text: &String| {
            let (weighted, address, host) =
                server(text).map_err(|why| plain(Wrong(None, format!("--servers {text}: {why}"))))?;
            Ok(Server { weighted, target: Arc::new(Target::new(address, host.as_deref())) })
        };
        let all = servers.join(",");
        let servers = servers.iter().map(server).collect::<Result<Vec<_>, _>>()?;
        let pool = Pool::plain("front".to_owned(), listen, servers);
        let of_all = |Wrong(_, text)| plain(Wrong(None, format!("--servers {all}: {text}")));
        checks::no_server_twice(&pool.servers, None).map_err(of_all)?;
        checks::no_pool_is_a_server(std::slice::from_ref(&pool), None).map_err(of_all)?;
        Ok(Settings { pools: vec![pool], ..Settings::plain() })
    }

    /// Logs requested keys to a file, with default log settings.
    pub fn log_to(&mut self, file: &Path) -> Result<(), Problem> {
        let plain = |Wrong(_, text)| Problem { place: None, text: format!("--log {}: {text}", file.display()) };
        match &mut self.log {
            Some(log) => log.file = log_settings::log_file(file.to_owned(), None).map_err(plain)?,
            None => self.log = Some(log_settings::of_file(file.to_owned(), None, None).map_err(plain)?),
        }
        Ok(())
    }

    /// Parses a file.
    pub fn of_file(name: &str, text: &str) -> Result<Settings, Problem> {
        file::parse(name, text)
    }
}
