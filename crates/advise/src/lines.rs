//! Commands that apply, undo and verify a change, with the place of each, and notes on reboots. `make advise-lines` runs those for
//! Linux; those for switches are untested on hardware, and say so.
//!
//! Each command works alone or in a script that stops at the first error. The previous state is saved once, by a rename, in the tool's
//! own format; undo loads it only if it is complete and matches.

use fanin_spec::{Chip, Settings};
use fanin_units::{Bytes, QueueSize, Time};

use crate::remedy::{ALPHAS, Change, SERVERS, route_window_holds};

/// Place where a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Where {
    /// Every server.
    Servers,
    /// The client.
    Client,
    /// The switch.
    Switch,
    /// The application on the client.
    Application,
}

/// Interpreter of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Syntax {
    /// A POSIX shell: Linux's hosts, and SONiC.
    #[default]
    Sh,
    /// The command line of Arista's EOS.
    Eos,
}

/// A command, or a comment after `#`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Line {
    /// Place.
    #[serde(rename = "where")]
    pub place: Where,
    /// Its interpreter.
    pub syntax: Syntax,
    /// The line.
    pub line: String,
}

/// Addresses that lines name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// The client's, as a route has it.
    pub client: String,
    /// The servers' network.
    pub servers: String,
}

/// Placeholder addresses (RFC 5737), to be replaced by the user.
impl Default for Addresses {
    fn default() -> Addresses {
        Addresses { client: "192.0.2.1/32".into(), servers: "198.51.100.0/24".into() }
    }
}

/// All lines of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Lines {
    /// Commands that apply the change.
    pub apply: Vec<Line>,
    /// Commands that restore the previous state.
    pub undo: Vec<Line>,
    /// Commands that verify the change.
    pub verify: Vec<Line>,
    /// Effects on traffic other than the cluster's own.
    pub touches: Vec<&'static str>,
    /// Notes from practice.
    pub notes: Vec<&'static str>,
}

/// Something that is saved before it is changed.
struct Saved<'a> {
    place: Where,
    /// The file.
    file: &'a str,
    /// Commands that store the current state in variables.
    get: &'a str,
    /// Text of the file, as arguments of `printf` with these variables.
    text: &'a str,
    /// The pattern of the text's last line: by it a save is known to be whole, and of this.
    ours: &'a str,
    /// The command that loads the file.
    load: &'a str,
}

/// Bytes of receive buffer that a packet of up to 1,500 B occupies (the kernel's truesize): half a page and its sk_buff.
const PACKET_IN_BUFFER: u64 = 2304;

/// The mark of a route that a remedy made: its protocol, a number that no routing daemon has.
const PROTO: u8 = 250;

/// Commands for a change of a cluster with these settings; `after` are the changed settings.
pub fn lines(change: &Change, after: &Settings, addresses: &Addresses) -> Lines {
    let mut lines = Lines::default();
    lines.routes(change, after, addresses);
    if let Some(on) = change.value("tcp.idle_restart") {
        let value = if on == "true" { "1" } else { "0" };
        lines.sysctl(Where::Servers, "net.ipv4.tcp_slow_start_after_idle", value);
        lines.touch("every TCP connection of the servers: tcp_slow_start_after_idle applies to the whole host");
    }
    lines.congestion_control(change);
    let eos = matches!(after.switch.profile.0, Some(Chip::A7060 | Chip::A7050 | Chip::A7060X6));
    lines.marks(change, after, eos);
    lines.alpha(change, eos);
    lines.frames(change, eos);
    if lines.apply.iter().any(|line| line.place == Where::Switch) {
        lines.note("The commands for the switch are untested on hardware.");
    }
    lines.application(change, after);
    lines.bought(change);
    lines
}

impl Lines {
    fn apply(&mut self, place: Where, line: impl Into<String>) {
        self.apply.push(Line { place, syntax: Syntax::Sh, line: line.into() });
    }

    fn undo(&mut self, place: Where, line: impl Into<String>) {
        self.undo.push(Line { place, syntax: Syntax::Sh, line: line.into() });
    }

    fn verify(&mut self, place: Where, line: impl Into<String>) {
        self.verify.push(Line { place, syntax: Syntax::Sh, line: line.into() });
    }

