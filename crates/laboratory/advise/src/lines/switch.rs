//! Commands for switches, SONiC's and Arista's EOS; untested on hardware.

use fanin_spec::{Settings, Share, TrimBased};
use fanin_units::QueueSize;

use super::{Line, Lines, Saved, Syntax, Today, Where};
use crate::remedy::{ALPHAS, Change, PFC_ALPHAS};

/// How a port marks or drops.
struct Marks {
    /// Queues from which it marks some packets and all packets, bytes.
    least: u64,
    most: u64,
    /// The probability at the second, in percent.
    percent: u64,
    /// Its queue, as EOS numbers them.
    queue: u8,
}

/// Marks or drops of ports with a change; `None` if it sets none.
fn marks_of(change: &Change, after: &Settings) -> Option<Marks> {
    let in_bytes = |key| {
        let size = change.value(key).and_then(|text| text.parse::<QueueSize>().ok());
        size.map(|size| after.in_bytes(size))
    };
    let sets = |section: &str| change.settings.iter().any(|(key, _)| key.starts_with(section));
    let of_tcp = |(least, most)| Marks { least, most, percent: 100, queue: 0 };
    if sets("ecn_ramp.") {
        let (least, most) = after.client_ramp();
        let percent = after.laws.ports.ecn_ramp.p_max.part_of(100).max(1);
        return Some(Marks { least, most, percent, queue: LOSSLESS_QUEUE });
    }
    if sets("trimming.low") {
        let (ports, kind) = (&after.laws.ports.trimming, TrimBased::Nscc);
        let buffer = after.in_bytes(after.trimming_queue(kind));
        return Some(of_tcp((ports.low.part_of(buffer), ports.high.part_of(buffer))));
    }
    let red = in_bytes("red.min_th").zip(in_bytes("red.max_th"));
    in_bytes("ecn_threshold.k").map(|k| (k, k)).or(red).map(of_tcp)
}

/// The usual class of RoCE.
const LOSSLESS_QUEUE: u8 = 3;

/// Marks of lossless ports today; `None` where another scheme is to be used.
fn marks_today(change: &Change, today: &Settings, queue: u8) -> Option<Today<'static>> {
    let is_lossless = queue == LOSSLESS_QUEUE && change.scheme.is_none();
    let Marks { least, most, percent, .. } = is_lossless.then(|| marks_of(change, today)).flatten()?;
    Some(Today {
        now: "$MIN $MAX $DROP",
        value: format!("{least} {most} {percent}"),
        key: "ecn_ramp.k_min, k_max (bytes) and p_max (percent)",
    })
}

impl Lines {
    /// From how much of its queue on a port marks or drops.
    pub(super) fn marks(&mut self, change: &Change, [today, after]: [&Settings; 2], eos: bool) {
        let Some(Marks { least, most, percent, queue }) = marks_of(change, after) else { return };
        self.touch("every flow through the queue that marks or drops");
        let drops = change.scheme.as_deref().is_some_and(|s| s.ends_with("+red"));
        let tx_queue = format!("uc-tx-queue {queue}");
        if eos {
            let (what, probability) = match drops {
                true => ("drop", "drop-probability"),
                false => ("ecn", "max-mark-probability"),
            };
            self.eos(
                &[
                    "! Ethernet1: the port to the client",
                    "interface Ethernet1",
                    &tx_queue,
                    &format!(
                        "random-detect {what} minimum-threshold {least} bytes maximum-threshold {most} bytes {probability} {percent} \
                         weight 0"
                    ),
                ],
                &[
            "! Ethernet1: the port to the client; or restore its previous configuration",
                    "interface Ethernet1",
                    &tx_queue,
                    &format!("no random-detect {what}"),
                ],
                "show running-config interfaces Ethernet1",
            );
            return;
        }
        let what = if drops { "drop" } else { "mark (ECN)" };
        let at_most = if percent < 100 {
            format!("{percent} % of packets at {most} B, and every one beyond")
        } else {
            format!("every packet from {most} B")
        };
        self.apply(
            Where::Switch,
            format!("# at the port to the client: {what} from {least} B of its queue, {at_most}"),
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
            today: marks_today(change, today, queue).into_iter().collect(),
        };
        let (least, most, percent) = (least.to_string(), most.to_string(), percent.to_string());
        self.change(&saved, &set(&least, &most, &percent).replace("$PROFILE", "\"$PROFILE\""));
        for (field, value) in [("min", least), ("max", most)] {
            let now = format!("sonic-db-cli CONFIG_DB HGET \"WRED_PROFILE|$PROFILE\" green_{field}_threshold");
            self.verify(Where::Switch, format!("{now} | grep -x {value}"));
        }
    }

