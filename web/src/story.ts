// Timeline of one run: queue, windows and events over one time axis.

import uPlot from "uplot";
import { at, axis, Chart, drawing, font, type Hover, LEFT, type Line, reference, tooltip, upright, wide } from "./chart";
import type { Report, Series, Timeline } from "./data";
import { el, section } from "./dom";
import { sizesAs, three, time } from "./format";
import { LANE, Lanes, losses } from "./lanes";
import { type Schemes, swatch } from "./schemes";
import { colours } from "./theme";

/** One timeline per scheme, if any. */
export function stories(report: Report, schemes: Schemes): HTMLElement[] {
  if (report.stories.length === 0) return [];
  const guide =
    "One run of each scheme, watched: at a point where it collapses, degrades or is slow, else at the largest fan-in. The initial view shows the longest wait and its cause. Drag to zoom, double-click to reset.";
  const articles = report.stories.map((story) => timeline(story, schemes));
  return [section("inside", "Inside one run", el("p", {}, guide), ...articles)];
}

/** What is beside a timeline, and can show a part of its time. */
export type Beside = (story: Timeline, show: (from_us: number, to_us: number) => void) => HTMLElement;

/** The timeline of a run. */
export function timeline(story: Timeline, schemes: Schemes, beside?: Beside): HTMLElement {
  const panels = new Panels(story);
  const title = el("h3", {}, swatch(schemes, story.scheme), `${story.scheme}, ${story.at}`);
  const into = story.start_ms > 0 ? `, ${time(story.start_ms)} into the run` : "";
  const figure = el(
    "figure",
    {},
    el("div", { class: "title" }, el("h4", {}, `Queue at the client’s port${story.threshold.us.length > 0 ? ", and its threshold" : ""}`), panels.zooms()),
    panels.queue.frame,
    el("div", { class: "title" }, el("h4", {}, `${shownOf(story).name}, ${shownOf(story).unit}`), panels.legend()),
    panels.limits.frame,
    el("h4", {}, "Servers"),
    panels.servers.frame,
    el("figcaption", {}, `Time is since the start of the first round shown${into}. Dotted line: a round ends. Red line: a timeout. Shaded: nothing reaches the client. ${LEGEND}`),
  );
  const shown = beside === undefined ? figure : el("div", { class: "walk" }, beside(story, (from, to) => panels.zoom(ms(from), ms(to))), figure);
  const whole = el("article", {}, title, el("p", {}, story.says), shown);
  schemes.onChange(() => (whole.hidden = !schemes.shows(story.scheme)));
  return whole;
}

/** What limits a sender: its name, the unit in which it is drawn, and how many of the table's units that is. */
function shownOf({ limit, packet_bytes }: Timeline): { name: string; unit: string; scale: number } {
  if (limit === "rate") return { name: "Rates", unit: "Gbit/s", scale: 1e9 };
  const name = limit === "credit" ? "Credit" : "Congestion windows";
  return { name, unit: "packets", scale: packet_bytes };
}

/** The legend of the lanes. */
const LEGEND =
  "Bar: from a server’s request to its response. Tick, or cross above: lost packet. Triangle: fast retransmit. Diamond: a timer fired. Red box: wait for the timer. Amber: a switch pauses the sender.";

const ms = (us: number) => us / 1e3;

class Panels {
  readonly queue: Chart;
  readonly limits: Chart;
  readonly servers: Chart;
  private readonly lanes: Lanes;
  private readonly hidden = new Set<string>();
  private readonly cursor: uPlot.SyncPubSub;
  /** The zoomed range, kept for redrawn charts. */
  private view: [number, number];
  /** The common width of the left axes, which aligns the charts. */
  private left = LEFT;

