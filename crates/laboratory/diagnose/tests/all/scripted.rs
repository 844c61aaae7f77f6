//! Hand-written segments, with their expected signatures.

use crate::script::{MS, SEGMENT, Script, US};
use fanin_diagnose::{Cause, Diagnosis, Input, Signature, diagnose};

fn read(script: &Script) -> Diagnosis {
    let bytes = script.pcap();
    diagnose(vec![Input { name: "script".into(), stream: Box::new(bytes.as_slice()) }]).unwrap()
}

fn read_bytes(bytes: &[u8]) -> Diagnosis {
    diagnose(vec![Input { name: "script".into(), stream: Box::new(bytes) }]).unwrap()
}

/// Eight rounds in which four servers respond with twenty segments each; in the last, one responds 150 ms late.
fn with_a_late_server() -> Script {
    let mut script = Script::open(4, true);
    for round in 0..8 {
        let at = 10 * MS * round + 5 * MS;
        script.ask(at);
        for server in 0..4 {
            let late = if round == 7 && server == 2 { 150 * MS } else { 0 };
            script.ack_request(at + 50 * US + late / 4, server);
            script.answer(at + 120 * US + server as u64 * 240 * US + late, server, 0..20);
        }
        script.turned(20);
    }
    script
}

#[test]
fn captures_with_gaps_get_the_same_verdict() {
    let script = with_a_late_server();
    let whole = read_bytes(&script.pcap());
    assert_eq!((whole.verdict.cause, whole.episodes.len()), (Signature::SlowServer, 8), "{:?}", whole.verdict);
    // Without every n-th packet; without the options of SYNs, and without the first 12, 27 or 41 ms.
    let lacking = [29, 31, 37, 43, 53, 101].map(|every| script.part(96, |place, _| place % every != 7));
    let starts = [12, 27, 41].map(|ms| script.part(96, |_, at| at >= ms * MS));
    let cut = [script.part(40, |_, _| true), script.part(44, |_, _| true)];
    for bytes in lacking.iter().chain(&starts).chain(&cut) {
        let found = read_bytes(bytes);
        assert_eq!((found.verdict.cause, found.losses), (Signature::SlowServer, [0, 0]), "{:?}", found.verdict);
        assert!(found.verdict.says.contains("10.0.1.3") && found.verdict.confidence > 0.4, "{:?}", found.verdict);
        assert!(found.episodes.iter().all(|one| one.asker == "10.0.0.1"), "{:#?}", found.episodes);
    }
    let says = |bytes: &[u8], word: &str| read_bytes(bytes).cautions.iter().any(|caution| caution.contains(word));
    assert!(lacking.iter().all(|bytes| says(bytes, "lacks at least")));
    assert!(cut.iter().all(|bytes| says(bytes, "options of SYNs are cut off")));
}

#[test]
fn capture_of_requests_alone_gets_no_verdict() {
    let mut script = Script::open(4, true);
    for round in 0..40 {
        (0..4).for_each(|server| script.ask_one(5 * MS + 10 * MS * round, server));
        script.turned(20);
    }
    let found = read(&script);
    assert_eq!(found.verdict.incast, None, "{:?}", found.verdict);
}

#[test]
fn capture_that_ends_within_a_stall_reports_it() {
    let (mut script, at) = (Script::open(4, true), 5 * MS);
    script.ask(at);
    for server in 0..3 {
        script.answer(at + 120 * US + server as u64 * 120 * US, server, 0..10);
    }
    script.answer(at + 480 * US, 3, 0..5);
    script.answer(at + 560 * US, 3, 6..8);
    script.ack(at + 300 * MS, 3, 5);
    let found = read(&script);
    let [only] = &found.episodes[..] else { panic!("{:#?}", found.episodes) };
    assert!(near(only.stall_s, 0.2994) && only.signature == Signature::Rto, "{only:#?}");
}

