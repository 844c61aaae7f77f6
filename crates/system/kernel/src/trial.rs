//! Arithmetic of a trial: two parts of a cgroup's connections, their figures, and whether the treated part is worse.

use serde::Serialize;

/// Buckets of a histogram: eight for each octave of microseconds, as in bpf/canary.bpf.c.
pub const BUCKETS: usize = 256;

/// Connections, or transfers, that each part must have before it is judged.
const FEWEST: u64 = 30;
/// Standard errors between both parts from which a difference is no chance. A trial is judged every second, so this is higher
/// than for one test: 4.5 leaves about one false alarm in a thousand trials of an hour.
const STANDARD_ERRORS: f64 = 4.5;
/// Ratio of the treated part's figure to the untouched part's from which a difference matters.
const MATTERS: f64 = 1.1;

/// Figures of one part, as the kernel counts them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Totals {
    /// Connections that began.
    pub connections: u64,
    /// Connections whose congestion control could not be set.
    pub refused: u64,
    /// Connections that returned to their own congestion control at the end.
    pub returned: u64,
    /// Data segments sent, repeated ones too.
    pub segments: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Transfers that ended.
    pub transfers: u64,
    /// Transfers in which a segment was sent again.
    pub transfers_repeated: u64,
    /// Transfers with a timeout.
    pub transfers_timed_out: u64,
    /// Their durations' sum, us.
    pub transfer_us: u64,
    /// Samples of the smoothed round-trip time.
    pub rtts: u64,
    /// Their sum, us.
    pub rtt_us: u64,
    /// Round-trip times by bucket.
    pub rtt_buckets: Vec<u64>,
    /// Durations of transfers by bucket.
    pub transfer_buckets: Vec<u64>,
}

impl Totals {
    /// Bytes of a part in the kernel's map.
    pub const BYTES: usize = 8 * (12 + 2 * BUCKETS);

    /// Read a part from the kernel's map; `None` if it has another size.
    pub fn read(bytes: &[u8]) -> Option<Totals> {
        if bytes.len() != Totals::BYTES {
            return None;
        }
        let mut words = bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()));
        let mut next = || words.next();
        Some(Totals {
            connections: next()?,
            refused: next()?,
            returned: next()?,
            segments: next()?,
            retransmits: next()?,
            timeouts: next()?,
            transfers: next()?,
            transfers_repeated: next()?,
            transfers_timed_out: next()?,
            transfer_us: next()?,
            rtts: next()?,
            rtt_us: next()?,
            rtt_buckets: words.by_ref().take(BUCKETS).collect(),
            transfer_buckets: words.take(BUCKETS).collect(),
        })
    }

    /// Its figures.
    pub fn figures(&self) -> Figures {
        let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        Figures {
            connections: self.connections,
            segments: self.segments,
            retransmits: self.retransmits,
            retransmit_share: share(self.retransmits, self.segments),
            timeouts: self.timeouts,
            transfers: self.transfers,
            transfers_repeated: share(self.transfers_repeated, self.transfers),
            transfers_timed_out: share(self.transfers_timed_out, self.transfers),
            transfer_mean_us: share(self.transfer_us, self.transfers),
            transfer_p50_us: quantile_us(&self.transfer_buckets, 0.5),
            transfer_p99_us: quantile_us(&self.transfer_buckets, 0.99),
            rtt_p50_us: quantile_us(&self.rtt_buckets, 0.5),
            rtt_p99_us: quantile_us(&self.rtt_buckets, 0.99),
        }
    }
}

/// Figures of one part, for people and programs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Connections that began.
    pub connections: u64,
    /// Data segments sent.
    pub segments: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Their share of the segments.
    pub retransmit_share: Option<f64>,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Transfers that ended.
    pub transfers: u64,
    /// Share of the transfers in which a segment was sent again.
    pub transfers_repeated: Option<f64>,
    /// Share of the transfers with a timeout.
    pub transfers_timed_out: Option<f64>,
    /// Mean duration, us.
    pub transfer_mean_us: Option<f64>,
    /// Median duration, us.
    pub transfer_p50_us: Option<f64>,
    /// Duration that 1 % of the transfers exceed, us.
    pub transfer_p99_us: Option<f64>,
    /// Median of the smoothed round-trip time, us.
    pub rtt_p50_us: Option<f64>,
    /// Round-trip time that 1 % of the samples exceed, us.
    pub rtt_p99_us: Option<f64>,
}

