//! Buffers of switch ports: one per port, or a shared memory.

use fanin_fabric::Fabric;
use fanin_laws::dynamic_threshold::{DynamicThreshold, Memory};
use fanin_laws::port::{Place, ecn_threshold};
use fanin_units::{Bytes, QueueSize, Rate};

use crate::Settings;
use crate::problem::{Wrong, wrong};

/// Overrides for ports with one link rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortClass {
    /// Link rate.
    pub rate: Rate,
    /// Marking threshold, in place of `ecn_threshold.k`.
    pub k: Option<QueueSize>,
    /// Queue capacity, in place of `switch.buffer`.
    pub buffer: Option<QueueSize>,
}

impl PortClass {
    /// Parses a line of `switch.ports`.
    fn parse(line: &str) -> Result<PortClass, String> {
        let (rate, rest) = line.split_once(':').ok_or("a colon is missing after the rate")?;
        let rate = rate.parse().map_err(|why| format!("`{}` is not a rate: {why}", rate.trim()))?;
        let mut class = PortClass { rate, k: None, buffer: None };
        for part in rest.split(',').map(str::trim) {
            let (word, size) = part.split_once(' ').ok_or_else(|| format!("`{part}` is not a word with a size"))?;
            let place = match word {
                "k" => &mut class.k,
                "buffer" => &mut class.buffer,
                _ => return Err(format!("`{word}` is neither k nor buffer")),
            };
            let size = size.parse().map_err(|why| format!("`{size}` is not a size: {why}"))?;
            if place.replace(size).is_some() {
                return Err(format!("`{word}` is given twice"));
            }
        }
        Ok(class)
    }
}

/// Keys of shared memory.
const SHARED: [&str; 5] =
    ["switch.shared_buffer", "switch.alpha", "switch.reserved", "switch.headroom", "switch.profile"];

impl Settings {
    /// The shared memory of a switch with this many ports, if configured; validated to be large enough.
    pub fn shared_memory(&self, ports: u32) -> Option<DynamicThreshold> {
        DynamicThreshold::new(&self.memory()?, ports)
    }

    /// Overrides for ports with this rate, if any.
    pub fn port_class(&self, rate: Rate) -> Option<PortClass> {
        self.port_classes().find(|class| class.rate == rate)
    }

    /// Overrides for ports, by rate.
    pub(crate) fn port_classes(&self) -> impl Iterator<Item = PortClass> {
        // Validated with the settings.
        self.switch.ports.iter().filter_map(|line| PortClass::parse(line).ok())
    }

    /// Rate of the client's link.
    pub(crate) fn client_rate(&self) -> Rate {
        self.link.client_rate.0.unwrap_or(self.link.rate)
    }

    /// Marking threshold of the client's port for schemes that mark, and the key that set it, if any.
    pub fn client_threshold(&self) -> (QueueSize, Option<&'static str>) {
        self.threshold_at(self.client_rate())
    }

    /// Marking threshold of a port of this rate, and the key that set it, if any.
    pub fn threshold_at(&self, rate: Rate) -> (QueueSize, Option<&'static str>) {
        let class = self.port_class(rate).and_then(|class| class.k);
        match (class, self.laws.ports.ecn_threshold.k) {
            (Some(k), _) => (k, Some("switch.ports")),
            (None, Some(k)) => (k, Some("ecn_threshold.k")),
            (None, None) => (ecn_threshold::by_rate(rate, self.buffer_at(rate), self.full_frame().0), None),
        }
    }

    /// Queues of the client's port above which lossless ports mark some packets and all packets, in bytes.
    pub fn client_ramp(&self) -> (u64, u64) {
        let (rate, buffer, full_packet) = (self.client_rate(), self.client_buffer(), self.full_frame().0);
        self.laws.ports.ecn_ramp.thresholds(&Place { rate, buffer, full_packet, ecn: true })
    }

    /// Capacity of the client's port queue.
    pub fn client_buffer(&self) -> QueueSize {
        self.buffer_at(self.client_rate())
    }

    /// Capacity of the queue of a port of this rate.
    pub fn buffer_at(&self, rate: Rate) -> QueueSize {
        let class = self.port_class(rate);
        class.and_then(|class| class.buffer).unwrap_or_else(|| self.port_buffer())
    }