/// Three rounds without losses, in which four servers respond with ten segments each, then the caller's round, which starts at 30 ms.
fn after_calm_rounds(last: impl FnOnce(&mut Script, u64)) -> Diagnosis {
    let mut script = Script::open(4, true);
    for round in 0..3 {
        let at = 10 * MS * round + 5 * MS;
        script.ask(at);
        for server in 0..4 {
            script.answer(at + 120 * US + server as u64 * 120 * US, server, 0..10);
        }
        script.turned(10);
    }
    script.ask(35 * MS);
    last(&mut script, 35 * MS);
    read(&script)
}

fn near(seen: f64, expected: f64) -> bool {
    (seen - expected).abs() < 0.001
}

#[test]
fn rounds_without_a_loss_have_no_signature() {
    let found = after_calm_rounds(|script, at| {
        for server in 0..4 {
            script.answer(at + 120 * US + server as u64 * 120 * US, server, 0..10);
        }
    });
    assert_eq!(found.episodes.len(), 4);
    for episode in &found.episodes {
        assert_eq!((episode.fan_in, episode.bytes), (4, 4 * 10 * u64::from(SEGMENT)));
        assert_eq!((episode.signature, episode.stall_s), (Signature::None, 0.0));
        assert!(near(episode.took_s, 0.0006), "{episode:?}");
    }
    assert_eq!(found.verdict.incast, Some(false), "{:?}", found.verdict);
    assert_eq!(found.losses, [0, 0]);
}

/// A round in which three servers respond, and `tell` writes the fourth's segments.
fn with_fourth(tell: impl FnOnce(&mut Script, u64)) -> Diagnosis {
    after_calm_rounds(|script, at| {
        for server in 0..3 {
            script.answer(at + 120 * US + server as u64 * 120 * US, server, 0..10);
        }
        tell(script, at);
    })
}

fn has(found: &Diagnosis, signature: Signature, stall_s: f64) {
    let hurt: Vec<_> = found.episodes.iter().filter(|one| one.signature != Signature::None).collect();
    assert_eq!(hurt.len(), 1, "{:#?}", found.episodes);
    assert_eq!((hurt[0].signature, hurt[0].fan_in), (signature, 4), "{:#?}", hurt[0]);
    assert!(near(hurt[0].stall_s, stall_s), "{:#?}", hurt[0]);
    assert!(hurt[0].confidence > 0.5 && hurt[0].confidence <= 1.0);
}

#[test]
fn oldest_segment_after_long_idle_time_is_a_timeout() {
    let found = with_fourth(|script, at| {
        script.answer(at + 480 * US, 3, 0..5);
        script.answer(at + 560 * US, 3, 6..8);
        script.answer(at + 205 * MS, 3, 5..6);
        script.answer(at + 205 * MS + 200 * US, 3, 8..10);
    });
    let stalled: Vec<_> = found.episodes.iter().filter(|one| one.stall_s > 0.0).collect();
    assert!(stalled.len() == 1 && near(stalled[0].stall_s, 0.2044), "{:#?}", found.episodes);
    assert_eq!((stalled[0].signature, stalled[0].fan_in), (Signature::Rto, 4));
    // A single loss may be a queue's or a cable's.
    assert_eq!((found.verdict.incast, found.verdict.causes[0].cause), (None, Cause::Unknown));
    assert_eq!(found.losses[0], 1);
}

#[test]
fn last_segment_beyond_a_hole_is_a_probe() {
    let found = with_fourth(|script, at| {
        script.answer(at + 480 * US, 3, 0..7);
        script.answer(at + 12 * MS, 3, 9..10);
        script.answer(at + 12 * MS + 200 * US, 3, 7..9);
    });
    has(&found, Signature::Tlp, 0.0114);
}

#[test]
fn data_right_after_a_late_ack_waited_for_it() {
    let found = with_fourth(|script, at| {
        script.without_acks(|script| script.answer(at + 480 * US, 3, 0..1));
        script.ack(at + 40 * MS, 3, 1);
        script.answer(at + 40 * MS + 120 * US, 3, 1..10);
    });
    has(&found, Signature::DelayedAck, 0.0396);
    assert_eq!(found.verdict.incast, Some(false));
}

