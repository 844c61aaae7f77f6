//! Losses by a link, and losses by a queue: a queue loses packets when it is full, so that those around a loss waited as long as any; a link
//! loses packets on its own path, however full the queue is.

use std::collections::{BTreeMap, BTreeSet};

use crate::host::{Host, Loss};
use crate::level::Levels;
use crate::observation::Observation;
use crate::words::seconds;

/// Where a queue may be full: shares of all packets that meet a lower level. The first says that levels show nothing.
const FULL: [f64; 10] = [0.0, 0.15, 0.3, 0.45, 0.6, 0.7, 0.8, 0.88, 0.94, 0.97];
/// The share of a queue's losses that seem to meet a lower level. A packet beside a lost one shows the level a little later or earlier.
const BESIDE: f64 = 0.1;
/// Shares of a path's losses that may be its link's.
const SHARES: [f64; 7] = [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99];
/// The probability that levels show nothing, although they differ, over that of each place: by timestamps, and by exact times.
const NOTHING: [f64; 2] = [0.5, 0.1];
/// Ratios of likelihoods, queue to link, by the number of packets that were lost in a row.
const IN_ROW: [f64; 4] = [1.0, 1.5, 5.0, 15.0];
/// Packets that suffice for the distribution of levels.
const ENOUGH: u64 = 40;
/// Timestamps count milliseconds: a queue that is never longer than a few shows nothing.
const BLIND: u64 = 3_000_000;
/// Losses on one path that suffice to compare it with the others.
const SEVERAL: usize = 4;

/// A full queue loses packets of several servers within this time.
const TOGETHER: u64 = 2_000_000;
/// The share of a queue's losses that have another server's beside them, at least.
const SHARED: f64 = 0.7;

/// When packets of which servers were lost.
#[derive(Default)]
struct Together {
    /// Servers by time.
    lost: BTreeMap<u64, BTreeSet<u32>>,
    /// The share of all packets that have a loss of another server beside them, by server.
    usual: BTreeMap<u32, f64>,
}

impl Together {
    fn of(losses: &[Loss], levels: &Levels) -> Together {
        let mut together = Together::default();
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        for (entered, loss) in losses.iter().filter_map(|loss| Some((loss.entered?, loss))) {
            *counts.entry(loss.server).or_default() += 1;
            together.lost.entry(entered).or_default().insert(loss.server);
        }
        let all: usize = counts.values().sum();
        // A server whose losses are most of all shows how it differs from the others, not what they have in common.
        for (server, _) in counts.into_iter().filter(|(_, own)| all - own >= SEVERAL.max(*own)) {
            let (mut packets, mut beside) = (0u64, 0u64);
            for (at, count) in levels.pieces() {
                packets += u64::from(count);
                beside += if together.has_other(server, at) { u64::from(count) } else { 0 };
            }
            together.usual.insert(server, beside as f64 / packets.max(1) as f64);
        }
        together
    }

    /// Whether another server's packet was lost about then.
    fn has_other(&self, server: u32, at: u64) -> bool {
        let about = self.lost.range(at.saturating_sub(TOGETHER)..=at + TOGETHER);
        about.into_iter().any(|(_, servers)| servers.iter().any(|lost| *lost != server))
    }

    /// Number of servers that lost packets about then, including this one.
    fn servers(&self, server: u32, at: u64) -> u32 {
        let about = self.lost.range(at.saturating_sub(TOGETHER)..=at + TOGETHER);
        let all: BTreeSet<u32> = about.flat_map(|(_, servers)| servers).copied().chain([server]).collect();
        all.len() as u32
    }

    /// The ratio of likelihoods, queue to link, of a loss.
    fn ratio(&self, server: u32, entered: u64) -> f64 {
        let Some(usual) = self.usual.get(&server).map(|usual| usual.clamp(0.01, 0.99)) else { return 1.0 };
        let shared = SHARED + (1.0 - SHARED) * usual;
        if self.has_other(server, entered) { shared / usual } else { (1.0 - shared) / (1.0 - usual) }
    }
}

