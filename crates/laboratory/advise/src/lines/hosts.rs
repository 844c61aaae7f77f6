//! Commands for hosts: attributes of routes, sysctls, and jumbo frames. Names and values are those of [`fanin_assemble::linux()`].

use std::ops::RangeInclusive;

use fanin_assemble::{RouteAttribute, Sysctl, route_window_holds, socket_buffer};
use fanin_spec::{Scheme, Settings};
use fanin_units::{Bytes, Time};

use super::{Addresses, InShort, Lines, PROTO, Saved, Today, Where};
use crate::remedy::Change;

/// Bytes of responses that tests on a kernel have tried with grants (bench/grants_pairs.py); the note below names them.
const GRANTS_TRIED: RangeInclusive<u64> = 2_000..=262_144;

/// The congestion control that gentle slow start extends, as `fanin kernel` has it, and the name of both in the kernel.
fn gentle_slow_start(scheme: &str) -> Option<(&'static str, &'static str)> {
    let scheme = Scheme::parse(scheme).ok().filter(|scheme| scheme.gss)?;
    let linux = scheme.base.row().linux?;
    Some((linux.name, linux.gentle?))
}

/// Where a route leads.
struct To<'a> {
    /// The variable of a script.
    name: &'a str,
    /// Address or network.
    address: &'a str,
    /// In words.
    who: &'a str,
}

/// A command that stores the present value of an attribute, of the route in `WAY` or else Linux's default, and the value that the advice
/// assumes.
fn assumed(attribute: &RouteAttribute, today: &Settings) -> Option<(String, Today<'static>)> {
    let get = |name: &str, attribute: &str, default: &str| {
        format!(
            "{name}=$(printf '%s\\n' \"$WAY\" | sed -n 's/.* {attribute} \\(lock \\)\\{{0,1\\}}\\([^ ]*\\).*/\\2/p') && {name}=${{{name}:-{default}}}"
        )
    };
    match attribute {
        RouteAttribute::RtoMin(_) => {
            // In milliseconds, as `ip` prints it. Linux has the sysctl since 6.11.
            let default = "$(($(sysctl -n net.ipv4.tcp_rto_min_us 2>/dev/null || echo 200000) / 1000))ms";
            let value = format!("{}ms", (today.tcp.rto_min.as_secs_f64() * 1e3).round());
            Some((get("RTO", "rto_min", default), Today { now: "$RTO", value, key: "tcp.rto_min" }))
        }
        RouteAttribute::InitialWindow(_) => {
            // TCP_INIT_CWND in include/net/tcp.h.
            let value = today.tcp.initial_window.to_string();
            Some((get("WINDOW", "initcwnd", "10"), Today { now: "$WINDOW", value, key: "tcp.initial_window" }))
        }
        _ => None,
    }
}