    /// A line with a placeholder, at the start of apply, undo and verify.
    fn with(&mut self, place: Where, line: &str) {
        self.apply(place, line);
        self.undo(place, line);
        self.verify(place, line);
    }

    /// Lines of a configuration of EOS: to make it, to take it back, and the command that shows it.
    fn eos(&mut self, apply: &[&str], undo: &[&str], show: &str) {
        let line = |line: &str| Line { place: Where::Switch, syntax: Syntax::Eos, line: line.into() };
        let configured = |lines: &[&str]| -> Vec<Line> {
            core::iter::once(&"configure").chain(lines).map(|text| line(text)).collect()
        };
        self.apply.extend(configured(apply));
        self.undo.extend(configured(undo));
        self.verify.push(line(show));
    }

    fn note(&mut self, note: &'static str) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn touch(&mut self, what: &'static str) {
        if !self.touches.contains(&what) {
            self.touches.push(what);
        }
    }

    /// Saves the current state before a command changes it, and adds the undo. A repeated change must not save the changed state.
    fn change(&mut self, saved: &Saved<'_>, command: &str) {
        let Saved { place, file, get, text, ours, load } = *saved;
        let whole = format!("grep -qx \"{ours}\" \"$SAVE\"");
        self.apply(place, format!("SAVE={file}"));
        self.apply(
            place,
            format!(
                "[ -e \"$SAVE\" ] || ( {get} && printf '%s\\n' {text} > \"$SAVE.new\" && mv \"$SAVE.new\" \"$SAVE\" )"
            ),
        );
        self.apply(place, format!("( {whole} && {command} )"));
        self.undo(place, format!("SAVE={file}"));
        self.undo(place, "rm -f \"$SAVE.new\"");
        let refuse = "{ echo \"$SAVE: not a whole save of this\" >&2; exit 1; }";
        self.undo(
            place,
            format!("[ ! -e \"$SAVE\" ] || ( {{ {whole} || {refuse}; }} && {load} \"$SAVE\" && rm \"$SAVE\" )"),
        );
    }

    /// Attributes of a route: of servers towards the client, of the client towards servers.
    fn routes(&mut self, change: &Change, after: &Settings, addresses: &Addresses) {
        let mut servers = Vec::new();
        if let Some(time) = change.value("tcp.rto_min").and_then(|text| text.parse::<Time>().ok()) {
            servers.push(format!("rto_min {}ms", time.0.div_ceil(Time::from_millis(1).0)));
            self.note("Timers are rounded up to the kernel's tick: 4 ms with CONFIG_HZ=250, 1 ms with 1000.");
            self.note(
                "A receiver may delay an ACK by 40 ms. With a smaller RTOmin, responses that end in a single segment then cause \
                 spurious timeouts; quickack at the client prevents them.",
            );
            self.note("A route's rto_min overrides net.ipv4.tcp_rto_min_us, available since Linux 6.11.");
        }
        if let Some(segments) = change.value("tcp.initial_window") {
            servers.push(format!("initcwnd {segments}"));
        }
        let who = format!("CLIENT={}  # the client's address", addresses.client);
        self.route(Where::Servers, &who, "CLIENT", &servers);
        let mut client = Vec::new();
        if change.value("tcp.delayed_ack") == Some("1") {
            client.push("quickack 1".to_string());
        }
        if let Some(window) = change.value("tcp.receive_window").and_then(|text| text.parse::<Bytes>().ok()) {
            match route_window_holds(after) {
                true => client.push(format!("window {}", window.0)),
                false => self.receive_buffer(window.0.div_ceil(after.tcp.mss.0)),
            }
        }
        let who = format!("SERVERS={}  # the servers' network", addresses.servers);
        self.route(Where::Client, &who, "SERVERS", &client);
        if client.iter().any(|attribute| attribute.starts_with("window")) {
            self.sysctl(Where::Client, "net.ipv4.tcp_moderate_rcvbuf", "0");
            self.touch(
                "every TCP connection of the client: receive autotuning (tcp_moderate_rcvbuf) is off for the whole host, and its \
                 connections keep the middle value of net.ipv4.tcp_rmem",
            );
            self.note(
                "Linux increases a route's window as data arrives, unless tcp_moderate_rcvbuf is off. SO_RCVBUF in the application \
                 needs neither command, and affects no other connection.",
            );
            self.note("Linux 6.12 ignores a route's window after the first full segment; Linux 6.1 does not. `ss -tmi` shows each socket's window.");
        }
    }

