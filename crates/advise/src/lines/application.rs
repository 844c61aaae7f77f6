//! Changes of the application, in terms of its settings, and changes without a command.

use fanin_spec::Settings;

use super::{Line, Lines, Syntax, Where};
use crate::remedy::{Change, SERVERS};

impl Lines {
    /// Changes of the application, in terms of its settings.
    pub(super) fn application(&mut self, change: &Change, after: &Settings) {
        if let Some(k) = change.value("workload.in_flight") {
            let apply = |words: String| Line { place: Where::Application, syntax: Syntax::Sh, line: words };
            self.apply.extend([
            apply(format!("# request from {k} servers at a time: send the next request when a response is complete")),
                apply(format!("# pymemcache: get_many of the keys of {k} servers, then of the next")),
                apply(format!("# S3 (boto3): TransferConfig(max_concurrency={k}); aws configure set default.s3.max_concurrent_requests {k}")),
                apply(format!("# HDFS, erasure coded: dfs.client.read.striped.threadpool.size = {k}")),
                apply(format!("# Ceph: objecter_inflight_ops = {k}")),
            ]);
            self.undo(Where::Application, "# request from all servers at once");
            self.verify(
                Where::Application,
                "# number of connections with unread data is at most this: ss -tn state established '( sport != 0 )'",
            );
        }
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