#[test]
fn data_long_after_a_late_ack_waited_for_the_server() {
    // The client holds back the ACK of a single segment for 41 ms; the server pauses for 60 ms.
    let found = with_fourth(|script, at| {
        script.without_acks(|script| script.answer(at + 480 * US, 3, 0..1));
        script.ack(at + 41 * MS, 3, 1);
        script.answer(at + 60 * MS, 3, 1..10);
    });
    has(&found, Signature::ApplicationPause, 0.0595);
}

#[test]
fn many_segments_acknowledged_late_waited_for_the_client() {
    let found = with_fourth(|script, at| {
        script.without_acks(|script| script.answer(at + 480 * US, 3, 0..5));
        script.ack(at + 150 * MS, 3, 5);
        script.answer(at + 150 * MS + 120 * US, 3, 5..10);
    });
    has(&found, Signature::ClientStopped, 0.1495);
    assert_eq!(found.verdict.causes[0].cause, Cause::Receiver, "{:?}", found.verdict);
    assert!(found.verdict.causes[0].evidence.contains("7240 bytes at once"), "{:?}", found.verdict);
}

#[test]
fn data_after_a_zero_window_waited_for_the_window() {
    let found = with_fourth(|script, at| {
        script.answer(at + 480 * US, 3, 0..5);
        script.window(at + 600 * US, 3, 5, 0);
        script.window(at + 60 * MS, 3, 5, 500);
        script.answer(at + 60 * MS + 120 * US, 3, 5..10);
    });
    has(&found, Signature::ZeroWindow, 0.0596);
    assert_eq!(found.verdict.incast, Some(false));
}

#[test]
fn data_beyond_the_window_waited_for_the_reader() {
    let found = with_fourth(|script, at| {
        script.without_acks(|script| script.answer(at + 480 * US, 3, 0..2));
        // The window allows two more segments, not three.
        script.window(at + 500 * US, 3, 2, 23);
        script.without_acks(|script| script.answer(at + 620 * US, 3, 2..4));
        script.ack(at + 60 * MS, 3, 4);
        script.answer(at + 60 * MS + 120 * US, 3, 4..10);
    });
    has(&found, Signature::ZeroWindow, 0.0595);
    assert_eq!(found.verdict.incast, Some(false));
}

#[test]
fn late_response_in_a_burst_is_of_a_slow_server() {
    let found = with_fourth(|script, at| {
        script.ack_request(at + 40 * MS, 3);
        script.answer(at + 90 * MS, 3, 0..10);
    });
    has(&found, Signature::SlowServer, 0.0896);
    assert_eq!(found.verdict.incast, Some(false));
    let [slow] = &found.verdict.servers[..] else { panic!("{:?}", found.verdict) };
    assert_eq!((slow.server.as_str(), slow.stalls), ("10.0.1.4", [1, 1]));
    assert!(near(slow.stall_s, 0.0896) && found.verdict.says.contains("10.0.1.4"), "{:?}", found.verdict);
}

#[test]
fn response_that_continues_in_a_burst_paused_by_itself() {
    let found = with_fourth(|script, at| {
        script.answer(at + 480 * US, 3, 0..5);
        script.answer(at + 30 * MS, 3, 5..10);
    });
    has(&found, Signature::ApplicationPause, 0.0295);
}

#[test]
fn retransmitted_request_waited_for_the_clients_timeout() {
    let found = with_fourth(|script, at| {
        script.request_again(at + 210 * MS, 3);
        script.answer(at + 210 * MS + 120 * US, 3, 0..10);
    });
    has(&found, Signature::Rto, 0.2097);
}

