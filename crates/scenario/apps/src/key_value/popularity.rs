//! Choice of requested objects: uniform, zipfian as in YCSB, a few hot ones, or pages of related objects.
//!
//! Sources: Gray et al., "Quickly generating billion-record synthetic databases" (SIGMOD 1994), for the generator of ranks; Cooper
//! et al., "Benchmarking cloud serving systems with YCSB" (SoCC 2010), and its `ScrambledZipfianGenerator`, for their scattering.

use fanin_driver::Stream;
use fanin_spec::{KeyValue, Popularity as Kind};

/// YCSB draws from this many ranks whatever the number of objects, so that every object has a rank and the hottest one's share
/// does not depend on their number.
const YCSB_RANKS: u64 = 10_000_000_000;

/// Distribution of requested objects.
pub(super) enum Popularity {
    Uniform,
    Zipfian(Zipfian),
    /// The first objects get this share of the requests, in 1/2^64.
    TwoClass {
        popular: u32,
        share: u128,
    },
    /// Related objects, page by page, and the number replaced by independent draws.
    Pages {
        ranks: Zipfian,
        pages: Vec<u32>,
        page: usize,
        objects: Zipfian,
        replaced: usize,
    },
}

/// Ranks from zero on, drawn in proportion to 1/(rank + 1)^theta. As in Gray's generator, the first two are exact and the others
/// approximate.
#[derive(Clone, Copy)]
pub(super) struct Zipfian {
    ranks: f64,
    theta: f64,
    zeta: f64,
    eta: f64,
}

/// Draws each object at most once per request.
pub(super) struct Once {
    /// The last request for which each object was drawn.
    drawn: Vec<u32>,
    request: u32,
}

impl Popularity {
    /// By settings, with pages drawn from `draws`.
    pub fn new(k: &KeyValue, draws: &mut Stream) -> Popularity {
        let theta = k.zipfian.as_f64();
        match k.popularity {
            Kind::Uniform => Popularity::Uniform,
            Kind::Zipfian => Popularity::Zipfian(Zipfian::new(YCSB_RANKS, theta)),
            Kind::TwoClass => Popularity::TwoClass {
                popular: k.popular.part_of(k.objects.into()) as u32,
                share: u128::from(k.popular_asked.part_of(u64::MAX)),
            },
            Kind::Pages => {
                let mut once = Once::new(k.objects);
                let mut pages = Vec::with_capacity(k.pages as usize * k.page as usize);
                for _ in 0..k.pages {
                    once.begin();
                    (0..k.page).for_each(|_| pages.push(once.draw(|| draws.below(k.objects))));
                }
                let (ranks, objects) = (Zipfian::new(k.pages.into(), theta), Zipfian::new(YCSB_RANKS, theta));
                Popularity::Pages { ranks, pages, page: k.page as usize, objects, replaced: k.replaced as usize }
            }
        }
    }

    /// Draw the objects of a request among `objects`: `count` distinct ones.
    pub fn draw(
        &self,
        objects: u32,
        count: usize,
        draws: &mut Stream,
        once: &mut Once,
        mut take: impl FnMut(u32, &mut Stream),
    ) {
        once.begin();
        let mut one = |draws: &mut Stream, object: &dyn Fn(&mut Stream) -> u32| {
            let object = once.draw(|| object(draws));
            take(object, draws);
        };
        match self {
            Popularity::Uniform => (0..count).for_each(|_| one(draws, &|draws| draws.below(objects))),
            Popularity::Zipfian(ranks) => (0..count).for_each(|_| one(draws, &|draws| ranks.object(draws, objects))),
            &Popularity::TwoClass { popular, share } => {
                let mut left = [objects - popular, popular];
                for _ in 0..count {
                    // An exhausted class leaves the rest to the other one.
                    let drawn = usize::from(u128::from(draws.word()) < share);
                    let class = if left[drawn] > 0 { drawn } else { 1 - drawn };
                    left[class] -= 1;
                    one(draws, &|draws| {
                        if class == 1 { draws.below(popular) } else { popular + draws.below(objects - popular) }
                    });
                }
            }
            &Popularity::Pages { ref ranks, ref pages, page: length, objects: ref of, replaced } => {
                let mut left = count;
                while left > 0 {
                    let first = ranks.rank(draws) as usize * length;
                    let mut page = pages[first..first + length].to_vec();
                    let before = left;
                    // Those that stay are the first after a shuffle. Objects of an earlier page are already requested.
                    for place in 0..(length - replaced).min(left) {
                        let other = place + draws.below((length - place) as u32) as usize;
                        page.swap(place, other);
                        if once.is_new(page[place]) {
                            take(page[place], draws);
                            left -= 1;
                        }
                    }
                    // A page without new objects has at least one replaced, so that the loop ends.
                    let others = if left == before { replaced.max(1) } else { replaced };
                    for _ in 0..others.min(left) {
                        take(once.draw(|| of.object(draws, objects)), draws);
                        left -= 1;
                    }
                }
            }
        }
    }
}