/// Which losses on the way to a client are a link's.
#[derive(Default)]
pub(crate) struct Faults<'a> {
    queue: Option<Queue<'a>>,
    together: Together,
    /// Of each place in `FULL`, its probability, and the shares of a link's losses by server and over all.
    places: Vec<(f64, BTreeMap<u32, f64>, f64)>,
    /// Losses by server, and packets lost in a row by server and time.
    own: BTreeMap<u32, u64>,
    in_row: BTreeMap<(u32, u64), u32>,
}

impl<'a> Faults<'a> {
    /// From a client's losses and the levels that its packets found; it requests from up to `servers` servers at once.
    pub fn of(host: &'a Host, servers: u32) -> Faults<'a> {
        let losses = events(&host.losses);
        let together = Together::of(&losses, &host.levels);
        let mut faults = Faults { queue: Queue::of(&host.levels), together, ..Faults::default() };
        for loss in &losses {
            *faults.own.entry(loss.server).or_default() += 1;
            faults.in_row.extend(loss.entered.map(|entered| ((loss.server, entered), loss.packets)));
        }
        let mut paths: BTreeMap<u32, Vec<&Loss>> = BTreeMap::new();
        losses.iter().for_each(|loss| paths.entry(loss.server).or_default().push(loss));
        let independent = host.chance.alone(host.lost);
        let beside = servers.saturating_sub(1) as usize;
        let candidates = if faults.queue.is_some() { FULL.len() } else { 1 };
        for place in 0..candidates {
            let before = if place == 0 { libm::log(NOTHING[usize::from(host.levels.exact)]) } else { 0.0 };
            let (mut log, mut shares, mut of_link) = (before, BTreeMap::new(), 0.0);
            for (&server, own) in &paths {
                let prior = prior(own.len(), losses.len() - own.len(), beside, independent);
                let (likelihood, share) = faults.path(place, own, prior);
                log += likelihood;
                of_link += share * own.len() as f64;
                shares.insert(server, share);
            }
            faults.places.push((log, shares, of_link / losses.len().max(1) as f64));
        }
        let most = faults.places.iter().fold(f64::NEG_INFINITY, |most, (log, ..)| most.max(*log));
        faults.places.iter_mut().for_each(|(log, ..)| *log = libm::exp(*log - most));
        let sum: f64 = faults.places.iter().map(|(weight, ..)| weight).sum();
        faults.places.iter_mut().for_each(|(weight, ..)| *weight /= sum);
        faults
    }

    /// The probability that a link, not a queue, lost a packet of a server that would have entered the queue at this time.
    pub fn link(&self, server: u32, entered: Option<u64>) -> f64 {
        let of = |(place, (weight, shares, all)): (usize, &(f64, BTreeMap<u32, f64>, f64))| {
            let share = shares.get(&server).copied().unwrap_or(*all);
            weight * share / (share + (1.0 - share) * self.ratio(place, server, entered))
        };
        self.places.iter().enumerate().map(of).sum()
    }

    /// The evidence for a link or for a queue at a loss of a server, if there is any.
    pub fn why(&self, link: bool, server: u32, entered: Option<u64>) -> Option<Observation> {
        let own = self.own.get(&server).copied().unwrap_or_default();
        let waited = entered.and_then(|entered| self.waited(link, entered));
        let servers = entered.map_or(0, |entered| self.together.servers(server, entered));
        let in_row = entered.and_then(|entered| self.in_row.get(&(server, entered))).copied().unwrap_or(0);
        match link {
            true => waited.or_else(|| self.on_path(server, own)),
            false if servers > 1 => Some(Observation::LostTogether { servers }),
            false if waited.is_some() => waited,
            false => Some(Observation::LostInRow { packets: in_row }).filter(|_| in_row > 1),
        }
    }

    /// How the losses of a path differ from others, or that they are alone.
    fn on_path(&self, server: u32, own: u64) -> Option<Observation> {
        let all: u64 = self.own.values().sum();
        // By time: losses within 2 ms of each other are one's or several servers' burst.
        let single = |(&(_, at), packets): (&(u32, u64), &u32)| {
            let mut about = self.together.lost.range(at.saturating_sub(TOGETHER)..=at + TOGETHER);
            *packets == 1 && about.all(|(other, servers)| *other == at && servers.len() == 1)
        };
        let of_server = self.in_row.range((server, 0)..=(server, u64::MAX));
        let alone = of_server.filter(|one| single((one.0, one.1))).count() as u64;
        match own < all {
            true => Some(Observation::LostOnPath { own, all }).filter(|_| own > 0),
            false => Some(Observation::LostAlone { alone, all: own }).filter(|_| alone * 2 > own),
        }
    }

    /// How long packets beside a lost one waited, if that speaks for a link or for a queue.
    fn waited(&self, link: bool, entered: u64) -> Option<Observation> {
        let queue = self.queue.as_ref()?;
        let level = queue.levels.around(entered)?;
        let likely = (1..self.places.len()).max_by(|a, b| self.places[*a].0.total_cmp(&self.places[*b].0))?;
        let (waited_s, longest_s) = (seconds(level), seconds(queue.levels.quantile(0.97)?));
        match (link, level >= queue.full[likely].0) {
            (true, false) => Some(Observation::WaitedLess { waited_s, longest_s }),
            (false, true) => Some(Observation::WaitedAsLong { waited_s, longest_s }),
            _ => None,
        }
    }

    /// Whether links lost most of the lost packets.
    pub fn mostly_links(&self) -> bool {
        self.places.iter().map(|(weight, _, share)| weight * share).sum::<f64>() > 0.5
    }

    /// The ratio of likelihoods, queue to link, of a loss: by the level of the queue, and by losses of other servers.
    fn ratio(&self, place: usize, server: u32, entered: Option<u64>) -> f64 {
        let Some(entered) = entered else { return 1.0 };
        let level = self.queue.as_ref().map_or(1.0, |queue| queue.ratio(place, entered));
        level * self.together.ratio(server, entered)
    }

    /// The logarithm of the likelihood of a path's losses if the queue is full at a place, and the expected share of a link's losses there.
    /// `prior`: losses of a link and of the queue that count as seen before.
    fn path(&self, place: usize, losses: &[&Loss], prior: [f64; 2]) -> (f64, f64) {
        let [link, queue] = prior;
        let ratios: Vec<f64> = losses
            .iter()
            .map(|loss| {
                let in_row = IN_ROW[(loss.packets.max(1) as usize - 1).min(IN_ROW.len() - 1)];
                self.ratio(place, loss.server, loss.entered) * in_row
            })
            .collect();
        let log = |share: f64| {
            let before = (link - 1.0) * libm::log(share) + (queue - 1.0) * libm::log(1.0 - share);
            ratios.iter().fold(before, |sum, ratio| sum + libm::log(share + (1.0 - share) * ratio))
        };
        let logs = SHARES.map(log);
        let most = logs.into_iter().fold(f64::NEG_INFINITY, f64::max);
        let weights = logs.map(|log| libm::exp(log - most));
        let sum: f64 = weights.iter().sum();
        let share = weights.iter().zip(SHARES).map(|(weight, share)| weight * share).sum::<f64>() / sum;
        (most + libm::log(sum), share)
    }
}

/// A client's queue: its levels over time, and those at which it may be full, each with the share of packets that meet no lower one.
struct Queue<'a> {
    levels: &'a Levels,
    full: [(u64, f64); FULL.len()],
}

