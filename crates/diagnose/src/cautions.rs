//! What cannot be told, and why.

use crate::captured::Capture;

/// What one capture lacks.
pub(crate) fn of(capture: &Capture, one_sided: f64, out: &mut Vec<String>) {
    let name = &capture.name;
    let mut say = |what: String| out.push(format!("{name}: {what}"));
    if let Some(why) = &capture.end.broken {
        say(format!("it ends at byte {}: {why}; what is said is of what came before", capture.end.bytes));
    }
    if let Some(dropped) = capture.end.dropped.filter(|dropped| *dropped > 0) {
        say(format!("the capture itself dropped {dropped} packets: holes in it may be its own"));
    }
    if capture.end.skipped > 0 {
        say(format!("{} blocks were not understood and left out", capture.end.skipped));
    }
    if capture.unclear > 0 {
        say(format!("of {} packets the headers are cut off: use a snap length of 96 B", capture.unclear));
    }
    if capture.watch.copies.count > 0 {
        say(format!("{} packets are in it twice; each was counted once", capture.watch.copies.count));
    }
    if capture.set_back > 0 {
        say(format!(
            "its clock was set back {} times; times after that are moved on, and times between are not known",
            capture.set_back
        ));
    }
    if capture.out_of_order > 0 {
        say(format!("{} packets stand behind later ones; they count as of these ones' time", capture.out_of_order));
    }
    if capture.watch.flows.forgotten > 0 {
        say(format!(
            "{} of {} connections were forgotten, those silent longest, to stay within the memory",
            capture.watch.flows.forgotten, capture.watch.flows.seen
        ));
    }
    if one_sided > 0.5 {
        say("one direction alone was captured of most connections: who asked for what, and so where a round begins, cannot be told".into());
    }
    let hosts = &capture.watch.hosts.all;
    let sum = |of: fn(&crate::host::Places) -> u64| hosts.iter().map(|host| of(&host.places)).sum::<u64>();
    let (asker, server) = (sum(|places| places.at_asker), sum(|places| places.at_server));
    if server > asker && capture.watch.records.counts[1] == 0 {
        say("it was taken at a server: how many answered beside this one, and what the client waited for, cannot be told from there; \
             capture at the client, too"
            .into());
    }
}

/// Captures of different times.
pub(crate) fn of_times(captures: &[Capture], out: &mut Vec<String>) {
    let mut spans: Vec<(u64, u64, &str)> =
        captures.iter().filter_map(|capture| Some((capture.first?, capture.last, capture.name.as_str()))).collect();
    spans.sort_unstable();
    for pair in spans.windows(2) {
        let [(_, ended, one), (begun, _, other)] = pair else { continue };
        if begun > ended {
            let apart = (begun - ended) as f64 / 1e9;
            out.push(format!(
                "{one} and {other} are of different times, {apart:.3} s apart: nothing of one is held against the other"
            ));
        }
    }
}
