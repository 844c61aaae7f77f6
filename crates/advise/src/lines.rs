//! The lines that make a change: where each goes, what undoes it, what shows that it took effect, how it outlives a reboot.
//! Linux's are run and read back by `make advise-lines`; a switch's were not tried on hardware, and say so.

use fanin_spec::Settings;
use fanin_units::{Bytes, QueueSize, Time};

use crate::remedy::{ALPHAS, Change, SERVERS};

/// Where a line goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Where {
    /// Every server.
    Servers,
    /// The client.
    Client,
    /// The switch.
    Switch,
    /// The application that asks.
    Application,
}

/// A line for a shell, or of words behind `#`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Line {
    /// Where it goes.
    #[serde(rename = "where")]
    pub place: Where,
    /// What stands there.
    pub line: String,
}

/// All lines of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Lines {
    /// What makes it.
    pub apply: Vec<Line>,
    /// What takes it back, to what was there.
    pub undo: Vec<Line>,
    /// What shows that it took effect.
    pub verify: Vec<Line>,
    /// What practice knows of it.
    pub notes: Vec<&'static str>,
}

/// Where what was there before is kept.
const KEPT: &str = "/run/fanin";

/// Keeps what a command says. What is kept already stays: a change that is made again must not take itself for what was there.
fn keep(command: &str, kept: &str) -> String {
    format!("[ -e {kept} ] || {command} > {kept}")
}

/// What makes a change of a cluster with these settings; `after` are those with the change.
pub fn lines(change: &Change, after: &Settings) -> Lines {
    let mut lines = Lines::default();
    lines.routes(change);
    if let Some(on) = change.value("tcp.idle_restart") {
        let value = if on == "true" { "1" } else { "0" };
        lines.sysctl(Where::Servers, "net.ipv4.tcp_slow_start_after_idle", value);
    }
    lines.congestion_control(change);
    lines.ports(change, after);
    lines.application(change, after);
    lines.bought(change);
    lines
}

impl Lines {
    fn apply(&mut self, place: Where, line: impl Into<String>) {
        self.apply.push(Line { place, line: line.into() });
    }

    fn undo(&mut self, place: Where, line: impl Into<String>) {
        self.undo.push(Line { place, line: line.into() });
    }

    fn verify(&mut self, place: Where, line: impl Into<String>) {
        self.verify.push(Line { place, line: line.into() });
    }

