//! What a switch's ports hold: a buffer each, or a memory that all of them share.

use fanin_fabric::Fabric;
use fanin_laws::dynamic_threshold::{DynamicThreshold, Memory};
use fanin_laws::port::ecn_threshold;
use fanin_units::{Bytes, QueueSize, Rate};

use crate::Settings;
use crate::problem::{Wrong, wrong};

/// What is otherwise at ports of some rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortClass {
    /// The rate of their links.
    pub rate: Rate,
    /// The threshold of marks, in the place of `ecn_threshold.k`.
    pub k: Option<QueueSize>,
    /// What a queue holds, in the place of `switch.buffer`.
    pub buffer: Option<QueueSize>,
}

impl PortClass {
    /// Reads a line of `switch.ports`.
    fn parse(line: &str) -> Result<PortClass, String> {
        let (rate, rest) = line.split_once(':').ok_or("there is no colon behind a rate")?;
        let rate = rate.parse().map_err(|why| format!("`{}` is no rate: {why}", rate.trim()))?;
        let mut class = PortClass { rate, k: None, buffer: None };
        for part in rest.split(',').map(str::trim) {
            let (word, size) = part.split_once(' ').ok_or_else(|| format!("`{part}` is no word with a size"))?;
            let place = match word {
                "k" => &mut class.k,
                "buffer" => &mut class.buffer,
                _ => return Err(format!("`{word}` is neither k nor buffer")),
            };
            let size = size.parse().map_err(|why| format!("`{size}` is no size: {why}"))?;
            if place.replace(size).is_some() {
                return Err(format!("`{word}` stands there twice"));
            }
        }
        Ok(class)
    }
}

/// The keys of a memory that ports share.
const SHARED: [&str; 5] =
    ["switch.shared_buffer", "switch.alpha", "switch.reserved", "switch.headroom", "switch.profile"];

impl Settings {
    /// The memory of a switch with so many ports, where they share one; it has room for them, as settings are checked.
    pub fn shared_memory(&self, ports: u32) -> Option<DynamicThreshold> {
        DynamicThreshold::new(&self.memory()?, ports)
    }

    /// What is otherwise at ports of this rate, if anything.
    pub fn port_class(&self, rate: Rate) -> Option<PortClass> {
        // They are checked as settings are.
        self.switch.ports.iter().filter_map(|line| PortClass::parse(line).ok()).find(|class| class.rate == rate)
    }

    /// The rate of the client's link.
    fn client_rate(&self) -> Rate {
        self.link.client_rate.0.unwrap_or(self.link.rate)
    }

    /// K of the client's port, where a scheme marks above a threshold; and the key that says it, if any does.
    pub fn client_threshold(&self) -> (QueueSize, Option<&'static str>) {
        let class = self.port_class(self.client_rate()).and_then(|class| class.k);
        match (class, self.laws.ports.ecn_threshold.k) {
            (Some(k), _) => (k, Some("switch.ports")),
            (None, Some(k)) => (k, Some("ecn_threshold.k")),
            (None, None) => {
                (ecn_threshold::by_rate(self.client_rate(), self.client_buffer(), self.full_frame().0), None)
            }
        }
    }

    /// What the queue of the client's port holds at the most.
    pub fn client_buffer(&self) -> QueueSize {
        let class = self.port_class(self.client_rate());
        class.and_then(|class| class.buffer).unwrap_or_else(|| self.port_buffer())
    }

    /// What a port's queue holds at the most where `switch.ports` says nothing else: its buffer, or what it comes to hold of a
    /// shared memory where it alone is congested, at the client's switch.
    pub fn port_buffer(&self) -> QueueSize {
        let Some(memory) = self.memory() else { return self.switch.buffer };
        let ports = match (memory.reserved, self.network()) {
            // Then nothing hangs on their number.
            (Bytes(0), _) | (_, Err(_)) => 0,
            (_, Ok(fabric)) => fabric.links_from(fabric.links()[0].from),
        };
        QueueSize::Bytes(self.shared_memory(ports).map_or(0, |shared| shared.alone()))
    }

