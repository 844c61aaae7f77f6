//! Requirements of the objects, and whether this machine meets them.

use std::fs;

use libbpf_rs::HasSize;
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{Func, Struct};
use nix::unistd::Uid;
use serde::Serialize;

use crate::control::Control;
use crate::pins;

/// Types and fields of the kernel that the objects read or write.
const FIELDS: [(&str, &[&str]); 2] = [
    (
        "tcp_sock",
        &[
            "snd_una",
            "snd_nxt",
            "write_seq",
            "snd_cwnd",
            "snd_cwnd_cnt",
            "snd_cwnd_clamp",
            "snd_ssthresh",
            "prior_cwnd",
            "data_segs_out",
            "max_packets_out",
            "ecn_flags",
            "is_cwnd_limited",
        ],
    ),
    ("inet_connection_sock", &["icsk_ca_state", "icsk_ca_priv", "icsk_ack"]),
];

/// Bytes of a connection's state that CUBIC may use before gentle slow start's begins, in bpf/connection.h.
const CUBICS_BYTES: usize = 64;

/// A requirement.
#[derive(Clone, Debug, Serialize)]
pub struct Requirement {
    /// The requirement.
    pub what: &'static str,
    /// Whether it is met.
    pub met: bool,
    /// The finding, or the remedy.
    pub note: String,
}

impl Requirement {
    fn new(what: &'static str, met: bool, found: impl Into<String>, remedy: impl Into<String>) -> Requirement {
        Requirement { what, met, note: if met { found.into() } else { remedy.into() } }
    }
}

/// Whether this process may load programs.
pub fn root() -> Requirement {
    Requirement::new("root", Uid::effective().is_root(), "yes", "loading BPF programs needs root: use sudo")
}

/// All requirements of a congestion control; the first ones come first, and later ones are not looked at without BTF.
pub fn requirements(control: &Control) -> Vec<Requirement> {
    let mut found = vec![root(), just_in_time()];
    match Btf::from_vmlinux() {
        Ok(btf) => {
            found.push(Requirement::new("BTF", true, "/sys/kernel/btf/vmlinux", ""));
            found.extend([struct_ops(&btf), fields(&btf), functions(&btf, control)]);
            if !control.calls.is_empty() {
                found.push(cubics_state(&btf));
            }
        }
        Err(error) => {
            let remedy = format!("no /sys/kernel/btf/vmlinux ({error}): the kernel needs CONFIG_DEBUG_INFO_BTF=y");
            found.push(Requirement::new("BTF", false, "", remedy));
        }
    }
    found.push(bpffs());
    found
}

/// Requirements of programs at network devices. They read no type of the kernel's own, so that it needs no BTF.
pub fn of_devices() -> Vec<Requirement> {
    vec![root(), just_in_time(), system_call(), bpffs()]
}

/// Whether the kernel has the system call, without which this file is missing.
fn system_call() -> Requirement {
    let met = fs::exists("/proc/sys/kernel/unprivileged_bpf_disabled").unwrap_or(false);
    let remedy = "the kernel has no BPF: it needs Linux 6.4 with CONFIG_BPF_SYSCALL and CONFIG_NET_CLS_BPF";
    Requirement::new("BPF", met, "yes", remedy)
}

fn bpffs() -> Requirement {
    let mount = pins::mount();
    let (met, note) = (mount.is_ok(), mount.map_or_else(|remedy| remedy, str::to_owned));
    Requirement { what: "bpffs", met, note }
}

fn just_in_time() -> Requirement {
    let value = fs::read_to_string("/proc/sys/net/core/bpf_jit_enable").unwrap_or_default();
    // The file is missing where the compiler is always on.
    let met = value.trim() != "0";
    Requirement::new("BPF JIT", met, "on", "set net.core.bpf_jit_enable=1: the programs are to run compiled")
}

fn struct_ops(btf: &Btf<'_>) -> Requirement {
    let met = btf.type_by_name::<Struct<'_>>("bpf_struct_ops_tcp_congestion_ops").is_some();
    let remedy =
        "the kernel has no congestion controls by BPF: it needs Linux 6.4 with CONFIG_BPF_SYSCALL and CONFIG_BPF_JIT";
    Requirement::new("struct_ops", met, "tcp_congestion_ops", remedy)
}

fn fields(btf: &Btf<'_>) -> Requirement {
    let lacks = |name: &'static str, wanted: &'static [&'static str]| {
        let members: Vec<String> = btf
            .type_by_name::<Struct<'_>>(name)
            .map(|found| {
                found.iter().flat_map(|member| member.name).map(|name| name.to_string_lossy().into()).collect()
            })
            .unwrap_or_default();
        // A group has no name of its own in older kernels, so that members may be a level lower.
        let lacking = wanted.iter().filter(move |field| !members.iter().any(|member| member == *field));
        lacking.map(move |field| format!("{name}.{field}")).collect::<Vec<_>>()
    };
    let lacking: Vec<String> = FIELDS.iter().flat_map(|(name, wanted)| lacks(name, wanted)).collect();
    let remedy = format!("the kernel's BTF lacks {}: this kernel is not supported yet", lacking.join(", "));
    Requirement::new("fields", lacking.is_empty(), "all", remedy)
}

fn functions(btf: &Btf<'_>, control: &Control) -> Requirement {
    let lacks = |name: &&&str| btf.type_by_name::<Func<'_>>(name).is_none();
    let lacking: Vec<&str> = control.calls.iter().filter(lacks).copied().collect();
    let remedy = format!(
        "the kernel offers no {} to BPF: it needs CONFIG_TCP_CONG_CUBIC=y, or use --over reno",
        lacking.join(", ")
    );
    Requirement::new(
        "functions",
        lacking.is_empty(),
        if control.calls.is_empty() { "none needed" } else { "all" },
        remedy,
    )
}

fn cubics_state(btf: &Btf<'_>) -> Requirement {
    let size = btf.type_by_name::<Struct<'_>>("bictcp").map(|found| found.size());
    let met = size.is_some_and(|size| size <= CUBICS_BYTES);
    let remedy = format!("CUBIC keeps {size:?} B a connection, and {CUBICS_BYTES} are left for it: use --over reno");
    Requirement::new("room beside CUBIC", met, format!("{} of {CUBICS_BYTES} B", size.unwrap_or(0)), remedy)
}