impl Zipfian {
    pub fn new(ranks: u64, theta: f64) -> Zipfian {
        let zeta_n = zeta(ranks, theta);
        let left = 1.0 - libm::pow(2.0 / ranks as f64, 1.0 - theta);
        Zipfian { ranks: ranks as f64, theta, zeta: zeta_n, eta: left / (1.0 - zeta(2, theta) / zeta_n) }
    }

    /// Draw a rank.
    pub fn rank(&self, draws: &mut Stream) -> u64 {
        let uniform = (draws.word() >> 11) as f64 / (1u64 << 53) as f64;
        let among = uniform * self.zeta;
        if among < 1.0 {
            return 0;
        }
        if self.ranks < 2.5 || among < 1.0 + libm::pow(0.5, self.theta) {
            return 1;
        }
        let rank = self.ranks * libm::pow(self.eta * uniform - self.eta + 1.0, 1.0 / (1.0 - self.theta));
        // A value rounded up to the end is the last rank.
        (rank as u64).min(self.ranks as u64 - 1)
    }

    /// Draw an object: a hash scatters ranks, so that adjacent objects are unrelated.
    fn object(&self, draws: &mut Stream, objects: u32) -> u32 {
        (ycsb_hash(self.rank(draws)) % u64::from(objects)) as u32
    }
}

impl Once {
    pub fn new(objects: u32) -> Once {
        Once { drawn: vec![0; objects as usize], request: 0 }
    }

    /// Begin another request.
    fn begin(&mut self) {
        self.request += 1;
    }

    /// Whether this object was not drawn for this request before.
    fn is_new(&mut self, object: u32) -> bool {
        std::mem::replace(&mut self.drawn[object as usize], self.request) != self.request
    }

    /// Draw until the object is new in this request.
    fn draw(&mut self, mut object: impl FnMut() -> u32) -> u32 {
        loop {
            let object = object();
            if self.is_new(object) {
                return object;
            }
        }
    }
}

/// The sum of 1/i^theta for i from 1 to `n`: the first terms exactly, the rest by Euler-Maclaurin.
fn zeta(n: u64, theta: f64) -> f64 {
    const FIRST: u64 = 1_000;
    let term = |i: u64| libm::pow(i as f64, -theta);
    // The smallest first, to reduce rounding errors.
    let first: f64 = (1..=n.min(FIRST)).rev().map(term).sum();
    if n <= FIRST {
        return first;
    }
    let whole =
        |i: u64| libm::pow(i as f64, 1.0 - theta) / (1.0 - theta) + term(i) / 2.0 - theta * term(i) / (12.0 * i as f64);
    first + whole(n) - whole(FIRST)
}

/// FNV-1a over the number's eight bytes, the lowest first, without the sign that Java would see.
fn ycsb_hash(number: u64) -> u64 {
    (fnv_1a(&number.to_le_bytes()) as i64).unsigned_abs()
}

