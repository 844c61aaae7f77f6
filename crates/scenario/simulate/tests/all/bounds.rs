//! Bounds that no run may exceed: the closed forms of `fanin-model`, under every scheme and random settings.

use crate::common::{run, schemes, spec};
use fanin_model::{Bottleneck, last_answer_at_the_earliest, most_goodput_mbps, overflow_onset};
use fanin_spec::{Discipline, Kind, Scheme};
use fanin_units::{Bytes, QueueSize, Rate, Time};
use proptest::prelude::*;

proptest! {
    #![proptest_config(fanin_testing::cases(60))]

    #[test]
    fn reads_respect_link_rates(
        scheme in prop::sample::select(schemes(Kind::Barrier).map(|s| s.to_string()).collect::<Vec<_>>()),
        mbps in prop::sample::select(vec![100u64, 1000, 10_000]),
        delay_us in 1..100u64,
        buffer in 5..200u32,
        answer in 1..200_000u64,
        fan_in in 1..20u32,
        seed in 0..100u64,
    ) {
        let memory = match Scheme::parse(&scheme).unwrap().rdma() {
            None => format!("buffer = \"{buffer} packets\""),
            Some(_) => "shared_buffer = \"32 MiB\"".into(),
        };
        let scenario = format!(
            "schemes = [\"{scheme}\"]\n[link]\nrate = \"{mbps} Mbit/s\"\ndelay = \"{delay_us} us\"\n\
             [switch]\n{memory}\n[tcp]\nrto_min = \"5 ms\"\n\
             [workload]\nkind = \"barrier\"\nfragment = \"{answer} B\"\nduration = \"50 ms\"\n"
        );
        let tables = run(&spec(&scenario, fan_in, seed));
        let rate = Rate(mbps * 1_000_000);
        // The request crosses two links, the last byte of the last response two more.
        let one_way = Time::from_micros(4 * delay_us);
        let least = last_answer_at_the_earliest(fan_in.into(), Bytes(answer), rate, one_way);
        for query in &tables.queries {
            prop_assert!(query.qct_ps.is_none_or(|qct| qct >= least.0), "{query:?} under {least}");
        }
        // Ultra Ethernet's packets are larger than TCP's.
        let payload = Scheme::parse(&scheme).unwrap().uet().map_or(1_460, |_| 9_000);
        let most = most_goodput_mbps(rate, Bytes(payload), Bytes(78));
        prop_assert!(tables.goodput_mbps() <= most, "{} of {most} Mbit/s", tables.goodput_mbps());
    }

    #[test]
    fn no_drops_while_windows_fit(
        fan_in in 1..60u32,
        window in 1..10u32,
        buffer in 20..300u32,
    ) {
        let bottleneck = Bottleneck {
            rate: Rate(10_000_000_000),
            buffer: QueueSize::Packets(buffer),
            // Do not count the pipe's capacity: bursts arrive at once.
            rtt: Time::ZERO,
            packet: Bytes(1518),
        };
        prop_assume!(f64::from(fan_in) < overflow_onset(window.into(), &bottleneck));
        // One window each, and nothing after it.
        let scenario = format!(
            "schemes = [\"newreno\"]\n[link]\nrate = \"10 Gbit/s\"\ndelay = \"25 us\"\n\
             [switch]\nbuffer = \"{buffer} packets\"\n[tcp]\ninitial_window = {window}\n\
             [workload]\nkind = \"barrier\"\nfragment = \"{} B\"\nduration = \"1 ms\"\n",
            window * 1460
        );
        prop_assert_eq!(run(&spec(&scenario, fan_in, 1)).totals.drops, 0);
    }
}

/// 32 MB at 1 Gbit/s take 0.26 s. Slow start's first overshoot may cost a timeout of 0.2 s; later losses may not repeat it.
#[test]
fn long_flow_avoids_repeated_timeouts() {
    for (scheme, recovery) in
        schemes(Kind::OneShot).flat_map(|s| ["sack = true", "sack = false", "rack = true"].map(|r| (s, r)))
    {
        let codel = match scheme.discipline {
            Discipline::CoDel => "[codel]\ntarget = \"800 us\"\ninterval = \"1500 us\"\n",
            _ => "",
        };
        let scenario = format!(
            "schemes = [\"{scheme}\"]\n[link]\nrate = \"1 Gbit/s\"\ndelay = \"5 us\"\n[host]\nqueue = \"switch\"\n\
             [switch]\nbuffer = \"200 packets\"\n[tcp]\ninitial_window = 2\ndelayed_ack = 1\n\
             receive_window = \"1833760 B\"\n{recovery}\n{codel}\
             [workload]\nkind = \"one-shot\"\nfragment = \"32 MB\"\n"
        );
        let tables = run(&spec(&scenario, 1, 1));
        // RED drops retransmissions too, and only a timer detects such a loss (RFC 8985).
        assert!(tables.totals.timeouts <= 4, "{scheme}, {recovery}: {} timeouts", tables.totals.timeouts);
    }
}
