// A table of figures by scheme; a click on a column's head sorts by it.

import { el } from "./dom";
import { type Schemes, swatch } from "./schemes";

export interface Column<R> {
  head: string;
  key: (row: R) => number | string | null;
  show: (row: R) => string;
  /** Whether it names the row, and so is shown beside any others. */
  names?: boolean;
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
    return { head, key: (row) => order.indexOf(show(row)), show, names: true };
  });
}

/** The table, with buttons for the columns that do not fit; `heading` is the id of its heading. Rows that `marked` picks are red. */
export function sortable<R extends { scheme: string }>(
  heading: string,
  caption: string,
  rows: R[],
  columns: Column<R>[],
  schemes: Schemes,
  marked: (row: R) => boolean = () => false,
): HTMLElement {
  const scheme: Column<R> = { head: "scheme", key: (row) => row.scheme, show: (row) => row.scheme, names: true };
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
  const cells = [...heads.keys()].map((place) => [heads[place], ...lines.map(({ line }) => line.children[place])] as HTMLElement[]);
  const isName = [scheme, ...columns].map(({ names }) => names ?? false);
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": heading }, pager(whole, cells, isName), whole);
}

/** Shows the columns that fit beside those that name a row. Buttons, which are hidden if all fit, show the others. */
function pager(table: HTMLElement, cells: HTMLElement[][], isName: boolean[]): HTMLElement {
  const [back, on] = ["‹", "›"].map((sign, i) => el("button", { type: "button", "aria-label": i === 0 ? "Previous columns" : "Next columns" }, sign));
  const says = el("span", { role: "status" });
  const bar = el("div", { class: "pager" }, ...(back && on ? [back, says, on] : []));
  let [pages, page, width]: [number[][], number, number] = [[], 0, -1];
  const show = () => {
    const shown = new Set(pages[page]);
    for (const [place, column] of cells.entries()) column.forEach((cell) => cell.classList.toggle("away", !isName[place] && !shown.has(place)));
    const heads = [...shown].map((place) => cells[place]?.[0]?.textContent ?? "");
    says.textContent = `${heads.join(" · ")} (${page + 1} of ${pages.length})`;
    back?.toggleAttribute("disabled", page === 0);
    on?.toggleAttribute("disabled", page + 1 === pages.length);
  };
  const fit = () => {
    const room = bar.parentElement?.clientWidth ?? 0;
    if (room === width || room === 0) return;
    width = room;
    cells.flat().forEach((cell) => cell.classList.remove("away"));
    table.classList.add("narrow");
    const widths = cells.map(([head]) => head?.getBoundingClientRect().width ?? 0);
    table.classList.remove("narrow");
    pages = packed(widths, isName, room);
    page = Math.min(page, pages.length - 1);
    bar.hidden = pages.length < 2;
    show();
  };
  back?.addEventListener("click", () => (page--, show()));
  on?.addEventListener("click", () => (page++, show()));
  // A frame later, since this may change the height of the table.
  new ResizeObserver(() => requestAnimationFrame(fit)).observe(table);
  return bar;
}

/** Columns in groups that have room beside those that name a row. */
function packed(widths: number[], isName: boolean[], room: number): number[][] {
  const named = widths.reduce((sum, width, place) => sum + (isName[place] ? width : 0), 0);
  const pages: number[][] = [[]];
  let used = named;
  for (const [place, width] of widths.entries()) {
    if (isName[place]) continue;
    const last = pages.at(-1) ?? [];
    if (last.length > 0 && used + width > room) {
      pages.push([place]);
      used = named + width;
    } else {
      last.push(place);
      used += width;
    }
  }
  return pages;
}

/** Stable sort by a column; missing values are last in either direction. */
function sort<R>(rows: { row: R }[], column: Column<R>, way: 1 | -1): void {
  rows.sort((a, b) => {
    const [x, y] = [column.key(a.row), column.key(b.row)];
    if (x === null || y === null) return Number(x === null) - Number(y === null);
    return x < y ? -way : x > y ? way : 0;
  });
}