  constructor(private readonly story: Timeline) {
    const where = `${story.scheme} with ${story.at}`;
    this.cursor = uPlot.sync(where);
    this.view = [ms(story.opens_us[0]), ms(story.opens_us[1])];
    this.queue = new Chart(`Queue at the client's port, ${where}. ${story.says}`, 170, () => this.queueChart());
    this.limits = new Chart(
      `${shownOf(story).name} of ${story.servers.map(({ server }) => server).join(", ")}, ${where}.`,
      190,
      () => this.limitChart(),
    );
    const totals = `${story.timeouts.total} timeouts, ${story.probes.total} probes, ${story.fast_retransmits.total} fast retransmits, ${story.drops.total} drops`;
    this.lanes = new Lanes(story);
    const height = Math.max(2, this.lanes.all.length) * LANE + 58;
    this.servers = new Chart(`A lane a server: ${totals}, ${where}.`, height, () => this.laneChart());
  }

  /** Buttons that zoom, for who has no mouse. */
  zooms(): HTMLElement {
    const { length_us, stalls, opens_us } = this.story;
    const longest = [...stalls].sort((a, b) => b.to_us - b.from_us - (a.to_us - a.from_us))[0];
    const views: [string, number, number][] = [["whole", 0, length_us]];
    if (longest) {
      const margin = (length_us - (longest.to_us - longest.from_us)) * 0.04;
      views.push(["before the wait", ...opens_us], ["after the wait", longest.to_us - margin, length_us]);
    }
    const buttons = views.map(([label, from, to]) => {
      const button = el("button", { type: "button" }, label);
      button.addEventListener("click", () => this.zoom(ms(from), ms(to)));
      return button;
    });
    return el("div", { class: "choice", role: "group", "aria-label": "Zoom" }, ...buttons);
  }

  /** A button a server, which shows or hides its line. */
  legend(): HTMLElement {
    const buttons = this.story.servers.map(({ server }, i) => {
      const dot = el("i");
      dot.style.background = `var(--series-${i})`;
      const button = el("button", { type: "button", "aria-pressed": "true" }, dot, server);
      button.addEventListener("click", () => {
        if (!this.hidden.delete(server)) this.hidden.add(server);
        button.setAttribute("aria-pressed", String(!this.hidden.has(server)));
        this.limits.draw();
      });
      return button;
    });
    return el("div", { class: "legend", role: "group", "aria-label": "Servers shown" }, ...buttons);
  }

  /** The width that all labels of all three charts have room in: a wider label moves the others along. */
  private readonly size = (u: uPlot, values: string[] | null): number => {
    const needed = wide(this.left)(u, values);
    if (needed > this.left) {
      this.left = needed;
      queueMicrotask(() => [this.queue, this.limits, this.servers].filter((chart) => chart.u !== u).forEach((chart) => chart.draw()));
    }
    return this.left;
  };

  zoom(min: number, max: number): void {
    this.view = [min, max];
    for (const chart of [this.queue, this.limits, this.servers]) {
      const { min: low, max: high } = chart.u?.scales["x"] ?? {};
      if (low !== min || high !== max) chart.u?.setScale("x", { min, max });
    }
  }

  private common(hover: Hover, last: boolean): Omit<uPlot.Options, "width" | "height" | "series"> {
    const [min, max] = this.view;
    const follow = (u: uPlot, key: string) => {
      const { min: low, max: high } = u.scales["x"] ?? {};
      if (key === "x" && low !== undefined && high !== undefined) this.zoom(low, high);
    };
    return {
      legend: { show: false },
      padding: [8, 14, 0, 0],
      scales: { x: { time: false, min, max } },
      axes: [
        axis(
          last
            ? { label: "time, ms", size: 30 }
            : { size: 8, values: (_, splits) => splits.map(() => "") },
        ),
      ],
      cursor: { y: false, drag: { x: true, y: false, dist: 5 }, points: { show: false }, sync: { key: this.cursor.key, scales: ["x", null] } },
      hooks: { setScale: [follow], ready: [(u) => u.setScale("x", { min, max })] },
      plugins: [tooltip(hover), drawing(true, (u, c, ratio) => this.background(u, c, ratio))],
    };
  }