    /// Sets SO_RCVBUF so that the client's sockets advertise this many segments. The kernel doubles the value and reserves space for one
    /// more packet.
    fn receive_buffer(&mut self, segments: u64) {
        let buffer = PACKET_IN_BUFFER * (segments + 1);
        self.apply(
            Where::Application,
            format!("# the client's sockets, before they connect: setsockopt(SO_RCVBUF, {})", buffer / 2),
        );
        self.undo(Where::Application, "# the client's sockets without SO_RCVBUF");
        self.verify(Where::Application, format!("# each socket has rb{buffer}: ss -tmn state established"));
        self.note(
            "Linux 6.12 ignores a route's window after the first full segment, so the socket's buffer limits the window instead. A packet of \
             1,500 B takes 2,304 B of the buffer if the driver uses half a page per packet; with a page, double the buffer.",
        );
    }

    /// Sets attributes of a route to an address or network in a variable. Replaces the route without removing it, so traffic continues.
    fn route(&mut self, place: Where, who: &str, name: &str, attributes: &[String]) {
        if attributes.is_empty() {
            return;
        }
        self.with(place, who);
        let last = format!("route flush exact ${name} proto {PROTO}");
        // One route per line, as `ip route replace` expects: removes the backslashes before gateways and the automatic lock of `rto_min`.
        let as_commands = r"s/rto_min lock/rto_min/; s/ \(dead\|linkdown\)//g; s/\\//g; s/^./route replace &/";
        let get =
            format!("NOW=$(ip -o route show \"${name}\") && NOW=$(printf '%s\\n' \"$NOW\" | sed '{as_commands}')");
        // Gateway, interface and source; the rest is the kernel's own, or another table's.
        let path = r"s/^[^ ]* //; s/ table [^ ]*//; s/\(src [^ ]*\).*/\1/";
        let attributes = attributes.join(" ");
        self.apply(place, format!("WAY=$(ip -o route get \"${{{name}%/*}}\")"));
        let saved = Saved {
            place,
            file: &format!("/run/fanin-to-${{{name}%/*}}"),
            get: &get,
            text: &format!("\"$NOW\" \"{last}\""),
            ours: &last,
            load: "ip -batch",
        };
        self.change(
            &saved,
            &format!(
                "printf '%s\\n' \"$WAY\" | sed \"{path}; s|.*|route replace ${name} & {attributes} proto {PROTO}|\" | ip -batch -"
            ),
        );
        let shown: String = attributes
            .split(' ')
            .collect::<Vec<_>>()
            .chunks(2)
            .map(|pair| format!(" | grep -w '{}'", pair.join(if pair[0] == "rto_min" { " lock " } else { " " })))
            .collect();
        self.verify(place, format!("ip -o route show \"${name}\"{shown}"));
        self.note("Undo also restores other attributes of that route, such as its MTU or gateways.");
        self.note("Open connections keep their settings: restart the processes that hold them.");
        self.note("To keep a route after a reboot, add it to the network configuration: netplan, NetworkManager, or an `up` line of ifupdown.");
    }

    fn sysctl(&mut self, place: Where, key: &str, value: &str) {
        let saved = Saved {
            place,
            file: &format!("/run/fanin-{}", key.rsplit('.').next().unwrap_or(key)),
            get: &format!("NOW=$(sysctl {key})"),
            text: "\"$NOW\"",
            ours: &format!("{key} = ..*"),
            load: "sysctl -p",
        };
        self.change(&saved, &format!("sysctl -w {key}={value}"));
        self.verify(place, format!("sysctl -n {key} | grep -x {value}"));
        self.note("To keep a sysctl after a reboot, add it to /etc/sysctl.d/90-fanin.conf.");
    }