/// Outcome of a trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// Too few connections or transfers to judge.
    TooFew,
    /// No figure is worse, and none is better.
    NoDifference,
    /// Some figures are better, none is worse.
    Better {
        /// Which.
        figures: Vec<Difference>,
    },
    /// Some figures are worse.
    Worse {
        /// Which.
        figures: Vec<Difference>,
    },
}

/// A figure that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Its name.
    pub figure: &'static str,
    /// Treated part over untouched part, if the latter is not zero.
    pub ratio: Option<f64>,
    /// Standard errors between both.
    pub standard_errors: f64,
}

/// Compare the treated part with the untouched one. Each transfer counts once, because losses come in groups. Round-trip times are
/// not judged: samples of one connection depend on each other, and the transfers' durations contain them.
pub fn judge(untouched: &Totals, treated: &Totals) -> Verdict {
    if untouched.transfers.min(treated.transfers) < FEWEST {
        return Verdict::TooFew;
    }
    let share = |name, pick: fn(&Totals) -> u64| {
        shares(name, [pick(treated), treated.transfers], [pick(untouched), untouched.transfers])
    };
    let compared = [
        share("transfers with retransmits", |part| part.transfers_repeated),
        share("transfers with timeouts", |part| part.transfers_timed_out),
        ranks("transfer time", &treated.transfer_buckets, &untouched.transfer_buckets),
    ];
    let (worse, better): (Vec<_>, Vec<_>) =
        compared.into_iter().filter(Difference::matters).partition(|difference| difference.standard_errors > 0.0);
    match (worse.is_empty(), better.is_empty()) {
        (false, _) => Verdict::Worse { figures: worse },
        (true, false) => Verdict::Better { figures: better },
        (true, true) => Verdict::NoDifference,
    }
}

impl Difference {
    /// Whether it is neither chance nor too small to matter.
    fn matters(&self) -> bool {
        let ratio = self.ratio.unwrap_or(f64::INFINITY);
        self.standard_errors.abs() > STANDARD_ERRORS && !(1.0 / MATTERS..=MATTERS).contains(&ratio)
    }
}

/// Two shares, each as part and whole, by the normal approximation with a common share.
fn shares(figure: &'static str, treated: [u64; 2], untouched: [u64; 2]) -> Difference {
    let [[a, n], [b, m]] = [treated, untouched].map(|pair| pair.map(|count| count as f64));
    let common = (a + b) / (n + m);
    let variance = common * (1.0 - common) * (1.0 / n + 1.0 / m);
    let standard_errors = if variance > 0.0 { (a / n - b / m) / variance.sqrt() } else { 0.0 };
    Difference { figure, ratio: (b > 0.0).then(|| (a / n) / (b / m)), standard_errors }
}

/// Two distributions by the rank sum of Mann and Whitney, corrected for ties, which buckets cause; and the larger of the ratios of
/// their medians and 99th percentiles.
fn ranks(figure: &'static str, treated: &[u64], untouched: &[u64]) -> Difference {
    let [n, m] = [treated, untouched].map(|buckets| buckets.iter().sum::<u64>() as f64);
    let (mut wins, mut below, mut ties) = (0.0, 0.0, 0.0);
    for (a, b) in treated.iter().zip(untouched).map(|(a, b)| (*a as f64, *b as f64)) {
        wins += a * (below + b / 2.0);
        below += b;
        ties += (a + b) * (a + b) * (a + b) - (a + b);
    }
    let all = n + m;
    let variance = n * m / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    let standard_errors = if variance > 0.0 { (wins - n * m / 2.0) / variance.sqrt() } else { 0.0 };
    let ratio = |share| Some(quantile_us(treated, share)? / quantile_us(untouched, share)?);
    let ratios = [ratio(0.5), ratio(0.99)].into_iter().flatten();
    let farther = |a: f64, b: f64| if a.max(1.0 / a) >= b.max(1.0 / b) { a } else { b };
    Difference { figure, ratio: ratios.reduce(farther), standard_errors }
}

