//! A switch's memory in a scenario: valid combinations, and precedence of layers.

use fanin_spec::{Chip, Scenario, Settings, Variant};
use fanin_units::{Bytes, QueueSize};

const REST: &str = "schemes = [\"newreno\"]\n[workload]\nfragment = \"64 KiB\"\n[sweep]\nfan_in = [40]\n";

fn variant(switch: &str, arguments: &[&str]) -> Result<(Variant, Vec<String>), String> {
    let mut scenario = Scenario::parse("my.toml", &format!("{REST}{switch}")).map_err(|problem| problem.to_string())?;
    for argument in arguments {
        scenario.assign(&format!("--set {argument}"), argument).map_err(|problem| problem.to_string())?;
    }
    let variants = scenario.variants().map_err(|problem| problem.to_string())?;
    let warnings = scenario.warnings(&variants).iter().map(ToString::to_string).collect();
    Ok((variants.into_iter().next().expect("a scheme"), warnings))
}

fn settings(switch: &str, arguments: &[&str]) -> Settings {
    variant(switch, arguments).unwrap_or_else(|what| panic!("{what}")).0.points[0].settings.clone()
}

#[test]
fn refuses_invalid_shared_memory_with_its_line() {
    let memory = "[switch]\nshared_buffer = \"1 MB\"\n";
    for (switch, told) in [
        (format!("{memory}alpha = 0\n"), "my.toml:8: `switch.alpha` of 0: use 1/1024 to 1024 (at 0 no port"),
        (format!("{memory}alpha = 2000\n"), "my.toml:8: `switch.alpha` of 2000: use 1/1024 to 1024"),
        (format!("{memory}alpha = -1\n"), "my.toml:8: `switch.alpha`: -1 has the wrong form; use a number from 0 up"),
        (
            format!("{memory}reserved = \"25 KB\"\n"),
            "my.toml:8: 25 KB reserved for each of 41 ports and a headroom of 0 B use up the `switch.shared_buffer` of 1 MB",
        ),
        (
            format!("{memory}headroom = \"1 MB\"\n"),
            "my.toml:8: 0 B reserved for each of 41 ports and a headroom of 1 MB use up",
        ),
        (
            format!("{memory}buffer = \"64 KiB\"\n"),
            "my.toml:8: `switch.buffer` (one buffer per port) and `switch.shared_buffer`",
        ),
        ("[switch]\nshared_buffer = \"0 B\"\n".into(), "my.toml:7: `switch.shared_buffer` of 0 B: use 1 B to"),
        ("[switch]\nshared_buffer = \"2000 B\"\nalpha = 0.5\n".into(), "my.toml:8: a port gets 1 KB of an empty"),
        (
            "[switch]\nshared_buffer = \"100 packets\"\n".into(),
            "my.toml:7: `switch.shared_buffer`: \"100 packets\" is not valid:",
        ),
    ] {
        let said = variant(&switch, &[]).err().unwrap_or_else(|| panic!("taken: {switch}"));
        assert!(said.starts_with(told), "{switch} says {said}");
    }
}

#[test]
fn finds_a_switch_by_its_model_in_any_case() {
    for name in ["arista-7050cx3", "7050cx3", "7050CX3", "Arista 7050CX3-32S", "arista_7050cx3", "DCS-7050CX3-32S"] {
        assert_eq!(settings("", &[&format!("switch.profile={name}")]).switch.profile.0, Some(Chip::A7050), "{name}");
    }
    for (name, near) in [("7050c", "arista-7050cx3"), ("DCS-7050CX3-32S-R", "arista-7050cx3"), ("sn2701", "sn2700")] {
        let said = variant("", &[&format!("switch.profile={name}")]).err().unwrap();
        assert!(said.contains(&format!("\"{name}\" is not one of these (did you mean `{near}`?)")), "{said}");
    }
}

