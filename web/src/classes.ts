// Traffic classes at one port.

import { bars } from "./bars";
import type { Report } from "./data";
import { el, section } from "./dom";
import { Claims } from "./expected";
import { capital } from "./format";
import { type Schemes, swatch } from "./schemes";

/** An article a scheme; nothing without traffic classes. */
export function classes(report: Report, schemes: Schemes): HTMLElement[] {
  if (report.classes.length === 0) return [];
  const articles = report.classes.map(({ scheme, at, seed, port, charts }) => {
    const title = el("h3", {}, swatch(schemes, scheme), `${scheme}, ${at}`);
    const figures = charts.map((chart) => el("figure", {}, el("h4", {}, capital(chart.y)), bars(chart, new Claims())));
    const whole = el("article", {}, title, el("p", {}, `Port ${port}, one run with seed ${seed}.`), ...figures);
    schemes.onChange(() => (whole.hidden = !schemes.shows(scheme)));
    return whole;
  });
  return [section("classes", "Traffic classes", ...articles)];
}