  /** Gaps, ends of rounds and timeouts, under the series of every chart. */
  private background(u: uPlot, c: CanvasRenderingContext2D, ratio: number): void {
    const { gap, bad, faint } = colours();
    c.fillStyle = gap;
    for (const stall of this.story.stalls) {
      const left = u.valToPos(ms(stall.from_us), "x", true);
      c.fillRect(left, u.bbox.top, u.valToPos(ms(stall.to_us), "x", true) - left, u.bbox.height);
    }
    c.lineWidth = ratio;
    c.strokeStyle = faint;
    c.setLineDash([2 * ratio, 3 * ratio]);
    for (const end of this.story.round_ends_us) upright(u, c, ms(end));
    c.strokeStyle = bad;
    c.globalAlpha = 0.6;
    c.setLineDash([]);
    for (const timeout of this.story.timeouts.us) upright(u, c, ms(timeout));
  }

  /** Label of each gap, in as many words as fit. */
  private gapLabels(u: uPlot, c: CanvasRenderingContext2D, ratio: number): void {
    const { text } = colours();
    font(c, ratio, "600");
    c.fillStyle = text;
    c.textAlign = "center";
    for (const { from_us, to_us, server, waits_for, others } of this.story.stalls) {
      const left = Math.max(u.valToPos(ms(from_us), "x", true), u.bbox.left);
      const right = Math.min(u.valToPos(ms(to_us), "x", true), u.bbox.left + u.bbox.width);
      const lasts = time(ms(to_us - from_us));
      const more = others > 0 ? ` and ${others} more` : "";
      const whose = server === "" ? "" : `, of ${server}${more} first`;
      const words = [`${lasts}: everyone waits for ${waits_for}${whose}`, `${lasts}: waiting for ${waits_for}`, lasts];
      const fits = words.find((word) => c.measureText(word).width < right - left - 8 * ratio);
      if (fits) c.fillText(fits, (left + right) / 2, u.bbox.top + u.bbox.height / 2);
    }
  }

  private queueChart() {
    const { queue, threshold, memory, buffer, buffer_bytes, length_us } = this.story;
    const { series, faint, warn } = colours();
    const [colour = faint] = series;
    const shared = threshold.us.length > 0;
    const most = [...queue.values, ...threshold.values].reduce((a, b) => Math.max(a, b), shared ? 0 : buffer_bytes);
    const sizes = sizesAs(buffer, most);
    const hover: Hover = (u) => {
      const x = u.posToVal(u.cursor.left ?? 0, "x");
      const value = (of: Series) => sizes.show(of.values[at(of.us, x * 1e3)] ?? 0);
      const lines: Line[] = [{ name: "queue", value: value(queue), colour }];
      if (shared) {
        lines.push({ name: "threshold", value: value(threshold), colour: warn });
        lines.push({ name: "all ports hold", value: value(memory), colour: "transparent" });
      }
      return { title: moment(x), lines };
    };
    const base = this.common(hover, false);
    // A port's limit in a shared memory depends on the use by other ports.
    const limit = shared || buffer_bytes === 0 ? [] : [reference(buffer_bytes, `buffer, ${buffer}`)];
    const labels = drawing(false, (u, c, ratio) => this.gapLabels(u, c, ratio));
    const options = {
      ...base,
      scales: { ...base.scales, y: { range: () => [0, most * 1.2] as [number, number] } },
      axes: [
        ...(base.axes ?? []),
        axis({ size: this.size, incrs: sizes.steps, values: (_, splits) => splits.map(sizes.label) }),
      ],
      series: [{}, stepped(colour, 1.25, `${colour}33`), ...(shared ? [stepped(warn, 1.25)] : [])],
      plugins: [...(base.plugins ?? []), ...limit, labels],
    };
    const drawn = shared ? [queue, threshold] : [queue];
    return { options, data: uPlot.join(drawn.map((of) => framed([of.us, of.values], length_us))) };
  }

