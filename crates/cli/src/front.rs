//! `fanin front` and `fanin agent`: the proxy's commands, with the simulator for predictions.

use fanin_daemon::incast::Predictor;
use fanin_proxy::{AgentArguments, Program};

use crate::arguments::FrontArguments;
use crate::failure::Failure;
use crate::incast::Simulated;
use crate::{front_advice, terminal};

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
        return front_advice::advise(&fanin_proxy::settings_of(&arguments.proxy)?, folder.as_deref());
    }
    Ok(fanin_proxy::front(&arguments.proxy, &WithSimulator)?)
}

pub fn agent(arguments: &AgentArguments) -> Result<(), Failure> {
    Ok(fanin_proxy::agent(arguments, &WithSimulator)?)
}