    /// DCTCP, and the ECN settings that it needs.
    fn congestion_control(&mut self, change: &Change) {
        let Some(scheme) = &change.scheme else { return };
        let ecn = scheme.contains("dctcp") || scheme.contains("ecn");
        for place in [Where::Servers, Where::Client] {
            if scheme.starts_with("dctcp") {
                self.apply(place, "modprobe tcp_dctcp");
                self.sysctl(place, "net.ipv4.tcp_congestion_control", "dctcp");
                self.note("To load tcp_dctcp after a reboot, add it to a file in /etc/modules-load.d/.");
            }
            if ecn {
                self.sysctl(place, "net.ipv4.tcp_ecn", "1");
            }
        }
        if ecn {
            self.touch("every TCP connection of the servers and the client: congestion control and ECN apply to the whole host");
            self.note(
                "Both ends and every port on the path must support it; keep other traffic out of the marked queue.",
            );
        }
        if scheme.starts_with("dctcp") {
            self.note("BBR is not modelled: if hosts use it today, the simulation used another algorithm instead.");
        }
    }

    /// From how much of its queue on a port marks or drops.
    fn marks(&mut self, change: &Change, after: &Settings, eos: bool) {
        let in_bytes = |key| {
            let size = change.value(key).and_then(|text| text.parse::<QueueSize>().ok());
            size.map(|size| after.in_bytes(size))
        };
        let thresholds = match (in_bytes("ecn_threshold.k"), in_bytes("red.min_th").zip(in_bytes("red.max_th"))) {
            (Some(k), _) => Some((k, k)),
            (None, both) => both,
        };
        let Some((least, most)) = thresholds else { return };
        self.touch("every flow through the queue that marks or drops");
        let drops = change.scheme.as_deref().is_some_and(|s| s.ends_with("+red"));
        if eos {
            let (what, probability) = match drops {
                true => ("drop", "drop-probability"),
                false => ("ecn", "max-mark-probability"),
            };
            self.eos(
                &[
                    "! Ethernet1: the port to the client",
                    "interface Ethernet1",
                    "uc-tx-queue 0",
                    &format!(
                        "random-detect {what} minimum-threshold {least} bytes maximum-threshold {most} bytes {probability} 100 weight 0"
                    ),
                ],
                &[
            "! Ethernet1: the port to the client; or restore its previous configuration",
                    "interface Ethernet1",
                    "uc-tx-queue 0",
                    &format!("no random-detect {what}"),
                ],
                "show running-config interfaces Ethernet1",
            );
            return;
        }
        let what = if drops { "drop" } else { "mark (ECN)" };
        self.apply(
            Where::Switch,
            format!("# at the port to the client: {what} from {least} B of its queue, every packet from {most} B",),
        );
        self.with(Where::Switch, "PROFILE=AZURE_LOSSLESS  # WRED profile of that queue; list with ecnconfig -l");
        let now = |name: &str, field: &str| {
            format!("{name}=$(sonic-db-cli CONFIG_DB HGET \"WRED_PROFILE|$PROFILE\" green_{field})")
        };
        let get =
            [now("MIN", "min_threshold"), now("MAX", "max_threshold"), now("DROP", "drop_probability")].join(" && ");
        let set =
            |min: &str, max: &str, drop: &str| format!("ecnconfig -p $PROFILE -gmin {min} -gmax {max} -gdrop {drop}");
        let number = "[0-9][0-9]*";
        let saved = Saved {
            place: Where::Switch,
            file: "/run/fanin-ecn-$PROFILE",
            get: &get,
            text: &format!("\"{}\"", set("$MIN", "$MAX", "$DROP")),
            ours: &set(number, number, number),
            load: "sh",
        };
        let (least, most) = (least.to_string(), most.to_string());
        self.change(&saved, &set(&least, &most, "100").replace("$PROFILE", "\"$PROFILE\""));
        for (field, value) in [("min", least), ("max", most)] {
            let now = format!("sonic-db-cli CONFIG_DB HGET \"WRED_PROFILE|$PROFILE\" green_{field}_threshold");
            self.verify(Where::Switch, format!("{now} | grep -x {value}"));
        }
    }

