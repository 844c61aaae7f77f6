//! Flows between any two hosts: lists, and Poisson flows alone or beside another workload.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::common::{but, checked, run, run_as, schemes, spec, specs};
use fanin_sim::Departures;
use fanin_spec::{FilePath, Flows, Kind, Optional, PacketJitter, Settings, Share, Sizes};
use fanin_tables::{FlowKind, RunTables};
use fanin_units::{Bytes, QueueSize, Rate, Time};
use proptest::prelude::*;
use proptest::sample::select;

fn poisson(extra: &str, fan_in: u32) -> RunTables {
    let text = format!("schemes = [\"dctcp\"]\n[workload]\nkind = \"poisson\"\n{extra}\n");
    run(&specs(&text, fan_in, 7).remove(0))
}

#[test]
fn poisson_flows_offer_their_load_at_every_host() {
    // Small flows, so that many start: 2 s of 1 Gbit/s at 0.4 are 800 flows of Hadoop's mean size per host.
    let tables = poisson("sizes = \"hadoop\"\nload = 0.4\nduration = \"2 s\"", 31);
    let mut by_host: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for flow in &tables.flows {
        assert!(flow.class == FlowKind::Poisson && flow.from_host != flow.to_host && flow.to_host <= 31);
        let host = by_host.entry(flow.from_host).or_default();
        *host = (host.0 + 1, host.1 + flow.payload_bytes.unwrap_or(0));
    }
    assert_eq!(by_host.len(), 32);
    let (flows, bytes) = by_host.values().fold((0, 0), |sum, host| (sum.0 + host.0, sum.1 + host.1));
    let expected_flows = 0.4 * 1e9 / 8.0 / 120_420.75 * 2.0 * 32.0;
    // About 26,000 flows: 4 standard deviations of their number are 2.5 %, of their sum (its coefficient is 5.5) 14 %.
    assert!((flows as f64 / expected_flows - 1.0).abs() < 0.025, "{flows} flows for {expected_flows}");
    let load = bytes as f64 * 8.0 / (1e9 * 2.0 * 32.0);
    assert!((load / 0.4 - 1.0).abs() < 0.14, "a load of {load}");
    for (bytes, share) in Sizes::named("hadoop").unwrap().points() {
        let up_to = tables.flows.iter().filter(|flow| flow.payload_bytes <= Some(bytes)).count() as f64 / flows as f64;
        assert!((up_to - share as f64 / 1e9).abs() < 0.012, "{up_to} of flows have up to {bytes} B");
    }
    for (host, (flows, _)) in by_host {
        let expected = expected_flows / 32.0;
        assert!((flows as f64 - expected).abs() < 4.5 * expected.sqrt(), "host {host}: {flows} flows for {expected}");
    }
}

#[test]
fn poisson_gaps_and_receivers_match_distributions() {
    let tables = poisson("sizes = \"hadoop\"\nload = 0.4\nduration = \"20 s\"", 3);
    let starts: Vec<f64> = tables.flows.iter().filter(|f| f.from_host == 2).map(|f| f.start_ps as f64).collect();
    let gaps: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / gaps.len() as f64;
    assert!((variance / (mean * mean) - 1.0).abs() < 0.1, "{} gaps of {mean}, variance {variance}", gaps.len());
    let memoryless = gaps.iter().filter(|&&gap| gap > mean).count() as f64 / gaps.len() as f64;
    assert!((memoryless - 0.3679).abs() < 0.02, "{memoryless} of gaps are above their mean");
    for to in [0, 1, 3] {
        let share =
            tables.flows.iter().filter(|f| f.from_host == 2 && f.to_host == to).count() as f64 / starts.len() as f64;
        assert!((share - 1.0 / 3.0).abs() < 0.025, "{share} to {to}");
    }
}

