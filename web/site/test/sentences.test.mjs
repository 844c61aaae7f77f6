import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { describeSite } from "./served.mjs";

const FANIN = process.env.FANIN ?? "target/debug/fanin";
const PAGES = ["incast", "rdma", "uet"];
const UNITS = { "µs": 1e-3, ms: 1, s: 1e3, "Mbit/s": 1, "Gbit/s": 1e3 };

/** The living figures of a page of the documentation: their scenarios, keys and values. A walk has neither key nor values. */
function figuresOf(name) {
  const text = readFileSync(`docs/${name}.md`, "utf8");
  const all = text.matchAll(/<!-- (?:figure: (\S+) = ([^\n]*)|walk) -->\n\n```toml[^\n]*\n(.*?)```/gs);
  return [...all].map(([, key, values, scenario]) => ({ key, values: values?.split(" | ") ?? [], scenario }));
}

/** The data of the program's report on a scenario with another value of a key. */
function report({ key, scenario }, value) {
  const folder = mkdtempSync(path.join(tmpdir(), "fanin-sentences-"));
  const file = path.join(folder, "scenario.toml");
  writeFileSync(file, scenario);
  const change = key === undefined ? [] : key === "schemes" ? ["--schemes", JSON.parse(value).join(",")] : ["--set", `${key}=${value}`];
  execFileSync(FANIN, ["compare", file, "--seeds", "1", "--no-cache", "--out", path.join(folder, "out"), ...change], { stdio: "ignore" });
  return JSON.parse(/<script type="application\/json" id="data">(.*?)<\/script>/s.exec(readFileSync(path.join(folder, "out/report.html"), "utf8"))[1]);
}

/** Whether a number as shown, with three digits, is this value. */
function is(shown, value, says) {
  const [, number, unit] = /^([\d.]+)(?: (\S+))?$/.exec(shown.trim());
  const amount = Number(number) * (UNITS[unit] ?? 1);
  assert.ok(Math.abs(amount - value) <= 0.0051 * Math.abs(value) + 0.005 * (UNITS[unit] ?? 1), `${says}: ${shown} is not ${value}`);
}

/** Compares the sentences with the report's data; returns how many numbers they have in common. */
function agree(text, { rows: [row], schemes: [{ transport }], stories: [story] }) {
  const part = (pattern) => pattern.exec(text)?.slice(1) ?? assert.fail(`${pattern} is not in: ${text}`);
  const pairs = [];
  const compare = (shown, values) => shown.forEach((one, i) => pairs.push([one, values[i]]));
  compare(part(/^([\d.]+) Mbit\/s/), [row.goodput_mbps.mean]);
  if (row.qct_ms.mean !== null) compare(part(/, ([\d.]+ \S+) for an average request/), [row.qct_ms.mean]);
  compare(part(/; (\d+) packets? dropped and (\d+) timeouts? in (\d+) requests?\./), [row.drops, row.timeouts, row.rounds]);
  assert.equal(row.pauses === null, !text.includes("links were paused"), text);
  if (row.pauses !== null) {
    const [links, share] = part(/ (\d+) links were paused, (<?[\d.]+) % of the times/);
    assert.equal(Number(links), Math.round(row.pauses.links));
    assert.ok(Math.abs(Number(share.replace("<", "")) - 100 * row.pauses.spread_share) <= 0.5, text);
  }
  if (story?.limit === "rate") {
    const [server, first, low, at, last, end] = part(/ (server\d+) sends at ([\d.]+ \S+) at first\. Its rate falls to ([\d.]+ \S+) after ([\d.]+ \S+), and is ([\d.]+ \S+) at the end, after ([\d.]+ \S+)\./);
    const { limit } = story.servers.find((one) => one.server === server);
    const least = Math.min(...limit.values);
    assert.equal(least, Math.min(...story.servers.flatMap((one) => one.limit.values)), "the lowest rate of all");
    compare([first, low, last], [limit.values[0], least, limit.values.at(-1)].map((bits) => bits / 1e6));
    compare([at, end], [limit.us[limit.values.indexOf(least)], limit.us.at(-1)].map((us) => us / 1e3));
  }
  if (transport === "uet") {
    compare(part(/ (\d+) packets? reached the client, with (\d+) retransmissions?/), [row.data_packets, story.retransmits]);
    assert.equal(text.includes("trimmed"), row.drops + row.timeouts === 0 && story.retransmits > 0, text);
  }
  for (const [shown, value] of pairs) is(shown, value, text);
  return pairs.length;
}

describeSite("sentences of living figures", (open) => {
  for (const name of PAGES) {
    test(`agree with the program's data in docs/${name}.md`, async (t) => {
      const { page, heard } = await open(t, `docs/${name}.html`);
      const places = page.locator(".living");
      const figures = figuresOf(name);
      assert.equal(await places.count(), figures.length);
      for (const [place, figure] of figures.entries()) {
        const shown = places.nth(place);
        await shown.scrollIntoViewIfNeeded();
        const status = shown.locator(".status");
        await status.filter({ hasText: "Mbit/s" }).waitFor({ timeout: 120_000 });
        // The value that is shown first, and the last one.
        for (const step of ["first", "last"]) {
          const before = await status.textContent();
          if (step === "last") {
            if (figure.values.length === 0) continue;
            const slider = shown.locator("input");
            if ((await slider.count()) > 0) await slider.press("End");
            else await shown.locator(".chips button").last().click();
            await status.filter({ hasText: "Mbit/s" }).filter({ hasNotText: before }).waitFor({ timeout: 120_000 });
          }
          const now = (await shown.locator("input").count()) > 0 ? await shown.locator("input").inputValue() : step === "first" ? 0 : figure.values.length - 1;
          assert.ok(agree(await status.textContent(), report(figure, figure.values[now])) >= 4);
        }
      }
      assert.deepEqual(heard.errors, []);
    });
  }

  test("are those of ten figures with the first screen", () => {
    assert.ok(PAGES.flatMap(figuresOf).length + 1 >= 10);
  });
});
