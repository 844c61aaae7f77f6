//! Switch models with published memory sizes, for `switch.profile`.

use crate::declare::words;
use crate::literal::Literal;

words! {
    /// A switch model with published memory.
    Chip, "\"dctcp-triumph\", \"force10-s6000\", \"arista-7060cx\", \"arista-7050cx3\", \"arista-7060x6\" or \"mellanox-sn2700\"" {
        /// Broadcom Triumph, 4 MB, as in DCTCP's testbed: a lone port got 700 KB, from which alpha follows; K of 20 packets at 1 Gbit/s, 65 at 10 (Alizadeh et al., SIGCOMM 2010, sections 2.3, 3.4 and 4).
        Triumph = "dctcp-triumph" | "triumph",
        /// Dell S6000, Broadcom Trident II: the pool of lossy queues (SONiC's buffers.json of Force10-S6000).
        S6000 = "force10-s6000" | "s6000" | "dell-s6000",
        /// Arista 7060CX-32S, Broadcom Tomahawk: the pool of lossy queues (SONiC's buffers_defaults_t0 of Arista-7060CX-32S-D48C8).
        A7060 = "arista-7060cx" | "7060cx" | "7060cx-32s" | "arista-7060cx-32s" | "dcs-7060cx-32s",
        /// Arista 7050CX3-32S, Broadcom Trident 3: the pool of lossy queues (SONiC's buffers_defaults_t0 of Arista-7050CX3-32S-D48C8, balanced).
        A7050 = "arista-7050cx3" | "7050cx3" | "7050cx3-32s" | "arista-7050cx3-32s" | "dcs-7050cx3-32s",
        /// Arista 7060X6-64PE, Broadcom Tomahawk 5: its one pool (SONiC's buffers_defaults_t0 of Arista-7060X6-64PE-C256S2).
        A7060X6 = "arista-7060x6" | "7060x6" | "7060x6-64pe" | "arista-7060x6-64pe" | "dcs-7060x6-64pe",
        /// Mellanox SN2700, Spectrum: the pool of lossy queues (SONiC's buffers_defaults_t0 of ACS-MSN2700).
        Sn2700 = "mellanox-sn2700" | "sn2700" | "msn2700",
    }
}

/// Published figures of a switch. Where a vendor gives alpha as an exponent of 2, this is the resulting number.
struct Published {
    memory: &'static str,
    alpha: &'static str,
    /// Memory reserved per queue.
    reserved: &'static str,
    ports: &'static [&'static str],
}

impl Chip {
    const fn published(self) -> Published {
        let (memory, alpha, reserved) = match self {
            // alpha/(1 + alpha) of 4 MB is 700 KB.
            Chip::Triumph => ("4 MB", "7/33", "0 B"),
            Chip::S6000 => ("5491712 B", "8", "1518 B"),
            Chip::A7060 => ("9532224 B", "8", "1518 B"),
            Chip::A7050 => ("24192256 B", "8", "1792 B"),
            Chip::A7060X6 => ("166298880 B", "2", "1778 B"),
            Chip::Sn2700 => ("5029836 B", "8", "0 B"),
        };
        let ports: &[&str] = match self {
            Chip::Triumph => &["1 Gbit/s: k 20 packets", "10 Gbit/s: k 65 packets"],
            _ => &[],
        };
        Published { memory, alpha, reserved, ports }
    }

    /// The keys that it sets.
    pub(crate) fn sets(self) -> [(&'static str, Literal); 5] {
        let Published { memory, alpha, reserved, ports } = self.published();
        let text = |text: &str| Literal::Text(text.into());
        [
            ("switch.shared_buffer", text(memory)),
            ("switch.alpha", text(alpha)),
            ("switch.reserved", text(reserved)),
            ("switch.headroom", text("0 B")),
            ("switch.ports", Literal::List(ports.iter().map(|port| text(port)).collect())),
        ]
    }

    /// Whether a list of ports is the one that it sets.
    pub(crate) fn has_ports(self, ports: &[String]) -> bool {
        self.published().ports == ports
    }
}
