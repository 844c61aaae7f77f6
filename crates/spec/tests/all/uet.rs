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
        assert!(why.contains(&format!("`{name}`")), "{why}");
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

#[test]
fn keys_of_tcp_have_no_effect_without_tcp() {
    let text = "schemes = [\"ndp\"]\n[switch]\nshared_buffer = \"2 MB\"\n[tcp]\nrto_min = \"150 ms\"\n[ndp]\nwindow = 10\n[workload]\nkind = \"one-shot\"\nfragment = \"1 MB\"\n\
                duration = \"1 s\"\n[sweep]\nfan_in = [8]\n";
    let scenario = Scenario::parse("my.toml", text).unwrap();
    let found: Vec<String> = scenario.warnings(&scenario.variants().unwrap()).iter().map(ToString::to_string).collect();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found.iter().any(|what| what.contains("`switch.shared_buffer` has no effect here: ports that trim")),
        "{found:?}"
    );
    assert!(found.iter().any(|what| what.contains("`tcp.rto_min` has no effect here: none of these")), "{found:?}");
}