impl Queue<'_> {
    fn of(levels: &Levels) -> Option<Queue<'_>> {
        let all: u64 = levels.all().map(|(_, packets)| u64::from(packets)).sum();
        let longest = levels.quantile(0.97)? - levels.quantile(0.02)?;
        if all < ENOUGH || (!levels.exact && longest < BLIND) {
            return None;
        }
        let full = FULL.map(|share| {
            let level = levels.quantile(share).unwrap_or(0);
            let above: u64 = levels.all().filter(|(met, _)| *met >= level).map(|(_, packets)| u64::from(packets)).sum();
            (level, above as f64 / all as f64)
        });
        Some(Queue { levels, full })
    }

    /// The ratio of likelihoods, queue to link, of a loss if the queue is full at a place.
    fn ratio(&self, place: usize, entered: u64) -> f64 {
        let (full, above) = self.full[place];
        match self.levels.around(entered) {
            Some(level) if place > 0 && level >= full => (1.0 - BESIDE) / above,
            Some(_) if place > 0 => BESIDE / (1.0 - above).max(BESIDE),
            _ => 1.0,
        }
    }
}

/// The losses of a server that were found with one packet beside them, as one: they are no evidence of each other.
fn events(losses: &[Loss]) -> Vec<Loss> {
    let mut events: Vec<Loss> = Vec::new();
    let mut places: BTreeMap<(u32, u64), usize> = BTreeMap::new();
    for loss in losses {
        let known = loss.entered.map(|entered| (loss.server, entered));
        let place = known.map_or(events.len(), |key| *places.entry(key).or_insert(events.len()));
        match events.get_mut(place) {
            Some(event) => event.packets = event.packets.max(loss.packets),
            None => events.push(*loss),
        }
    }
    events
}

