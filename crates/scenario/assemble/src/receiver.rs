//! Algorithm of receiving hosts.

use fanin_laws::receiver::ictcp::Host;
use fanin_spec::RunSpec;
use fanin_units::Rate;

/// Algorithm of a host that receives over a link of this rate.
pub fn receiver_law(spec: &RunSpec, rate: Rate) -> Host {
    Host::new(&spec.settings.laws.parts.ictcp, rate, spec.settings.tcp.mss.0 as u32)
}
