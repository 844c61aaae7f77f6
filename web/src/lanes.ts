// A lane per server, as in a trace viewer: responses, losses, waits for timers, and retransmits.

import type uPlot from "uplot";
import { at, font } from "./chart";
import type { Happenings, ServerLimit, Timeline } from "./data";
import { time } from "./format";
import { colours } from "./theme";

const ms = (us: number) => us / 1e3;

/** The height of a lane in pixels. */
export const LANE = 22;

type Draw = (c: CanvasRenderingContext2D, x: number, y: number, ratio: number) => void;

interface Kind {
  name: string;
  of: Happenings;
  colour: string;
  draw: Draw;
}

/** A server that is shown, or all others. */
interface Lane {
  name: string;
  owns: (server: string) => boolean;
  limits?: ServerLimit;
}

/** The lanes of a timeline, the first one on top. */
export class Lanes {
  readonly all: Lane[];

  constructor(private readonly story: Timeline) {
    const shown = new Set(story.servers.map(({ server }) => server));
    const rest = (server: string) => !shown.has(server);
    this.all = story.servers.map((limits) => ({ name: limits.server, owns: (server) => server === limits.server, limits }));
    const happened = [story.drops, story.fast_retransmits, story.timeouts, story.probes].flatMap(({ servers }) => servers);
    const paused = story.pauses.longest.map(({ sender }) => sender);
    if ([...happened, ...paused].some(rest)) this.all.push({ name: "all others", owns: rest });
  }

  private kinds(): Kind[] {
    const { bad, warn, text } = colours();
    const { drops, fast_retransmits, timeouts, probes } = this.story;
    return [
      { name: "lost", of: drops, colour: text, draw: bar },
      { name: "fast retransmit", of: fast_retransmits, colour: warn, draw: triangle },
      { name: "tail-loss probe", of: probes, colour: warn, draw: diamond },
      { name: "timeout", of: timeouts, colour: bad, draw: diamond },
    ];
  }

  /** The middle of a lane on an axis from 0 to the number of lanes. */
  middle(lane: number): number {
    return this.all.length - lane - 0.5;
  }

  /** Bars of responses and waits, with marks on top. */
  draw(u: uPlot, c: CanvasRenderingContext2D, ratio: number): void {
    const { series, gap, bad, warn } = colours();
    const x = (us: number) => u.valToPos(ms(us), "x", true);
    const kinds = this.kinds();
    for (const [place, lane] of this.all.entries()) {
      const y = u.valToPos(this.middle(place), "y", true);
      const span = (from: number, to: number, height: number) => c.fillRect(x(from), y - (height / 2) * ratio, Math.max(x(to) - x(from), ratio), height * ratio);
      for (const [from, to] of lane.limits?.answers_us ?? []) {
        c.fillStyle = `${series[place % series.length]}66`;
        span(from, to, LANE - 12);
      }
      c.fillStyle = `${warn}88`;
      for (const { sender, from_us, to_us } of this.story.pauses.longest) {
        if (lane.owns(sender)) span(from_us, to_us, LANE - 6);
      }
      for (const { from_us, to_us, timer } of lane.limits?.waits ?? []) {
        c.fillStyle = gap;
        span(from_us, to_us, LANE - 2);
        c.strokeStyle = bad;
        c.lineWidth = ratio;
        c.strokeRect(x(from_us), y - (LANE / 2 - 1) * ratio, x(to_us) - x(from_us), (LANE - 2) * ratio);
        this.label(u, c, ratio, [x(from_us), x(to_us), y], `waits ${time(ms(to_us - from_us))} for a ${timer}`);
      }
      for (const { of, colour, draw } of kinds) {
        c.fillStyle = colour;
        of.us.forEach((us, i) => lane.owns(of.servers[i] ?? "") && draw(c, x(us), y, ratio));
      }
    }
  }

  /** The label of a wait, if its visible part is wide enough. */
  private label(u: uPlot, c: CanvasRenderingContext2D, ratio: number, [from, to, y]: [number, number, number], words: string): void {
    const left = Math.max(from, u.bbox.left);
    const right = Math.min(to, u.bbox.left + u.bbox.width);
    font(c, ratio);
    if (c.measureText(words).width > right - left - 20 * ratio) return;
    c.fillStyle = colours().text;
    c.textAlign = "center";
    c.textBaseline = "middle";
    c.fillText(words, (left + right) / 2, y);
  }

  /** Events and waits between two times in the lane at a height. */
  describe(y: number, from: number, to: number): { title: string; lines: { name: string; value: string; colour: string }[] } {
    const place = Math.min(this.all.length - 1, Math.max(0, Math.floor(this.all.length - y)));
    const lane = this.all[place];
    if (!lane) return { title: "", lines: [] };
    const lines = this.kinds().flatMap(({ name, of, colour }) => {
      const near = of.servers.slice(at(of.us, from) + 1, at(of.us, to) + 1).filter(lane.owns).length;
      return near > 0 ? [{ name, value: String(near), colour }] : [];
    });
    const wait = lane.limits?.waits.find(({ from_us, to_us }) => from_us <= to && to_us >= from);
    if (wait) lines.push({ name: `waits for a ${wait.timer}`, value: time(ms(wait.to_us - wait.from_us)), colour: colours().bad });
    const pause = this.story.pauses.longest.find(({ sender, from_us, to_us }) => lane.owns(sender) && from_us <= to && to_us >= from);
    if (pause) lines.push({ name: `paused because of ${pause.cause}`, value: time(ms(pause.to_us - pause.from_us)), colour: colours().warn });
    return { title: lane.name, lines };
  }
}

/** A cross on a server's window, rate or credit for each packet that was lost. */
export function losses(u: uPlot, c: CanvasRenderingContext2D, ratio: number, { limit, server }: ServerLimit, drops: Happenings, scale: number): void {
  const r = 3.5 * ratio;
  c.lineWidth = 1.5 * ratio;
  c.beginPath();
  for (const [i, us] of drops.us.entries()) {
    const value = limit.values[at(limit.us, us)];
    if (drops.servers[i] !== server || value === undefined) continue;
    const [x, y] = [u.valToPos(ms(us), "x", true), u.valToPos(value / scale, "y", true)];
    c.moveTo(x - r, y - r);
    c.lineTo(x + r, y + r);
    c.moveTo(x + r, y - r);
    c.lineTo(x - r, y + r);
  }
  c.stroke();
}

function diamond(c: CanvasRenderingContext2D, x: number, y: number, ratio: number): void {
  const r = 6 * ratio;
  c.beginPath();
  c.moveTo(x, y - r);
  c.lineTo(x + r, y);
  c.lineTo(x, y + r);
  c.lineTo(x - r, y);
  c.fill();
}

function triangle(c: CanvasRenderingContext2D, x: number, y: number, ratio: number): void {
  const r = 4.5 * ratio;
  c.beginPath();
  c.moveTo(x, y - r);
  c.lineTo(x + r, y + r);
  c.lineTo(x - r, y + r);
  c.fill();
}

function bar(c: CanvasRenderingContext2D, x: number, y: number, ratio: number): void {
  c.fillRect(x - 0.5 * ratio, y - 7 * ratio, ratio, 14 * ratio);
}
