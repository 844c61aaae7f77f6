// The phases of a MapReduce job over time.

import type { Report } from "./data";
import { el, section } from "./dom";
import { curves } from "./figure";
import { Schemes, swatch } from "./schemes";

/** A chart a scheme; nothing where the workload is no such job. */
export function phases(report: Report, schemes: Schemes): HTMLElement[] {
  if (report.phases.length === 0) return [];
  const articles = report.phases.map(({ scheme, at, seed, chart }) => {
    const title = el("h3", {}, swatch(schemes, scheme), `${scheme}, ${at}`);
    const kinds = new Schemes(chart.curves.map((curve) => curve.name));
    const caption = `One run, with seed ${seed}. Drag to zoom, double-click to see all.`;
    const drawn = curves(`the job under ${scheme}`, chart, false, kinds);
    const figure = el("figure", {}, kinds.buttons(`Phases under ${scheme} shown`), drawn, el("figcaption", {}, caption));
    const whole = el("article", {}, title, figure);
    schemes.onChange(() => (whole.hidden = !schemes.shows(scheme)));
    return whole;
  });
  return [section("phases", "Tasks at work", ...articles)];
}
