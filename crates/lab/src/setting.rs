//! Summary of the compared setting in two lines.

use fanin_spec::{Discipline, Settings, Swept, Variant, WarmUp};
use fanin_units::QueueSize;

use crate::figures::{clean, shown, three};

/// The cluster, and the workload with its seeds; marks values that differ between schemes.
pub fn setting(variants: &[Variant]) -> [String; 2] {
    let same = |show: &dyn Fn(&Settings) -> String, what: &str| {
        let mut schemes = variants.iter().map(|c| show(&c.settings));
        let swept = variants.iter().any(|c| c.points.iter().any(|at| show(&at.settings) != show(&c.settings)));
        match schemes.next() {
            _ if swept => format!("{what} swept"),
            Some(first) if schemes.all(|other| other == first) => first,
            _ => format!("{what} by scheme"),
        }
    };
    let of_all = |show: &dyn Fn(&Variant) -> String, what: &str| {
        let mut schemes = variants.iter().map(show);
        match schemes.next() {
            Some(first) if schemes.all(|other| other == first) => first,
            _ => format!("{what} by scheme"),
        }
    };
    let mut cluster = vec![
        same(&|s| format!("{}, {} per link", s.link.rate, s.link.delay), "links"),
        same(&buffer, "switch buffer"),
        same(&|s| format!("MSS {}", s.tcp.mss), "MSS"),
        same(&|s| format!("RTOmin {}", s.tcp.rto_min), "RTOmin"),
        same(&|s| format!("initial window {}", s.tcp.initial_window), "initial window"),
    ];
    cluster.extend(marking(variants));
    let workload = of_all(&workload, "workload");
    let seeds = same(
        &|s| match (s.run.seeds, s.run.first_seed) {
            (1, first) => format!("seed {first}"),
            (n, first) => format!("means over {n} seeds ({first} to {})", first + u64::from(n) - 1),
        },
        "seeds",
    );
    [format!("{}: {}", same(&fabric, "fabrics"), cluster.join("; ")), format!("{workload}; {seeds}")]
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
fn marking(variants: &[Variant]) -> Option<String> {
    let mut values: Vec<String> = variants.iter().flat_map(thresholds).collect();
    values.sort_unstable();
    values.dedup();
    let own = |c: &Variant| c.points.iter().any(|at| at.settings.client_threshold().1.is_some());
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
