// Ports over time: a row a port under its tier, a column a part of the run, coloured by its queue; and the memories that they share.

import type uPlot from "uplot";
import { axis, Chart, drawing, font, type Hover, tooltip, wide } from "./chart";
import type { Heat, HeatRow, Report, ReportRow, Tier } from "./data";
import { choice, el, section } from "./dom";
import { bytes, count, sizesAs, three, tick, time } from "./format";
import { type Schemes, swatch } from "./schemes";
import { type Column, figures, type Swept, sortable, swept } from "./sortable";
import { colours } from "./theme";

type Queue = "mean_bytes" | "max_bytes";

/** Where the next colour begins, as a share of a switch port's buffer. */
const STEPS = [0, 0.01, 0.05, 0.2, 0.5, 0.8] as const;

const ROW_HEIGHT = 14;
/** Height above and below the rows: margin, axis and label. */
const AROUND = 60;

/** A map a scheme and the tiers as a table; nothing where ports were not measured. */
export function heats(report: Report, schemes: Schemes): HTMLElement[] {
  if (report.rows.every((row) => row.tiers.length === 0)) return [];
  const guide =
    "The queue of each port in one run per scheme, in the order in which packets cross the ports. Drag to zoom, double-click to see all.";
  let queue: Queue = "mean_bytes";
  const maps = report.heats.map((heat) => ({ heat, chart: map(heat, () => queue) }));
  const options = [
    { value: "mean_bytes", label: "mean" },
    { value: "max_bytes", label: "longest" },
  ] as const;
  const switcher = choice("Queue per interval", options, (value) => {
    queue = value;
    for (const { chart } of maps) chart.draw();
  });
  const articles = maps.map(({ heat, chart }) => {
    const title = el("h3", {}, swatch(schemes, heat.scheme), `${heat.scheme}, ${heat.at}`);
    const held = heat.refusals.length > 0 ? [el("ul", { class: "held" }, ...heat.refusals.map((says) => el("li", {}, says)))] : [];
    const article = el("article", {}, title, el("figure", {}, chart.frame, el("figcaption", {}, caption(heat))), ...held);
    schemes.onChange(() => (article.hidden = !schemes.shows(heat.scheme)));
    return article;
  });
  const key = el("div", { class: "title" }, legend(), switcher);
  return [section("ports", "Ports over time", el("p", {}, guide), key, ...articles, tiers(report.rows, schemes))];
}

function caption({ seed, ports, left_out, span_ms, buffer, lossless }: Heat): string {
  const memories = ports.filter(isMemory).length;
  const drawn =
    left_out === 0
      ? "Shows all active ports."
      : `Shows the ${ports.length - memories} ports with the largest mean queues in their tiers; ${left_out} other active ports are omitted.`;
  const holds = lossless
    ? `lossless ports share the ${buffer} of their switch`
    : memories === 0
      ? `a switch port’s buffer is ${buffer}`
      : `a port can use ${buffer} of its switch’s memory if no other port is congested; a memory’s colour is its share in use`;
  return `${drawn} Seed ${seed}; a column is ${time(span_ms)}; ${holds}.`;
}

/** Whether a row is a switch's shared memory, which has no link. */
function isMemory(row: HeatRow): boolean {
  return row.busy_percent.length === 0;
}

/** Legend of the colours. */
function legend(): HTMLElement {
  const percent = (share: number) => `${share * 100}`;
  const swatches = STEPS.map((from, i) => {
    const colour = el("i");
    colour.style.background = `var(--heat-${i})`;
    const to = STEPS[i + 1];
    return el("span", {}, colour, to === undefined ? `over ${percent(from)} %` : `to ${percent(to)} %`);
  });
  return el("div", { class: "legend heat" }, "Queue, of its limit:", ...swatches);
}

/** The place of a queue's colour; none where there is no queue. */
function step(queue: number, row: HeatRow): number {
  return STEPS.filter((from) => queue > from * row.full_bytes).length - 1;
}

/** The map in words: each tier's port with the longest queue. */
function says(heat: Heat): string {
  const longest = new Map<string, { port: string; queue: number; at: number }>();
  for (const { tier, port, max_bytes } of heat.ports) {
    const queue = max_bytes.reduce((a, b) => Math.max(a, b), 0);
    if (queue >= (longest.get(tier)?.queue ?? 0)) longest.set(tier, { port, queue, at: max_bytes.indexOf(queue) });
  }
  const { show } = sizesAs(heat.buffer, heat.buffer_bytes);
  const words = [...longest].map(([tier, { port, queue, at }]) => `${tier}: ${show(queue)} at ${port} about ${time(at * heat.span_ms)}`);
  return `Queues of ${heat.ports.length} ports over time under ${heat.scheme}. Longest, by tier: ${words.join("; ")}. The table below has every tier.`;
}

/** Ports, each tier under its name. */
function rowsOf(heat: Heat): (HeatRow | string)[] {
  return heat.ports.flatMap((row, i) => (heat.ports[i - 1]?.tier === row.tier ? [row] : [row.tier, row]));
}