    /// Queue capacity of a port without overrides: its buffer, or the shared memory that a single congested port can use at the
    /// client's switch.
    pub fn port_buffer(&self) -> QueueSize {
        let Some(memory) = self.memory() else { return self.switch.buffer };
        let ports = match (memory.reserved, self.network()) {
            // The number of ports does not matter then.
            (Bytes(0), _) | (_, Err(_)) => 0,
            (_, Ok(fabric)) => fabric.links_from(fabric.links()[0].from),
        };
        QueueSize::Bytes(self.shared_memory(ports).map_or(0, |shared| shared.alone()))
    }

    /// The memory that the ports of a switch share, if configured.
    pub fn memory(&self) -> Option<Memory> {
        let switch = &self.switch;
        let (headroom, reserved, alpha) = (switch.headroom, switch.reserved, switch.alpha);
        Some(Memory { bytes: switch.shared_buffer.0?, headroom, reserved, alpha })
    }
}

/// Reserved memory leaves some to share, and an idle switch accepts a packet.
pub(crate) fn shared(s: &Settings) -> Result<(), Wrong> {
    let Some(Memory { bytes, headroom, reserved, .. }) = s.memory() else { return Ok(()) };
    let ports = s.network().map_or(0, |fabric| most_ports(&fabric));
    let Some(shared) = s.shared_memory(ports) else {
        let what = format!(
            "{reserved} reserved for each of {ports} ports and a headroom of {headroom} use up the `switch.shared_buffer` of \
             {bytes} to share: use less of either, or a larger memory"
        );
        return wrong(&["switch.reserved", "switch.headroom", "switch.shared_buffer", "switch.profile"], what);
    };
    let (most, full) = (Bytes(shared.limit(0, 0)), s.full_frame());
    if most < full {
        let what = format!(
            "a port gets {most} of an empty `switch.shared_buffer` of {bytes}, less than one packet: use at least {full}, \
             by a larger memory or `switch.alpha`"
        );
        return wrong(&[&SHARED[..], &["tcp.mss"]].concat(), what);
    }
    Ok(())
}

/// Removes a profile's thresholds in favour of an explicit one.
pub(crate) fn drop_published_k(settings: &mut Settings) {
    if settings.switch.profile.0.is_some_and(|chip| chip.has_ports(&settings.switch.ports)) {
        settings.switch.ports.clear();
    }
}

/// Refuses invalid lines of `switch.ports`, duplicate rates, and buffers combined with shared memory.
pub(crate) fn ports(s: &Settings) -> Result<(), Wrong> {
    const PATH: &str = "switch.ports";
    let full = s.full_frame();
    let mut seen: Vec<Rate> = Vec::new();
    for line in &s.switch.ports {
        let class = match PortClass::parse(line) {
            Ok(class) => class,
            Err(why) => {
                let right = "use a line such as \"100 Gbit/s: k 200 packets, buffer 1 MB\"";
                return wrong(&[PATH], format!("`{PATH}`: \"{line}\": {why}; {right}"));
            }
        };
        if seen.contains(&class.rate) {
            return wrong(&[PATH], format!("`{PATH}` lists ports of {} twice: keep one", class.rate));
        }
        seen.push(class.rate);
        let small = |buffer: &QueueSize| match *buffer {
            QueueSize::Bytes(bytes) => bytes < full.0,
            QueueSize::Packets(packets) => packets == 0,
        };
        if class.buffer.is_some_and(|buffer| small(&buffer)) {
            let what = format!("`{PATH}`: \"{line}\" is less than one packet: use at least {full} or 1 packet");
            return wrong(&[PATH, "tcp.mss"], what);
        }
        if class.buffer.is_some() && s.switch.shared_buffer.0.is_some() {
            let what = format!(
                "`{PATH}` sets a buffer for ports of {}, but all ports share `switch.shared_buffer`: remove one of the two",
                class.rate
            );
            return wrong(&[PATH, "switch.shared_buffer", "switch.profile"], what);
        }
    }
    Ok(())
}

/// Number of ports of the largest switch.
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
