// Ready cases: scenarios that collapse, and the click that cures each.

export interface Case {
  id: string;
  name: string;
  says: string;
  /** The change that cures it. */
  cure: { says: string; set: Record<string, string> };
  text: string;
}

export const CASES: readonly Case[] = [
  {
    id: "cache",
    name: "Multigets of a cache tier",
    says: "One front end asks up to 32 cache servers for 64 KiB each. From some number of servers on, the port's buffer overflows, and the front end waits for timeouts of 200 ms.",
    cure: { says: "Limit receive windows to 8 KiB", set: { "tcp.receive_window": "8 KiB" } },
    text: `title = "Multigets of a cache tier"
schemes = ["cubic", "dctcp"]

[link]
rate = "10 Gbit/s"
delay = "5 us"

[switch]
buffer = "256 KiB"        # of one port

[host]
service_time = "20 us"
service_jitter = "50 us"

[tcp]
profile = "linux"
rto_min = "200 ms"

[workload]
kind = "barrier"
fragment = "64 KiB"       # from each server
duration = "300 ms"

[sweep]
fan_in = [4, 8, 16, 24, 32]

[run]
seeds = 5
`,
  },
  {
    id: "erasure",
    name: "Erasure-coded reads at 25 Gbit/s",
    says: "A client reads 1 MiB, which is spread over all servers: more servers send smaller parts, all of them at the same time.",
    cure: { says: "Give each port 1 MiB of buffer", set: { "switch.buffer": "1 MiB" } },
    text: `title = "Erasure-coded reads at 25 Gbit/s"
schemes = ["cubic", "dctcp"]

[link]
rate = "25 Gbit/s"
delay = "2 us"

[switch]
buffer = "128 KiB"

[host]
service_time = "50 us"
service_jitter = "20 us"

[tcp]
profile = "linux"
rto_min = "200 ms"

[workload]
kind = "barrier"
block = "1 MiB"           # from all servers together
duration = "200 ms"

[sweep]
fan_in = [4, 8, 12, 20, 28]

[run]
seeds = 5
`,
  },
  {
    id: "shuffle",
    name: "A shuffle of 16 hosts",
    says: "Every host sends 256 KiB to every other one. Each port is the meeting point of 15 flows.",
    cure: { says: "Shorten RTOmin to 5 ms", set: { "tcp.rto_min": "5 ms" } },
    text: `title = "A shuffle of 16 hosts"
schemes = ["cubic", "dctcp"]

[link]
rate = "10 Gbit/s"
delay = "5 us"

[switch]
buffer = "128 KiB"

[tcp]
profile = "linux"
rto_min = "200 ms"

[workload]
kind = "shuffle"
fan_in = 16
fragment = "256 KiB"

[run]
seeds = 5
`,
  },
];
