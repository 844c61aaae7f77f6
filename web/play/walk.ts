// A walk through one round of a timeline: steps in words, each with the time that it is about.

import type { Timeline } from "../src/data";
import { el } from "../src/dom";
import { many, sizesAs, time } from "../src/format";

/** A step of a walk. */
export interface Step {
  title: string;
  says: string;
  from_us: number;
  to_us: number;
}

const ms = (us: number) => us / 1e3;

/** The steps of the round with the longest stall, or of the first one. */
export function steps(story: Timeline): Step[] {
  const stall = [...story.stalls].sort((a, b) => b.to_us - b.from_us - (a.to_us - a.from_us))[0];
  const start = Math.max(0, ...story.round_ends_us.filter((end) => stall !== undefined && end <= stall.from_us));
  const end = story.round_ends_us.find((at) => at > Math.max(start, stall?.to_us ?? 0)) ?? story.length_us;
  const calm = stall?.from_us ?? end;
  const since = (us: number) => time(ms(us - start));
  const inside = (us: number) => us >= start && us <= calm;
  const queue = story.queue.us.map((us, i) => ({ us, bytes: story.queue.values[i] ?? 0 })).filter(({ us }) => inside(us));
  const first = queue.find(({ bytes }) => bytes > 0)?.us ?? start;
  const peak = queue.reduce((most, one) => (one.bytes > most.bytes ? one : most), { us: first, bytes: 0 });
  const size = sizesAs(story.buffer, peak.bytes).show;
  const limit = story.buffer_bytes > 0 ? `; the buffer has ${story.buffer}` : "";
  const all: Step[] = [
    {
      title: "Requests",
      says: `The client requests a part of the answer from every server at once. The first packets wait at its port after ${since(first)}.`,
      from_us: start,
      to_us: Math.max(first, peak.us),
    },
    { title: "The queue grows", says: `Together the servers send faster than the port. After ${since(peak.us)} the queue is at its longest, ${size(peak.bytes)}${limit}.`, from_us: first, to_us: peak.us },
  ];
  const lost = story.drops.us.map((us, i) => ({ us, server: story.drops.servers[i] })).filter(({ us }) => inside(us));
  const [firstLost, lastLost] = [lost[0], lost.at(-1)];
  if (firstLost && lastLost) {
    const servers = new Set(lost.map(({ server }) => server)).size;
    const least = story.drops.us.length < story.drops.total ? "at least " : "";
    all.push({
      title: "Packets are lost",
      says: `Between ${since(firstLost.us)} and ${since(lastLost.us)} the port drops ${least}${many(lost.length, "packet")} of ${many(servers, "server")}.`,
      from_us: firstLost.us,
      to_us: lastLost.us,
    });
  }
  const moved = story.stalls.filter(({ from_us, to_us }) => from_us >= start && to_us <= end).reduce((left, one) => left - (one.to_us - one.from_us), end - start);
  if (stall) {
    const whose = stall.server === "" ? "" : ` of ${stall.server}`;
    all.push({
      title: "Silence",
      says: `After ${since(stall.from_us)} nothing reaches the client, although responses are incomplete. It waits for ${time(ms(stall.to_us - stall.from_us))}, for ${stall.waits_for}${whose}.`,
      from_us: start,
      to_us: stall.to_us,
    });
    const timers = [...story.timeouts.us, ...story.probes.us].sort((a, b) => a - b);
    const fired = timers.find((us) => us > stall.from_us && us <= stall.to_us);
    if (fired !== undefined) {
      all.push({
        title: "A timer fires",
        says: `After ${since(fired)} the first timer fires, and its server sends a packet again. Data reaches the client after ${since(stall.to_us)}.`,
        from_us: fired,
        to_us: end,
      });
    }
  }
  all.push({ title: "The end", says: `The round takes ${since(end)}. Data moved in ${time(ms(moved))} of them.`, from_us: start, to_us: end });
  return all;
}

/** The steps as a list. A step that is chosen, or scrolled to, shows its time. */
export function walk(story: Timeline, show: (from_us: number, to_us: number) => void): HTMLElement {
  const items = steps(story).map((step) => {
    const button = el("button", { type: "button" }, step.title);
    return { step, button, item: el("li", {}, button, el("p", {}, step.says)) };
  });
  const choose = (item: Element) => {
    for (const one of items) {
      if (one.item !== item) {
        one.item.removeAttribute("aria-current");
        continue;
      }
      one.item.setAttribute("aria-current", "step");
      const margin = (one.step.to_us - one.step.from_us) * 0.05;
      show(Math.max(0, one.step.from_us - margin), one.step.to_us + margin);
    }
  };
  // The step in the middle of the window.
  const scrolled = new IntersectionObserver((entries) => entries.filter(({ isIntersecting }) => isIntersecting).forEach(({ target }) => choose(target)), {
    rootMargin: "-45% 0px -45% 0px",
  });
  for (const { button, item } of items) {
    button.addEventListener("click", () => choose(item));
    scrolled.observe(item);
  }
  return el("ol", { class: "steps" }, ...items.map(({ item }) => item));
}
