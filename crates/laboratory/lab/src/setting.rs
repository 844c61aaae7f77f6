//! Summary of the compared setting in two lines.

use fanin_spec::{DCQCN_PROFILES, Discipline, RateBased, Recovery, Settings, Swept, Transport, Variant, WarmUp};
use fanin_units::{Bytes, QueueSize};

use crate::figures::{clean, shown, three};

/// The cluster, and the workload with its seeds; marks values that differ between schemes.
pub fn setting(variants: &[Variant]) -> [String; 2] {
    let all: Vec<&Variant> = variants.iter().collect();
    let of_all = |show: &dyn Fn(&Variant) -> String, what: &str| {
        let mut schemes = variants.iter().map(show);
        match schemes.next() {
            Some(first) if schemes.all(|other| other == first) => first,
            _ => format!("{what} by scheme"),
        }
    };
    let links = same(&all, &|s| format!("{}, {} per link", s.link.rate, s.link.delay), "links");
    let classes =
        variants.iter().any(|variant| variant.settings.has_classes()).then(|| same(&all, &classes, "classes"));
    let cluster: Vec<String> = [links].into_iter().chain(classes).chain(of_transports(&all)).collect();
    let workload = of_all(&workload, "workload");
    let seeds = same(
        &all,
        &|s| match (s.run.seeds, s.run.first_seed) {
            (1, first) => format!("seed {first}"),
            (n, first) => format!("means over {n} seeds ({first} to {})", first + u64::from(n) - 1),
        },
        "seeds",
    );
    [format!("{}: {}", same(&all, &fabric, "fabrics"), cluster.join("; ")), format!("{workload}; {seeds}")]
}
/// The value that all variants have at all points, or that it differs.
fn same(variants: &[&Variant], show: &dyn Fn(&Settings) -> String, what: &str) -> String {
    let mut schemes = variants.iter().map(|c| show(&c.settings));
    let swept = variants.iter().any(|c| c.points.iter().any(|at| show(&at.settings) != show(&c.settings)));
    match schemes.next() {
        _ if swept => format!("{what} swept"),
        Some(first) if schemes.all(|other| other == first) => first,
        _ => format!("{what} by scheme"),
    }
}

/// Settings in force of each transport's hosts and ports, with the transport's name if there are several.
fn of_transports(variants: &[&Variant]) -> Vec<String> {
    let of = |is: fn(Transport) -> bool| -> Vec<&Variant> {
        variants.iter().copied().filter(|variant| is(variant.scheme.transport)).collect()
    };
    let (tcp, rdma, uet) = (
        of(|transport| transport == Transport::Tcp),
        of(|transport| matches!(transport, Transport::Rdma(_))),
        of(|transport| matches!(transport, Transport::Uet(_))),
    );
    let groups = [("TCP", of_tcp(&tcp)), ("RDMA", of_rdma(&rdma)), ("Ultra Ethernet", of_uet(&uet))];
    let used: Vec<_> = groups.into_iter().filter(|(_, settings)| !settings.is_empty()).collect();
    match &used[..] {
        [(_, settings)] => settings.clone(),
        _ => used.iter().map(|(name, settings)| format!("{name}: {}", settings.join(", "))).collect(),
    }
}

fn of_tcp(variants: &[&Variant]) -> Vec<String> {
    if variants.is_empty() {
        return Vec::new();
    }
    let mut settings = vec![
        same(variants, &buffer, "switch buffer"),
        same(variants, &|s| format!("MSS {}", s.tcp.mss), "MSS"),
        same(variants, &|s| format!("RTOmin {}", s.tcp.rto_min), "RTOmin"),
        same(variants, &|s| format!("initial window {}", s.tcp.initial_window), "initial window"),
    ];
    settings.extend(marking(variants));
    settings
}

