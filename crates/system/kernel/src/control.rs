//! Congestion controls that the objects have.

use std::fmt;

use serde::Serialize;

/// A congestion control in one of the objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Control {
    /// Its name in fanin's schemes.
    pub scheme: &'static str,
    /// Its name in the kernel, for routes and sockets: at most 15 letters.
    pub kernel_name: &'static str,
    /// Its map in the object.
    #[serde(skip)]
    pub map: &'static str,
    /// Whether senders ask for ECN.
    pub ecn: bool,
    /// One sentence.
    pub says: &'static str,
    /// Functions of the kernel that it calls.
    #[serde(skip)]
    pub calls: &'static [&'static str],
    #[serde(skip)]
    object: Object,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Object {
    Reno,
    Cubic,
    Dctcp,
}

/// All of them.
pub const CONTROLS: [Control; 4] = [
    Control {
        scheme: "newreno+gss",
        kernel_name: "fanin_gss_reno",
        map: "gss_reno",
        ecn: false,
        says: "gentle slow start over NewReno",
        calls: &[],
        object: Object::Reno,
    },
    Control {
        scheme: "cubic+gss",
        kernel_name: "fanin_gss_cubic",
        map: "gss_cubic",
        ecn: false,
        says: "gentle slow start over the kernel's CUBIC",
        calls: &[
            "cubictcp_init",
            "cubictcp_cong_avoid",
            "cubictcp_recalc_ssthresh",
            "cubictcp_state",
            "cubictcp_cwnd_event",
            "cubictcp_acked",
        ],
        object: Object::Cubic,
    },
    Control {
        scheme: "dctcp+gss",
        kernel_name: "fanin_gss_dctcp",
        map: "gss_dctcp",
        ecn: true,
        says: "gentle slow start over DCTCP; both hosts need it, and ports that mark",
        calls: &[],
        object: Object::Dctcp,
    },
    Control {
        scheme: "dctcp",
        kernel_name: "fanin_dctcp",
        map: "dctcp",
        ecn: true,
        says: "DCTCP, for kernels without it; both hosts need it, and ports that mark",
        calls: &[],
        object: Object::Dctcp,
    },
];

impl Control {
    /// Find it by the name of its scheme.
    pub fn of_scheme(scheme: &str) -> Option<&'static Control> {
        CONTROLS.iter().find(|control| control.scheme == scheme)
    }

    /// Find it by its name in the kernel.
    pub fn of_kernel_name(name: &str) -> Option<&'static Control> {
        CONTROLS.iter().find(|control| control.kernel_name == name)
    }

    /// The compiled object.
    pub fn object(&self) -> &'static [u8] {
        match self.object {
            Object::Reno => include_bytes!("../objects/reno.bpf.o"),
            Object::Cubic => include_bytes!("../objects/cubic.bpf.o"),
            Object::Dctcp => include_bytes!("../objects/dctcp.bpf.o"),
        }
    }

    /// Congestion controls of the same object, which share its maps.
    pub fn shares_object(&self, other: &Control) -> bool {
        self.object == other.object
    }
}

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.scheme)
    }
}

/// Object that selects a congestion control for a cgroup's connections.
pub const SELECT: &[u8] = include_bytes!("../objects/select.bpf.o");
/// Object that tries one on a share of a cgroup's connections.
pub const CANARY: &[u8] = include_bytes!("../objects/canary.bpf.o");

/// Object of a host that grants windows.
pub const GRANTS: &[u8] = include_bytes!("../objects/grants.bpf.o");

/// Object of the sensor of `fanin watch`.
pub const WATCH: &[u8] = include_bytes!("../objects/watch.bpf.o");

/// Object that observes waits of connections, for `fanin watch`.
pub const WAITS: &[u8] = include_bytes!("../objects/waits.bpf.o");

/// Object of a router's port: marks above a threshold, and M21's windows.
pub const PORT: &[u8] = include_bytes!("../objects/port.bpf.o");
/// Object of M21's halves of hosts.
pub const HOST: &[u8] = include_bytes!("../objects/host.bpf.o");

#[cfg(test)]
mod tests {
    use fanin_laws::sender::Kind;

    use super::*;

    #[test]
    fn names_fit_the_kernel() {
        for control in CONTROLS {
            assert!(control.kernel_name.len() < 16 && control.map.len() < 16, "{control}");
            assert_eq!(Control::of_kernel_name(control.kernel_name), Some(&control));
            assert_eq!(Control::of_scheme(control.scheme), Some(&control));
        }
    }

    #[test]
    fn gentle_slow_start_has_the_names_of_the_algorithms_rows() {
        for kind in Kind::ALL {
            let row = kind.row();
            let own = Control::of_scheme(&format!("{}+gss", row.word)).map(|control| control.kernel_name);
            assert_eq!(own, row.linux.and_then(|linux| linux.gentle), "{}", row.word);
        }
    }
}
