//! Second implementations of a transport's seams: a transport that grants, a law that paces, a switch that pauses.

mod grants;

use std::sync::atomic::AtomicBool;

use fanin_assemble::tcp_settings;
use fanin_fabric::NodeId;
use fanin_laws::sender::{Ack, Cause, Congestion, Control, Window};
use fanin_sim::{Builder, Departures, FlowControl, PauseFrame, Queued, Switches, TapPoint};
use fanin_simulate::{builder, tap};
use fanin_spec::RunSpec;
use fanin_spec::law::{Foreign, Source, Traits, register};
use fanin_tables::RunTables;
use fanin_tcp::Endpoint;
use fanin_transport::Transport;
use fanin_units::{Rate, Time};

use crate::common::{run, spec};
use grants::Grants;

/// Servers answer at once through a port of 64 KiB: TCP times out.
const INCAST: &str = "[link]\nrate = \"10 Gbit/s\"\ndelay = \"2 us\"\n[switch]\nbuffer = \"64 KiB\"\n[tcp]\nrto_min = \"10 ms\"\n\
                      [workload]\nfragment = \"64 KiB\"\nduration = \"100 ms\"\n";

fn incast(scheme: &str) -> RunSpec {
    spec(&format!("schemes = [\"{scheme}\"]\n{INCAST}"), 100, 1)
}

fn over<T: Transport>(spec: &RunSpec, builder: Builder<T>) -> RunTables {
    let mut simulation = builder.start_all(fanin_apps::applications(spec));
    simulation.run(&AtomicBool::new(false)).expect("nobody stops it");
    simulation.finish().unwrap_or_else(|broken| panic!("{broken:?}"))
}

fn grants(spec: &RunSpec, switches: Switches) -> Builder<Grants> {
    builder(spec, spec.settings.tcp.mss.0 as u32, switches)
}

#[test]
fn granted_packets_survive_trimming() {
    let spec = incast("newreno");
    let tables = over(&spec, grants(&spec, Switches { trims: true, by_class: true, ..Switches::default() }));
    let tcp = run(&spec);
    assert_eq!((tables.totals.drops, tables.totals.timeouts), (0, 0));
    // Nothing paces the grants, so that headers of packets trimmed again and again take a third of the link.
    let goodputs = [&tables, &tcp].map(RunTables::goodput_mbps);
    assert!(
        tcp.totals.timeouts > 100 && goodputs[0] > 6_000.0 && goodputs[0] > 2.0 * goodputs[1],
        "{goodputs:?} Mbit/s"
    );
}

#[test]
fn departures_do_not_change_its_tables() {
    let spec = incast("newreno");
    let with = |departures| {
        let mut simulation =
            grants(&spec, Switches::default()).departures(departures).start_all(fanin_apps::applications(&spec));
        simulation.run(&AtomicBool::new(false)).expect("nobody stops it");
        let RunTables { queries, flows, ports, totals, .. } = simulation.finish().expect("conserved");
        (queries, flows, ports, totals)
    };
    assert_eq!(with(Departures::Eager), with(Departures::Lazy));
}

/// Sends at a tenth of 10 Gbit/s whatever its window is.
#[derive(Clone, Copy, Debug)]
struct Paced;

const PACE: Rate = Rate(1_000_000_000);

impl Control for Paced {
    fn slow_start(&mut self, _: &Ack, mss: u32, window: &mut Window) {
        window.cwnd = 40 * mss;
    }

    fn congestion_avoidance(&mut self, _: &Ack, _: u32, _: &mut Window) {}

    fn paces(&self) -> bool {
        true
    }

    fn rate(&self, _: &Window, _: Time) -> Option<Rate> {
        Some(PACE)
    }

    fn cut(&mut self, _: Cause, _: &Congestion, mss: u32, _: &Window) -> u32 {
        2 * mss
    }
}

impl Foreign for Paced {
    fn fresh(&self) -> Box<dyn Foreign> {
        Box::new(*self)
    }
}

impl Source for Paced {
    fn start(&self) -> Box<dyn Foreign> {
        self.fresh()
    }

    fn during(&self, run: &mut (dyn FnMut() + Send)) -> Result<(), String> {
        run();
        Ok(())
    }
}

