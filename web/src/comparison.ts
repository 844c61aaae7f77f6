// The charts of a comparison.

import { distributions } from "./cdf";
import { classes } from "./classes";
import type { Report } from "./data";
import { heats } from "./heat";
import { latency } from "./latency";
import { paused } from "./paused";
import { phases } from "./phases";
import { ranks } from "./ranks";
import { points } from "./read";
import { Schemes } from "./schemes";
import { service } from "./service";
import { slowdown } from "./slowdown";
import { stories } from "./story";
import { swarms } from "./swarms";
import { sweep } from "./sweep";
import { table } from "./table";

/** The charts of a comparison, with the schemes that they show. */
export function comparison(report: Report): { schemes: Schemes; parts: HTMLElement[] } {
  const schemes = new Schemes(report.schemes.map((scheme) => scheme.label));
  const inside = [...stories(report, schemes), ...swarms(report, schemes), ...phases(report, schemes), ...paused(report, schemes), ...classes(report, schemes), ...heats(report, schemes), ...ranks(report, schemes)];
  // Long flows have no times that could be distributed.
  const timed = report.cdfs.some((cdf) => cdf.qct.ms.length + cdf.fct.ms.length > 0);
  const parts = [...(timed ? [distributions(report, schemes)] : []), ...slowdown(report, schemes), ...service(report, schemes), ...latency(report, schemes), ...inside, table(report, schemes)];
  if (report.many_to_one || points(report).length > 1) parts.unshift(sweep(report, schemes));
  return { schemes, parts };
}
