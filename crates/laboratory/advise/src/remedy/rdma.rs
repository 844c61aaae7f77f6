//! Changes of RDMA's congestion control, and of the lossless ports under it.

use fanin_spec::{Discipline, RateBased, Share};
use fanin_units::{Bytes, Rate, Time};

use super::{Effort, PFC_ALPHAS, Ranges};

/// Payload of a full packet with the largest MTU of RoCE.
const LARGEST_PAYLOAD: Bytes = Bytes(4_096);

impl Ranges<'_> {
    pub(super) fn rdma(&mut self, own: RateBased) {
        if self.scheme.discipline == Discipline::EcnRamp {
            self.ramp();
        }
        self.least_rates(own);
        if matches!(own, RateBased::Dcqcn | RateBased::DcqcnWindow) {
            self.notifications();
        }
        self.pauses();
        if self.s.laws.rates.rdma.payload < LARGEST_PAYLOAD {
            let set = [("rdma.payload", LARGEST_PAYLOAD.to_string())];
            let says = format!("packets with {LARGEST_PAYLOAD} of payload, in jumbo frames");
            self.add("jumbo", Effort::Switch, says, &set);
        }
        self.other_rates(own);
    }

    /// Marks at ports: both thresholds together, and the probability.
    fn ramp(&mut self) {
        let (low, high) = self.s.client_ramp();
        for (times, part) in [(1, 16), (1, 8), (1, 4), (1, 2), (2, 1), (4, 1)] {
            let [low, high] = [low, high].map(|bytes| Bytes(bytes * times / part));
            let says = format!("marking from {low} of a port's queue on, and always above {high}");
            let set = [("ecn_ramp.k_min", low.to_string()), ("ecn_ramp.k_max", high.to_string())];
            self.add("mark-thresholds", Effort::Switch, says, &set);
        }
        let now = self.s.laws.ports.ecn_ramp.p_max.in_q(16);
        for percent in [1, 5, 20, 50, 100].into_iter().filter(|percent| Share::of(*percent, 100).in_q(16) != now) {
            let says = format!("marking of {percent} % of packets at a port's upper threshold");
            self.add("mark-probability", Effort::Switch, says, &[("ecn_ramp.p_max", format!("{percent} %"))]);
        }
    }

    /// Least rates below today's.
    fn least_rates(&mut self, own: RateBased) {
        let (key, now) = self.s.least_rate(own);
        for part in [50, 100, 200, 500, 1_000, 10_000] {
            let rate = Rate(self.s.link.rate.0 / part);
            if rate >= now {
                continue;
            }
            let says = format!("a least rate of {rate} at {}", self.senders());
            self.add("min-rate", Effort::Card, says, &[(key, format!("1/{part}"))]);
        }
    }

    /// Intervals of congestion notifications.
    fn notifications(&mut self) {
        let now = self.s.laws.rates.dcqcn.cnp_interval;
        for interval in [0, 4, 10, 50, 100].map(Time::from_micros).into_iter().filter(|interval| *interval != now) {
            let says = match interval {
                Time::ZERO => "a congestion notification for each marked packet".into(),
                _ => format!("congestion notifications at least {interval} apart"),
            };
            self.add("cnp-interval", Effort::Card, says, &[("dcqcn.cnp_interval", interval.to_string())]);
        }
    }

    /// When a switch pauses a link.
    fn pauses(&mut self) {
        let now = self.s.laws.rates.pfc.alpha;
        for (alpha, _) in
            PFC_ALPHAS.iter().filter(|(alpha, _)| alpha.parse::<Share>().map(|a| a.in_q(16)) != Ok(now.in_q(16)))
        {
            let says = format!("PFC alpha of {alpha} at the switch");
            self.add("pfc-alpha", Effort::Switch, says, &[("pfc.alpha", (*alpha).into())]);
        }
    }

    /// Other algorithms, which no network card has as a setting.
    fn other_rates(&mut self, own: RateBased) {
        for (kind, word, says) in [
            (RateBased::DcqcnWindow, "dcqcn-window", "DCQCN with a window of a round trip at its rate"),
            (RateBased::Hpcc, "hpcc", "HPCC, with telemetry from every port"),
            (RateBased::Timely, "timely", "TIMELY"),
            (RateBased::RdmaDctcp, "rdma-dctcp", "DCTCP as a rate"),
        ] {
            if kind != own {
                self.not_available(word, word.into(), says);
            }
        }
    }
}