#[test]
fn draws_are_independent_of_host_and_scheme() {
    let draws = |fan_in, scheme: &str| {
        let text =
            format!("schemes = [\"{scheme}\"]\n[workload]\nkind = \"poisson\"\nload = 0.5\nduration = \"200 ms\"\n");
        let tables = run(&specs(&text, fan_in, 3).remove(0));
        let of_host = tables.flows.iter().filter(|flow| flow.from_host == 2);
        of_host.map(|flow| (flow.start_ps, flow.payload_bytes)).collect::<Vec<_>>()
    };
    let first = draws(3, "newreno");
    assert!(first.len() > 5);
    assert_eq!(first, draws(9, "newreno"));
    assert_eq!(first, draws(3, "dctcp"));
}

#[test]
fn lone_flow_takes_ideal_time() {
    // A window that covers the path from the start, and no headers but TCP's and IP's.
    let text = "schemes = [\"newreno\"]\n[link]\ndelay = \"10 us\"\n[tcp]\ninitial_window = 1000\nreceive_window = \"1 GiB\"\n\
                [workload]\nkind = \"flows\"\n";
    for bytes in [1, 1460, 1461, 100_000, 1_000_000] {
        let list = format!("src,dst,bytes,start_us\n1,2,{bytes},5\n");
        let spec = but(&spec(&text.replace("flows", "long"), 2, 1), |s| {
            s.workload.kind = Kind::Flows;
            s.workload.file = Optional(Some(FilePath("a.csv".into())));
            s.inputs.flows = Some(Arc::new(Flows::parse("a.csv", &list).unwrap()));
            s.host.buffer = Optional::NONE;
            s.host.packet_jitter = PacketJitter::None;
        });
        let tables = run(&spec);
        let flow = &tables.flows[0];
        let (fct, ideal) = (flow.fct_ps.unwrap(), flow.ideal_ps.unwrap());
        // SYN, SYN-ACK and its ACK precede the data: a round trip of small packets, slightly more than 40 us.
        let handshake = fct - ideal;
        assert!((40_000_000..44_000_000).contains(&handshake), "{bytes} B: {fct} for {ideal}");
        assert_eq!(flow.start_ps, 5_000_000);
        assert_eq!(tables.totals.payload_bytes, bytes);
        assert_eq!(tables.totals.measured_ps, fct);
    }
}

#[test]
fn background_poisson_flows_begin_with_reads() {
    let text = |load: &str| {
        format!(
            "schemes = [\"dctcp\"]\n[tcp]\ndelayed_ack = 1\n[switch]\nbuffer = \"4 MiB\"\n[workload]\nkind = \"barrier\"\nfragment = \"16 KiB\"\nduration = \"100 ms\"\n{load}\n"
        )
    };
    let of = |load: &str| run(&specs(&text(load), 4, 5).remove(0));
    let (idle, busy) = (of(""), of("load = 0.3\nsizes = \"hadoop\""));
    assert!(idle.flows.iter().all(|flow| flow.class == FlowKind::Answer && (1..=4).contains(&flow.from_host)));
    let beside: Vec<_> = busy.flows.iter().filter(|flow| flow.class == FlowKind::Background).collect();
    assert!(beside.len() > 50 && beside.iter().any(|flow| flow.to_host == 0 && flow.fct_ps.is_some()));
    assert!(beside.iter().all(|flow| flow.start_ps < 100_000_000_000));
    assert!(busy.totals.rounds < idle.totals.rounds, "{} and {} rounds", busy.totals.rounds, idle.totals.rounds);
    let answers = busy.flows.iter().filter(|flow| flow.class == FlowKind::Answer).count() as u64;
    assert!((4 * busy.totals.rounds..=4 * busy.totals.rounds + 4).contains(&answers));
}