    fn memory(&self) -> Option<Memory> {
        let switch = &self.switch;
        let (headroom, reserved, alpha) = (switch.headroom, switch.reserved, switch.alpha);
        Some(Memory { bytes: switch.shared_buffer.0?, headroom, reserved, alpha })
    }
}

/// What is set apart leaves something to share, and an idle switch takes a packet.
pub(crate) fn shared(s: &Settings) -> Result<(), Wrong> {
    let Some(Memory { bytes, headroom, reserved, .. }) = s.memory() else { return Ok(()) };
    let ports = s.network().map_or(0, |fabric| most_ports(&fabric));
    let Some(shared) = s.shared_memory(ports) else {
        let what = format!(
            "{reserved} reserved for each of {ports} ports and a headroom of {headroom} leave nothing of a `switch.shared_buffer` of \
             {bytes} to share: right would be less of either, or a larger memory"
        );
        return wrong(&["switch.reserved", "switch.headroom", "switch.shared_buffer", "switch.profile"], what);
    };
    let (most, full) = (Bytes(shared.limit(0, 0)), s.full_frame());
    if most < full {
        let what = format!(
            "a port gets {most} of an empty `switch.shared_buffer` of {bytes}, which is not one packet: right would be at least {full}, \
             by a larger memory or `switch.alpha`"
        );
        return wrong(&[&SHARED[..], &["tcp.mss"]].concat(), what);
    }
    Ok(())
}

/// A profile's thresholds give way to one that is set beside it.
pub(crate) fn drop_published_k(settings: &mut Settings) {
    if settings.switch.profile.0.is_some_and(|chip| chip.has_ports(&settings.switch.ports)) {
        settings.switch.ports.clear();
    }
}

/// Refuses lines of `switch.ports` that are not understood, that say the same rate twice, or that go not with a memory.
pub(crate) fn ports(s: &Settings) -> Result<(), Wrong> {
    const PATH: &str = "switch.ports";
    let full = s.full_frame();
    let mut seen: Vec<Rate> = Vec::new();
    for line in &s.switch.ports {
        let class = match PortClass::parse(line) {
            Ok(class) => class,
            Err(why) => {
                let right = "right would be such as \"100 Gbit/s: k 200 packets, buffer 1 MB\"";
                return wrong(&[PATH], format!("`{PATH}`: \"{line}\": {why}; {right}"));
            }
        };
        if seen.contains(&class.rate) {
            return wrong(&[PATH], format!("`{PATH}` has ports of {} twice: keep one", class.rate));
        }
        seen.push(class.rate);
        let small = |buffer: &QueueSize| match *buffer {
            QueueSize::Bytes(bytes) => bytes < full.0,
            QueueSize::Packets(packets) => packets == 0,
        };
        if class.buffer.is_some_and(|buffer| small(&buffer)) {
            let what =
                format!("`{PATH}`: \"{line}\" does not hold one packet: right would be at least {full} or 1 packet");
            return wrong(&[PATH, "tcp.mss"], what);
        }
        if class.buffer.is_some() && s.switch.shared_buffer.0.is_some() {
            let what = format!(
                "`{PATH}` gives ports of {} a buffer of their own, and `switch.shared_buffer` all ports one memory: keep the one that \
                 is meant",
                class.rate
            );
            return wrong(&[PATH, "switch.shared_buffer", "switch.profile"], what);
        }
    }
    Ok(())
}

/// The ports of the switch that has most.
fn most_ports(fabric: &Fabric) -> u32 {
    let mut ports: Vec<u32> = Vec::new();
    for link in fabric.links().iter().filter(|link| !fabric.is_host(link.from)) {
        if ports.len() <= link.from.index() {
            ports.resize(link.from.index() + 1, 0);
        }
        ports[link.from.index()] += 1;
    }
    ports.into_iter().max().unwrap_or(0)
}
