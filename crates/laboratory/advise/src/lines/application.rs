//! Changes of the application, in terms of its settings, and changes without a command.

use fanin_spec::{Kind, Settings};
use serde_json::{Value, json};

use super::{Line, Lines, Syntax, Where};
use crate::remedy::{Change, SERVERS};

impl Lines {
    /// Changes of the application, in terms of its settings.
    pub(super) fn application(&mut self, change: &Change, after: &Settings) {
        self.limiter = limiter(change, after);
        if let Some(settings) = &self.limiter {
            let line =
                format!("# in the client, for HTTP, gRPC, S3, Dask: fanin-limit with {settings} (docs/limit.md)");
            self.apply(Where::Application, line);
        }
        let bytes = change.value("workload.bytes_in_flight").filter(|_| after.workload.kind != Kind::KeyValue);
        if let Some(bytes) = bytes {
            let lines = [
                format!("# request up to {bytes} at a time: send the next request when a response is complete"),
                format!("# Spark: spark.reducer.maxSizeInFlight = {bytes}"),
            ];
            lines.into_iter().for_each(|line| self.apply(Where::Application, line));
            self.undo(Where::Application, "# request everything at once");
            self.verify(Where::Application, "# bytes of outstanding reads, by the application's own metrics");
        }
        match change.value("workload.in_flight") {
            Some(k) if !after.workload.kind.many_to_one() => {
                self.apply(Where::Application, format!("# exchange data with {k} hosts at a time, then with the next"));
                self.undo(Where::Application, "# exchange data with all hosts at once");
                self.verify(
                    Where::Application,
                    "# queue pairs or connections with outstanding work, by the application's own metrics",
                );
            }
            Some(k) => self.requests(k),
            None => {}
        }
        self.objects(change, after);
    }

    /// Concurrent requests of a client.
    fn requests(&mut self, k: &str) {
        let apply = |words: String| Line { place: Where::Application, syntax: Syntax::Sh, line: words };
        self.apply.extend([
        apply(format!("# request from {k} servers at a time: send the next request when a response is complete")),
            apply(format!("# pymemcache: get_many of the keys of {k} servers, then of the next")),
            apply(format!("# S3 (boto3): TransferConfig(max_concurrency={k}); aws configure set default.s3.max_concurrent_requests {k}")),
            apply(format!("# HDFS, erasure coded: dfs.client.read.striped.threadpool.size = {k}")),
            apply(format!("# Ceph, replicated pool: objecter_inflight_ops = {k} at the client")),
            // The client has one response, whatever its limit.
            apply(format!("# Ceph, erasure-coded pool: the primary OSD reads k - 1 shards at once; use a profile with k = {} at most", k.parse::<u64>().map_or(2, |k| k + 1))),
        ]);
        self.undo(Where::Application, "# request from all servers at once");
        self.verify(
            Where::Application,
            "# number of connections with unread data is at most this: ss -tn state established '( sport != 0 )'",
        );
    }

    /// Where objects are, how large responses are, and how many servers there are.
    fn objects(&mut self, change: &Change, after: &Settings) {
        if change.family.contains("server-window") {
            let law = change.scheme.as_deref().unwrap_or_default();
            let pool = match change.value("sliding_window.most") {
                Some(most) => format!("`incast`, which predicts the limit: about {most}"),
                None => format!("the concurrency limit `{law}`"),
            };
            let line = format!("fanin front --config front.toml  # a pool with {pool} (docs/front.md)");
            self.apply(Where::Application, line);
            self.undo(Where::Application, "# connect to memcached directly");
            self.verify(Where::Application, "fanin front --config front.toml --check");
        }
        if change.family.contains("placement") {
            self.apply(
                Where::Application,
                "fanin plan log.csv --cluster cluster.toml --out plan  # then apply the moves in plan/",
            );
            self.undo(Where::Application, "# move objects back; plan/ has the previous placement");
            self.verify(Where::Application, "fanin plan log.csv --cluster cluster.toml");
        }
        for key in ["workload.fragment", "workload.block"] {
            if let (Some(value), true) = (change.value(key), after.workload.kind.many_to_one()) {
                self.apply(
                    Where::Application,
                    format!("# responses of {value}: the size of a chunk, an object or a stripe unit"),
                );
                self.undo(Where::Application, "# the previous size");
            }
        }
        if change.value(SERVERS).is_some() {
            let n = after.servers();
            self.apply(
                Where::Application,
                format!("# a stripe over {n} servers (HDFS: the policy's data units; Ceph: k of the pool's profile)"),
            );
            self.undo(Where::Application, "# the previous stripe");
        }
    }

    /// A change without a command.
    pub(super) fn bought(&mut self, change: &Change) {
        if self.apply.is_empty() {
            self.apply(Where::Switch, format!("# {}: no command can set this", change.says));
        }
    }
}

/// Settings of `fanin-limit` for a change of concurrent requests, as its file has them.
fn limiter(change: &Change, after: &Settings) -> Option<Value> {
    let budget = change.value("workload.bytes_in_flight");
    let number = |key| change.value(key).and_then(|value| value.parse::<u32>().ok());
    let most_servers = number("sliding_window.most");
    match (number("workload.in_flight"), change.scheme.as_deref()) {
        (Some(k), _) if after.workload.kind.many_to_one() => {
            Some(json!({"law": "sw", "sliding_window": {"initial": k, "most": k, "late": "100 s"}}))
        }
        (_, Some("sw")) => Some(match most_servers {
            Some(most) => json!({"law": "sw", "sliding_window": {"most": most}}),
            None => json!({"law": "sw"}),
        }),
        (_, Some("ictcp-window")) => {
            let link = after.link.client_rate.0.unwrap_or(after.link.rate).to_string();
            Some(match budget {
                Some(bytes) => json!({"law": "ictcp-window", "link": link, "budget": bytes}),
                None => json!({"law": "ictcp-window", "link": link}),
            })
        }
        _ => budget.map(|bytes| json!({"law": "one-all", "budget": bytes})),
    }
}
