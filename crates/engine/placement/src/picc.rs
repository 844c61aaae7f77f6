//! Settings of PICC. Its algorithms are in `request_log`, `co_location`, `closeness`, `cut_clusters` and `settle`; `plan` combines them.

use fanin_laws::settings::{Refusal, params, words};
use fanin_units::{Bytes, Share, Time};

words! {
    /// Requests from which a plan is made.
    Learn, "\"same\", \"earlier\" or \"running\"" {
        /// The run's own requests, known in advance, as in the paper (section IV): the best case.
        Same = "same",
        /// As many other requests from the same distribution, as if from an earlier period.
        Earlier = "earlier",
        /// The run's requests so far: after each period there is a plan, with the history of the last one (section III).
        Running = "running",
    }
}

words! {
    /// Load that counts against a server's capacity.
    Counts, "\"all\" or \"popular\"" {
        /// All objects stored there.
        All = "all",
        /// Popular objects, as in Algorithm 1, and objects that the plan moves there.
        Popular = "popular",
    }
}

params! {
    /// Objects co-located on few servers (PICC).
    picc {
        /// θ: number of most popular objects to co-locate in their racks (section III-A; 1,000 is the best in Figure 9).
        #[range(1.., "nothing would be popular")]
        theta: u32 = 1_000,
        /// α: weight of two objects requested in one query (equation 1; no value in the paper). It determines the number of servers per query.
        alpha: Share = Share::of(1, 2),
        /// β: weight of an object requested in the query after the other's (equation 1; no value in the paper). It saves connections, not servers.
        beta: Share = Share::of(1, 10),
        /// Time within which the next query counts as a successor: the paper's time slot, which has no length there.
        slot: Time = Time::from_secs(10),
        /// w: weight of the artificial sink's edges (Algorithm 2; no value in the paper). Larger values give smaller and closer clusters.
        #[range(1..=1_000_000)]
        w: u32 = 1,
        /// Number of strongest edges per object; a query of 1,000 objects has half a million pairs.
        #[range(1..=1_000)]
        strongest: u32 = 10,
        /// Minimum closeness, as a share of the more frequent object's requests. Without it, very frequent objects join all into one cluster, which fits nowhere (not in the paper: docs/performance.md).
        least: Share = Share::of(1, 3),
        /// Requests from which the plan is made (section IV uses the measured ones).
        learn: Learn = Learn::Earlier,
        /// T: period of these requests, for servers' capacities, and until the next plan (section IV).
        #[range(Time::from_millis(1)..=Time::from_secs(100_000))]
        period: Time = Time::from_secs(300),
        /// Load that counts against a server's capacity; section III-A counts only popular objects.
        counts: Counts = Counts::All,
        /// Storage of a server (section III-A; no value in the paper).
        #[range(Bytes(1)..=Bytes(1 << 50))]
        memory: Bytes = Bytes(1 << 30),
        /// Object requests per second that a server can answer, for both computing and I/O (section III-A; no value in the paper). Its bandwidth is its link's.
        #[range(1..=1_000_000_000)]
        requests_per_s: u32 = 100_000,
    }
    refuses |picc| {
        let both = picc.alpha.in_q(16) + picc.beta.in_q(16);
        let what = if both == 0 {
            "both are 0: set one above 0, or nothing is close"
        } else if both > 0x1_0001 {
            // Rounding may have raised each.
            "their sum is above 1: use a sum of at most 1"
        } else {
            return None;
        };
        Some(Refusal { paths: &["picc.alpha", "picc.beta"], what: what.into() })
    };
}