#[test]
fn quick_retransmissions_are_no_timeouts() {
    let mut script = Script::open(4, true);
    let mut at = 5 * MS;
    // Two timeouts of 200 ms, then a retransmission after 6 ms.
    for wait in [200 * MS, 200 * MS, 6 * MS] {
        script.ask(at);
        for server in 0..3 {
            script.answer(at + 120 * US + server as u64 * 120 * US, server, 0..10);
        }
        script.answer(at + 480 * US, 3, 0..5);
        script.answer(at + 560 * US, 3, 6..8);
        script.answer(at + wait, 3, 5..6);
        script.answer(at + wait + 200 * US, 3, 8..10);
        script.turned(10);
        at += wait + 10 * MS;
    }
    let found = read(&script);
    let signatures: Vec<Signature> = found.episodes.iter().map(|one| one.signature).collect();
    assert_eq!(signatures, [Signature::Rto, Signature::Rto, Signature::Recovery], "{:#?}", found.episodes);
}

#[test]
fn reports_the_slowest_round_and_the_sums() {
    let mut script = Script::open(4, true);
    // A round with 60 ms of idle time, and one that takes 70 ms without long idle times.
    let (first, second) = (5 * MS, 205 * MS);
    for at in [first, second] {
        script.ask(at);
        (0..3).for_each(|server| script.answer(at + 120 * US, server, 0..10));
        match at == first {
            true => script.answer(at + 60 * MS, 3, 0..10),
            false => (0..10).for_each(|part| script.answer(at + 7 * MS * u64::from(part + 1), 3, part..part + 1)),
        }
        script.turned(10);
    }
    let found = read(&script);
    let took: Vec<f64> = found.episodes.iter().map(|one| one.took_s).collect();
    let (slowest, _) = found.slowest.as_ref().unwrap();
    assert_eq!(slowest.took_s, took[1], "{took:?}");
    assert!((found.rounds.mean_took_s - (took[0] + took[1]) / 2.0).abs() < 1e-8 && found.rounds.count == 2);
    let mbps = 2.0 * 40.0 * f64::from(SEGMENT) * 8.0 / (took[0] + took[1]) / 1e6;
    assert!((found.rounds.goodput_mbps - mbps).abs() < 0.01, "{:?}", found.rounds);
}

#[test]
fn too_little_gets_no_verdict() {
    let mut script = Script::open(4, true);
    script.ask_one(5 * MS, 0);
    script.answer(5 * MS + 120 * US, 0, 0..10);
    let found = read(&script);
    assert_eq!((found.verdict.incast, found.verdict.confidence), (None, 0.0), "{:?}", found.verdict);
    let mut script = Script::open(4, true);
    script.ask(5 * MS);
    assert_eq!(read(&script).verdict.incast, None, "nobody has answered");
}

#[test]
fn sequential_requests_are_no_episode() {
    let mut script = Script::open(4, true);
    for round in 0..3 {
        for server in 0..4 {
            let at = 5 * MS + 8 * MS * round + 2 * MS * server as u64;
            script.ask_one(at, server);
            script.answer(at + 120 * US, server, 0..10);
        }
        script.turned(10);
    }
    let found = read(&script);
    assert_eq!(found.episodes, []);
    assert!(found.verdict.says.starts_with("no incast"), "{:?}", found.verdict);
}

#[test]
fn a_pause_between_requests_does_not_split_later_rounds() {
    let mut script = Script::open(4, true);
    for (round, pause) in [(0, 0), (1, 6 * MS), (2, 0), (3, 0)] {
        let at = 5 * MS + 19_200 * US * round;
        for server in 0..4 {
            let begins = if server < 2 { at } else { at + pause };
            script.ask_one(begins, server);
            // All responses end together, and the next round follows at once.
            for part in 0..10u32 {
                let came = at + 10 * MS + MS * u64::from(part) + server as u64 * 12 * US;
                script.answer(came, server, part..part + 1);
            }
        }
        script.turned(10);
    }
    let fan_ins: Vec<u32> = read(&script).episodes.iter().map(|episode| episode.fan_in).collect();
    assert_eq!(fan_ins, [4, 2, 2, 4, 4]);
}

