//! Commands of changes.

use fanin_spec::{Chip, Settings, Share, Stack};
use fanin_units::{Bytes, QueueSize, Rate, SendRate, Time};

use super::{Addresses, Line, Lines, Syntax, Where, lines};
use crate::remedy::{Change, Effort};

fn of(settings: &[(&str, &str)], scheme: Option<&str>) -> Lines {
    let settings = settings.iter().map(|(k, v)| ((*k).to_string(), (*v).to_string())).collect();
    let change = Change { settings, scheme: scheme.map(Into::into), effort: Effort::Sysctl, ..Change::none() };
    lines(&change, [&Settings::default(); 2], &Addresses::default())
}

fn text(lines: &[Line]) -> Vec<&str> {
    lines.iter().map(|line| line.line.as_str()).collect()
}

#[test]
fn sets_attributes_of_a_route_at_once_and_saves_it() {
    let lines = of(&[("tcp.rto_min", "5 ms"), ("tcp.initial_window", "2")], None);
    assert!(lines.apply.iter().all(|line| line.place == Where::Servers) && lines.touches.is_empty());
    let text = text(&lines.apply);
    let made: Vec<usize> = (0..text.len()).filter(|i| text[*i].contains("rto_min 5ms initcwnd 2 proto 250")).collect();
    let saved: Vec<usize> = (0..text.len()).filter(|i| text[*i].contains("mv \"$SAVE.new\" \"$SAVE\"")).collect();
    assert_eq!((made.len(), saved.len()), (1, 1), "{text:#?}");
    assert!(saved < made);
}

#[test]
fn plain_commands_are_one_line_each_without_sed() {
    let lines = of(&[("tcp.rto_min", "2 ms")], None);
    let [apply, undo, verify] = [&lines.plain.apply, &lines.plain.undo, &lines.plain.verify].map(|lines| text(lines));
    assert_eq!([apply.len(), undo.len(), verify.len()], [1; 3], "{apply:?}");
    assert!(apply[0].starts_with("ip route replace 192.0.2.1/32 via GATEWAY dev DEVICE rto_min 2ms  #"), "{apply:?}");
    assert!(undo[0].starts_with("ip route del 192.0.2.1/32") && verify[0] == "ip route show 192.0.2.1/32");
    assert!(!lines.plain.apply.iter().chain(&lines.plain.undo).any(|line| line.line.contains("sed")));
    // The careful form checks the value that it replaces.
    let careful = text(&lines.apply).join("\n");
    assert!(careful.contains("[ \"$RTO\" = \"200ms\" ]") && careful.contains("fibmatch"), "{careful}");
}

#[test]
fn quickack_and_the_window_apply_to_the_client() {
    let lines = of(&[("tcp.delayed_ack", "1"), ("tcp.receive_window", "2920 B")], None);
    assert!(lines.apply.iter().all(|line| line.place == Where::Client));
    assert!(text(&lines.apply).iter().any(|line| line.contains("quickack 1 window 2920")));
    assert!(text(&lines.apply).iter().any(|line| line.contains("net.ipv4.tcp_moderate_rcvbuf=0")), "or it widens");
    assert_eq!(lines.touches.len(), 1);
    assert!(of(&[("tcp.delayed_ack", "1")], None).touches.is_empty(), "a route touches its own flows");
}

#[test]
fn sets_the_sockets_buffer_if_a_routes_window_does_not_hold() {
    let mut after = Settings::default();
    after.tcp.profile.0 = Some(Stack::Linux);
    after.tcp.mss = Bytes(1448);
    let settings = vec![("tcp.receive_window".into(), "2896 B".into())];
    let lines = lines(&Change { settings, ..Change::none() }, [&Settings::default(), &after], &Addresses::default());
    assert!(lines.apply.iter().all(|line| line.place == Where::Application));
    assert!(text(&lines.apply)[0].ends_with("setsockopt(SO_RCVBUF, 3456)"), "three packets of 2,304 B, halved");
    assert!(lines.touches.is_empty(), "no other connection");
}