/// Lower end of a bucket, us.
fn bucket_us(place: usize) -> f64 {
    match place {
        0..8 => place as f64,
        _ => ((8 + place % 8) as u64) as f64 * f64::from(1_u32 << (place / 8 - 1).min(31)),
    }
}

/// A quantile of a histogram, us: values are spread evenly over their bucket.
fn quantile_us(buckets: &[u64], share: f64) -> Option<f64> {
    let count: u64 = buckets.iter().sum();
    let rank = ((count as f64 * share).ceil() as u64).max(1);
    let mut before = 0;
    for (place, bucket) in buckets.iter().enumerate() {
        if before + bucket >= rank {
            let width = if place < 8 { 0.0 } else { bucket_us(place + 1) - bucket_us(place) };
            return Some(bucket_us(place) + width * (rank - before) as f64 / *bucket as f64);
        }
        before += bucket;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A part whose transfers took these times, of which some had timeouts.
    fn part(times_us: impl Iterator<Item = u64>, timed_out: u64) -> Totals {
        let mut part = Totals::read(&[0; Totals::BYTES]).unwrap();
        for us in times_us {
            let place = (1..BUCKETS).take_while(|place| bucket_us(*place) <= us as f64).count();
            part.transfer_buckets[place] += 1;
            part.transfers += 1;
            part.transfer_us += us;
        }
        part.connections = part.transfers;
        part.transfers_timed_out = timed_out;
        part
    }

    #[test]
    fn buckets_are_an_eighth_of_an_octave() {
        assert_eq!([0, 7, 8, 15, 16, 17, 24].map(bucket_us), [0.0, 7.0, 8.0, 15.0, 16.0, 18.0, 32.0]);
    }

    #[test]
    fn equal_parts_do_not_differ() {
        let one = || part((0..500).map(|k| 1_000 + k), 5);
        assert_eq!(judge(&one(), &one()), Verdict::NoDifference);
    }

    #[test]
    fn few_transfers_are_not_judged() {
        assert_eq!(judge(&part(0..29, 0), &part((0..500).map(|k| k + 9_000), 400)), Verdict::TooFew);
    }

    #[test]
    fn longer_transfers_are_worse() {
        let verdict = judge(&part((0..200).map(|k| 1_000 + k), 0), &part((0..200).map(|k| 1_500 + k), 0));
        let Verdict::Worse { figures } = verdict else { panic!("{verdict:?}") };
        assert_eq!(figures.iter().map(|one| one.figure).collect::<Vec<_>>(), ["transfer time"]);
        assert!((1.3..1.6).contains(&figures[0].ratio.unwrap()), "{figures:?}");
    }

    #[test]
    fn more_timeouts_are_worse_though_transfers_are_shorter() {
        let verdict = judge(&part((0..400).map(|k| 1_500 + k), 4), &part((0..400).map(|k| 1_000 + k), 60));
        let Verdict::Worse { figures } = verdict else { panic!("{verdict:?}") };
        assert_eq!(figures[0].figure, "transfers with timeouts");
    }

    #[test]
    fn fewer_timeouts_are_better() {
        let verdict = judge(&part((0..400).map(|k| 1_000 + k), 60), &part((0..400).map(|k| 1_000 + k), 0));
        assert!(matches!(&verdict, Verdict::Better { figures } if figures[0].ratio == Some(0.0)), "{verdict:?}");
    }

    #[test]
    fn a_difference_of_a_twentieth_does_not_matter() {
        let verdict =
            judge(&part((0..90_000).map(|k| 1_000 + k % 500), 0), &part((0..90_000).map(|k| 1_050 + k % 500), 0));
        assert_eq!(verdict, Verdict::NoDifference);
    }
}
