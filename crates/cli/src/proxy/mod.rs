//! Commands of the proxy: `fanin front` and `fanin agent`, with the simulator for predictions, and `fanin plan --watch`.

mod advice;
mod incast;
pub mod planner;

use std::path::Path;
use std::sync::Arc;

use fanin::Rule;
use fanin_daemon::incast::Predictor;
use fanin_proxy::{AgentArguments, Program};

use crate::arguments::FrontArguments;
use crate::failure::Failure;
use crate::terminal;
use incast::Simulated;

struct WithSimulator;

impl Program for WithSimulator {
    fn say(&self, text: &str) -> Result<(), fanin_proxy::Failure> {
        terminal::write(text).map_err(fanin_proxy::Failure::from_stdout)
    }

    fn predictor(&self) -> Option<Box<dyn Predictor>> {
        Some(Box::new(Simulated))
    }
}

pub fn front(arguments: &FrontArguments) -> Result<(), Failure> {
    if let Some(folder) = &arguments.advise {
        return advice::advise(&fanin_proxy::settings_of(&arguments.proxy)?, folder.as_deref());
    }
    Ok(fanin_proxy::front(&arguments.proxy, &WithSimulator)?)
}

pub fn agent(arguments: &AgentArguments) -> Result<(), Failure> {
    Ok(fanin_proxy::agent(arguments, &WithSimulator)?)
}

/// The hash rule of a front end.
pub fn rule(file: &Path) -> Result<Rule, Failure> {
    let settings = fanin_proxy::settings_of_file(file)?;
    let [pool] = &settings.pools[..] else {
        let pools = settings.pools.len();
        return Err(Failure::Input(format!("{}: has {pools} pools; use a file with one pool", file.display())));
    };
    let servers = pool.servers.iter().map(|server| server.weighted.name.clone()).collect();
    Ok(Rule { servers, replicas: pool.replicas, homes: Arc::new(pool.rule()) })
}
