//! Commands that record the inputs of a diagnosis on a host, with common tools.

/// A command and its purpose.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// File for its output.
    pub file: &'static str,
    /// Purpose.
    pub why: &'static str,
    /// Command line for a shell.
    pub line: String,
}

/// Commands that record for `seconds` seconds on a device, or on all devices. `tool` returns how to call a tool.
pub fn commands(seconds: u32, device: Option<&str>, tool: &dyn Fn(&str) -> String) -> Vec<Command> {
    // A snap length of 120 bytes includes all headers, with a VLAN tag and all options.
    let port = device.unwrap_or("any");
    let card = device.unwrap_or("eth0");
    let [timeout, tcpdump, nstat, sleep] = ["timeout", "tcpdump", "nstat", "sleep"].map(tool);
    let [seq, ss, tc, ethtool] = ["seq", "ss", "tc", "ethtool"].map(tool);
    let command = |file, why, line| Command { file, why, line };
    vec![
        command(
            "packets.pcap",
            "every packet's headers: rounds, losses, timeouts (needs root)",
            format!("{timeout} {seconds} {tcpdump} -i {port} -s 120 -B 65536 -w - tcp"),
        ),
        command(
            "nstat.txt",
            "kernel counters of timeouts, probes and retransmissions",
            format!("({nstat} -n; {sleep} {seconds}; {nstat} -sz)"),
        ),
        command(
            "ss.txt",
            "timeouts and windows of connections, ten times per second",
            format!("(for i in $({seq} {}); do {ss} -tiO; {sleep} 0.1; done)", seconds.saturating_mul(10)),
        ),
        command(
            "tc.txt",
            "drops and backlog of the host's own queues",
            format!("({tc} -s qdisc; {sleep} {seconds}; {tc} -s qdisc)"),
        ),
        command(
            "ethtool.txt",
            "drops and errors of the network card",
            format!("({ethtool} -S {card}; {sleep} {seconds}; {ethtool} -S {card})"),
        ),
    ]
}
