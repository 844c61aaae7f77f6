// A table of figures by scheme; a click on a column's head sorts by it.

import { el } from "./dom";
import { type Schemes, swatch } from "./schemes";

export interface Column<R> {
  head: string;
  key: (row: R) => number | string | null;
  show: (row: R) => string;
}

/** A column of figures; shows "none" for a row without one. */
export function figures<R>(head: string, key: (row: R) => number | null, show: (value: number) => string): Column<R> {
  const text = (value: number | null) => (value === null ? "none" : show(value));
  return { head, key, show: (row) => text(key(row)) };
}

/** The swept keys of a row, besides its number of hosts. */
export interface Swept {
  keys: [string, string][];
}

/** A column a swept key, sorted in the order of the sweep. */
export function swept<R extends Swept>(rows: R[]): Column<R>[] {
  return (rows[0]?.keys ?? []).map(([head], i) => {
    const show = (row: R) => row.keys[i]?.[1] ?? "";
    const order = [...new Set(rows.map(show))];
    return { head, key: (row) => order.indexOf(show(row)), show };
  });
}

/** The table in a frame that scrolls; `heading` is the id of its heading. Rows that `marked` picks are red. */
export function sortable<R extends { scheme: string }>(
  heading: string,
  caption: string,
  rows: R[],
  columns: Column<R>[],
  schemes: Schemes,
  marked: (row: R) => boolean = () => false,
): HTMLElement {
  const scheme: Column<R> = { head: "scheme", key: (row) => row.scheme, show: (row) => row.scheme };
  const body = el("tbody");
  const lines = rows.map((row) => {
    const name = el("th", { scope: "row" }, swatch(schemes, row.scheme), row.scheme);
    const line = el("tr", {}, name, ...columns.map((column) => el("td", {}, column.show(row))));
    if (marked(row)) line.className = "onset";
    return { row, line };
  });
  const heads = [scheme, ...columns].map((column) => {
    const button = el("button", { type: "button" }, column.head);
    const head = el("th", { scope: "col" }, button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      sort(lines, column, down ? -1 : 1);
      body.replaceChildren(...lines.map((r) => r.line));
    });
    return head;
  });
  body.replaceChildren(...lines.map((r) => r.line));
  schemes.onChange(() => {
    for (const { row, line } of lines) line.hidden = !schemes.shows(row.scheme);
  });
  const whole = el("table", {}, el("caption", {}, el("span", {}, caption)), el("thead", {}, el("tr", {}, ...heads)), body);
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": heading }, whole);
}

/** Stable sort by a column; missing values are last in either direction. */
function sort<R>(rows: { row: R }[], column: Column<R>, way: 1 | -1): void {
  rows.sort((a, b) => {
    const [x, y] = [column.key(a.row), column.key(b.row)];
    if (x === null || y === null) return Number(x === null) - Number(y === null);
    return x < y ? -way : x > y ? way : 0;
  });
}
