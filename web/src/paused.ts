// Links that lossless ports paused, with the ports whose queues caused it.

import type { PausedLink, Report } from "./data";
import { el, section } from "./dom";
import { count, time } from "./format";
import { type Schemes, swatch } from "./schemes";
import { type Column, figures, sortable } from "./sortable";

type Link = PausedLink & { scheme: string };

/** A table a scheme; nothing without pauses. */
export function paused(report: Report, schemes: Schemes): HTMLElement[] {
  if (report.paused_links.length === 0) return [];
  const percent = (share: number) => `${count(share * 100)} %`;
  const columns: Column<Link>[] = [
    { head: "paused", key: (row) => row.sender, show: (row) => row.sender, names: true },
    { head: "by", key: (row) => row.by, show: (row) => row.by },
    { head: "because of port", key: (row) => row.cause, show: (row) => row.cause },
    figures("pauses", (row) => row.pauses, String),
    figures("in all", (row) => row.paused_ms, time),
    figures("of the run", (row) => row.share, percent),
    figures("longest", (row) => row.longest_ms, time),
    figures("spread", (row) => row.spread, String),
    figures("blocked packets", (row) => row.blocked_packets, count),
  ];
  const articles = report.paused_links.map(({ scheme, at, seed, says, links, left_out }) => {
    const title = el("h3", {}, swatch(schemes, scheme), `${scheme}, ${at}`);
    const others = left_out > 0 ? ` The ${links.length} that were paused longest, of ${links.length + left_out}.` : "";
    const caption = `One run with seed ${seed}.${others} Spread: pauses that began while their cause was paused itself. Blocked: packets that waited, although they go to other ports. Click a column’s head to sort by it.`;
    const rows = links.map((link) => ({ ...link, scheme }));
    const whole = el("article", {}, title, el("p", {}, says), sortable("paused", caption, rows, columns, schemes));
    schemes.onChange(() => (whole.hidden = !schemes.shows(scheme)));
    return whole;
  });
  return [section("paused", "Who paused whom", ...articles)];
}
