//! Settings of a generator of bursts.

use fanin_units::{Share, Time};

use crate::declare::section;
use crate::range::FAN_IN_MAX;
use crate::setting::Optional;

section! {
    /// A generator of bursts into the client, in place of `workload.bursts`. A burst carries what the client's link carries in its width.
    #[only(Bursts)]
    BurstShape in "bursts" {
        /// Mean time from the start of one cluster of bursts to that of the next, exponentially distributed; "none": there is no generator.
        #[range(Time(1_000)..=Time::from_secs(1_000), "\"none\" disables the generator")]
        spacing: Optional<Time> = Optional::NONE,
        /// Mean time for which a burst fills the client's link, exponentially distributed.
        #[needs(Generator)]
        #[range(Time(1_000)..=Time::from_secs(10))]
        width: Time = Time::from_micros(100),
        /// Mean number of servers that send at once, each as fast as it may: a burst arrives at this multiple of the client's link rate at most. Uniform from 1 to twice this less 1.
        #[needs(Generator)]
        #[range(1..=FAN_IN_MAX / 2)]
        height: u32 = 8,
        /// Share of bursts that another one of the same cluster follows: 0, each cluster has one burst; 0.5, two on average.
        #[needs(Generator)]
        #[range(..=Share::of(99, 100))]
        clustering: Share = Share::of(0, 1),
        /// Mean time from the start of a burst to that of the next one of its cluster, exponentially distributed.
        #[needs(Generator)]
        #[range(Time(1_000)..=Time::from_secs(1_000))]
        cluster_gap: Time = Time::from_micros(200),
    }
}

impl BurstShape {
    /// Mean time between the starts of two bursts in seconds, and their mean fan-in and time on the client's link in seconds.
    pub(crate) fn means(&self) -> Option<[f64; 3]> {
        let spacing = self.spacing.0?.as_secs_f64();
        let clustered = self.clustering.as_f64();
        let gap = (1.0 - clustered) * spacing + clustered * self.cluster_gap.as_secs_f64();
        Some([gap, self.height.into(), self.width.as_secs_f64()])
    }
}