    fn note(&mut self, note: &'static str) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// What stands at a route: of servers towards the client, of the client towards servers.
    fn routes(&mut self, change: &Change) {
        let mut servers = Vec::new();
        if let Some(time) = change.value("tcp.rto_min").and_then(|text| text.parse::<Time>().ok()) {
            servers.push(format!("rto_min {}ms", time.0.div_ceil(Time::from_millis(1).0)));
            self.note("Timers round up to the kernel's tick: 4 ms where CONFIG_HZ is 250, 1 ms where it is 1000.");
            self.note(
                "A receiver may keep an ACK back for 40 ms: a smaller RTOmin then times out for nothing where an answer ends on a \
                 lone segment; quickack at the client ends that.",
            );
            self.note("A route's rto_min stands over net.ipv4.tcp_rto_min_us, which Linux has from 6.11 on.");
        }
        if let Some(segments) = change.value("tcp.initial_window") {
            servers.push(format!("initcwnd {segments}"));
        }
        self.route(Where::Servers, "CLIENT=192.0.2.1/32  # the client's address", "$CLIENT", &servers);
        let mut client = Vec::new();
        if change.value("tcp.delayed_ack") == Some("1") {
            client.push("quickack 1".to_string());
        }
        if let Some(window) = change.value("tcp.receive_window").and_then(|text| text.parse::<Bytes>().ok()) {
            client.push(format!("window {}", window.0));
        }
        self.route(Where::Client, "SERVERS=198.51.100.0/24  # the servers' network", "$SERVERS", &client);
        if client.iter().any(|attribute| attribute.starts_with("window")) {
            self.sysctl(Where::Client, "net.ipv4.tcp_moderate_rcvbuf", "0");
            self.note(
                "Linux widens a route's window as data comes, unless tcp_moderate_rcvbuf is off, which is so for all of the host's \
                 connections: those keep the middle value of net.ipv4.tcp_rmem. SO_RCVBUF in the application needs neither line.",
            );
        }
    }

    fn route(&mut self, place: Where, who: &str, to: &str, attributes: &[String]) {
        if attributes.is_empty() {
            return;
        }
        let name = &to[1..];
        let kept = format!("{KEPT}-to-{}", name.to_lowercase());
        self.apply(place, who);
        // A line a route, as `ip route replace` takes it: gateways stand behind backslashes, and `rto_min` is locked unasked.
        let routes = format!("ip -o route show {to} | tr -d '\\\\' | sed 's/rto_min lock/rto_min/'");
        self.apply(place, keep(&routes, &kept));
        // Gateway, interface and source; what stands behind them is the kernel's own, or another table's.
        let of_way = r"s/^[^ ]* //; s/ table [^ ]*//; s/\(src [^ ]*\).*/\1/";
        self.apply(place, format!("WAY=$(ip -o route get ${{{name}%/*}} | sed '{of_way}')"));
        self.apply(place, format!("ip route replace {to} $WAY {}", attributes.join(" ")));
        self.undo(place, who);
        self.undo(place, format!("ip route del {to}"));
        self.undo(place, format!("while read -r ROUTE; do ip route replace $ROUTE; done < {kept}; rm {kept}"));
        self.verify(place, who);
        self.verify(place, format!("ip route show {to}"));
        self.note("What else stood at that very route, such as an MTU or more gateways, comes back as it is undone.");
        self.note("Connections that are open keep what they have: restart what holds them.");
        self.note("A route outlives a reboot where the network's own configuration has it: netplan, NetworkManager, or an `up` line of ifupdown.");
    }

    fn sysctl(&mut self, place: Where, key: &str, value: &str) {
        let kept = format!("{KEPT}-{}", key.rsplit('.').next().unwrap_or(key));
        self.apply(place, keep(&format!("sysctl -n {key}"), &kept));
        self.apply(place, format!("sysctl -w {key}={value}"));
        self.undo(place, format!("sysctl -w {key}=\"$(cat {kept})\" && rm {kept}"));
        self.verify(place, format!("sysctl -n {key}"));
        self.note("A sysctl outlives a reboot in /etc/sysctl.d/90-fanin.conf.");
    }

    /// DCTCP, and what needs ECN beside it.
    fn congestion_control(&mut self, change: &Change) {
        let Some(scheme) = &change.scheme else { return };
        let ecn = scheme.contains("dctcp") || scheme.contains("ecn");
        for place in [Where::Servers, Where::Client] {
            if scheme.starts_with("dctcp") {
                self.apply(place, "modprobe tcp_dctcp");
                self.sysctl(place, "net.ipv4.tcp_congestion_control", "dctcp");
                self.note("tcp_dctcp outlives a reboot as a line of /etc/modules-load.d/.");
            }
            if ecn {
                self.sysctl(place, "net.ipv4.tcp_ecn", "1");
            }
        }
        if ecn {
            self.note(
                "Both ends and every port on the way have to take part; keep what does not out of the marked queue.",
            );
        }
        if scheme.starts_with("dctcp") {
            self.note(
                "BBR is not modelled: hosts that run it are compared with what is simulated in its place, not with it.",
            );
        }
    }

    /// What a switch is told.
    fn ports(&mut self, change: &Change, after: &Settings) {
        let in_bytes = |key| {
            let size = change.value(key).and_then(|text| text.parse::<QueueSize>().ok());
            size.map(|size| after.in_bytes(size))
        };
        let thresholds = match (in_bytes("ecn_threshold.k"), in_bytes("red.min_th").zip(in_bytes("red.max_th"))) {
            (Some(k), _) => Some((k, k)),
            (None, both) => both,
        };
        if let Some((least, most)) = thresholds {
            let what =
                if change.scheme.as_deref().is_some_and(|s| s.ends_with("+red")) { "drop" } else { "mark (ECN)" };
            self.apply(
                Where::Switch,
                format!(
                    "# at the port to the client: {what} from {least} B of its queue on, every packet from {most} B on"
                ),
            );
            self.apply(Where::Switch, format!("ecnconfig -p PROFILE -gmin {least} -gmax {most} -gdrop 100  # SONiC"));
            self.undo(
                Where::Switch,
                "ecnconfig -p PROFILE -gmin MIN -gmax MAX -gdrop DROP  # SONiC: what `ecnconfig -l` said before",
            );
            self.verify(Where::Switch, "ecnconfig -l  # SONiC");
        }
        let alpha = change.value("switch.alpha").and_then(|value| ALPHAS.iter().find(|(alpha, _)| *alpha == value));
        if let Some((alpha, exponent)) = alpha {
            self.apply(
                Where::Switch,
                format!("# dynamic threshold: alpha of {alpha} for the queue of the port to the client"),
            );
            self.apply(Where::Switch, format!("mmuconfig -p PROFILE -a {exponent}  # SONiC"));
            self.undo(Where::Switch, "mmuconfig -p PROFILE -a BEFORE  # SONiC: what `mmuconfig -l` said before");
            self.verify(Where::Switch, "mmuconfig -l  # SONiC");
            self.note("SONiC's dynamic_th is an exponent of two: 3 is an alpha of 8.");
        }
        if change.value("link.frames").is_some() {
            for place in [Where::Servers, Where::Client] {
                self.apply(place, "DEV=eth0  # the interface of the cluster's network");
                self.apply(place, keep("cat /sys/class/net/$DEV/mtu", &format!("{KEPT}-mtu")));
                self.apply(place, "ip link set dev $DEV mtu 9000");
                self.undo(place, "DEV=eth0  # the same");
                self.undo(place, format!("ip link set dev $DEV mtu \"$(cat {KEPT}-mtu)\" && rm {KEPT}-mtu"));
                self.verify(place, "DEV=eth0  # the same");
                self.verify(place, "cat /sys/class/net/$DEV/mtu");
            }
            self.apply(Where::Switch, "config interface mtu Ethernet0 9100  # SONiC, every port");
            self.undo(Where::Switch, "config interface mtu Ethernet0 1500  # SONiC: what it was before");
            self.verify(Where::Switch, "show interfaces status  # SONiC");
        }
        if self.apply.iter().any(|line| line.place == Where::Switch) {
            self.note("The lines for a switch were not tried on hardware.");
        }
    }

    /// What the application that asks is told, in the words of those that there are.
    fn application(&mut self, change: &Change, after: &Settings) {
        if let Some(k) = change.value("workload.in_flight") {
            let apply = |words: String| Line { place: Where::Application, line: words };
            self.apply.extend([
                apply(format!("# ask {k} servers at a time: the next one as an answer is complete")),
                apply(format!("# pymemcache: get_many of the keys of {k} servers, then of the next")),
                apply(format!("# S3 (boto3): TransferConfig(max_concurrency={k}); aws configure set default.s3.max_concurrent_requests {k}")),
                apply(format!("# HDFS, erasure coded: dfs.client.read.striped.threadpool.size = {k}")),
                apply(format!("# Ceph: objecter_inflight_ops = {k}")),
            ]);
            self.undo(Where::Application, "# ask all of them at once again");
            self.verify(Where::Application, "# as many connections with something to read at once, at the most: ss -tn state established '( sport != 0 )'");
        }
        if change.family.contains("server-window") {
            let law = change.scheme.as_deref().unwrap_or_default();
            self.apply(
                Where::Application,
                format!("fanin front --config front.toml  # a pool with the window `{law}` (docs/front.md)"),
            );
            self.undo(Where::Application, "# ask memcached itself again");
            self.verify(Where::Application, "fanin front --config front.toml --check");
        }
        if change.family.contains("placement") {
            self.apply(
                Where::Application,
                "fanin plan log.csv --cluster cluster.toml --out plan  # then move what plan/ says",
            );
            self.undo(Where::Application, "# move it back: plan/ has where it was");
            self.verify(Where::Application, "fanin plan log.csv --cluster cluster.toml");
        }
        for key in ["workload.fragment", "workload.block"] {
            if let (Some(value), true) = (change.value(key), after.workload.kind.many_to_one()) {
                self.apply(
                    Where::Application,
                    format!("# answers of {value}: the size of a chunk, an object or a stripe's unit"),
                );
                self.undo(Where::Application, "# the size that it was");
            }
        }
        if change.value(SERVERS).is_some() {
            let n = after.servers();
            self.apply(
                Where::Application,
                format!("# a stripe over {n} servers (HDFS: the policy's data units; Ceph: k of the pool's profile)"),
            );
            self.undo(Where::Application, "# the stripe that it was");
        }
    }

    /// What no line makes.
    fn bought(&mut self, change: &Change) {
        if self.apply.is_empty() {
            self.apply(Where::Switch, format!("# {}: nothing that a line could set", change.says));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remedy::Effort;

    fn of(settings: &[(&str, &str)], scheme: Option<&str>) -> Lines {
        let settings = settings.iter().map(|(k, v)| ((*k).to_string(), (*v).to_string())).collect();
        let change = Change { settings, scheme: scheme.map(Into::into), effort: Effort::Sysctl, ..Change::none() };
        lines(&change, &Settings::default())
    }

    #[test]
    fn what_stands_at_one_route_is_set_at_once_and_taken_back_to_what_was_there() {
        let lines = of(&[("tcp.rto_min", "5 ms"), ("tcp.initial_window", "2")], None);
        let route: Vec<&str> =
            lines.apply.iter().map(|line| line.line.as_str()).filter(|l| l.contains("replace")).collect();
        assert_eq!(route, ["ip route replace $CLIENT $WAY rto_min 5ms initcwnd 2"]);
        assert!(lines.apply.iter().all(|line| line.place == Where::Servers));
        let kept = "[ -e /run/fanin-to-client ] || ip -o route show $CLIENT | tr -d '\\\\' | sed 's/rto_min lock/rto_min/' > /run/fanin-to-client";
        assert!(lines.apply.iter().any(|line| line.line == kept));
        let back =
            "while read -r ROUTE; do ip route replace $ROUTE; done < /run/fanin-to-client; rm /run/fanin-to-client";
        assert!(lines.undo.iter().any(|line| line.line == back));
        assert!(lines.notes.iter().any(|note| note.contains("tick")));
    }

    #[test]
    fn quickack_and_the_window_belong_to_the_client() {
        let lines = of(&[("tcp.delayed_ack", "1"), ("tcp.receive_window", "2920 B")], None);
        assert!(lines.apply.iter().all(|line| line.place == Where::Client));
        assert!(lines.apply.iter().any(|line| line.line.ends_with("quickack 1 window 2920")));
        assert!(lines.apply.iter().any(|line| line.line == "sysctl -w net.ipv4.tcp_moderate_rcvbuf=0"), "or it widens");
    }

    #[test]
    fn dctcp_is_of_both_ends_and_of_the_switch_in_bytes() {
        let lines = of(&[("ecn_threshold.k", "20 packets")], Some("dctcp"));
        for place in [Where::Servers, Where::Client] {
            let there = |what: &str| lines.apply.iter().any(|line| line.place == place && line.line == what);
            assert!(there("modprobe tcp_dctcp") && there("sysctl -w net.ipv4.tcp_ecn=1"));
        }
        let bytes = 20 * Settings::default().full_frame().0;
        let marks = format!("ecnconfig -p PROFILE -gmin {bytes} -gmax {bytes} -gdrop 100  # SONiC");
        assert!(lines.apply.iter().any(|line| line.place == Where::Switch && line.line == marks));
        assert!(lines.notes.contains(&"The lines for a switch were not tried on hardware."));
    }

    #[test]
    fn a_dynamic_threshold_is_an_exponent_of_two() {
        let lines = of(&[("switch.alpha", "1/4")], None);
        assert!(lines.apply.iter().any(|line| line.line == "mmuconfig -p PROFILE -a -2  # SONiC"), "{lines:?}");
    }
}