/// Small scenarios with flows between any two hosts, some under heavy loss.
fn settings() -> impl Strategy<Value = Settings> {
    let buffer = prop_oneof![(2_000u64..100_000).prop_map(QueueSize::Bytes), (1u32..100).prop_map(QueueSize::Packets)];
    let kinds = vec![Kind::Poisson, Kind::Flows, Kind::Barrier, Kind::OneShot, Kind::WebSearch, Kind::Long];
    let flow = (0u32..4, 1u32..4, 1u64..80_000, 0u64..3_000);
    let work =
        (select(kinds), 1u32..10, select(Sizes::names().collect::<Vec<_>>()), prop::collection::vec(flow, 1..12));
    ((1u64..20, 0u64..50, 100u64..1461), buffer, any::<[bool; 4]>(), work).prop_map(|(link, buffer, flags, work)| {
        let mut s = Settings::default();
        let (rate, delay_us, mss) = link;
        s.link.rate = Rate(rate * 500_000_000);
        s.link.client_rate = Optional(flags[0].then_some(Rate(1_000_000_000)));
        s.link.delay = Time::from_micros(delay_us);
        s.switch.buffer = buffer;
        s.tcp.mss = Bytes(mss);
        (s.tcp.sack, s.tcp.timestamps) = (flags[1], flags[2]);
        (s.tcp.rto_min, s.tcp.rto_initial) = (Time::from_millis(5), Time::from_millis(10));
        s.tcp.rto_max = Time::from_millis(500);
        let (kind, load, sizes, flows) = work;
        s.workload.kind = kind;
        s.workload.fragment = Optional(Some(Bytes(20_000)));
        s.workload.queries = 2;
        s.workload.duration = Time::from_millis(10);
        if kind != Kind::Flows || flags[3] {
            s.workload.load = Optional(Some(Share::of(load, 10)));
            s.inputs.sizes = Sizes::named(sizes).map(Arc::new);
        }
        if kind == Kind::Flows {
            let line =
                |(from, gap, bytes, us): (u32, u32, u64, u64)| format!("{from},{},{bytes},{us}\n", (from + gap) % 4);
            let list: String = flows.into_iter().map(line).collect();
            s.workload.file = Optional(Some(FilePath("a.csv".into())));
            s.inputs.flows = Some(Arc::new(Flows::parse("a.csv", &format!("src,dst,bytes,start_us\n{list}")).unwrap()));
        }
        s
    })
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 64, ..fanin_testing::cases(24) })]

    #[test]
    fn flows_conserve_packets_and_respect_ideal(settings in settings(), seed: u64) {
        for scheme in schemes(settings.workload.kind) {
            let spec = checked(scheme, settings.clone(), 3, seed);
            let tables = run(&spec);
            let t = &tables.totals;
            prop_assert_eq!(t.injected_packets, t.delivered_packets + t.drops + t.in_flight_packets, "{}", scheme);
            for flow in &tables.flows {
                prop_assert_eq!(flow.ideal_ps.is_none(), matches!(flow.class, FlowKind::Answer | FlowKind::Long));
                let fct = flow.fct_ps.unwrap_or(u64::MAX);
                prop_assert!(flow.ideal_ps.is_none_or(|ideal| fct > ideal), "{}: {:?}", scheme, flow);
            }
            prop_assert_eq!(&tables, &run(&spec), "{}", scheme);
            let lazy = run_as(&spec, Departures::Lazy);
            prop_assert_eq!((&tables.totals, &tables.flows, &tables.ports), (&lazy.totals, &lazy.flows, &lazy.ports), "{}", scheme);
        }
    }
}

#[test]
fn background_poisson_uses_all_hosts() {
    let text = "schemes = [\"newreno\"]\n[fabric]\nhosts = 12\n[workload]\nfragment = \"4 KiB\"\nduration = \"20 ms\"\n\
                load = 0.5\nsizes = \"hadoop\"\nbackground = 1\n";
    let tables = run(&specs(text, 4, 7).remove(0));
    let hosts = |class| {
        let own = tables.flows.iter().filter(move |flow| flow.class == class);
        own.flat_map(|flow| [flow.from_host, flow.to_host]).collect::<std::collections::BTreeSet<u32>>()
    };
    assert_eq!(hosts(FlowKind::Answer).into_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert_eq!(hosts(FlowKind::Background).into_iter().collect::<Vec<_>>(), (0..12).collect::<Vec<_>>());
    let background = tables.ports.iter().find(|port| port.port == "server12>switch").expect("the host behind them");
    assert!(background.packets > 10, "{}", background.packets);
}
