//! What is to be known of each workload besides its settings and what it does, which is a file of the simulator.

mod all_reduce;
mod barrier;
mod bursts;
mod flows;
mod key_value;
mod long;
mod mapreduce;
mod one_shot;
mod poisson;
mod shuffle;
mod web_search;

use crate::facts::Facts;
use crate::settings::Kind;

impl Kind {
    /// What there is to know of it besides what it does.
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
            Kind::Bursts => bursts::FACTS,
            Kind::KeyValue => key_value::FACTS,
        }
    }

    /// Whether many send to one client; otherwise flows go between any two hosts.
    pub const fn many_to_one(self) -> bool {
        self.facts().many_to_one
    }
}
