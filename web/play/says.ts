// Sentences about the run of a living figure, computed from its report.

import type { Report, ReportRow, Timeline } from "../src/data";
import { count, many, three, time } from "../src/format";

/** The figures of a run in one line, then rates or retransmissions of its senders. */
export function sentences(report: Report): string[] {
  const [row, story] = [report.rows[0], report.stories[0]];
  if (row === undefined) return [];
  const transport = report.schemes[0]?.transport;
  if (story === undefined) return [figures(row)];
  return [figures(row), ...(story.limit === "rate" ? rates(story) : []), ...(transport === "uet" ? trims(row, story) : [])];
}

function figures(row: ReportRow): string {
  const mean = row.qct_ms.mean === null ? "" : `, ${time(row.qct_ms.mean)} for an average request`;
  const { pauses } = row;
  const paused = pauses === null ? "" : ` ${count(pauses.links)} links were paused, ${count(pauses.spread_share * 100)} % of the times by a port that was paused itself.`;
  return `${three(row.goodput_mbps.mean)} Mbit/s${mean}; ${many(row.drops, "packet")} dropped and ${many(row.timeouts, "timeout")} in ${many(row.rounds, "request")}.${paused}`;
}

const bits = (value: number) => (value < 1e9 ? `${three(value / 1e6)} Mbit/s` : `${three(value / 1e9)} Gbit/s`);

/** The rate of the shown server whose rate falls lowest. */
function rates({ servers }: Timeline): string[] {
  const lows = servers.map(({ server, limit }) => ({ server, limit, low: Math.min(...limit.values) }));
  const [lowest] = lows.sort((a, b) => a.low - b.low);
  if (lowest === undefined) return [];
  const { server, limit: { us, values }, low } = lowest;
  const at = (value: number) => time((us[values.indexOf(value)] ?? 0) / 1e3);
  const end = `${bits(values.at(-1) ?? 0)} at the end, after ${time((us.at(-1) ?? 0) / 1e3)}`;
  return [`${server} sends at ${bits(values[0] ?? 0)} at first. Its rate falls to ${bits(low)} after ${at(low)}, and is ${end}.`];
}

/** Retransmissions. Without drops and timeouts, all of them are of packets that ports trimmed. */
function trims(row: ReportRow, { retransmits }: Timeline): string[] {
  const sent = `${many(row.data_packets, "packet")} reached the client, with ${many(retransmits, "retransmission")}`;
  const trimmed = row.drops === 0 && row.timeouts === 0 && retransmits > 0;
  return [trimmed ? `${sent}: of packets that a port had trimmed to their headers, as their receivers reported at once.` : `${sent}.`];
}