fn of_rdma(variants: &[&Variant]) -> Vec<String> {
    if variants.is_empty() {
        return Vec::new();
    }
    let memory = |s: &Settings| match s.switch.shared_buffer.0 {
        _ if !s.is_lossless() => buffer(s),
        Some(memory) => format!("{} shared by a switch's links", shown(QueueSize::Bytes(memory.0))),
        None => format!("{} for each link of a switch, shared", shown(s.switch.buffer)),
    };
    let mut settings = vec![
        same(variants, &memory, "memory"),
        same(variants, &pauses, "PFC"),
        same(variants, &|s| format!("payload {}", s.laws.rates.rdma.payload), "payload"),
    ];
    let has_dcqcn = |variant: &&&Variant| variant.scheme.sections().contains(&"dcqcn");
    let dcqcn: Vec<&Variant> = variants.iter().filter(has_dcqcn).copied().collect();
    if !dcqcn.is_empty() {
        let least = |s: &Settings| {
            let profile = s.laws.rates.dcqcn.profile;
            let word = DCQCN_PROFILES.iter().find(|(known, ..)| *known == profile).map_or("", |(_, word, _)| word);
            format!("DCQCN of {word}, least rate {}", s.least_rate(RateBased::Dcqcn).1)
        };
        settings.push(same(&dcqcn, &least, "DCQCN's settings"));
    }
    settings
}

/// The queues of ports, if they have traffic classes.
fn classes(s: &Settings) -> String {
    match s.has_classes() {
        true => format!("classes {}", s.classes.queues.join(" | ")),
        false => "no classes".into(),
    }
}

/// When switches pause links, or how queue pairs repair losses where they do not.
fn pauses(s: &Settings) -> String {
    match (s.is_lossless(), s.laws.rates.rdma.recovery) {
        (true, _) => format!("PFC alpha {}", s.laws.rates.pfc.alpha),
        (false, Recovery::GoBackN) => format!("no PFC, go-back-N after {}", s.rdma_timeout()),
        (false, Recovery::SelectiveRepeat) => format!("no PFC, selective repeat after {}", s.rdma_timeout()),
    }
}

fn of_uet(variants: &[&Variant]) -> Vec<String> {
    let of = |(variant, s): (&Variant, &Settings)| {
        let kind = variant.scheme.uet()?;
        Some((shown(s.trimming_queue(kind)), format!("payload {}", Bytes(kind.payload(&s.laws.uet).into()))))
    };
    let points = variants.iter().flat_map(|variant| variant.points.iter().map(|at| (*variant, &at.settings)));
    let (queues, payloads): (Vec<String>, Vec<String>) = points.filter_map(of).unzip();
    let listed = |mut values: Vec<String>| {
        values.sort_unstable();
        values.dedup();
        values.join(" or ")
    };
    if queues.is_empty() {
        Vec::new()
    } else {
        vec![format!("trimming beyond {} per switch port", listed(queues)), listed(payloads)]
    }
}

/// Marking thresholds of the client's port at the points of a scheme that marks, without duplicates; otherwise empty.
pub(crate) fn thresholds(variant: &Variant) -> Vec<String> {
    let mut values = Vec::new();
    if variant.scheme.discipline == Discipline::EcnThreshold {
        for at in &variant.points {
            let (k, _) = at.settings.client_threshold();
            if !values.contains(&k.to_string()) {
                values.push(k.to_string());
            }
        }
    }
    values
}

/// The marking threshold if some scheme marks, and whether it depends on the link's rate.
fn marking(variants: &[&Variant]) -> Option<String> {
    let mut values: Vec<String> = variants.iter().flat_map(|variant| thresholds(variant)).collect();
    values.sort_unstable();
    values.dedup();
    let own = |c: &&Variant| c.points.iter().any(|at| at.settings.client_threshold().1.is_some());
    let by_rate = !variants.iter().any(own);
    match &values[..] {
        [] => None,
        [k] if by_rate => Some(format!("K {k} (by link rate)")),
        [k] => Some(format!("K {k}")),
        _ if variants.iter().any(|c| thresholds(c).len() > 1) => Some("K swept".into()),
        _ => Some("K by scheme".into()),
    }
}

/// The fabric, with its oversubscription if it has racks.
fn fabric(s: &Settings) -> String {
    let kind = s.fabric.kind.word();
    s.oversubscription().map_or(kind.into(), |times| format!("{kind}, {}:1 over-subscribed", three(times)))
}