/// Losses of a link and of a queue to assume before levels are seen: a queue takes from all servers, a bad cable from one.
fn prior(own: usize, others: usize, beside: usize, independent: bool) -> [f64; 2] {
    let mean = others as f64 / beside.max(1) as f64;
    match () {
        () if independent => [4.0, 0.5],
        () if beside < 2 => [1.0, 1.0],
        () if (own as f64) < 2.0 * mean => [0.5, 1.5],
        // The link lost as many as this path exceeds the others.
        () if own >= SEVERAL => {
            let excess = 1.0 - mean / own as f64;
            [0.5 + 3.0 * excess, 0.5 + 2.0 * (1.0 - excess)]
        }
        () => [1.0, 1.0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host whose packets find all levels up to 20 ms, with losses of servers at some levels, in ms.
    fn host(losses: &[(u32, u64)]) -> Host {
        let mut host = Host::default();
        // The queue grows for 20 ms, and is empty for as long.
        let entered = |n: u64| (n / 20 * 40 + n % 20) * 1_000_000;
        (0..2_000u64).for_each(|n| host.levels.add(entered(n), n % 20 * 1_000_000));
        let loss = |(place, &(server, ms)): (usize, &(u32, u64))| Loss {
            server,
            entered: Some(entered(place as u64 * 20 + ms)),
            packets: 1,
            ..Loss::default()
        };
        host.losses = losses.iter().enumerate().map(loss).collect();
        host
    }

    #[test]
    fn losses_at_a_full_queue_are_the_queues() {
        let losses: Vec<(u32, u64)> = (0..24).map(|n| (n % 8, 18 + u64::from(n % 2))).collect();
        let host = host(&losses);
        let faults = Faults::of(&host, 8);
        assert!(!faults.mostly_links() && faults.link(3, Some(19_000_000)) < 0.2);
    }

    #[test]
    fn losses_of_one_path_at_any_level_are_the_links() {
        let losses: Vec<(u32, u64)> = (0..12).map(|n| (5, n * 7 % 20)).collect();
        let host = host(&losses);
        let faults = Faults::of(&host, 8);
        assert!(faults.mostly_links() && faults.link(5, Some(2_000_000)) > 0.9);
    }

    #[test]
    fn a_link_and_a_queue_lose_beside_each_other() {
        let queue = (0..32).map(|n| (n % 8, 19));
        let losses: Vec<(u32, u64)> = queue.chain((0..20).map(|n| (6, n * 7 % 16))).collect();
        let host = host(&losses);
        let faults = Faults::of(&host, 8);
        assert!(faults.link(6, Some(1_000_000)) > 0.9 && faults.link(2, Some(19_000_000)) < 0.3);
    }

    #[test]
    fn losses_of_several_servers_at_once_are_the_queues() {
        // Timestamps show no level; each round loses packets of two servers.
        let loss =
            |(server, ms): (u32, u64)| Loss { server, entered: Some(ms * 1_000_000), packets: 1, ..Loss::default() };
        let together: Vec<Loss> =
            (0..20).flat_map(|n| [(n % 4, n as u64 * 40), (4 + n % 3, n as u64 * 40)]).map(loss).collect();
        let apart: Vec<Loss> = (0..40).map(|n| (n % 7, n as u64 * 20 + 5)).map(loss).collect();
        let links = [together, apart].map(|losses| {
            let mut host = Host { losses, ..Host::default() };
            (0..800).for_each(|ms| host.levels.add(ms * 1_000_000, 0));
            Faults::of(&host, 8).link(2, Some(80_000_000))
        });
        assert!(links[0] < 0.1 && links[1] > 0.3, "{links:?}");
    }
}