    /// The share of the switch's memory that a queue may take.
    fn alpha(&mut self, change: &Change, eos: bool) {
        let alpha = change.value("switch.alpha").and_then(|value| ALPHAS.iter().find(|(alpha, _)| *alpha == value));
        let Some((alpha, exponent)) = alpha else { return };
        self.touch("every port whose queues use that profile");
        if eos {
            let profile = "platform trident mmu queue profile fanin";
            self.eos(
                &[profile, &format!("egress unicast queue 0 threshold {alpha}"), &format!("{profile} apply")],
                &["! or apply the profile that was there before", &format!("no {profile} apply")],
                "show platform trident mmu queue status",
            );
            return;
        }
        self.apply(
            Where::Switch,
            format!("# dynamic threshold: alpha of {alpha} for the queue of the port to the client"),
        );
        self.with(
            Where::Switch,
            "PROFILE=egress_lossy_profile  # the buffer profile of that queue: mmuconfig -l lists them",
        );
        let now = "sonic-db-cli CONFIG_DB HGET \"BUFFER_PROFILE|$PROFILE\" dynamic_th";
        let saved = Saved {
            place: Where::Switch,
            file: "/run/fanin-alpha-$PROFILE",
            get: &format!("NOW=$({now})"),
            text: "\"mmuconfig -p $PROFILE -a $NOW\"",
            ours: "mmuconfig -p $PROFILE -a -*[0-9][0-9]*",
            load: "sh",
        };
        self.change(&saved, &format!("mmuconfig -p \"$PROFILE\" -a {exponent}"));
        self.verify(Where::Switch, format!("{now} | grep -x -- {exponent}"));
        self.note("SONiC's dynamic_th is an exponent of two: 3 is an alpha of 8.");
    }

    /// Jumbo frames, on hosts and on the switch.
    fn frames(&mut self, change: &Change, eos: bool) {
        if change.value("link.frames").is_none() {
            return;
        }
        self.touch("the whole network: hosts and ports without jumbo frames lose connectivity");
        for place in [Where::Servers, Where::Client] {
            self.with(place, "DEV=eth0  # the interface of the cluster's network");
            let saved = Saved {
                place,
                file: "/run/fanin-mtu-$DEV",
                get: "NOW=$(cat \"/sys/class/net/$DEV/mtu\")",
                text: "\"link set dev $DEV mtu $NOW\"",
                ours: "link set dev $DEV mtu [0-9][0-9]*",
                load: "ip -batch",
            };
            self.change(&saved, "ip link set dev \"$DEV\" mtu 9000");
            self.verify(place, "grep -x 9000 \"/sys/class/net/$DEV/mtu\"");
        }
        if eos {
            self.eos(
                &["! every port", "interface Ethernet1-32", "mtu 9214"],
                &["! every port; or restore the previous value", "interface Ethernet1-32", "default mtu"],
                "show interfaces | include MTU",
            );
            return;
        }
        self.with(Where::Switch, "PORT=Ethernet0  # repeat for every port");
        let now = "sonic-db-cli CONFIG_DB HGET \"PORT|$PORT\" mtu";
        let saved = Saved {
            place: Where::Switch,
            file: "/run/fanin-mtu-$PORT",
            get: &format!("NOW=$({now})"),
            text: "\"config interface mtu $PORT $NOW\"",
            ours: "config interface mtu $PORT [0-9][0-9]*",
            load: "sh",
        };
        self.change(&saved, "config interface mtu \"$PORT\" 9100");
        self.verify(Where::Switch, format!("{now} | grep -x 9100"));
    }

