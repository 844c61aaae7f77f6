//! Cautions about gaps in the data.

use crate::captured::Capture;
use crate::diagnosis::Place;

/// Gaps of a capture.
pub(crate) fn of(capture: &Capture, one_sided: f64, out: &mut Vec<String>) {
    let name = &capture.name;
    let mut say = |what: String| out.push(format!("{name}: {what}"));
    if let Some(why) = &capture.end.broken {
        say(format!("ends early at byte {}: {why}; the diagnosis covers the data before", capture.end.bytes));
    }
    if let Some(dropped) = capture.end.dropped.filter(|dropped| *dropped > 0) {
        say(format!("the capture dropped {dropped} packets, which may look like losses"));
    }
    let largest = capture.watch.hosts.all.iter().map(|host| host.largest).max().unwrap_or(0);
    let lacking = capture.watch.lacking().div_ceil(u64::from(largest.max(1)));
    if lacking > 0 && one_sided < 0.5 {
        say(format!("lacks at least {lacking} packets that arrived, as ACKs show; they do not count as lost"));
    }
    if capture.watch.flows.all().iter().any(|flow| flow.options_cut) {
        say("options of SYNs are cut off, so window scales are unknown: use a snap length of at least 120 B".into());
    }
    if capture.end.skipped > 0 {
        say(format!("skipped {} unknown blocks", capture.end.skipped));
    }
    if capture.unclear > 0 {
        say(format!("{} packets have incomplete headers: use a snap length of at least 120 B", capture.unclear));
    }
    if capture.watch.copies.count > 0 {
        say(format!("{} packets appear twice and were counted once", capture.watch.copies.count));
    }
    if capture.set_back > 0 {
        say(format!(
            "its clock was set back {} times; later times are shifted, and times between are unknown",
            capture.set_back
        ));
    }
    if capture.out_of_order > 0 {
        say(format!("{} packets are out of order and count at the time of the preceding ones", capture.out_of_order));
    }
    if capture.watch.flows.forgotten > 0 {
        say(format!(
            "dropped {} of {} connections, those idle longest, to limit memory",
            capture.watch.flows.forgotten, capture.watch.flows.seen
        ));
    }
    if one_sided > 0.5 {
        say("most connections have one direction only, so requests and the starts of rounds are unknown".into());
    }
    if capture.watch.place() == Some(Place::Server) && capture.watch.records.counts[1] == 0 {
        say("captured at a server, which cannot show whether other servers responded at the same time: a recording at the client \
             (fanin record) decides between incast and this server's own bursts"
            .into());
    }
}

/// Warns about captures of different times.
pub(crate) fn of_times(captures: &[Capture], out: &mut Vec<String>) {
    let mut spans: Vec<(u64, u64, &str)> =
        captures.iter().filter_map(|capture| Some((capture.first?, capture.last, capture.name.as_str()))).collect();
    spans.sort_unstable();
    for pair in spans.windows(2) {
        let [(_, ended, one), (begun, _, other)] = pair else { continue };
        if begun > ended {
            let apart = (begun - ended) as f64 / 1e9;
            out.push(format!(
                "{one} and {other} cover different times, {apart:.3} s apart: the rounds of both count, all else is of the one with more rounds"
            ));
        }
    }
}
