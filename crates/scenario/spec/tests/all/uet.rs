//! Schemes over trimming ports: names, combinations, and settings that they do not use.

use fanin_spec::{Discipline, Scenario, Scheme, TrimBased};

#[test]
fn schemes_have_their_ports() {
    let scheme = |name| Scheme::parse(name).unwrap();
    let nscc = scheme("NSCC");
    assert_eq!((nscc.uet(), nscc.discipline, nscc.ecn), (Some(TrimBased::Nscc), Discipline::Trimming, true));
    assert_eq!(scheme("ultra-ethernet"), nscc);
    let rccc = scheme("rccc");
    assert_eq!((rccc.uet(), rccc.discipline, rccc.ecn), (Some(TrimBased::Rccc), Discipline::Trimming, false));
    for name in ["nscc", "rccc", "eqds", "ndp", "sicc+ndp"] {
        assert_eq!(scheme(name).to_string(), name);
    }
}

#[test]
fn parts_of_tcp_and_trimming_under_tcp_are_refused() {
    for name in ["nscc+gss", "ndp+m21", "eqds+ictcp", "rccc+red", "nscc+cubic", "nscc+dcqcn", "dctcp+trimming"] {
        let why = Scheme::parse(name).unwrap_err();
        assert!(why.to_string().contains(&format!("`{name}`")), "{why}");
    }
}

fn refused(more: &str) -> String {
    let text = format!(
        "schemes = [\"nscc\"]\n{more}\n[workload]\nkind = \"one-shot\"\nfragment = \"1 MB\"\n[sweep]\nfan_in = [8]\n"
    );
    Scenario::parse("my.toml", &text).unwrap().variants().unwrap_err().to_string()
}

#[test]
fn ports_hold_a_full_packet() {
    // A payload of 4,086 B, 46 B of headers and Ethernet's 18.
    let why = refused("[switch]\nbuffer = \"4 KB\"");
    assert!(why.contains("`switch.buffer`: 4 KB") && why.contains("4150 B") && why.contains("`uet.payload`"), "{why}");
    let why = refused("[switch]\nbuffer = \"20 KB\"\nports = [\"10 Gbit/s: buffer 3 KB\"]");
    assert!(why.contains("`switch.ports`: 3 KB"), "{why}");
}

#[test]
fn marks_need_a_rising_ramp() {
    let why = refused("[trimming]\nlow = 0.5\nhigh = 0.5");
    assert!(why.contains("my.toml:4") && why.contains("`high` above `low`"), "{why}");
}

/// A scenario of 8 senders over 100 Gbit/s with these schemes and switches.
fn scenario(schemes: &str, switch: &str) -> Scenario {
    let text = format!(
        "schemes = [{schemes}]\n[link]\nrate = \"100 Gbit/s\"\ndelay = \"1 us\"\n[switch]\n{switch}\n\
         [workload]\nkind = \"one-shot\"\nfragment = \"1 MB\"\nduration = \"1 s\"\n[sweep]\nfan_in = [8]\n"
    );
    Scenario::parse("my.toml", &text).unwrap()
}

fn warnings(schemes: &str, switch: &str) -> Vec<String> {
    let scenario = scenario(schemes, switch);
    scenario.warnings(&scenario.variants().unwrap()).iter().map(ToString::to_string).collect()
}

#[test]
fn a_shared_memory_leaves_ports_a_bandwidth_delay_product() {
    let queue = |switch: &str| {
        let variant = scenario("\"nscc\"", switch).variants().unwrap().remove(0);
        let pipe = variant.settings.uet_pipe(TrimBased::Nscc).unwrap().0;
        (variant.settings.in_bytes(variant.settings.trimming_queue(TrimBased::Nscc)), pipe)
    };
    // Four links of 1 us, two full packets and two headers: 4.8 us at 12.5 GB/s.
    let (shared, pipe) = queue("shared_buffer = \"64 MiB\"");
    assert!(shared == pipe && (55_000..65_000).contains(&pipe), "{shared} and {pipe}");
    assert_eq!(queue("buffer = \"100 KB\"").0, 100_000);
    assert_eq!(queue("shared_buffer = \"64 MiB\"\n[trimming]\nqueue = \"30 KB\"").0, 30_000);
    assert!(warnings("\"dctcp\", \"nscc\"", "shared_buffer = \"64 MiB\"").is_empty());
}

#[test]
fn queues_below_a_bandwidth_delay_product_are_a_warning() {
    let found = warnings("\"nscc\"", "buffer = \"20 KB\"");
    assert!(
        found.len() == 1 && found[0].contains("ports trim what exceeds 20 KB, less than one bandwidth-delay"),
        "{found:?}"
    );
    let found = warnings("\"dctcp\", \"rccc\"", "shared_buffer = \"64 MiB\"\n[trimming]\nqueue = \"30 KB\"");
    assert!(found.len() == 1 && found[0].contains("`trimming.queue` of at least"), "{found:?}");
}

#[test]
fn keys_of_tcp_have_no_effect_without_tcp() {
    let text = "schemes = [\"ndp\"]\n[switch]\nshared_buffer = \"2 MB\"\n[tcp]\nrto_min = \"150 ms\"\n[ndp]\nwindow = 10\n[workload]\nkind = \"one-shot\"\nfragment = \"1 MB\"\n\
                duration = \"1 s\"\n[sweep]\nfan_in = [8]\n";
    let scenario = Scenario::parse("my.toml", text).unwrap();
    let found: Vec<String> = scenario.warnings(&scenario.variants().unwrap()).iter().map(ToString::to_string).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found.iter().any(|what| what.contains("`tcp.rto_min` has no effect here: none of these")), "{found:?}");
}
