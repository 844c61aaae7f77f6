//! Traffic classes of ports: their queues, schedulers and buffers, and the classes of packets.

use fanin_fabric::Fabric;
use fanin_laws::scheduler::{CLASSES, Scheduling};
use fanin_units::{Bytes, QueueSize};

use crate::class_of::{ClassOf, dscp};
use crate::problem::{Wrong, wrong};
use crate::{Discipline, Scheme, Settings};

/// Largest weight.
const WEIGHT_MAX: u32 = 1_000;
const QUEUES: &str = "classes.queues";

/// The queue of a traffic class at every port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrafficClass {
    /// Its number, 0 to 7.
    pub number: u8,
    /// How ports schedule it.
    pub scheduling: Scheduling,
    /// Whether switches pause it (PFC) instead of dropping its packets.
    pub lossless: bool,
    /// Headroom of each link into a switch for a lossless class, in place of `pfc.headroom`.
    pub headroom: Option<Bytes>,
    /// Capacity of its queue at a switch's port if it is not lossless, in place of `switch.buffer`.
    pub buffer: Option<QueueSize>,
    /// DSCPs that ports put into it.
    pub dscps: Vec<u32>,
}

impl TrafficClass {
    /// Parses a line of `classes.queues`.
    fn parse(line: &str) -> Result<TrafficClass, String> {
        let (number, rest) = line.split_once(':').ok_or("a colon is missing after the class")?;
        let number = number.trim().parse().ok().filter(|&number: &u8| usize::from(number) < CLASSES);
        let number = number.ok_or("the class is not a number from 0 to 7")?;
        let (mut scheduling, mut lossless) = (None, false);
        let (mut headroom, mut buffer, mut dscps) = (None, None, Vec::new());
        for part in rest.split(',').map(str::trim) {
            let (word, value) = part.split_once(' ').unwrap_or((part, ""));
            let twice = match word {
                "strict" if value.is_empty() => scheduling.replace(Scheduling::Strict).is_some(),
                "dwrr" => scheduling.replace(Scheduling::Dwrr(weight(value)?)).is_some(),
                "lossless" if value.is_empty() => std::mem::replace(&mut lossless, true),
                "headroom" => headroom.replace(size(value)?).is_some(),
                "buffer" => buffer.replace(size(value)?).is_some(),
                "dscp" => {
                    let own = value.split_whitespace().map(dscp).collect::<Result<Vec<u32>, String>>()?;
                    !std::mem::replace(&mut dscps, own).is_empty()
                }
                _ => return Err(format!("`{part}` is not strict, dwrr, lossless, headroom, buffer or dscp")),
            };
            if twice {
                return Err(format!("`{part}` repeats another part"));
            }
        }
        let scheduling = scheduling.ok_or("it has no scheduler: add strict, or dwrr with a weight")?;
        if headroom.is_some() && !lossless {
            return Err("only a lossless class has headroom".into());
        }
        if buffer.is_some() && lossless {
            return Err("a lossless class has no buffer of its own: it uses the memory that `[pfc]` divides".into());
        }
        Ok(TrafficClass { number, scheduling, lossless, headroom, buffer, dscps })
    }

    /// Whether a packet of this class goes there.
    fn is(&self, class: ClassOf) -> bool {
        match class {
            ClassOf::Number(number) => u32::from(self.number) == number,
            ClassOf::Dscp(dscp) => self.dscps.contains(&dscp),
        }
    }
}

fn weight(text: &str) -> Result<u32, String> {
    let weight = text.parse().map_err(|_| format!("`{text}` is not a weight"))?;
    match weight {
        0 => Err("a weight of 0 adds up to no share of a link".into()),
        weight if weight > WEIGHT_MAX => Err(format!("a weight of {weight} is above {WEIGHT_MAX}")),
        weight => Ok(weight),
    }
}

fn size<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|why| format!("`{text}` is not a size: {why}"))
}

impl Settings {
    /// Traffic classes of every port; none if ports have a single queue of data.
    pub fn traffic_classes(&self) -> impl Iterator<Item = TrafficClass> {
        // Validated with the settings.
        self.classes.queues.iter().filter_map(|line| TrafficClass::parse(line).ok())
    }

    /// Whether ports have traffic classes.
    pub fn has_classes(&self) -> bool {
        !self.classes.queues.is_empty()
    }

    /// The traffic class of the workload's packets, if ports have classes.
    pub fn workload_class(&self) -> Option<TrafficClass> {
        self.class_of(self.classes.workload)
    }

    /// The traffic class of background traffic, likewise.
    pub fn background_class(&self) -> Option<TrafficClass> {
        self.class_of(self.classes.background)
    }

    /// The traffic class of RDMA's acknowledgements and congestion notifications, unless it is that of the data.
    pub fn control_class(&self) -> Option<TrafficClass> {
        self.class_of(self.classes.control.0?)
    }

    fn class_of(&self, class: ClassOf) -> Option<TrafficClass> {
        self.traffic_classes().find(|queue| queue.is(class))
    }

    /// Classes that switches pause.
    pub fn lossless_classes(&self) -> impl Iterator<Item = TrafficClass> {
        self.traffic_classes().filter(|class| class.lossless)
    }