#[test]
fn later_buffers_and_memories_replace_earlier_ones() {
    let (own, shared) = ("[switch]\nbuffer = \"80 KB\"\n", "[switch]\nshared_buffer = \"1 MB\"\nalpha = 0.25\n");
    let given = settings(own, &["switch.shared_buffer=\"1 MB\""]);
    assert_eq!(
        (given.switch.shared_buffer.0, given.port_buffer()),
        (Some(Bytes(1_000_000)), QueueSize::Bytes(500_000))
    );
    let taken = settings(shared, &["switch.buffer=\"80 KB\""]);
    assert_eq!((taken.switch.shared_buffer.0, taken.port_buffer()), (None, QueueSize::Bytes(80_000)));
    // Of 41 ports each has 10 kB to itself; of the other 590 kB a lone one gets a fifth.
    let set_apart = settings(shared, &["switch.reserved=10 KB"]);
    assert_eq!(set_apart.port_buffer(), QueueSize::Bytes(10_000 + 590_000 / 5));
}

#[test]
fn warns_about_settings_without_effect_on_memory() {
    let (_, warnings) = variant("[switch]\nbuffer = \"80 KB\"\n", &["switch.shared_buffer=1 MB"]).unwrap();
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].starts_with("my.toml:7: `switch.buffer` has no effect here: ports share"), "{warnings:?}");
    let (_, warnings) = variant("[switch]\nalpha = 2\n", &[]).unwrap();
    assert!(warnings[0].starts_with("my.toml:7: `switch.alpha` has no effect here: each port"), "{warnings:?}");
}

#[test]
fn explicit_settings_override_a_switch_profile() {
    let triumph = "[switch]\nprofile = \"dctcp-triumph\"\n";
    let s = settings(triumph, &[]);
    // A lone port of DCTCP's testbed got about 700 KB of the 4 MB.
    let QueueSize::Bytes(alone) = s.port_buffer() else { panic!("a memory is in bytes") };
    assert!(alone.abs_diff(700_000) < 100, "{alone}");
    let k = |s: &Settings, rate: &str| s.port_class(rate.parse().unwrap()).and_then(|class| class.k);
    assert_eq!((k(&s, "1 Gbit/s"), k(&s, "10 Gbit/s")), (Some(QueueSize::Packets(20)), Some(QueueSize::Packets(65))));
    // Before it or behind it, in the file or over it.
    for text in
        ["[switch]\nalpha = 1\nprofile = \"dctcp-triumph\"\n", "[switch]\nprofile = \"dctcp-triumph\"\nalpha = 1\n"]
    {
        assert_eq!(settings(text, &[]).port_buffer(), QueueSize::Bytes(2_000_000), "{text}");
    }
    assert_eq!(settings(triumph, &["switch.alpha=1"]).port_buffer(), QueueSize::Bytes(2_000_000));
    // DCTCP's static buffers are on the same switch.
    let fixed = settings(&format!("{triumph}buffer = \"100 packets\"\n"), &[]);
    assert_eq!((fixed.port_buffer(), k(&fixed, "1 Gbit/s")), (QueueSize::Packets(100), Some(QueueSize::Packets(20))));
    let other = settings(&format!("{triumph}[ecn_threshold]\nk = \"5 packets\"\n"), &[]);
    assert_eq!(
        (k(&other, "1 Gbit/s"), other.client_threshold()),
        (None, (QueueSize::Packets(5), Some("ecn_threshold.k")))
    );
    // A profile over a file's buffer takes its place.
    let over = settings("[switch]\nbuffer = \"64 KiB\"\n", &["switch.profile=dctcp-triumph"]);
    assert_eq!(over.switch.shared_buffer.0, Some(Bytes(4_000_000)));
}

#[test]
fn a_threshold_is_a_number_of_packets_or_a_size() {
    let k = |text: &str| settings(&format!("[ecn_threshold]\nk = {text}\n"), &[]).client_threshold().0;
    assert_eq!((k("20"), k("\"20 packets\"")), (QueueSize::Packets(20), QueueSize::Packets(20)));
    assert_eq!(k("\"30 KB\""), QueueSize::Bytes(30_000));
    assert_eq!(settings("", &["ecn_threshold.k=7"]).client_threshold().0, QueueSize::Packets(7));
    let red = settings("[red]\nmin_th = 5\nmax_th = 15\n", &[]).laws.ports.red;
    assert_eq!((red.min_th, red.max_th), (QueueSize::Packets(5), QueueSize::Packets(15)));
    for (text, told) in
        [("-1", "-1 is out of range"), ("1.5", "1.5 has the wrong form"), ("\"20\"", "its unit is missing")]
    {
        let said = variant(&format!("[ecn_threshold]\nk = {text}\n"), &[]).err().unwrap_or_default();
        assert!(said.starts_with("my.toml:7: `ecn_threshold.k`: ") && said.contains(told), "{text} says {said}");
        assert!(said.contains("use a number of packets, or a size with its unit, such as 20"), "{said}");
    }
}

