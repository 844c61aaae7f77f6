// The hubs of one request as a tree over time: who waited for whom; and how fast they sent.

import type { Report, SwarmNode, Swarms } from "./data";
import { el, section } from "./dom";
import { curves } from "./figure";
import { time } from "./format";
import { Schemes, swatch } from "./schemes";

/** An article a scheme that has hubs; nothing where none has. */
export function swarms(report: Report, schemes: Schemes): HTMLElement[] {
  if (report.swarms.length === 0) return [];
  const guide =
    "The slowest watched request of the run above. Each hub is below the one that it sends to; bars show its phases, and bold marks the critical path.";
  const articles = report.swarms.map((of) => article(of, schemes));
  return [section("swarms", "The tree of one request", el("p", {}, guide), ...articles)];
}

function article(of: Swarms, schemes: Schemes): HTMLElement {
  const title = el("h3", {}, swatch(schemes, of.scheme), `${of.scheme}, ${of.at}`);
  const names = new Schemes(of.speeds.curves.map((curve) => curve.name));
  const into = of.start_ms > 0 ? `, ${time(of.start_ms)} into the run` : "";
  const rest = of.left_out > 0 ? ` ${of.left_out} hubs that ended earlier are omitted.` : "";
  const figure = el(
    "figure",
    {},
    el("div", { class: "title" }, el("h4", {}, "Critical path"), legend()),
    el("ol", { class: "tree" }, ...rows(of), el("li", { class: "scale" }, el("span"), el("span", {}, "0", el("i", {}, time(of.length_ms))))),
    el("figcaption", {}, `Times count from the start of the request${into}.${rest}`),
    el("div", { class: "title" }, el("h4", {}, "Rates of hubs, Mbit/s"), names.buttons(`Rates under ${of.scheme} shown`)),
    curves(`hubs under ${of.scheme}`, of.speeds, false, names),
    el("figcaption", {}, "Actual rates of the hubs that send to the front end itself, and the assigned rates of those with data left to send. Drag to zoom, double-click to reset."),
  );
  const whole = el("article", {}, title, el("p", {}, of.says), figure);
  schemes.onChange(() => (whole.hidden = !schemes.shows(of.scheme)));
  return whole;
}

/** Meaning of a bar's part, by its class. */
const PARTS = { own: "its servers answer", below: "a hub below it sends", sends: "has everything and sends it", way: "on the way" } as const;

function legend(): HTMLElement {
  const entries = Object.entries(PARTS).map(([name, says]) => el("span", {}, el("i", { class: name }), says));
  return el("div", { class: "legend parts" }, ...entries);
}

function rows({ nodes, length_ms }: Swarms): HTMLElement[] {
  return nodes.map((node, i) => {
    const above = nodes.slice(0, i).reverse().find((other) => other.depth < node.depth);
    const who = el("div", { class: "who" }, ...rails(nodes, i), words(node, above));
    return el("li", node.critical ? { class: "critical" } : {}, who, bar(node, length_ms));
  });
}

/** The tree's lines in front of a name: of each row above it that has more below, and its own. */
function rails(nodes: readonly SwarmNode[], i: number): HTMLElement[] {
  const depth = nodes[i]?.depth ?? 0;
  return Array.from({ length: depth }, (_, level) => {
    // Whether a later row continues the same line.
    const next = nodes.slice(i + 1).find((node) => node.depth <= level + 1);
    const goesOn = next?.depth === level + 1;
    const own = level + 1 === depth;
    return el("i", { class: `rail${goesOn ? " on" : ""}${own ? " own" : ""}`, "aria-hidden": "true" });
  });
}

function words(node: SwarmNode, above: SwarmNode | undefined): HTMLElement {
  const { host, rack, servers, own_objects, objects, waited_for } = node;
  const at = (ms: number | null) => (ms === null ? "never" : time(ms));
  const what = above ? `hub of rack ${rack}` : "front end";
  const from = `from ${servers} ${servers === 1 ? "server" : "servers"} of its own`;
  const own = servers === 0 ? "" : own_objects === objects ? ` ${from}` : `, ${own_objects} ${from}`;
  const sent = above ? `; sent by ${at(node.left_ms)}, at ${above.host} by ${at(node.end_ms)}` : "";
  const waited = waited_for === null ? "forwarded nothing" : `waited for ${waited_for} until ${at(node.last_ms)}${sent}`;
  return el("div", {}, el("b", {}, host), ` ${what}: ${objects} objects${own}`, el("small", {}, waited));
}

/** From its task until its receiver has everything, by phase. */
function bar(node: SwarmNode, length_ms: number): HTMLElement {
  const track = el("div", { class: "track", "aria-hidden": "true" });
  let from = node.told_ms ?? 0;
  const part = (name: string, to: number | null) => {
    if (to === null || to <= from) return;
    const fill = el("i", { class: name });
    fill.style.left = `${(100 * from) / length_ms}%`;
    fill.style.width = `${(100 * (to - from)) / length_ms}%`;
    track.append(fill);
    from = to;
  };
  part("own", node.own_ms);
  part("below", node.last_ms);
  part("sends", node.left_ms);
  part("way", node.end_ms);
  return track;
}