function map(heat: Heat, queue: () => Queue): Chart {
  const rows = rowsOf(heat);
  return new Chart(says(heat), rows.length * ROW_HEIGHT + AROUND, () => draw(heat, rows, queue()));
}

function draw(heat: Heat, rows: (HeatRow | string)[], queue: Queue) {
  const { span_ms } = heat;
  const parts = heat.ports[0]?.mean_bytes.length ?? 0;
  const { show } = sizesAs(heat.buffer, heat.buffer_bytes);
  const colour = (value: number, row: HeatRow) => colours().heat[step(value, row)] ?? "transparent";
  const hover: Hover = (u) => {
    const row = rows[Math.floor(u.posToVal(u.cursor.top ?? -1, "y"))];
    const part = Math.floor(u.posToVal(u.cursor.left ?? 0, "x") / span_ms);
    if (row === undefined || typeof row === "string") return undefined;
    const [mean, longest] = [row.mean_bytes[part] ?? 0, row.max_bytes[part] ?? 0];
    const [what, full] = isMemory(row) ? ["in use", "the shared memory"] : ["queue", heat.lossless ? "the switch’s memory" : "the buffer"];
    const of = (value: number) => `${show(value)}, ${three((100 * value) / row.full_bytes)} % of ${full}`;
    const lines = [
      { name: `mean ${what}`, value: of(mean), colour: colour(mean, row) },
      { name: isMemory(row) ? "most in use" : "longest queue", value: of(longest), colour: colour(longest, row) },
    ];
    if (!isMemory(row)) lines.push({ name: "link busy", value: `${row.busy_percent[part] ?? 0} %`, colour: "transparent" });
    return { title: `${row.port} at ${time(part * span_ms)}`, lines };
  };
  const cells = drawing(false, (u, c, ratio) => {
    const across = (part: number) => Math.round(u.valToPos(part * span_ms, "x", true));
    const down = (row: number) => Math.round(u.valToPos(row, "y", true));
    for (const [i, row] of rows.entries()) {
      if (typeof row === "string") {
        font(c, ratio, "600");
        c.fillStyle = colours().text;
        c.textAlign = "left";
        c.textBaseline = "bottom";
        c.fillText(row, u.bbox.left + 2 * ratio, down(i + 1));
        continue;
      }
      for (const [part, value] of row[queue].entries()) {
        if (value === 0) continue;
        c.fillStyle = colour(value, row);
        c.fillRect(across(part), down(i), across(part + 1) - across(part), down(i + 1) - down(i) - ratio);
      }
    }
  });
  const ports = rows.flatMap((row, i) => (typeof row === "string" ? [] : [i + 0.5]));
  const name = (place: number) => (rows[place - 0.5] as HeatRow).port;
  const options: Omit<uPlot.Options, "width" | "height"> = {
    legend: { show: false },
    padding: [8, 14, 0, 0],
    scales: { x: { time: false }, y: { dir: -1, range: () => [0, rows.length] } },
    axes: [
      axis({ size: 34, label: "time", values: (_, splits) => splits.map(tick) }),
      axis({ size: wide(0), grid: { show: false }, splits: () => ports, values: (_, splits) => splits.map(name) }),
    ],
    series: [{}, { width: 0, points: { show: false } }],
    cursor: { drag: { x: true, y: false, dist: 5 }, y: false, points: { show: false } },
    plugins: [cells, tooltip(hover)],
  };
  const data: uPlot.AlignedData = [[0, parts * span_ms], [null, null]];
  return { options, data };
}

type TierRow = Tier & Swept & { scheme: string; hosts: number };

/** A table of tiers: the maps' values over all ports and seeds. */
function tiers(rows: ReportRow[], schemes: Schemes): HTMLElement {
  const all = rows.flatMap((row) => row.tiers.map((tier): TierRow => ({ ...tier, scheme: row.scheme, hosts: row.hosts, keys: row.keys })));
  const percent = (share: number) => `${three(share * 100)} %`;
  const size = (value: number) => bytes(Math.round(value));
  const columns: Column<TierRow>[] = [
    { head: "tier", key: (row) => row.tier, show: (row) => row.tier, names: true },
    { ...figures("hosts", (row: TierRow) => row.hosts, String), names: true },
    ...swept(all),
    figures("ports", (row) => row.ports, count),
    figures("mean queue", (row) => row.queue_mean_bytes, size),
    figures("p99", (row) => row.queue_p99_bytes, size),
    figures("longest", (row) => row.queue_max_bytes, size),
    figures("busy", (row) => row.busy_share, percent),
    figures("busiest", (row) => row.busiest_share, percent),
    figures("sent", (row) => row.wire_bytes, size),
    figures("drops: full", (row) => row.drops_full, count),
    figures("early", (row) => row.drops_early, count),
    figures("not ECT", (row) => row.drops_not_ect, count),
    figures("down", (row) => row.drops_down, count),
    figures("marks", (row) => row.marks, count),
  ];
  const says =
    "Ports by tier, over all seeds. Means are over ports; p99, longest queue and utilisation are those of the port with the largest; counts are totals per run. Click a column’s head to sort by it, and again to reverse the order.";
  return sortable("ports", says, all, columns, schemes);
}