#[test]
fn default_threshold_follows_the_clients_link_rate() {
    let k = |text: &str| settings(text, &[]).client_threshold();
    let roomy = "[switch]\nbuffer = \"1 MB\"\n";
    assert_eq!(k(""), (QueueSize::Packets(20), None));
    let fast = format!("{roomy}[link]\nrate = \"10 Gbit/s\"\n");
    assert_eq!(k(&fast), (QueueSize::Packets(65), None));
    assert_eq!(k(&format!("{fast}[ecn_threshold]\nk = \"auto\"\n")), (QueueSize::Packets(65), None));
    assert_eq!(k(&format!("{fast}client_rate = \"1 Gbit/s\"\n")), (QueueSize::Packets(20), None));
    let triumph = "[switch]\nprofile = \"dctcp-triumph\"\n";
    assert_eq!(k(triumph), (QueueSize::Packets(20), Some("switch.ports")));
}

#[test]
fn every_switch_profile_runs() {
    for (chip, says) in fanin_spec::Chip::all() {
        let s = settings(&format!("[switch]\nprofile = \"{}\"\n", chip.word()), &[]);
        assert!(s.switch.shared_buffer.0.is_some() && says.contains('('), "{} names no source", chip.word());
    }
    let said = variant("[switch]\nprofile = \"arista-7060\"\n", &[]).unwrap_err();
    assert!(
        said.starts_with("my.toml:7: `switch.profile`: \"arista-7060\" is not one of these (did you mean"),
        "{said}"
    );
}

#[test]
fn ports_of_a_rate_have_their_own_threshold_and_buffer() {
    let s =
        settings("[switch]\nports = [\"10 Gbit/s: k 65 packets\", \"1 Gbit/s: buffer 100 KB, k 20 packets\"]\n", &[]);
    assert_eq!((s.client_buffer(), s.port_buffer()), (QueueSize::Bytes(100_000), QueueSize::Bytes(65_536)));
    assert_eq!(s.port_class("25 Gbit/s".parse().unwrap()), None);
    for (line, told) in [
        ("1 Gbit/s k 20 packets", "a colon is missing after the rate"),
        ("1: k 20 packets", "`1` is not a rate: its unit is missing"),
        ("1 Gbit/s: k", "`k` is not a word with a size"),
        ("1 Gbit/s: kk 20 packets", "`kk` is neither k nor buffer"),
        ("1 Gbit/s: k 20", "`20` is not a size: its unit is missing"),
        ("1 Gbit/s: k 1 KB, k 2 KB", "`k` is given twice"),
    ] {
        let said = variant(&format!("[switch]\nports = [\"{line}\"]\n"), &[]).unwrap_err();
        let right = "; use a line such as \"100 Gbit/s: k 200 packets, buffer 1 MB\"";
        assert_eq!(said, format!("my.toml:7: `switch.ports`: \"{line}\": {told}{right}"));
    }
    for (ports, told) in [
        ("[\"1 Gbit/s: k 1 KB\", \"1000 Mbit/s: k 2 KB\"]", "`switch.ports` lists ports of 1 Gbit/s twice"),
        ("[\"1 Gbit/s: buffer 64 B\"]", "`switch.ports`: \"1 Gbit/s: buffer 64 B\" is less than one packet"),
        (
            "[\"1 Gbit/s: buffer 1 MB\"]\nprofile = \"dctcp-triumph\"",
            "`switch.ports` sets a buffer for ports of 1 Gbit/s, but all ports share `switch.shared_buffer`",
        ),
    ] {
        let said = variant(&format!("[switch]\nports = {ports}\n"), &[]).unwrap_err();
        assert!(said.contains(told), "{said}");
    }
}
