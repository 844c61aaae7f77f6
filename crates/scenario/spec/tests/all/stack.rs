//! A real host's TCP in one word.

use fanin_laws::sender::cubic;
use fanin_spec::{PacketJitter, RtoFloor, Scenario, Scheme, Settings, Share, Stack, Variant};
use fanin_units::{Bytes, Time};

fn variant(text: &str, set: &[&str]) -> Result<Variant, String> {
    let text = format!("schemes = [\"cubic\"]\n[workload]\nfragment = \"1 KiB\"\n[sweep]\nfan_in = [4]\n{text}");
    let mut scenario = Scenario::parse("my.toml", &text).map_err(|problem| problem.to_string())?;
    for set in set {
        scenario.assign("--set", set).map_err(|problem| problem.to_string())?;
    }
    scenario.variants().map(|mut variants| variants.remove(0)).map_err(|problem| problem.to_string())
}

fn settings(text: &str, set: &[&str]) -> Settings {
    variant(text, set).unwrap().settings.clone()
}

#[test]
fn names_of_schemes_and_words_may_have_any_case() {
    for (name, scheme) in [("DCTCP", "dctcp"), ("NewReno", "newreno"), ("D2TCP", "d2tcp"), ("CUBIC+GSS", "cubic+gss")] {
        assert_eq!(Scheme::parse(name).unwrap().to_string(), scheme);
    }
    assert_eq!(settings("", &["tcp.profile=Linux"]).tcp.profile.0, Some(Stack::Linux));
    assert_eq!(settings("", &["cubic.variant=RFC9438"]).laws.senders.cubic.variant, cubic::Variant::Rfc9438);
    let mut scenario = Scenario::parse("my.toml", "[[schemes]]\nscheme = \"dctcp\"\nrto_min = \"5 ms\"\n").unwrap();
    scenario.select("--schemes DCTCP", &["DCTCP"]).unwrap();
    scenario.assign("--set", "workload.fragment=1 KiB").unwrap();
    let variant = scenario.variants().unwrap().remove(0);
    assert_eq!(variant.settings.tcp.rto_min, Time::from_millis(5), "the file's own dctcp");
}

#[test]
fn explicit_settings_override_a_tcp_profile() {
    let linux = "[tcp]\nprofile = \"linux\"\n";
    let s = settings(linux, &[]).tcp;
    assert!(s.rack && s.tail_loss_probe && s.timestamps && s.idle_restart && s.window_validation);
    assert_eq!(
        (s.mss, s.rto_floor, s.max_ack_delay.time(&s)),
        (Bytes(1448), RtoFloor::Variance, Time::from_millis(200))
    );
    // It also sets an algorithm's variant; explicit settings take precedence over that, too.
    assert_eq!(settings(linux, &[]).laws.senders.cubic.variant, cubic::Variant::Linux);
    assert_eq!(
        settings(&format!("[cubic]\nvariant = \"rfc9438\"\n{linux}"), &[]).laws.senders.cubic.variant,
        cubic::Variant::Rfc9438
    );
    // Explicit settings count before or after the profile, in the file or in arguments.
    for text in [format!("{linux}rto_min = \"10 ms\"\n"), "[tcp]\nrto_min = \"10 ms\"\nprofile = \"linux\"\n".into()] {
        let s = settings(&text, &[]).tcp;
        assert_eq!((s.rto_min, s.rack), (Time::from_millis(10), true), "{text}");
    }
    assert_eq!(settings(linux, &["tcp.rto_min=10 ms"]).tcp.rto_min, Time::from_millis(10));
    // A profile in an argument overrides the settings of a file without one.
    let over = settings("[tcp]\nrto_min = \"10 ms\"\n", &["tcp.profile=linux"]).tcp;
    assert_eq!((over.rto_min, over.rack), (Time::from_millis(200), true));
}

#[test]
fn profile_leaves_a_written_packet_jitter() {
    let jitter = |text: &str, set: &[&str]| settings(text, set).host.packet_jitter;
    let third = PacketJitter::Transmission(Share::of(3, 10));
    for profile in ["linux", "linux-6.1"] {
        assert_eq!(jitter("", &[&format!("tcp.profile={profile}")]), third);
        assert_eq!(jitter(&format!("[tcp]\nprofile = \"{profile}\"\n"), &[]), third);
    }
    assert_eq!(jitter("", &[]), PacketJitter::TRANSMISSION);
    let (linux, none) = ("[tcp]\nprofile = \"linux\"\n", "[host]\npacket_jitter = \"none\"\n");
    assert_eq!(jitter(&format!("{linux}{none}"), &[]), PacketJitter::None);
    assert_eq!(jitter(linux, &["host.packet_jitter=none"]), PacketJitter::None);
    assert_eq!(jitter(none, &["tcp.profile=linux"]), PacketJitter::None);
    assert_eq!(
        jitter("\"tcp.profile\" = [\"linux\"]\n", &["host.packet_jitter=1 us"]),
        PacketJitter::UpTo(Time::from_micros(1))
    );
    assert_eq!(
        jitter(linux, &["host.packet_jitter=60 % of a transmission"]),
        PacketJitter::Transmission(Share::of(60, 100))
    );
}

#[test]
fn linux_counts_its_minimum_timeout_in_ticks() {
    let of = |profile: &str| settings(&format!("[tcp]\nrto_min = \"10 ms\"\nprofile = \"{profile}\"\n"), &[]).tcp;
    let (new, old) = (of("linux"), of("linux-6.1"));
    assert_eq!((new.least_rto(), old.least_rto()), (Time::from_millis(12), Time::from_millis(10)));
    assert_eq!(
        (new.max_ack_delay.time(&new), old.max_ack_delay.time(&old)),
        (Time::from_millis(12), Time::from_millis(200))
    );
    assert_eq!((new.timer_margin, old.timer_margin), (Time::from_millis(2), Time::from_millis(8)));
}

#[test]
fn jumbo_frames_fill_their_segments_under_a_profile_too() {
    let jumbo = settings("[link]\nframes = \"jumbo\"\n[tcp]\nprofile = \"linux\"\n", &[]);
    assert_eq!(jumbo.tcp.mss, Bytes(8948));
}

#[test]
fn profiles_cause_no_warnings() {
    for (stack, _) in Stack::all() {
        let text = format!("[tcp]\nprofile = \"{}\"\n", stack.word());
        assert!(variant(&text, &[]).is_ok(), "{text}");
    }
}

#[test]
fn an_unknown_profile_names_the_known_ones() {
    let said = variant("[tcp]\nprofile = \"linux-5\"\n", &[]).unwrap_err();
    assert!(said.starts_with("my.toml:7: `tcp.profile`: \"linux-5\" is not one of these"), "{said}");
    assert!(said.contains("linux-6.1"), "{said}");
}