#[test]
fn paced_packets_leave_one_by_one() {
    register("paced", Traits::default(), Box::new(Paced)).expect("a name");
    for detection in ["rack = false", "rack = true\ntail_loss_probe = true"] {
        let text = format!(
            "schemes = [\"paced\"]\n[link]\nrate = \"10 Gbit/s\"\n[tcp]\nrto_min = \"10 ms\"\n{detection}\n[host]\npacket_jitter = \"none\"\n\
             [workload]\nkind = \"one-shot\"\nfragment = \"300 KB\"\nduration = \"1 s\"\n"
        );
        let spec = spec(&text, 1, 1);
        let point = TapPoint::Port("server1>switch".into());
        let (tables, caught) = tap(&spec, &point, &AtomicBool::new(false)).expect("a run").expect("a port");
        assert_eq!((tables.totals.timeouts, tables.totals.drops), (0, 0));
        let data: Vec<Time> = caught.iter().filter(|one| one.packet.payload > 0).map(|one| one.time).collect();
        let gap = PACE.time_for(spec.settings.tcp.mss.0);
        // The first packet waits for an ACK to leave, and the last one is shorter.
        let whole = &data[1..data.len() - 1];
        let least = whole.windows(2).map(|two| two[1].since(two[0])).min().expect("packets");
        assert!(
            whole.len() > 200 && least >= gap,
            "{detection}: {} packets, at least {least} between them",
            whole.len()
        );
        let mean = whole.last().expect("packets").since(whole[0]).0 / (whole.len() as u64 - 1);
        assert!(mean < gap.0 * 21 / 20, "{detection}: {mean} ps between packets, and {} at its rate", gap.0);
    }
}

/// Pauses a link's sender while more than 16 KiB of its packets wait; resumes it below 8 KiB.
#[derive(Clone, Default)]
struct Pauses {
    /// Bytes by arrival link.
    waiting: std::collections::BTreeMap<u32, u64>,
    paused: std::collections::BTreeSet<u32>,
}

impl FlowControl for Pauses {
    fn queued(&mut self, packet: Queued) -> Option<PauseFrame> {
        let waiting = self.waiting.entry(packet.came_by.0).or_default();
        *waiting += u64::from(packet.bytes);
        let pauses = *waiting > 16 << 10 && self.paused.insert(packet.came_by.0);
        pauses.then_some(PauseFrame { class: packet.class, on: true })
    }

    fn left(&mut self, packet: Queued) -> Option<PauseFrame> {
        let waiting = self.waiting.entry(packet.came_by.0).or_default();
        *waiting -= u64::from(packet.bytes);
        let resumes = *waiting < 8 << 10 && self.paused.remove(&packet.came_by.0);
        resumes.then_some(PauseFrame { class: packet.class, on: false })
    }

    fn copy(&self) -> Box<dyn FlowControl> {
        Box::new(self.clone())
    }

    fn take_over(&mut self, _copy: Box<dyn FlowControl>, _own: &dyn Fn(NodeId) -> bool) {
        unreachable!("these runs are not divided");
    }
}

#[test]
fn pauses_make_a_switch_lossless() {
    // With 40 links of 16 KiB and what a link carries after a pause, 4 MiB hold everything.
    let spec = spec(
        &format!(
            "schemes = [\"newreno\"]\n{}",
            INCAST
                .replace("64 KiB\"\n[tcp]", "4 MiB\"\n[tcp]")
                .replace("fragment = \"64 KiB\"", "fragment = \"512 KiB\"")
        ),
        40,
        1,
    );
    let unpaused = run(&spec);
    let switches = Switches { flow_control: Some(Box::<Pauses>::default()), ..Switches::default() };
    let paused = over(&spec, builder::<Endpoint>(&spec, tcp_settings(&spec), switches));
    assert!(unpaused.totals.drops > 0, "without pauses the port overflows");
    assert_eq!((paused.totals.drops, paused.totals.timeouts), (0, 0));
    // At most the threshold of each link, a packet beyond it, and two delays and packets at its rate.
    let link = &spec.settings.link;
    let beyond = 2 * link.delay.0 * (link.rate.0 / 8_000_000) / 1_000_000 + 4 * 1_538;
    assert!(paused.totals.queue_max_bytes <= 40 * ((16 << 10) + beyond), "{} B", paused.totals.queue_max_bytes);
    assert!(paused.goodput_mbps() > 9_000.0, "{} Mbit/s", paused.goodput_mbps());
}
