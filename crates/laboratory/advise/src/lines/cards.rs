//! Settings of network cards: those of the driver of NVIDIA's for RoCE, and, for cards without a public command, the setting's name.

use fanin_spec::{RateBased, Settings};
use fanin_units::Time;

use super::{Lines, Saved, Today, Where};
use crate::remedy::Change;

/// Sections of settings that network cards carry out.
const CARDS: [&str; 10] = ["dcqcn", "hpcc", "timely", "rdma_dctcp", "rdma", "nscc", "rccc", "eqds", "ndp", "uet"];

impl Lines {
    /// Settings of RoCE's and Ultra Ethernet's network cards.
    pub(super) fn cards(&mut self, change: &Change, [today, after]: [&Settings; 2]) {
        for (key, value) in &change.settings {
            match key.as_str() {
                "dcqcn.min_rate" => {
                    let mbps = |s: &Settings| (s.least_rate(RateBased::Dcqcn).1.0 / 1_000_000).max(1);
                    let values = [today, after].map(mbps);
                    self.of_mlx5(Where::Servers, "roce_rp/rpg_min_rate", values, "dcqcn.min_rate (in Mbit/s)");
                }
                "dcqcn.cnp_interval" => {
                    let us = |s: &Settings| s.laws.rates.dcqcn.cnp_interval.0 / Time::from_micros(1).0;
                    let values = [today, after].map(us);
                    self.of_mlx5(Where::Client, "roce_np/min_time_between_cnps", values, "dcqcn.cnp_interval (in us)");
                }
                "rdma.payload" => self.note(
                    "RoCE uses the largest MTU of up to 4,096 B that fits the interface's: ibv_devinfo shows it as active_mtu.",
                ),
                _ if key.split_once('.').is_some_and(|(section, _)| CARDS.contains(&section)) => self.of_vendor(key, value),
                _ => {}
            }
        }
        if let Some(scheme @ ("nscc" | "rccc")) = change.scheme.as_deref() {
            self.of_vendor("congestion control", scheme);
        }
    }

    /// A file of DCQCN's settings, as NVIDIA's driver has them, with today's value and the new one.
    fn of_mlx5(&mut self, place: Where, file: &str, [today, value]: [u64; 2], key: &str) {
        self.with(place, "DEV=eth0  # the network card's interface");
        let name = file.rsplit('/').next().unwrap_or(file);
        let path = format!("/sys/class/net/$DEV/ecn/{file}");
        let saved = Saved {
            place,
            file: &format!("/run/fanin-{name}-$DEV"),
            get: &format!("NOW=$(cat \"{path}\")"),
            text: &format!("\"echo $NOW > {path}\""),
            ours: &format!("echo [0-9][0-9]* > {path}"),
            load: "sh",
            today: vec![Today { now: "$NOW", value: today.to_string(), key }],
        };
        self.change(&saved, &format!("echo {value} | tee \"{path}\""));
        self.verify(place, format!("grep -x {value} \"{path}\""));
        self.touch("every RoCE connection of the interface");
        self.note(
            "These files are of NVIDIA's driver (MLNX_OFED, DOCA). The kernel's own driver has them as rp_min_rate and \
             np_min_time_between_cnps in /sys/kernel/debug/mlx5/<PCI address>/cc_params; cards of others have tools of their own.",
        );
        self.note("The card forgets them at a reset: repeat them at boot.");
    }

    /// A setting without a public command.
    fn of_vendor(&mut self, key: &str, value: &str) {
        self.apply(
            Where::Servers,
            format!("# no public command: set this by the network card's tool: {key} = {value}"),
        );
        self.undo(Where::Servers, format!("# the previous value of {key}"));
    }
}
