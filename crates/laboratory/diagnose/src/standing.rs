//! Standing queues: traffic beside the rounds that keeps the client's link busy, so that responses wait behind it.

use crate::diagnosis::FlowFound;
use crate::flow::Flow;
use crate::host::Hosts;
use crate::record::Record;
use crate::words::{name_of, seconds};

/// Share of the link's rate from which other responses fill it.
const BUSY: f64 = 0.8;
/// A shorter wait is no queue that stands.
const LEAST: u64 = 300_000;
/// A long flow has at least this many bytes on average rounds' responses, and at least these bytes.
const LONG: u64 = 8;
const LEAST_BYTES: u64 = 256 << 10;
/// Maximum number of flows to name.
const MOST: usize = 3;

/// Long flows to one client.
pub(crate) struct Standing {
    pub flows: Vec<FlowFound>,
    bytes_per_s: f64,
}

impl Standing {
    /// The flows beside a client's rounds that are much longer than their responses; `None` without such flows.
    pub fn of(asker: u32, flows: &[&Flow], hosts: &Hosts, rounds: &[&Record]) -> Option<Standing> {
        let bytes: u64 = rounds.iter().map(|round| round.bytes).sum();
        let responses: u64 = rounds.iter().map(|round| u64::from(round.servers)).sum();
        let long = (LONG * bytes / responses.max(1)).max(LEAST_BYTES);
        let found = |flow: &&Flow| {
            let client = flow.hosts.iter().position(|host| *host == asker)?;
            let bytes = flow.longest[1 - client];
            let server = name_of(hosts.all[flow.hosts[1 - client] as usize].address);
            (bytes >= long).then(|| FlowFound { server: format!("{server}:{}", flow.ends[1 - client].port), bytes })
        };
        let mut flows: Vec<FlowFound> = flows.iter().filter_map(found).collect();
        flows.sort_by_key(|flow| std::cmp::Reverse(flow.bytes));
        flows.truncate(MOST);
        let bytes_per_s = hosts.all[asker as usize].train.busiest()?;
        (!flows.is_empty()).then_some(Standing { flows, bytes_per_s })
    }

    /// How long a round's first byte waited behind other responses.
    pub fn waited(&self, record: &Record) -> Option<u64> {
        self.behind(record.first, record.beside)
    }

    /// How long a wait was one behind other responses: as long as their bytes took the link, if they filled it.
    pub fn behind(&self, took: u64, beside: u64) -> Option<u64> {
        let busy_s = beside as f64 / self.bytes_per_s;
        let took_s = seconds(took);
        let waited = (busy_s.min(took_s) * 1e9) as u64;
        (busy_s >= BUSY * took_s && waited >= LEAST).then_some(waited)
    }
}
