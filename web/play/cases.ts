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
];