impl Lines {
    /// Attributes of a route: of servers towards the client, of the client towards servers.
    pub(super) fn routes(&mut self, change: &Change, [today, after]: [&Settings; 2], addresses: &Addresses) {
        let mut servers = Vec::new();
        if let Some(time) = change.value("tcp.rto_min").and_then(|text| text.parse::<Time>().ok()) {
            servers.push(RouteAttribute::RtoMin(time));
            self.note("Timers are rounded up to the kernel's tick: 4 ms with CONFIG_HZ=250, 1 ms with 1000.");
            self.note(
                "A receiver may delay an ACK by 40 ms. With a smaller RTOmin, responses that end in a single segment then cause \
                 spurious timeouts; quickack at the client prevents them.",
            );
            self.note("A route's rto_min overrides net.ipv4.tcp_rto_min_us, available since Linux 6.11.");
        }
        if let Some(segments) = change.value("tcp.initial_window").and_then(|text| text.parse().ok()) {
            servers.push(RouteAttribute::InitialWindow(segments));
        }
        let gentle = change.scheme.as_deref().and_then(gentle_slow_start);
        if let Some((base, name)) = gentle {
            self.apply(
                Where::Servers,
                format!("fanin kernel status | grep -q {name} || fanin kernel load gss --over {base}"),
            );
            self.verify(Where::Servers, format!("fanin kernel status | grep -w {name}"));
            servers.push(RouteAttribute::CongestionControl(name));
        }
        let to = To { name: "CLIENT", address: &addresses.client, who: "the client's address" };
        self.route(Where::Servers, &to, &servers, today);
        if let Some((base, _)) = gentle {
            self.undo(Where::Servers, format!("fanin kernel unload --over {base}"));
            self.note(
                "Try it first on half of a service's new connections, which takes itself back when it is worse: fanin kernel load gss \
                 --canary cgroup=system.slice/NAME.service --for 10m (docs/kernel.md).",
            );
            self.note(
                "fanin kernel needs root, Linux 6.4 with BTF, and the program fanin-kernel. The unit packaging/fanin-kernel.service loads \
                 it at boot; the route needs its own line there.",
            );
        }
        let mut client = Vec::new();
        if change.value("tcp.delayed_ack") == Some("1") {
            client.push(RouteAttribute::QuickAck);
        }
        if let Some(window) = change.value("tcp.receive_window").and_then(|text| text.parse::<Bytes>().ok()) {
            match route_window_holds(after) {
                true => client.push(RouteAttribute::Window(window.0)),
                false => self.receive_buffer(window.0.div_ceil(after.tcp.mss.0)),
            }
        }
        let to = To { name: "SERVERS", address: &addresses.servers, who: "the servers' network" };
        self.route(Where::Client, &to, &client, today);
        if client.iter().any(|attribute| matches!(attribute, RouteAttribute::Window(_))) {
            self.sysctl(Where::Client, &Sysctl::receive_autotuning(false));
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

    /// Sets SO_RCVBUF so that the client's sockets advertise this many segments.
    fn receive_buffer(&mut self, segments: u64) {
        let (option, buffer) = socket_buffer(segments);
        self.apply(
            Where::Application,
            format!("# the client's sockets, before they connect: setsockopt(SO_RCVBUF, {option})"),
        );
        self.undo(Where::Application, "# the client's sockets without SO_RCVBUF");
        self.verify(Where::Application, format!("# each socket has rb{buffer}: ss -tmn state established"));
        self.note(
            "Linux 6.12 ignores a route's window after the first full segment, so the socket's buffer limits the window instead. A packet of \
             1,500 B takes 2,304 B of the buffer if the driver uses half a page per packet; with a page, double the buffer.",
        );
    }

    /// Sets attributes of a route to an address or network in a variable, and keeps all others. Replaces the route without removing it, so
    /// traffic continues.
    fn route(&mut self, place: Where, to: &To<'_>, attributes: &[RouteAttribute], today: &Settings) {
        if attributes.is_empty() {
            return;
        }
        let words: Vec<String> = attributes.iter().map(RouteAttribute::to_string).collect();
        let words = words.join(" ");
        let (address, host) = (to.address, to.address.split('/').next().unwrap_or_default());
        let short = InShort {
            apply: &format!(
                "ip route replace {address} via GATEWAY dev DEVICE {words}  # and all else that this shows: ip route get fibmatch {host}"
            ),
            undo: &format!("ip route del {address}  # or replace it by the route that there was"),
            verify: &format!("ip route show {address}"),
        };
        self.in_short(place, &short, |lines| lines.replace_route(place, to, attributes, today));
        self.note("Scripts (--out) keep all attributes of the route, refuse if its value today is not the one that the advice assumes, and print their changes with --dry-run.");
        self.note("Undo also restores other attributes of that route, such as its MTU or gateways.");
        self.note("Open connections keep their settings: restart the processes that hold them.");
        self.note("To keep a route after a reboot, add it to the network configuration: netplan, NetworkManager, or an `up` line of ifupdown.");
    }

    /// The careful form of [`Lines::route`].
    fn replace_route(&mut self, place: Where, to: &To<'_>, attributes: &[RouteAttribute], today: &Settings) {
        let name = to.name;
        self.with(place, &format!("{name}={}  # {}", to.address, to.who));
        let last = format!("route flush exact ${name} proto {PROTO}");
        // One route per line, as `ip route replace` expects: removes the backslashes before gateways and the automatic lock of `rto_min`.
        let as_commands = r"s/rto_min lock/rto_min/; s/ \(dead\|linkdown\)//g; s/\\//g; s/^./route replace &/";
        let mut get =
            format!("NOW=$(ip -o route show \"${name}\") && NOW=$(printf '%s\\n' \"$NOW\" | sed '{as_commands}')");
        let (commands, assumed): (Vec<String>, Vec<Today<'_>>) =
            attributes.iter().filter_map(|attribute| assumed(attribute, today)).unzip();
        commands.iter().for_each(|command| get += &format!(" && {command}"));
        // In double quotes, a shell halves backslashes. All of the route that packets take today, except its own prefix, its origin and the attributes that change.
        let mut path = String::from(
            r"s/\\\\//g; s/^[^ ]* //; s/ \(table\|proto\|expires\|error\) [^ ]*//g; s/ \(dead\|linkdown\|cache\)//g",
        );
        let words: Vec<String> = attributes.iter().map(RouteAttribute::to_string).collect();
        for attribute in words.iter().filter_map(|word| word.split(' ').next()) {
            path += &format!(r"; s/ {attribute} \(lock \)\{{0,1\}}[^ ]*//");
        }
        path += "; s/rto_min lock/rto_min/";
        let words = words.join(" ");
        self.apply(place, format!("WAY=$(ip -o route get fibmatch \"${{{name}%/*}}\")"));
        let saved = Saved {
            place,
            file: &format!("/run/fanin-to-${{{name}%/*}}"),
            get: &get,
            text: &format!("\"$NOW\" \"{last}\""),
            ours: &last,
            load: "ip -batch",
            today: assumed,
        };
        // The attributes first: a list of gateways ends a route.
        self.change(
            &saved,
            &format!(
                "printf '%s\\n' \"$WAY\" | sed \"{path}; s|.*|route replace ${name} {words} proto {PROTO} &|\" | ip -batch -"
            ),
        );
        let shown: String = words
            .split(' ')
            .collect::<Vec<_>>()
            .chunks(2)
            .map(|pair| format!(" | grep -w '{}'", pair.join(if pair[0] == "rto_min" { " lock " } else { " " })))
            .collect();
        self.verify(place, format!("ip -o route show \"${name}\"{shown}"));
    }

    /// Sets a sysctl.
    fn sysctl(&mut self, place: Where, sysctl: &Sysctl) {
        let Sysctl { key, value } = sysctl;
        let saved = Saved {
            place,
            file: &format!("/run/fanin-{}", key.rsplit('.').next().unwrap_or(key)),
            get: &format!("NOW=$(sysctl {key})"),
            text: "\"$NOW\"",
            ours: &format!("{key} = ..*"),
            load: "sysctl -p",
            today: Vec::new(),
        };
        let short = InShort {
            apply: &format!("sysctl -w {sysctl}"),
            undo: &format!("sysctl -w {key}=BEFORE  # as this showed before: sysctl -n {key}"),
            verify: &format!("sysctl -n {key} | grep -x {value}"),
        };
        self.in_short(place, &short, |lines| {
            lines.change(&saved, short.apply);
            lines.verify(place, short.verify);
        });
        self.note("To keep a sysctl after a reboot, add it to /etc/sysctl.d/90-fanin.conf.");
    }

    /// Windows granted by the client's kernel, to connections of the application.
    pub(super) fn grants(&mut self, change: &Change, after: &Settings) {
        if !change.scheme.as_deref().and_then(|scheme| Scheme::parse(scheme).ok()).is_some_and(|scheme| scheme.grants) {
            return;
        }
        let queue = change.value("grants.queue").and_then(|text| text.parse::<Bytes>().ok());
        let queue = queue.map_or(String::new(), |queue| format!(" --queue {}", queue.0));
        let turn = change.value("grants.turn").map_or(String::new(), |turn| format!(" --turn {turn}"));
        self.apply(Where::Client, "DEV=eth0  # the interface of the cluster's network");
        self.apply(Where::Client, "CGROUP=system.slice/NAME.service  # the application's control group");
        self.apply(
            Where::Client,
            format!(
                "fanin kernel status | grep -qw grants || fanin kernel load grants --device \"$DEV\" --cgroup \"$CGROUP\"{queue}{turn}"
            ),
        );
        self.undo(Where::Client, "fanin kernel unload grants");
        self.verify(Where::Client, "fanin kernel status | grep -w grants");
        self.note(
            "Grants divide the client's link among connections that receive at the moment. A lone flow keeps its rate, unlike with a fixed \
             window. docs/grants.md has the walk from a trial to keeping them.",
        );
        self.note(
            "Try them first on half of a service's new connections, which takes itself back when it is worse: fanin kernel load grants \
             --device eth0 --canary cgroup=system.slice/NAME.service --for 10m.",
        );
        self.note("fanin kernel needs root, Linux 6.4 with BTF, and the program fanin-kernel.");
        let servers = u64::from(after.requested_servers().max(1));
        let block = after.workload.block.0.map(|block| block.0 / servers);
        let response = after.workload.fragment.0.map(|fragment| fragment.0).or(block);
        if response.is_none_or(|bytes| !GRANTS_TRIED.contains(&bytes)) {
            self.note(
                "Unconfirmed: tests on a kernel have tried grants with responses of 2 KB to 256 KiB only. For others, this rests on the \
                 simulation alone.",
            );
        }
    }

    /// DCTCP, and the ECN settings that it needs.
    pub(super) fn congestion_control(&mut self, change: &Change) {
        let Some(scheme) = &change.scheme else { return };
        let ecn = scheme.starts_with("dctcp") || scheme.contains("ecn");
        for place in [Where::Servers, Where::Client] {
            if scheme.starts_with("dctcp") {
                self.apply(place, "modprobe tcp_dctcp");
                self.sysctl(place, &Sysctl::congestion_control("dctcp"));
                self.note("To load tcp_dctcp after a reboot, add it to a file in /etc/modules-load.d/.");
            }
            if ecn {
                self.sysctl(place, &Sysctl::ecn(true));
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

    /// Slow start after idle time, of the servers.
    pub(super) fn idle_restart(&mut self, change: &Change) {
        let Some(on) = change.value("tcp.idle_restart") else { return };
        self.sysctl(Where::Servers, &Sysctl::idle_restart(on == "true"));
        self.touch("every TCP connection of the servers: tcp_slow_start_after_idle applies to the whole host");
    }

    /// Jumbo frames, on hosts and on the switch.
    pub(super) fn frames(&mut self, change: &Change, eos: bool) {
        if change.value("link.frames").or(change.value("rdma.payload")).is_none() {
            return;
        }
        self.touch("the whole network: hosts and ports without jumbo frames lose connectivity");
        for place in [Where::Servers, Where::Client] {
            let saved = Saved {
                place,
                file: "/run/fanin-mtu-$DEV",
                get: "NOW=$(cat \"/sys/class/net/$DEV/mtu\")",
                text: "\"link set dev $DEV mtu $NOW\"",
                ours: "link set dev $DEV mtu [0-9][0-9]*",
                load: "ip -batch",
                today: Vec::new(),
            };
            let short = InShort {
                apply: "ip link set dev DEVICE mtu 9000",
                undo: "ip link set dev DEVICE mtu BEFORE  # as this showed before: ip link show DEVICE",
                verify: "ip link show DEVICE | grep -w 'mtu 9000'",
            };
            self.in_short(place, &short, |lines| {
                lines.with(place, "DEV=eth0  # the interface of the cluster's network");
                lines.change(&saved, "ip link set dev \"$DEV\" mtu 9000");
                lines.verify(place, "grep -x 9000 \"/sys/class/net/$DEV/mtu\"");
            });
        }
        self.switch_frames(eos);
    }
}
