//! Settings of DCQCN by whose they are, for `dcqcn.profile`.

use fanin_laws::rate::dcqcn::Profile;

use crate::literal::Literal;

/// The profiles with descriptions.
pub const DCQCN_PROFILES: [(Profile, &str, &str); 2] = [
    (Profile::ConnectX, "connectx", "NVIDIA's network cards with their firmware's defaults"),
    (Profile::Ns3, "ns-3", "the simulator of HPCC's authors (ns-3 3.17, run.py), whose rates scale with the link"),
];

/// The keys that a profile sets: docs/rdma.md has their sources.
pub fn dcqcn_keys(profile: Profile) -> Vec<(&'static str, Literal)> {
    let text = |text: &str| Literal::Text(text.into());
    let [g, alpha, cut, increase, bytes, additive, hyper, least, cnp] = match profile {
        Profile::ConnectX => {
            ["5/1024", "1 us", "4 us", "300 us", "32.767 MB", "5 Mbit/s", "50 Mbit/s", "1 Mbit/s", "4 us"]
        }
        Profile::Ns3 => ["1/256", "1 us", "4 us", "300 us", "0 B", "1/5000", "1/500", "1/100", "0 s"],
    };
    vec![
        ("dcqcn.g", text(g)),
        ("dcqcn.alpha_interval", text(alpha)),
        ("dcqcn.cut_interval", text(cut)),
        ("dcqcn.increase_interval", text(increase)),
        ("dcqcn.byte_counter", text(bytes)),
        ("dcqcn.fast_recovery", Literal::Integer(1)),
        ("dcqcn.additive", text(additive)),
        ("dcqcn.hyper", text(hyper)),
        ("dcqcn.min_rate", text(least)),
        ("dcqcn.clamp_target", Literal::Bool(false)),
        ("dcqcn.cnp_interval", text(cnp)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;

    #[test]
    fn defaults_are_those_of_network_cards() {
        let mut settings = Settings::default();
        for (path, value) in dcqcn_keys(Profile::ConnectX) {
            let (section, key) = path.split_once('.').unwrap();
            settings.set(section, key, &value).unwrap();
        }
        assert_eq!(settings, Settings::default());
    }
}
