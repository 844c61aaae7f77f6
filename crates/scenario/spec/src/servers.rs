//! Capacities of data servers: `[picc]` applies to all, `key_value.servers` overrides some.

use std::ops::RangeInclusive;

use fanin_fabric::{Fabric, HostId};
use fanin_placement::Resources;
use fanin_units::{Bytes, Rate, Time};

use crate::Settings;
use crate::network::servers_of;
use crate::problem::{Wrong, wrong};

/// Some servers with different capacities.
struct Differs {
    servers: RangeInclusive<u32>,
    memory: Option<Bytes>,
    requests_per_s: Option<u32>,
}

impl Differs {
    /// Parses a line of `key_value.servers`.
    fn parse(line: &str) -> Result<Differs, String> {
        let (names, rest) = line.split_once(':').ok_or("a colon is missing after the servers")?;
        let servers = servers_of(names.trim())?;
        let mut differs = Differs { servers, memory: None, requests_per_s: None };
        for part in rest.split(',').map(str::trim) {
            let (word, value) = part.split_once(' ').ok_or_else(|| format!("`{part}` is not a word with a value"))?;
            let twice = match word {
                "memory" => {
                    let bytes = value.parse().map_err(|why| format!("`{value}` is not a size: {why}"))?;
                    differs.memory.replace(bytes).is_some()
                }
                "requests_per_s" => {
                    let requests = value.parse().map_err(|_| format!("`{value}` is not a whole number"))?;
                    differs.requests_per_s.replace(requests).is_some()
                }
                _ => return Err(format!("`{word}` is neither memory nor requests_per_s")),
            };
            if twice {
                return Err(format!("`{word}` is given twice"));
            }
        }
        Ok(differs)
    }
}

impl Settings {
    /// Capacity of each of the first servers per period of `picc`. A server's links limit the bytes that it sends.
    pub fn capacities(&self, fabric: &Fabric, servers: u32) -> Vec<Resources> {
        let rate = |host| fabric.host_rate(HostId(host));
        let mut all: Vec<Resources> = (1..=servers).map(|host| self.usual_capacity(rate(host))).collect();
        // Validated with the settings.
        for differs in self.key_value.servers.iter().filter_map(|line| Differs::parse(line).ok()) {
            for server in differs.servers.clone().filter(|&server| server <= servers) {
                let of = &mut all[server as usize - 1];
                if let Some(Bytes(memory)) = differs.memory {
                    of.storage = memory;
                }
                if let Some(requests) = differs.requests_per_s {
                    let requests = self.in_period(requests.into());
                    (of.computing, of.io) = (requests, requests);
                }
            }
        }
        all
    }

    /// Capacity per period of a server with a link of this rate, unless `key_value.servers` overrides it.
    pub(crate) fn usual_capacity(&self, rate: Rate) -> Resources {
        let picc = &self.placements.picc;
        let requests = self.in_period(picc.requests_per_s.into());
        Resources { storage: picc.memory.0, computing: requests, io: requests, bandwidth: self.in_period(rate.0 / 8) }
    }

    fn in_period(&self, a_second: u64) -> u64 {
        let all = u128::from(a_second) * u128::from(self.placements.picc.period.0) / u128::from(Time::from_secs(1).0);
        u64::try_from(all).unwrap_or(u64::MAX)
    }
}

/// Refuses invalid lines of `key_value.servers`, duplicate servers, and unknown servers.
pub(crate) fn differ(s: &Settings) -> Result<(), Wrong> {
    const PATH: &str = "key_value.servers";
    let mut seen: Vec<RangeInclusive<u32>> = Vec::new();
    for line in &s.key_value.servers {
        let servers = match Differs::parse(line) {
            Ok(differs) => differs.servers,
            Err(why) => {
                let right = "use a line such as \"server1..8: memory 4 GB, requests_per_s 20000\"";
                return wrong(&[PATH], format!("`{PATH}`: \"{line}\": {why}; {right}"));
            }
        };
        if let Some(other) = seen.iter().find(|other| servers.start() <= other.end() && other.start() <= servers.end())
        {
            let both = servers.start().max(other.start());
            return wrong(&[PATH], format!("`{PATH}` lists server{both} twice: use one line per server"));
        }
        if *servers.end() > s.servers() {
            let what = format!("`{PATH}`: \"{line}\": there are {} servers, the last of them server{0}", s.servers());
            return wrong(&[PATH, "workload.fan_in"], what);
        }
        seen.push(servers);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error for these lines, if any.
    fn refused(lines: &[&str]) -> Option<String> {
        let mut settings = Settings::default();
        settings.key_value.servers = lines.iter().map(ToString::to_string).collect();
        differ(&settings).err().map(|wrong| wrong.what)
    }

    #[test]
    fn a_servers_own_capacity_overrides_the_common_one() {
        let mut settings = Settings::default();
        settings.key_value.servers = vec!["server2..3: memory 5 MB".into(), "server4: requests_per_s 70".into()];
        assert!(differ(&settings).is_ok());
        settings.placements.picc.period = Time::from_secs(10);
        let fabric = settings.network().expect("a star");
        let usual = settings.usual_capacity(settings.link.rate);
        let small = Resources { storage: 5_000_000, ..usual };
        let slow = Resources { computing: 700, io: 700, ..usual };
        assert_eq!(settings.capacities(&fabric, 5), [usual, small, small, slow, usual]);
    }

    #[test]
    fn refuses_invalid_duplicate_and_unknown_servers() {
        let why = |lines: &[&str]| refused(lines).expect("refused");
        assert!(why(&["server1"]).contains("colon"));
        assert!(why(&["client: memory 1 GB"]).contains("`client` is not a server"));
        assert!(why(&["server8..1: memory 1 GB"]).contains("range of servers"));
        assert!(why(&["server1: memory much"]).contains("`much` is not a size"));
        assert!(why(&["server1: requests_per_s 1.5"]).contains("`1.5` is not a whole number"));
        assert!(why(&["server1: disks 4"]).contains("`disks` is neither"));
        assert!(why(&["server1: memory 1 GB, memory 2 GB"]).contains("twice"));
        assert!(why(&["server1..3: memory 1 GB", "server3: requests_per_s 5"]).contains("server3 twice"));
        assert!(why(&["server1..17: memory 1 GB"]).contains("there are 16 servers"));
        assert_eq!(refused(&["server1..3: memory 1 GB, requests_per_s 5", "server4: memory 1 GB"]), None);
    }
}