fn workload(variant: &Variant) -> String {
    let s = &variant.settings;
    let w = &s.workload;
    let swept = |show: &dyn Fn(&Settings) -> String| {
        let mut values: Vec<String> = variant.points.iter().map(|at| show(&at.settings)).collect();
        let mut seen = Vec::new();
        values.retain(|value| {
            !seen.contains(value) && {
                seen.push(value.clone());
                true
            }
        });
        values.join(", ")
    };
    let hosts = || swept(&|s| s.hosts().to_string());
    let poisson = || {
        let sizes = s.inputs.sizes.as_ref().map_or(String::new(), |sizes| file_of(sizes.name()));
        let load = swept(&|s| three(s.workload.load.0.map_or(0.0, |load| load.as_f64()) * 100.0));
        format!("{sizes} sizes at {load} % load")
    };
    let mut text = clean(&(w.kind.facts().says)(s, &Swept { hosts: &hosts(), poisson: &poisson(), three }));
    match w.warm_up.0 {
        None => {}
        Some(WarmUp::Rounds(1)) => text += ", after a warm-up of 1 round",
        Some(WarmUp::Rounds(rounds)) => text += &format!(", after a warm-up of {rounds} rounds"),
        Some(WarmUp::For(time)) => text += &format!(", after a warm-up of {time}"),
    }
    if let Some(cap) = w.in_flight.0 {
        text += &format!(", at most {cap} concurrent requests");
    }
    if w.background > 0 {
        text += &format!(", {} background long flows", w.background);
    }
    if !w.kind.facts().poisson && w.load.0.is_some() {
        text += &format!(", background Poisson flows: {}", poisson());
    }
    text + &also_swept(variant)
}

/// Swept keys of the workload other than hosts and loads, whose values are all listed.
fn also_swept(variant: &Variant) -> String {
    let said = ["workload.fan_in", "workload.load"];
    let moving = variant.moving().into_iter().map(|axis| variant.points[0].point.0[axis].key.as_str());
    let of_workload =
        |key: &&str| ["workload.", "mapreduce.", "key_value."].iter().any(|section| key.starts_with(section));
    let more = moving.filter(of_workload).filter(|key| !said.contains(key));
    more.map(|key| format!(", {key} swept")).collect()
}

/// The last part of a path.
fn file_of(path: &str) -> String {
    clean(path.rsplit('/').next().unwrap_or(path))
}

/// Capacity of switch ports.
fn buffer(s: &Settings) -> String {
    match s.switch.shared_buffer.0 {
        None => format!("{} per switch port", shown(s.switch.buffer)),
        Some(memory) => {
            format!("{} shared by a switch's ports, alpha {}", shown(QueueSize::Bytes(memory.0)), s.switch.alpha)
        }
    }
}

#[cfg(test)]
mod tests {
    use fanin_spec::Scenario;

    use super::*;

    fn cluster(schemes: &str, more: &str) -> String {
        let text = format!(
            "schemes = [{schemes}]\n[link]\nrate = \"100 Gbit/s\"\ndelay = \"1 us\"\n{more}\n[workload]\nkind = \"one-shot\"\n\
             fragment = \"1 MB\"\n[sweep]\nfan_in = [8]\n"
        );
        setting(&Scenario::parse("my.toml", &text).unwrap().variants().unwrap())[0].clone()
    }

    #[test]
    fn prints_the_settings_in_force_of_each_transport() {
        let shared = "[switch]\nshared_buffer = \"64 MiB\"";
        let rdma = "64 MiB shared by a switch's links";
        assert_eq!(
            cluster("\"dcqcn\"", shared),
            format!(
                "star: 100 Gbit/s, 1 us per link; {rdma}; PFC alpha 1/8; payload 1 KiB; DCQCN of connectx, least rate 1 Mbit/s"
            )
        );
        assert_eq!(
            cluster("\"hpcc\"", "[switch]\nbuffer = \"1 MB\"\n[pfc]\nenabled = false"),
            "star: 100 Gbit/s, 1 us per link; 1 MB per switch port; no PFC, go-back-N after 4 ms; payload 1 KiB"
        );
        let all = cluster("\"dctcp\", \"hpcc\", \"nscc\"", shared);
        for part in [
            "; TCP: 64 MiB shared by a switch's ports, alpha 1, MSS 1460 B,",
            "; RDMA: 64 MiB shared by a switch's links,",
        ] {
            assert!(all.contains(part), "{part}: {all}");
        }
        assert!(
            all.contains("; Ultra Ethernet: trimming beyond 5") && all.ends_with("per switch port, payload 4086 B"),
            "{all}"
        );
        for word in ["MSS", "RTOmin", "window", "ACK"] {
            assert!(!cluster("\"hpcc\", \"dcqcn\"", shared).contains(word), "{word}");
            assert!(!cluster("\"nscc\", \"ndp\"", "[switch]\nbuffer = \"150 KB\"").contains(word), "{word}");
        }
    }
}