    /// Whether switches pause links instead of dropping the workload's packets, if its transport is RDMA.
    pub fn is_lossless(&self) -> bool {
        self.workload_class().map_or(self.laws.rates.pfc.enabled, |class| class.lossless)
    }

    /// The scheme of background traffic, if it is not that of the workload: TCP beside RDMA.
    pub fn background_scheme(&self, scheme: &Scheme) -> Option<Scheme> {
        self.classes.background_scheme.0.filter(|_| self.has_classes() && scheme.rdma().is_some())
    }

    /// Whether other traffic than the workload's runs.
    fn has_background(&self) -> bool {
        let (workload, facts) = (&self.workload, self.workload.kind.facts());
        let listed = self.inputs.flows.is_some() && !facts.listed;
        let random = workload.load.0.is_some() || self.service.queries_per_s.0.is_some();
        workload.background > 0 || listed || random && !facts.poisson
    }

    /// Sections of settings that have an effect on a scheme's runs.
    pub(crate) fn sections_of(&self, scheme: &Scheme) -> Vec<&'static str> {
        let mut sections = scheme.sections();
        sections.extend(self.background_scheme(scheme).iter().flat_map(Scheme::sections));
        sections.extend(self.lossless_classes().next().map(|_| "pfc"));
        sections
    }
}

/// Refuses queues that cannot work, and packets of classes without a queue.
pub(crate) fn check(scheme: &Scheme, s: &Settings) -> Result<(), Wrong> {
    if !s.has_classes() {
        return Ok(());
    }
    queues(s)?;
    packets(s)?;
    schemes(scheme, s)?;
    buffers(s)?;
    match s.network() {
        Ok(fabric) => headrooms(s, &fabric),
        Err(_) => Ok(()),
    }
}

/// Every line is valid, and no class or DSCP is in two of them.
fn queues(s: &Settings) -> Result<(), Wrong> {
    let mut seen: Vec<TrafficClass> = Vec::new();
    for line in &s.classes.queues {
        let class = match TrafficClass::parse(line) {
            Ok(class) => class,
            Err(why) => {
                let right = "use a line such as \"3: dwrr 60, lossless, dscp 26\" or \"6: strict, buffer 100 KB\"";
                return wrong(&[QUEUES], format!("`{QUEUES}`: \"{line}\": {why}; {right}"));
            }
        };
        if seen.iter().any(|other| other.number == class.number) {
            return wrong(&[QUEUES], format!("`{QUEUES}` has class {} twice: keep one", class.number));
        }
        if let Some(dscp) = class.dscps.iter().find(|dscp| seen.iter().any(|other| other.dscps.contains(dscp))) {
            return wrong(&[QUEUES], format!("`{QUEUES}` has DSCP {dscp} in two classes: keep one"));
        }
        seen.push(class);
    }
    Ok(())
}

/// Every packet's class has a queue.
fn packets(s: &Settings) -> Result<(), Wrong> {
    let (workload, background) = (s.classes.workload, Some(s.classes.background).filter(|_| s.has_background()));
    let all = [
        ("classes.workload", Some(workload)),
        ("classes.background", background),
        ("classes.control", s.classes.control.0),
    ];
    for (path, class) in all {
        let Some(class) = class.filter(|&class| s.class_of(class).is_none()) else { continue };
        let what = match class {
            ClassOf::Number(number) => format!(
                "`{path}` is class {number}, which has no queue: add a line \"{number}: ...\" to `{QUEUES}`, or use a class that has one"
            ),
            ClassOf::Dscp(dscp) => {
                format!("`{path}` is DSCP {dscp}, which no queue lists: add \"dscp {dscp}\" to a line of `{QUEUES}`")
            }
        };
        return wrong(&[path, QUEUES], what);
    }
    Ok(())
}

/// The scheme's ports can have classes, and the background's scheme is one of TCP.
fn schemes(scheme: &Scheme, s: &Settings) -> Result<(), Wrong> {
    if scheme.transport.sprays() {
        let what = format!("the ports of `{scheme}` trim packets and have no traffic classes: remove `[classes]`");
        return wrong(&[QUEUES], what);
    }
    let is_lossless = s.lossless_classes().next().is_some();
    if is_lossless && !s.laws.rates.pfc.enabled {
        let what = format!("`{QUEUES}` has a lossless class, but `pfc.enabled` is off: remove one of the two");
        return wrong(&["pfc.enabled", QUEUES], what);
    }
    if is_lossless && scheme.discipline == Discipline::CoDel {
        let what =
            format!("`{scheme}` drops packets as they leave, so that no class can be lossless: use another scheme");
        return wrong(&[QUEUES], what);
    }
    let path = "classes.background_scheme";
    match s.classes.background_scheme.0 {
        Some(other) if !other.is_tcp() || other.m21 || other.sets_receive_windows() || other.is_of_objects() => {
            let what =
                format!("`{path}` is `{other}`: use a congestion control of TCP, such as \"newreno\" or \"dctcp\"");
            wrong(&[path], what)
        }
        Some(other) if is_lossless && other.discipline == Discipline::CoDel => wrong(
            &[path],
            format!("`{path}` is `{other}`, which drops packets as they leave: use \"newreno\" or \"dctcp\""),
        ),
        _ => Ok(()),
    }
}

