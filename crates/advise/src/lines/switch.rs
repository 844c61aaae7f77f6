//! Commands for switches, SONiC's and Arista's EOS; untested on hardware.

use fanin_spec::Settings;
use fanin_units::QueueSize;

use super::{Lines, Saved, Where};
use crate::remedy::{ALPHAS, Change};

impl Lines {
    /// From how much of its queue on a port marks or drops.
    pub(super) fn marks(&mut self, change: &Change, after: &Settings, eos: bool) {
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
        };
        self.change(&saved, "config interface mtu \"$PORT\" 9100");
        self.verify(Where::Switch, format!("{now} | grep -x 9100"));
    }
}