fn fnv_1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanin_driver::Purpose;

    fn draws() -> Stream {
        Stream::new(1, Purpose::Request, 0)
    }

    /// How often each object is requested in `requests` requests, each for distinct objects.
    fn counts(k: &KeyValue, requests: u32) -> Vec<u32> {
        let popularity = Popularity::new(k, &mut Stream::new(1, Purpose::Page, 0));
        let (mut draws, mut once) = (draws(), Once::new(k.objects));
        let mut counts = vec![0; k.objects as usize];
        for _ in 0..requests {
            let mut seen = Vec::new();
            popularity.draw(k.objects, k.per_request as usize, &mut draws, &mut once, |object, _| seen.push(object));
            assert_eq!(seen.len(), k.per_request as usize);
            seen.iter().for_each(|&object| counts[object as usize] += 1);
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), k.per_request as usize, "asked for once");
        }
        counts
    }

    fn settings(popularity: Kind, objects: u32, per_request: u32) -> KeyValue {
        KeyValue { popularity, objects, per_request, ..KeyValue::default() }
    }

    /// Pearson's statistic of counts against shares.
    fn chi_square(counts: &[u32], shares: impl Iterator<Item = f64>) -> f64 {
        let all: u32 = counts.iter().sum();
        let of = |(&n, share): (&u32, f64)| {
            let expected = share * f64::from(all);
            let beside = f64::from(n) - expected;
            beside * beside / expected
        };
        counts.iter().zip(shares).map(of).sum()
    }

    #[test]
    fn zeta_is_the_sum_and_ycsbs_constant() {
        let sum = |n: u64| (1..=n).rev().map(|i| libm::pow(i as f64, -0.99)).sum::<f64>();
        for n in [1, 2, 10, 1_000, 1_001, 100_000] {
            assert!((zeta(n, 0.99) - sum(n)).abs() < 1e-11, "zeta({n}, 0.99) = {}", zeta(n, 0.99));
        }
        // YCSB's constant for ten billion, the result of ten billion additions.
        assert!((zeta(YCSB_RANKS, 0.99) - 26.469_028_201_783_02).abs() < 1e-10, "{}", zeta(YCSB_RANKS, 0.99));
    }

    #[test]
    fn the_hash_is_fnv_1a_and_ycsbs() {
        assert_eq!(fnv_1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv_1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv_1a(b"foobar"), 0x8594_4171_f739_67e8);
        // The hash of zero is eight multiplications by the prime. The result is negative in Java, hence `Math.abs`.
        let of_zero = (0..8).fold(0xcbf2_9ce4_8422_2325u64, |hash, _| hash.wrapping_mul(0x0000_0100_0000_01b3));
        assert_eq!(ycsb_hash(0), of_zero.min(of_zero.wrapping_neg()));
    }

    #[test]
    fn rank_frequencies_follow_zipf() {
        let (ranks, count) = (100u32, 1_000_000);
        let zipfian = Zipfian::new(ranks.into(), 0.99);
        let mut counts = vec![0u32; ranks as usize];
        let mut draws = draws();
        (0..count).for_each(|_| counts[zipfian.rank(&mut draws) as usize] += 1);
        let share = |rank: usize| libm::pow(rank as f64 + 1.0, -0.99) / zeta(ranks.into(), 0.99);
        for (rank, &n) in counts.iter().enumerate() {
            let expected = share(rank) * f64::from(count);
            // The first two are exact. Gray's curve is 14.6 % above the third, and closer to the others.
            let bound =
                if rank < 2 { 4.0 * libm::sqrt(expected) } else { 0.15 * expected + 4.0 * libm::sqrt(expected) };
            assert!((f64::from(n) - expected).abs() < bound, "rank {rank} comes {n} times, not {expected}");
        }
    }

    #[test]
    fn ycsb_hottest_share_is_constant() {
        for objects in [1_000, 100_000] {
            let n = counts(&settings(Kind::Zipfian, objects, 1), 1_000_000);
            let hottest = (ycsb_hash(0) % u64::from(objects)) as usize;
            let most = n.iter().copied().max().unwrap();
            assert_eq!(n[hottest], most);
            // 1 / 26.469, and its share of the other ranks.
            let share = 1.0 / 26.469 + 1.0 / f64::from(objects);
            assert!((f64::from(most) / 1e6 - share).abs() < 0.001, "{objects} objects: {most}");
        }
    }

    #[test]
    fn uniform_is_even() {
        let n = counts(&settings(Kind::Uniform, 1_000, 10), 10_000);
        // 999 degrees of freedom: mean 999, deviation 45.
        let chi = chi_square(&n, std::iter::repeat(1e-3));
        assert!((800.0..1_200.0).contains(&chi), "{chi}");
    }

    #[test]
    fn two_classes_have_their_shares_and_are_uniform() {
        let k = settings(Kind::TwoClass, 1_000, 1);
        let popular = k.popular.part_of(1_000) as usize;
        let (n, share) = (counts(&k, 100_000), k.popular_asked.as_f64());
        let shares = (0..1_000).map(|object| {
            if object < popular { share / popular as f64 } else { (1.0 - share) / (1_000 - popular) as f64 }
        });
        let chi = chi_square(&n, shares);
        assert!((800.0..1_200.0).contains(&chi), "{chi}");
    }

    #[test]
    fn exhausted_class_falls_back_to_other() {
        for popular in [0, 1, 5, 100] {
            let k = KeyValue { popular: fanin_spec::Share::of(popular, 100), ..settings(Kind::TwoClass, 100, 100) };
            assert!(counts(&k, 3).iter().all(|&n| n == 3));
        }
    }

    #[test]
    fn pages_are_whole_except_replacements() {
        let k = KeyValue { pages: 20, replaced: 10, ..settings(Kind::Pages, 10_000, 50) };
        let popularity = Popularity::new(&k, &mut Stream::new(1, Purpose::Page, 0));
        let Popularity::Pages { pages, .. } = &popularity else { panic!("pages") };
        let (mut draws, mut once) = (draws(), Once::new(k.objects));
        let mut asked = [0u32; 20];
        for _ in 0..20_000 {
            let mut seen = Vec::new();
            popularity.draw(k.objects, 50, &mut draws, &mut once, |object, _| seen.push(object));
            let shared = |page: &[u32]| seen.iter().filter(|object| page.contains(object)).count();
            let (page, most) = pages.chunks(50).map(shared).enumerate().max_by_key(|&(_, shared)| shared).unwrap();
            assert!(most >= 40, "{most} of a page's objects");
            asked[page] += 1;
        }
        // Zipf over 20 pages.
        let hottest = 20_000.0 / zeta(20, 0.99);
        assert!((f64::from(asked[0]) - hottest).abs() < 4.0 * libm::sqrt(hottest), "{asked:?}");
        assert!(asked.iter().all(|&n| n > 0));
        counts(&KeyValue { replaced: 0, ..k.clone() }, 10);
        counts(&KeyValue { replaced: 50, ..k }, 10);
    }

    #[test]
    fn requests_span_enough_pages() {
        for (page, replaced, per_request) in [(50, 10, 1_000), (7, 0, 40), (7, 7, 40), (100, 0, 30), (3, 0, 100)] {
            let k = KeyValue { pages: 20, page, replaced, ..settings(Kind::Pages, 1_000, per_request) };
            assert_eq!(counts(&k, 20).iter().sum::<u32>(), 20 * per_request);
        }
    }
}
