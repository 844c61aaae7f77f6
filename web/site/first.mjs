// The first screen's figure: goodput of a rack by number of servers, today and with a remedy. Made when the site is, and drawn anew in the page.

/**
 * @typedef {{ servers: number, today: Side, remedy: Side }} Point
 * @typedef {{ mbps: number, ms: number }} Side
 * @typedef {{ link_mbps: number, points: Point[] }} Figures
 */

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [720, 300, 64, 16, 14, 44];

/** @param {number} value */
const grouped = (value) => Math.round(value).toLocaleString("en-US");
/** @param {number} ms */
const time = (ms) => (ms < 1 ? `${Math.round(ms * 1000)} us` : `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`);

/**
 * The curves as SVG, with a line at one number of servers.
 * @param {Figures} figures
 * @param {number} place index of a point
 */
export function picture({ link_mbps, points }, place) {
  const x = (/** @type {number} */ i) => LEFT + (i * (WIDTH - LEFT - RIGHT)) / (points.length - 1);
  const y = (/** @type {number} */ mbps) => TOP + (1 - mbps / link_mbps) * (HEIGHT - TOP - BOTTOM);
  const curve = (/** @type {"today" | "remedy"} */ side) =>
    `<polyline class="${side}" points="${points.map((point, i) => `${x(i).toFixed(1)},${y(point[side].mbps).toFixed(1)}`).join(" ")}"/>`;
  const ticks = [0, 0.5, 1].map((share) => {
    const at = y(share * link_mbps);
    return `<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at}" y2="${at}"/><text x="${LEFT - 8}" y="${at + 4}" text-anchor="end">${grouped(share * link_mbps)}</text>`;
  });
  const servers = points.map(({ servers }, i) => `<text x="${x(i).toFixed(1)}" y="${HEIGHT - BOTTOM + 20}" text-anchor="middle">${servers}</text>`);
  const now = points[place] ?? points[points.length - 1];
  const marks = ["today", "remedy"].map((side) => `<circle class="${side}" cx="${x(place).toFixed(1)}" cy="${y(now[/** @type {"today" | "remedy"} */ (side)].mbps).toFixed(1)}" r="5"/>`);
  return [
    `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="Goodput by number of servers, today and with smaller receive windows">`,
    ...ticks,
    ...servers,
    `<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${HEIGHT - 6}" text-anchor="middle">servers that respond at once</text>`,
    `<text x="${LEFT}" y="${TOP - 3}">Mbit/s</text>`,
    `<line class="now" x1="${x(place).toFixed(1)}" x2="${x(place).toFixed(1)}" y1="${TOP}" y2="${HEIGHT - BOTTOM}"/>`,
    curve("today"),
    curve("remedy"),
    ...marks,
    "</svg>",
  ].join("");
}

/**
 * The figures at one number of servers.
 * @param {Figures} figures
 * @param {number} place
 */
export function sentence({ link_mbps, points }, place) {
  const { servers, today, remedy } = points[place] ?? points[points.length - 1];
  const side = (/** @type {Side} */ { mbps, ms }) => `${grouped(mbps)} Mbit/s, ${time(ms)} a request`;
  const many = servers === 1 ? "One server responds" : `${servers} servers respond at once`;
  return `${many} over a link of ${grouped(link_mbps)} Mbit/s: ${side(today)}. With receive windows of 8 KiB: ${side(remedy)}.`;
}