    /// Changes of the application, in terms of its settings.
    fn application(&mut self, change: &Change, after: &Settings) {
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
            self.apply(
                Where::Application,
                format!("fanin front --config front.toml  # a pool with the concurrency limit `{law}` (docs/front.md)"),
            );
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
    fn bought(&mut self, change: &Change) {
        if self.apply.is_empty() {
            self.apply(Where::Switch, format!("# {}: no command can set this", change.says));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanin_spec::Stack;

    use crate::remedy::Effort;

    fn of(settings: &[(&str, &str)], scheme: Option<&str>) -> Lines {
        let settings = settings.iter().map(|(k, v)| ((*k).to_string(), (*v).to_string())).collect();
        let change = Change { settings, scheme: scheme.map(Into::into), effort: Effort::Sysctl, ..Change::none() };
        lines(&change, &Settings::default(), &Addresses::default())
    }

    fn text(lines: &[Line]) -> Vec<&str> {
        lines.iter().map(|line| line.line.as_str()).collect()
    }

    #[test]
    fn sets_attributes_of_a_route_at_once_and_saves_it() {
        let lines = of(&[("tcp.rto_min", "5 ms"), ("tcp.initial_window", "2")], None);
        assert!(lines.apply.iter().all(|line| line.place == Where::Servers) && lines.touches.is_empty());
        let text = text(&lines.apply);
        let made: Vec<usize> =
            (0..text.len()).filter(|i| text[*i].contains("rto_min 5ms initcwnd 2 proto 250")).collect();
        let saved: Vec<usize> = (0..text.len()).filter(|i| text[*i].contains("mv \"$SAVE.new\" \"$SAVE\"")).collect();
        assert_eq!((made.len(), saved.len()), (1, 1), "{text:#?}");
        assert!(saved < made);
    }

    #[test]
    fn quickack_and_the_window_apply_to_the_client() {
        let lines = of(&[("tcp.delayed_ack", "1"), ("tcp.receive_window", "2920 B")], None);
        assert!(lines.apply.iter().all(|line| line.place == Where::Client));
        assert!(text(&lines.apply).iter().any(|line| line.contains("quickack 1 window 2920")));
        assert!(text(&lines.apply).iter().any(|line| line.contains("net.ipv4.tcp_moderate_rcvbuf=0")), "or it widens");
        assert_eq!(lines.touches.len(), 1);
        assert!(of(&[("tcp.delayed_ack", "1")], None).touches.is_empty(), "a route touches its own flows");
    }

    #[test]
    fn sets_the_sockets_buffer_if_a_routes_window_does_not_hold() {
        let mut after = Settings::default();
        after.tcp.profile.0 = Some(Stack::Linux);
        after.tcp.mss = Bytes(1448);
        let settings = vec![("tcp.receive_window".into(), "2896 B".into())];
        let lines = lines(&Change { settings, ..Change::none() }, &after, &Addresses::default());
        assert!(lines.apply.iter().all(|line| line.place == Where::Application));
        assert!(text(&lines.apply)[0].ends_with("setsockopt(SO_RCVBUF, 3456)"), "three packets of 2,304 B, halved");
        assert!(lines.touches.is_empty(), "no other connection");
    }

    #[test]
    fn dctcp_needs_both_hosts_and_a_switch_threshold_in_bytes() {
        let lines = of(&[("ecn_threshold.k", "20 packets")], Some("dctcp"));
        let there = |place, what: &str| lines.apply.iter().any(|line| line.place == place && line.line.contains(what));
        for place in [Where::Servers, Where::Client] {
            assert!(there(place, "modprobe tcp_dctcp") && there(place, "sysctl -w net.ipv4.tcp_ecn=1"));
        }
        let bytes = 20 * Settings::default().full_frame().0;
        assert!(there(Where::Switch, &format!("-gmin {bytes} -gmax {bytes} -gdrop 100")));
        assert!(
            lines.notes.contains(&"The commands for the switch are untested on hardware.") && !lines.touches.is_empty()
        );
    }

    #[test]
    fn a_dynamic_threshold_is_an_exponent_of_two() {
        let lines = of(&[("switch.alpha", "1/4")], None);
        assert!(text(&lines.apply).iter().any(|line| line.contains("mmuconfig -p \"$PROFILE\" -a -2")), "{lines:?}");
    }

    #[test]
    fn the_switch_vendor_determines_the_syntax() {
        let set = |key: &str, value: &str| vec![(key.to_string(), value.to_string())];
        for (chip, syntax) in [(Chip::A7050, Syntax::Eos), (Chip::A7060, Syntax::Eos), (Chip::S6000, Syntax::Sh)] {
            let mut after = Settings::default();
            after.switch.profile.0 = Some(chip);
            for (settings, scheme) in [
                (set("switch.alpha", "2"), None),
                (set("link.frames", "jumbo"), None),
                (set("ecn_threshold.k", "20 packets"), Some("dctcp".to_string())),
            ] {
                let lines = lines(&Change { settings, scheme, ..Change::none() }, &after, &Addresses::default());
                for of in [&lines.apply, &lines.undo, &lines.verify] {
                    let mut switch = of.iter().filter(|line| line.place == Where::Switch).peekable();
                    assert!(switch.peek().is_some() && switch.all(|line| line.syntax == syntax), "{chip:?}: {of:?}");
                }
            }
        }
    }
}
