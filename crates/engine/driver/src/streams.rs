//! Random streams keyed by seed, purpose and entity, so that adding a host or a probe affects no other draws.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

use fanin_units::{Share, Time};

/// Purpose of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// When each server starts.
    Start = 1,
    /// How long a server works on a request.
    Service = 2,
    /// A port's own draws.
    Port = 3,
    /// When a host's Poisson flows start.
    Gap = 4,
    /// Destinations of a host's Poisson flows.
    Peer = 5,
    /// Sizes of a host's Poisson flows.
    Size = 6,
    /// Locations of replicas.
    Placement = 7,
    /// In which order a reduce fetches.
    Task = 8,
    /// How long a step of a task takes.
    Step = 9,
    /// Jitter of a host's packets.
    Packet = 10,
    /// Random loss of packets.
    Loss = 11,
    /// Random duplication of packets.
    Duplication = 12,
    /// Random reordering of packets, and their delay.
    Reordering = 13,
    /// Objects of a front end's requests, and replicas.
    Request = 14,
    /// Overloaded hubs.
    Overload = 15,
    /// Objects of a page.
    Page = 16,
    /// When a front end's requests begin.
    Interval = 17,
    /// Non-uniform objects of its requests, known to planners before replicas are drawn.
    Asked = 18,
    /// Times, numbers of servers and sizes of bursts.
    Burst = 19,
    /// When a host's clock ticks.
    Tick = 20,
    /// Servers of a client's round.
    Stripe = 21,
}

/// One stream.
#[derive(Clone, Debug)]
pub struct StreamOf<G>(G);

/// A generator with 32 bytes of state.
pub type Stream = StreamOf<Xoshiro256PlusPlus>;
/// A generator with eight bytes of state, for draws per packet.
pub type SmallStream = StreamOf<SplitMix64>;

impl<G: Rng + SeedableRng> StreamOf<G> {
    /// The stream of a run's seed for a purpose and an entity.
    pub fn new(seed: u64, purpose: Purpose, entity: u32) -> StreamOf<G> {
        let key = mix(mix(seed) ^ (purpose as u64) << 32 ^ u64::from(entity));
        StreamOf(G::seed_from_u64(key))
    }

    /// Uniform from zero up to `span`, exclusive if `span` is above zero.
    #[inline]
    pub fn up_to(&mut self, span: Time) -> Time {
        Time(((u128::from(self.0.next_u64()) * u128::from(span.0)) >> 64) as u64)
    }

    /// Whether an event of this probability occurs; draws nothing if it never does.
    pub fn falls_into(&mut self, share: Share) -> bool {
        !share.is_zero() && share.covers(self.0.next_u64())
    }
}

impl Stream {
    /// Uniform integer below `n`, which is above zero.
    pub fn below(&mut self, n: u32) -> u32 {
        ((u128::from(self.0.next_u64()) * u128::from(n)) >> 64) as u32
    }

    /// Uniform in 64 bits.
    pub fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Exponential with this mean, in ps: the time to the next event of a Poisson process.
    pub fn exponential(&mut self, mean_ps: f64) -> Time {
        // Above 0 and at most 1, in steps of 2^-53.
        let uniform = ((self.0.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        Time((-libm::log(uniform) * mean_ps) as u64)
    }

    /// Log-normal with median 1 and this standard deviation of its logarithm (Box and Muller).
    pub fn log_normal(&mut self, deviation: f64) -> f64 {
        let mut uniform = || ((self.0.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        let (radius, turn) = (libm::sqrt(-2.0 * libm::log(uniform())), uniform());
        libm::exp(deviation * radius * libm::cos(core::f64::consts::TAU * turn))
    }

    /// The generator, for algorithms that draw.
    pub fn rng(&mut self) -> &mut Xoshiro256PlusPlus {
        &mut self.0
    }
}

/// SplitMix64's finaliser: neighbouring keys give unrelated states.
fn mix(key: u64) -> u64 {
    let z = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjacent_streams_differ() {
        let first: Vec<Time> =
            (0..100).map(|e| Stream::new(1, Purpose::Start, e).up_to(Time::from_micros(100))).collect();
        assert!(first.iter().all(|&t| t < Time::from_micros(100)));
        let mean = first.iter().map(|t| t.0).sum::<u64>() / 100;
        assert!((35_000_000..65_000_000).contains(&mean), "mean {mean} ps");
        assert_ne!(
            Stream::new(1, Purpose::Start, 0).rng().next_u64(),
            Stream::new(2, Purpose::Start, 0).rng().next_u64()
        );
    }
}
