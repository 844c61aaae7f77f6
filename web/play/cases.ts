// Ready cases: scenarios that collapse, and the click that cures each.

export interface Case {
  id: string;
  name: string;
  says: string;
  /** The change that cures it. */
  cure: { says: string; set: Record<string, string> };
  text: string;
}

/** A scenario: its network, the servers' times, and the workload. */
function text(title: string, [rate, delay, buffer]: readonly string[], [service, jitter]: readonly string[], workload: string): string {
  return `title = "${title}"
schemes = ["cubic", "dctcp"]

[link]
rate = "${rate}"
delay = "${delay}"

[switch]
buffer = "${buffer}"        # of one port

[host]
service_time = "${service}"
service_jitter = "${jitter}"

[tcp]
profile = "linux"
rto_min = "200 ms"

[workload]${workload}

[run]
seeds = 5
`;
}

/** The first screen's scenario: the first case without and with its remedy. */
export const FIRST = `schemes = [{ label = "today", scheme = "cubic" }, { label = "remedy", scheme = "cubic", receive_window = "8 KiB" }]
link = { rate = "10 Gbit/s", delay = "5 us" }
switch = { buffer = "256 KiB" }
host = { service_time = "20 us", service_jitter = "50 us" }
tcp = { profile = "linux", rto_min = "200 ms" }
workload = { kind = "barrier", fragment = "64 KiB", duration = "300 ms" }
sweep = { fan_in = [1, 2, 4, 8, 12, 16, 20, 24, 28, 32] }
run = { seeds = 3 }
`;

export const CASES: readonly Case[] = [
  {
    id: "cache",
    name: "Multigets of a cache tier",
    says: "One front end asks up to 32 cache servers for 64 KiB each. From some number of servers on, the port's buffer overflows, and the front end waits for timeouts of 200 ms.",
    cure: { says: "Limit receive windows to 8 KiB", set: { "tcp.receive_window": "8 KiB" } },
    text: text("Multigets of a cache tier", ["10 Gbit/s", "5 us", "256 KiB"], ["20 us", "50 us"], `
kind = "barrier"
fragment = "64 KiB"       # from each server
duration = "300 ms"

[sweep]
fan_in = [4, 8, 16, 24, 32]`),
  },
  {
    id: "erasure",
    name: "Erasure-coded reads at 25 Gbit/s",
    says: "A client reads 1 MiB, which is spread over all servers: more servers send smaller parts, all of them at the same time.",
    cure: { says: "Give each port 1 MiB of buffer", set: { "switch.buffer": "1 MiB" } },
    text: text("Erasure-coded reads at 25 Gbit/s", ["25 Gbit/s", "2 us", "128 KiB"], ["50 us", "20 us"], `
kind = "barrier"
block = "1 MiB"           # from all servers together
duration = "200 ms"

[sweep]
fan_in = [4, 8, 12, 20, 28]`),
  },
  {
    id: "shuffle",
    name: "A shuffle of 16 hosts",
    says: "Every host sends 256 KiB to every other one. Each port is the meeting point of 15 flows.",
    cure: { says: "Shorten RTOmin to 5 ms", set: { "tcp.rto_min": "5 ms" } },
    text: text("A shuffle of 16 hosts", ["10 Gbit/s", "5 us", "128 KiB"], ["0 us", "50 us"], `
kind = "shuffle"
fan_in = 16
fragment = "256 KiB"`),
  },
  {
    id: "roce",
    name: "RoCE incast at 100 Gbit/s",
    says: "Servers write 500 KB each to one host over a lossless switch. From 64 servers on, DCQCN reacts too late: the switch pauses the servers' links, and everything on them.",
    cure: { says: "Use HPCC, which reads the queues", set: { schemes: '["hpcc"]' } },
    text: `title = "A RoCE incast at 100 Gbit/s"
schemes = ["dcqcn", "hpcc"]

[link]
rate = "100 Gbit/s"
delay = "1 us"

[switch]
shared_buffer = "12 MiB"    # of all ports

[workload]
kind = "one-shot"
fragment = "500 KB"         # from each server
start_jitter = "100 ns"
duration = "1 s"

[sweep]
fan_in = [8, 16, 32, 64]

[run]
seeds = 3
`,
  },
  {
    id: "uet",
    name: "Ultra Ethernet incast in a fat tree",
    says: "Switches trim packets to their headers in place of dropping them, so that the receiver knows in one round trip what is missing. NSCC adapts to delay and marks; with RCCC the receiver pays out credit.",
    cure: { says: "Let the receiver pay out credit", set: { schemes: '["rccc"]' } },
    text: `title = "An Ultra Ethernet incast in a fat tree"
schemes = ["nscc", "rccc"]

[fabric]
kind = "fat-tree"
arity = 4                   # 16 hosts
placement = "spread"

[link]
rate = "100 Gbit/s"
delay = "1 us"

[switch]
buffer = "178450 B"

[workload]
kind = "one-shot"
fragment = "1 MB"           # from each server
start_jitter = "1 us"
duration = "1 s"

[sweep]
fan_in = [4, 8, 15]

[run]
seeds = 3
`,
  },
  {
    id: "collective",
    name: "All-reduces over two racks",
    says: "16 hosts sum 16 MB of gradients around a ring. Four links of hosts share one to the spine, and one timeout delays all.",
    cure: { says: "Shorten RTOmin to 5 ms", set: { "tcp.rto_min": "5 ms" } },
    text: `title = "All-reduces of 16 MB over 16 hosts"
schemes = ["cubic", "dctcp"]

[fabric]
kind = "leaf-spine"
racks = 2
hosts_per_rack = 8
spines = 2
oversubscription = 4
placement = "spread"        # every part crosses a spine

[link]
rate = "25 Gbit/s"
delay = "1 us"

[switch]
buffer = "256 KB"

[workload]
kind = "all-reduce"
fragment = "16 MB"
queries = 2
duration = "10 s"

[run]
seeds = 3
`,
  },
];