#[test]
fn gentle_slow_start_is_loaded_before_its_route_and_unloaded_after() {
    for (scheme, base, name) in [("cubic+gss", "cubic", "fanin_gss_cubic"), ("newreno+gss", "reno", "fanin_gss_reno")] {
        let lines = of(&[], Some(scheme));
        let at = |lines: &[Line], part: &str| {
            let found = text(lines).iter().position(|line| line.contains(part));
            found.unwrap_or_else(|| panic!("{part}: {:#?}", text(lines)))
        };
        let route = format!("congctl {name} proto 250");
        assert!(at(&lines.apply, &format!("fanin kernel load gss --over {base}")) < at(&lines.apply, &route));
        let unload = at(&lines.undo, &format!("fanin kernel unload --over {base}"));
        assert_eq!(unload, lines.undo.len() - 1, "the route is as before by then");
        at(&lines.verify, &format!("fanin kernel status | grep -w {name}"));
        at(&lines.verify, &format!("grep -w 'congctl {name}'"));
        assert!(lines.apply.iter().all(|line| line.place == Where::Servers) && lines.touches.is_empty());
    }
}

#[test]
fn grants_are_loaded_at_the_client_for_the_application_alone() {
    for (settings, options) in
        [(&[("grants.queue", "32 KiB"), ("grants.turn", "1")][..], " --queue 32768 --turn 1"), (&[], "")]
    {
        let lines = of(settings, Some("cubic+grants"));
        let with_acks = of(&[settings, &[("tcp.delayed_ack", "1")]].concat(), Some("cubic+grants"));
        let quickack = |lines: &Lines| text(&lines.apply).iter().any(|line| line.contains("quickack 1 proto 250"));
        assert!(quickack(&with_acks) && !quickack(&lines));
        assert!(lines.apply.iter().all(|line| line.place == Where::Client) && lines.touches.is_empty());
        let load = format!("load grants --device \"$DEV\" --cgroup \"$CGROUP\"{options}");
        assert!(text(&lines.apply).last().is_some_and(|line| line.ends_with(&load)), "{lines:?}");
        assert_eq!(text(&lines.undo), ["fanin kernel unload grants"]);
    }
}

#[test]
fn grants_are_unconfirmed_for_responses_that_no_kernel_has_tried() {
    let change = Change { scheme: Some("cubic+grants".into()), ..Change::none() };
    let is_marked = |bytes: u64| {
        let mut settings = Settings::default();
        settings.workload.fragment.0 = Some(Bytes(bytes));
        let lines = lines(&change, [&settings; 2], &Addresses::default());
        lines.notes.iter().any(|note| note.starts_with("Unconfirmed"))
    };
    assert_eq!([500, 2_000, 65_536, 262_144, 10_000_000].map(is_marked), [true, false, false, false, true]);
}

#[test]
fn dctcp_needs_both_hosts_and_a_switch_threshold_in_bytes() {
    let lines = of(&[("ecn_threshold.k", "20 packets")], Some("dctcp"));
    let there = |place, what: &str| lines.apply.iter().any(|line| line.place == place && line.line.contains(what));
    for place in [Where::Servers, Where::Client] {
        assert!(there(place, "modprobe tcp_dctcp") && there(place, "sysctl -w net.ipv4.tcp_ecn=1"));
    }
    let bytes = 20 * Settings::default().full_frame().0;
    assert!(there(Where::Switch, &format!("-gmin {bytes} -gmax {bytes} -gdrop 100")));
    assert!(
        lines.notes.contains(&"The commands for the switch are untested on hardware.") && !lines.touches.is_empty()
    );
}

#[test]
fn a_dynamic_threshold_is_an_exponent_of_two() {
    let lines = of(&[("switch.alpha", "1/4")], None);
    assert!(text(&lines.apply).iter().any(|line| line.contains("mmuconfig -p \"$PROFILE\" -a -2")), "{lines:?}");
}

#[test]
fn the_switch_vendor_determines_the_syntax() {
    let set = |key: &str, value: &str| vec![(key.to_string(), value.to_string())];
    for (chip, syntax) in [(Chip::A7050, Syntax::Eos), (Chip::A7060, Syntax::Eos), (Chip::S6000, Syntax::Sh)] {
        let mut after = Settings::default();
        after.switch.profile.0 = Some(chip);
        for (settings, scheme) in [
            (set("switch.alpha", "2"), None),
            (set("link.frames", "jumbo"), None),
            (set("ecn_threshold.k", "20 packets"), Some("dctcp".to_string())),
        ] {
            let lines = lines(
                &Change { settings, scheme, ..Change::none() },
                [&Settings::default(), &after],
                &Addresses::default(),
            );
            for of in [&lines.apply, &lines.undo, &lines.verify] {
                let mut switch = of.iter().filter(|line| line.place == Where::Switch).peekable();
                assert!(switch.peek().is_some() && switch.all(|line| line.syntax == syntax), "{chip:?}: {of:?}");
            }
        }
    }
}