#[test]
fn warns_about_captures_of_one_direction() {
    let mut script = Script::open(3, false);
    script.deaf = true;
    for server in 0..3 {
        script.answer(5 * MS, server, 0..40);
    }
    let found = read(&script);
    assert!(
        found.cautions.iter().any(|caution| caution.contains("most connections have one direction only")),
        "{:?}",
        found.cautions
    );
}

#[test]
fn echoed_timestamps_show_what_let_a_server_continue() {
    // Without the client's packets; the last server sends the second half of its response late, after an ACK or not.
    let found = |lets_go: bool| {
        let mut script = Script::open(4, false);
        (script.stamped, script.deaf) = (true, true);
        for round in 0..10 {
            let at = 100 * MS * round + 5 * MS;
            script.ask(at);
            (0..3).for_each(|server| script.answer(at + 120 * US + server as u64 * 120 * US, server, 0..10));
            script.answer(at + 480 * US, 3, 0..5);
            if lets_go {
                script.ack(at + 70 * MS, 3, 5);
            }
            script.answer(at + 70 * MS + 60 * US, 3, 5..10);
            script.turned(10);
        }
        read(&script)
    };
    let main = |found: Diagnosis| found.verdict.causes.first().map(|one| one.cause);
    assert_eq!([true, false].map(|lets_go| main(found(lets_go))), [Some(Cause::Receiver), Some(Cause::SlowServer)]);
}

#[test]
fn reports_a_clock_set_back_and_corrects_it() {
    let found = after_calm_rounds(|script, at| {
        for server in 0..4 {
            script.answer(at + 120 * US, server, 0..10);
        }
        script.set_back(3_000 * MS);
        script.turned(10);
        script.ask(at + 3_010 * MS);
        for server in 0..4 {
            script.answer(at + 3_010 * MS + 120 * US, server, 0..10);
        }
    });
    assert_eq!(found.episodes.len(), 5);
    assert!(found.cautions.iter().any(|caution| caution.contains("set back")), "{:?}", found.cautions);
}

#[test]
fn separates_captures_of_different_times() {
    let script = |begin: u64| {
        let mut script = Script::open(2, true);
        script.begin = begin;
        script.ask(5 * MS);
        (0..2).for_each(|server| script.answer(5 * MS + 120 * US, server, 0..10));
        script.pcap()
    };
    let (one, other) = (script(1_000_000 * MS), script(2_000_000 * MS));
    let inputs = [("one", &one), ("other", &other)]
        .map(|(name, bytes)| Input { name: name.into(), stream: Box::new(bytes.as_slice()) });
    let found = diagnose(inputs.into()).unwrap();
    assert_eq!(found.episodes.len(), 2);
    assert!(near(found.episodes[1].start_s - found.episodes[0].start_s, 1000.0));
    assert!(found.cautions.iter().any(|caution| caution.contains("different times")), "{:?}", found.cautions);
}

#[test]
fn reports_truncation_and_refuses_captures_without_tcp() {
    let mut script = Script::open(2, true);
    script.ask(5 * MS);
    (0..2).for_each(|server| script.answer(5 * MS + 120 * US, server, 0..10));
    let bytes = script.pcap();
    let cut = &bytes[..bytes.len() - 7];
    let found = diagnose(vec![Input { name: "cut".into(), stream: Box::new(cut) }]).unwrap();
    let ends = found.inputs[0].ends.clone().unwrap();
    let last = script.last_packet_bytes();
    assert!(ends.contains(&format!("byte {}", bytes.len() - last)), "{ends}");
    let nothing = &bytes[..24];
    let why = diagnose(vec![Input { name: "nothing".into(), stream: Box::new(nothing) }]).unwrap_err();
    assert!(why.0.contains("no TCP"), "{why}");
}
