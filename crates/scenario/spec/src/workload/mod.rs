//! Facts of each workload; its behaviour is in `fanin_apps`.

mod all_reduce;
mod all_to_all;
mod barrier;
mod bursts;
mod flows;
mod key_value;
mod long;
mod mapreduce;
mod one_shot;
mod poisson;
mod pulls;
mod shuffle;
mod trace;
mod web_search;

use crate::facts::Facts;
use crate::settings::Kind;

impl Kind {
    /// Facts of the workload.
    pub const fn facts(self) -> Facts {
        match self {
            Kind::Barrier => barrier::FACTS,
            Kind::OneShot => one_shot::FACTS,
            Kind::WebSearch => web_search::FACTS,
            Kind::Long => long::FACTS,
            Kind::Flows => flows::FACTS,
            Kind::Shuffle => shuffle::FACTS,
            Kind::Poisson => poisson::FACTS,
            Kind::MapReduce => mapreduce::FACTS,
            Kind::AllReduce => all_reduce::FACTS,
            Kind::AllToAll => all_to_all::FACTS,
            Kind::Pulls => pulls::FACTS,
            Kind::Trace => trace::FACTS,
            Kind::Bursts => bursts::FACTS,
            Kind::KeyValue => key_value::FACTS,
        }
    }

    /// Whether many servers send to one client; otherwise flows run between any hosts.
    pub const fn many_to_one(self) -> bool {
        self.facts().many_to_one
    }
}
