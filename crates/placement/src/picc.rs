//! Settings of PICC. Its algorithms are in `request_log`, `co_location`, `closeness`, `cut_clusters` and `settle`; `plan` combines them.

use fanin_laws::settings::{Refusal, params, words};
use fanin_units::{Bytes, Share, Time};

words! {
    /// Which requests a plan is made from.
    Learn, "\"same\", \"earlier\" or \"running\"" {
        /// Those that are to follow, as the paper has it (section IV): none could be known better.
        Same = "same",
        /// As many others, drawn alike, as if they had come before.
        Earlier = "earlier",
        /// Those of the run, period by period: after each there is a plan, with the history that the last one left (section III).
        Running = "running",
    }
}

words! {
    /// What of a server's load is held against what it can give.
    Counts, "\"all\" or \"popular\"" {
        /// All that lies there.
        All = "all",
        /// Popular objects, as Algorithm 1 has it, and what the plan brings there.
        Popular = "popular",
    }
}

params! {
    /// Objects gathered on few servers (PICC).
    picc {
        /// θ: so many of the most popular objects are gathered in their racks (section III-A; 1,000 is the best of Figure 9).
        #[range(1.., "nothing would be popular")]
        theta: u32 = 1_000,
        /// α: what it counts that two objects are asked for in one query (equation 1; the paper gives none: it is this that makes servers few).
        alpha: Share = Share::of(1, 2),
        /// β: what it counts that one is asked for in the query after the other's (equation 1; the paper gives none: it spares connections, not servers).
        beta: Share = Share::of(1, 10),
        /// How late the query after another may come and still count as its sequel: the paper's time-slot, of which it gives no length.
        slot: Time = Time::from_secs(10),
        /// w: the weight of the artificial sink's edges (Algorithm 2; the paper gives none): the larger, the smaller and closer the clusters.
        #[range(1..=1_000_000)]
        w: u32 = 1,
        /// How many of its strongest edges an object keeps: all pairs of a query of 1,000 objects are half a million.
        #[range(1..=1_000)]
        strongest: u32 = 10,
        /// Two objects are close from this share of the more frequent one's requests on; without, what is asked for with everything joins all into one cluster, which fits nowhere (no part of the paper: docs/performance.md).
        least: Share = Share::of(1, 3),
        /// Which requests the plan is made from (section IV has those that are measured).
        learn: Learn = Learn::Earlier,
        /// T: how long these take, for what a server can give in that time, and until the next plan (section IV).
        #[range(Time::from_millis(1)..=Time::from_secs(100_000))]
        period: Time = Time::from_secs(300),
        /// What of a server's load is held against what it can give: section III-A compares it with the demand of popular objects alone.
        counts: Counts = Counts::All,
        /// What a server has room for (section III-A's storage; the paper gives none).
        #[range(Bytes(1)..=Bytes(1 << 50))]
        memory: Bytes = Bytes(1 << 30),
        /// Requests for objects that a server can answer in a second: its computing and its I/O alike (section III-A; the paper gives none). Its bandwidth is its link's.
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