/// A class that drops has a buffer of at least a packet.
fn buffers(s: &Settings) -> Result<(), Wrong> {
    for class in s.traffic_classes().filter(|class| !class.lossless) {
        let number = class.number;
        let Some(buffer) = class.buffer else {
            let Some(memory) = s.switch.shared_buffer.0 else { continue };
            let what = format!(
                "`{QUEUES}`: class {number} drops and has no buffer, and only lossless classes share the `switch.shared_buffer` of \
                 {memory}: add \"buffer SIZE\" to its line"
            );
            return wrong(&[QUEUES, "switch.shared_buffer", "switch.profile"], what);
        };
        let full = s.full_frame().max(Bytes(s.rdma_frame()));
        if s.in_bytes(buffer) < full.0 {
            let what = format!(
                "`{QUEUES}`: a buffer of {buffer} for class {number} is less than one packet: use at least {full}"
            );
            return wrong(&[QUEUES], what);
        }
    }
    Ok(())
}

/// Every lossless class has headroom for what a link carries until a pause takes effect.
fn headrooms(s: &Settings, fabric: &Fabric) -> Result<(), Wrong> {
    for class in s.lossless_classes() {
        for id in fabric.link_ids().filter(|&id| !fabric.is_host(fabric.link(id).to)) {
            let own = class.headroom.map(|own| own.0);
            let (link, needs) = (fabric.link(id), s.needed_headroom(fabric, id));
            let has = own.unwrap_or_else(|| s.headroom(fabric, id));
            if has < needs {
                let what = format!(
                    "`{QUEUES}`: class {} is lossless, but a headroom of {has} B loses packets after a pause: a link of {} and {} carries \
                     {needs} B until the pause takes effect; use at least that, or remove the headroom",
                    class.number, link.rate, link.delay
                );
                let path = if own.is_some() { QUEUES } else { "pfc.headroom" };
                return wrong(&[path, QUEUES], what);
            }
        }
    }
    s.lossless_memories_suffice(fabric)
}

/// A lossless class that other traffic leaves little of a link.
pub(crate) fn starved(s: &Settings) -> Option<Wrong> {
    /// A share below which queues of a lossless class are long most of the time.
    const LEAST_PERCENT: u64 = 10;
    let background = s.background_class().filter(|_| s.has_background());
    let data: Vec<TrafficClass> = s.workload_class().into_iter().chain(background).collect();
    let pair = |class: TrafficClass| Some((data.iter().find(|other| other.number != class.number)?, class));
    let (other, class) = data.iter().filter(|class| class.lossless).cloned().find_map(pair)?;
    let (number, first) = (class.number, other.number);
    let why = match (class.scheduling, other.scheduling) {
        (Scheduling::Strict, Scheduling::Strict) if first > number => {
            Some(format!("strict class {first}, a higher one"))
        }
        (Scheduling::Dwrr(_), Scheduling::Strict) => Some(format!("strict class {first}")),
        (Scheduling::Dwrr(own), Scheduling::Dwrr(weight)) => {
            let percent = 100 * u64::from(own) / u64::from(own + weight);
            (percent < LEAST_PERCENT).then(|| format!("class {first}, with {} % of the weights", 100 - percent))
        }
        _ => None,
    };
    let what = format!(
        "`{QUEUES}`: lossless class {number} may starve behind {}: its senders are paused, and pauses spread; give it priority or a larger \
         weight",
        why?
    );
    Some(Wrong { paths: vec![QUEUES], what })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_has_all_parts_of_a_class() {
        let class = TrafficClass::parse("3: dwrr 60, lossless, headroom 40 KB, dscp 24 26").unwrap();
        assert_eq!((class.number, class.scheduling, class.lossless), (3, Scheduling::Dwrr(60), true));
        assert_eq!((class.headroom, class.dscps), (Some(Bytes(40_000)), vec![24, 26]));
        let class = TrafficClass::parse("0:strict,buffer 20 packets").unwrap();
        assert_eq!((class.scheduling, class.buffer), (Scheduling::Strict, Some(QueueSize::Packets(20))));
    }

    #[test]
    fn wrong_lines_say_what_is_wrong() {
        for (line, says) in [
            ("3 strict", "a colon"),
            ("8: strict", "0 to 7"),
            ("3: lossless", "no scheduler"),
            ("3: dwrr 0", "a weight of 0"),
            ("3: dwrr many", "not a weight"),
            ("3: dwrr 5000", "above 1000"),
            ("3: strict, dwrr 5", "repeats"),
            ("3: strict, fast", "`fast` is not strict"),
            ("3: strict, headroom 3 KB", "only a lossless class"),
            ("3: strict, lossless, buffer 3 KB", "no buffer of its own"),
            ("3: strict, dscp 64", "0 to 63"),
        ] {
            let why = TrafficClass::parse(line).unwrap_err();
            assert!(why.contains(says), "{line}: {why}");
        }
    }
}