/// Commands that change DCQCN's settings of a cluster in which cards are as HPCC's simulator has them.
fn of_cards() -> Lines {
    let mut today = Settings::default();
    today.link.rate = Rate(100_000_000_000);
    today.laws.rates.dcqcn.min_rate = SendRate::Share(Share::of(1, 100));
    let mut after = today.clone();
    after.laws.rates.dcqcn.min_rate = SendRate::Share(Share::of(1, 200));
    after.laws.rates.dcqcn.cnp_interval = Time::from_micros(50);
    let settings = [("dcqcn.min_rate", "1/200"), ("dcqcn.cnp_interval", "50 us")];
    let settings = settings.iter().map(|(k, v)| ((*k).to_string(), (*v).to_string())).collect();
    lines(&Change { settings, ..Change::none() }, [&today, &after], &Addresses::default())
}

#[test]
fn least_rates_and_notifications_are_settings_of_cards() {
    let lines = of_cards();
    let there = |place, what: &str| lines.apply.iter().any(|line| line.place == place && line.line.contains(what));
    assert!(there(Where::Servers, "echo 500 | tee \"/sys/class/net/$DEV/ecn/roce_rp/rpg_min_rate\""), "in Mbit/s");
    assert!(there(Where::Client, "echo 50 | tee \"/sys/class/net/$DEV/ecn/roce_np/min_time_between_cnps\""), "in us");
    assert!(of(&[("hpcc.min_rate", "1/200")], None).apply[0].line.contains("no public command"));
}

#[test]
fn a_card_with_another_value_than_the_simulated_one_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (file, save) = (folder.path().join("rpg_min_rate"), folder.path().join("save"));
    let apply = |value: &str| {
        std::fs::write(&file, value).unwrap();
        let lines = of_cards().apply.into_iter().filter(|line| line.place == Where::Servers);
        let text: Vec<String> = lines.map(|line| line.line).collect();
        let text = text.join("\n").replace("/sys/class/net/$DEV/ecn/roce_rp", &folder.path().display().to_string());
        let text = text.replace("/run/fanin-rpg_min_rate-$DEV", &save.display().to_string());
        let done = std::process::Command::new("sh").args(["-euc", &text]).output().unwrap();
        let now = std::fs::read_to_string(&file).unwrap().trim().to_string();
        (done.status.success(), now, String::from_utf8(done.stderr).unwrap())
    };
    // NVIDIA's default is a thousandth of the simulated value, and the change would raise it.
    let (done, now, says) = apply("1");
    assert!(!done && now == "1" && !save.exists(), "{now}");
    assert!(says.contains("today's value is 1, but the advice is for 1000: set dcqcn.min_rate (in Mbit/s)"), "{says}");
    assert!(apply("1000").0);
    assert_eq!((apply("500").0, apply("500").1), (true, "500".into()), "again, with the save of the first time");
}

#[test]
fn lossless_ports_mark_by_both_thresholds_and_the_probability() {
    let mut after = Settings::default();
    after.laws.ports.ecn_ramp.k_min = Some(QueueSize::Bytes(100_000));
    after.laws.ports.ecn_ramp.k_max = Some(QueueSize::Bytes(400_000));
    let settings = vec![("ecn_ramp.k_min".into(), "100 KB".into()), ("ecn_ramp.k_max".into(), "400 KB".into())];
    let marks = lines(&Change { settings, ..Change::none() }, [&Settings::default(), &after], &Addresses::default());
    assert!(text(&marks.apply).iter().any(|line| line.contains("-gmin 100000 -gmax 400000 -gdrop 20")), "{marks:?}");
    let rdma = of(&[("pfc.alpha", "1/4")], None);
    assert!(text(&rdma.apply).iter().any(|line| line.contains("mmuconfig -p \"$PROFILE\" -a -2")), "{rdma:?}");
    let dctcp = of(&[], Some("rdma-dctcp"));
    assert!(!text(&dctcp.apply).iter().any(|line| line.contains("tcp")), "RDMA has no sysctls of TCP: {dctcp:?}");
}