    /// The share of the switch's memory that a queue may take.
    pub(super) fn alpha(&mut self, change: &Change, eos: bool) {
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
        let what = format!("# dynamic threshold: alpha of {alpha} for the queue of the port to the client");
        let profile = "PROFILE=egress_lossy_profile  # the buffer profile of that queue: mmuconfig -l lists them";
        self.dynamic_threshold(&what, profile, *exponent, None);
    }

    /// SONiC's dynamic threshold of a buffer profile.
    fn dynamic_threshold(&mut self, what: &str, profile: &str, exponent: i32, today: Option<Today<'_>>) {
        self.apply(Where::Switch, what);
        self.with(Where::Switch, profile);
        let now = "sonic-db-cli CONFIG_DB HGET \"BUFFER_PROFILE|$PROFILE\" dynamic_th";
        let saved = Saved {
            place: Where::Switch,
            file: "/run/fanin-alpha-$PROFILE",
            get: &format!("NOW=$({now})"),
            text: "\"mmuconfig -p $PROFILE -a $NOW\"",
            ours: "mmuconfig -p $PROFILE -a -*[0-9][0-9]*",
            load: "sh",
            today: today.into_iter().collect(),
        };
        self.change(&saved, &format!("mmuconfig -p \"$PROFILE\" -a {exponent}"));
        self.verify(Where::Switch, format!("{now} | grep -x -- {exponent}"));
        self.note("SONiC's dynamic_th is an exponent of two: 3 is an alpha of 8.");
    }

    /// When a switch pauses a link.
    pub(super) fn lossless(&mut self, change: &Change, today: &Settings, eos: bool) {
        let of_value = |value| PFC_ALPHAS.iter().find(|(alpha, _)| *alpha == value);
        let Some((alpha, exponent)) = change.value("pfc.alpha").and_then(of_value) else { return };
        self.touch("every flow of the lossless class through the switch");
        if eos {
            let line = format!("# no public command: alpha of {alpha} for the lossless priority group of every port");
            self.apply.push(Line { place: Where::Switch, syntax: Syntax::Eos, line });
            return;
        }
        let what = format!("# dynamic threshold: alpha of {alpha} for what a port receives of the lossless class");
        let profile = "PROFILE=pg_lossless_100000_5m_profile  # the profile of the lossless priority group: mmuconfig -l lists them";
        let alpha = today.laws.rates.pfc.alpha.in_q(16);
        let of_today = |(text, _): &&(&str, i32)| text.parse::<Share>().map(|share| share.in_q(16)) == Ok(alpha);
        let now = PFC_ALPHAS.iter().find(of_today).map(|(_, exponent)| exponent.to_string());
        let today = now.map(|value| Today { now: "$NOW", value, key: "pfc.alpha (this exponent of two)" });
        self.dynamic_threshold(&what, profile, *exponent, today);
    }

    /// The queue above which a port trims.
    pub(super) fn trim_queue(&mut self, change: &Change, after: &Settings) {
        let queue = change.value("trimming.queue").and_then(|text| text.parse::<QueueSize>().ok());
        let Some(bytes) = queue.map(|queue| after.in_bytes(queue)) else { return };
        self.touch("every flow through the queues that trim");
        self.apply(
            Where::Switch,
            format!(
                "# {bytes} B for each queue whose buffer profile trims: static_th of its BUFFER_PROFILE, beside packet_discard_action; no \
                 public command"
            ),
        );
        self.undo(Where::Switch, "# the previous threshold");
    }

    /// Jumbo frames on the switch.
    pub(super) fn switch_frames(&mut self, eos: bool) {
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
            today: Vec::new(),
        };
        self.change(&saved, "config interface mtu \"$PORT\" 9100");
        self.verify(Where::Switch, format!("{now} | grep -x 9100"));
    }
}