  private limitChart() {
    const { servers, length_us } = this.story;
    const { unit, scale } = shownOf(this.story);
    const { series: palette } = colours();
    const colour = (i: number) => palette[i % palette.length] ?? "#888";
    const hover: Hover = (u) => {
      const x = u.posToVal(u.cursor.left ?? 0, "x");
      const lines: Line[] = [];
      for (const [i, { server, limit }] of servers.entries()) {
        const value = limit.values[at(limit.us, x * 1e3)];
        if (value === undefined || this.hidden.has(server)) continue;
        lines.push({ name: server, value: `${three(value / scale)} ${unit}`, colour: colour(i) });
      }
      return { title: moment(x), lines };
    };
    const lost = drawing(false, (u, c, ratio) => {
      for (const [i, server] of servers.entries()) {
        if (this.hidden.has(server.server)) continue;
        c.strokeStyle = colour(i);
        losses(u, c, ratio, server, this.story.drops, scale);
      }
    });
    const base = this.common(hover, false);
    const least = unit === "packets" ? 4 : 0;
    const options = {
      ...base,
      scales: { ...base.scales, y: { range: (_: uPlot, __: number, max: number) => [0, Math.max(least, max * 1.08)] as [number, number] } },
      axes: [...(base.axes ?? []), axis({ size: this.size })],
      plugins: [...(base.plugins ?? []), lost],
      series: [{}, ...servers.map(({ server }, i) => ({ ...stepped(colour(i), 1.5), show: !this.hidden.has(server) }))],
    };
    const tables = servers.map(({ limit }) => framed([limit.us, limit.values.map((value) => value / scale)], length_us));
    const nothing: uPlot.AlignedData = [[0, ms(length_us)]];
    return { options, data: tables.length > 0 ? uPlot.join(tables) : nothing };
  }

  private laneChart() {
    const { length_us } = this.story;
    const count = this.lanes.all.length;
    const hover: Hover = (u) => {
      const left = u.cursor.left ?? 0;
      const [from, to] = [u.posToVal(left - 6, "x") * 1e3, u.posToVal(left + 6, "x") * 1e3];
      const near = this.lanes.describe(u.posToVal(u.cursor.top ?? 0, "y"), from, to);
      return { title: `${near.title}, ${moment(u.posToVal(left, "x"))}`, lines: near.lines };
    };
    const base = this.common(hover, true);
    const middles = this.lanes.all.map((_, lane) => this.lanes.middle(lane));
    const options = {
      ...base,
      scales: { ...base.scales, y: { range: () => [0, Math.max(1, count)] as [number, number] } },
      axes: [
        ...(base.axes ?? []),
        axis({ size: this.size, splits: () => middles, filter: (_, splits) => splits, values: () => this.lanes.all.map(({ name }) => name) }),
      ],
      series: [{}, { width: 0, points: { show: false } }],
      plugins: [...(base.plugins ?? []), drawing(false, (u, c, ratio) => this.lanes.draw(u, c, ratio))],
    };
    return { options, data: framed([[], []], length_us) };
  }
}

function moment(x: number): string {
  return `${x.toFixed(x < 10 ? 3 : 2)} ms`;
}

/** A value that holds until the next. */
function stepped(colour: string, width: number, fill?: string): uPlot.Series {
  const paths = uPlot.paths.stepped?.({ align: 1 });
  return { stroke: colour, width, spanGaps: true, points: { show: false }, ...(fill ? { fill } : {}), ...(paths ? { paths } : {}) };
}

/** Times in ms with both ends of the timeline, so that resetting the zoom shows all of it. */
function framed([us, values]: [number[], number[]], length_us: number): uPlot.AlignedData {
  const inside = us.filter((t) => t > 0 && t < length_us).length;
  const first = us[0] === 0 ? (values[0] ?? null) : null;
  const before = us[0] === 0 ? 1 : 0;
  const x = [0, ...us.slice(before, before + inside).map(ms), ms(length_us)];
  const kept = values.slice(before, before + inside);
  const y = [first, ...kept, kept[kept.length - 1] ?? first];
  return [x, y];
}
