import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { seriousFindings } from "../../test/browser.mjs";
import { describeSite } from "./served.mjs";

const FANIN = process.env.FANIN ?? "target/debug/fanin";

/** Waits for a status. Playwright's other ways to wait are forbidden by the page's content security policy. */
const status = (page, text, timeout = 30_000) => page.locator(".status", { hasText: text }).waitFor({ timeout });
/** Waits until all seeds have been simulated. */
const finished = (page) => status(page, /^Simulated with/, 120_000);

async function holds(condition) {
  for (let tries = 0; !(await condition()); tries++) {
    assert.ok(tries < 300, String(condition));
    await new Promise((later) => setTimeout(later, 100));
  }
}

async function write(page, text) {
  await page.locator(".source .cm-content").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
}

async function downloaded(page, label) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: label }).click()]);
  return readFileSync(await download.path(), "utf8");
}

/** A summary's bytes without the only ones that depend on the machine: the simulation's processor time. */
const figures = (json) => json.trim().replace(/"cpu_s":[^,}]*/, "");

/** A small scenario. */
const small = (more = "") => `schemes = ["newreno", "dctcp"]\n[link]\nrate = "1 Gbit/s"\n[workload]\nfragment = "64 KiB"\nduration = "50 ms"\n${more}[sweep]\nfan_in = [2, 16]\n[run]\nseeds = 2\n`;

describeSite("playground", (open) => {
  test("shows a ready case, and its cure after one click", async (t) => {
    const { page, heard } = await open(t, "index.html");
    await finished(page);
    await page.getByRole("button", { name: "Multigets of a cache tier" }).click();
    await finished(page);
    assert.match(await page.locator(".finding.collapsed, .finding.degrades").first().textContent(), /cubic/);
    await page.getByRole("button", { name: "Limit receive windows to 8 KiB" }).click();
    await status(page, /^Simulating/);
    await finished(page);
    assert.equal(await page.locator(".finding.collapsed").count(), 0);
    assert.equal(await page.locator('[name="tcp.receive_window"]').inputValue(), "8 KiB");
    assert.deepEqual(heard.errors, []);
    assert.ok(heard.requests.every((url) => /^(http:\/\/127\.0\.0\.1|blob:|data:)/.test(url)), heard.requests.join(" "));
  });

  test("has the program's figures to the byte, of ten scenarios", async (t) => {
    const { page } = await open(t, "index.html");
    const folder = mkdtempSync(path.join(tmpdir(), "fanin-site-"));
    const own = ["", "[switch]\nbuffer = \"32 KiB\"\n", "[tcp]\nprofile = \"linux\"\n"].map(small);
    const bundled = ["incast-with-background", "clients", "web-search", "two-racks", "poisson-web-search", "web-page"];
    const once = (name) => readFileSync(`scenarios/${name}.toml`, "utf8").replace(/^seeds = .*$/m, "").replace(/^\[run\]$/m, "[run]\nseeds = 1");
    const [, cures] = /```toml file cures.toml\n(.*?)```/s.exec(readFileSync("docs/incast.md", "utf8"));
    const hubs = cures.replace(/^schemes = .*$/m, 'schemes = ["newreno+m21", "sicc", "picc"]');
    for (const text of [...own, hubs, ...bundled.map(once)]) {
      const title = /^title = .*$/m.exec(text)?.[0] ?? text;
      await write(page, text);
      await status(page, /^Simulating/).catch(async () => assert.fail(`${title}: ${await page.locator(".status").textContent()} ${await page.locator(".problem").textContent()}`));
      await finished(page);
      const file = path.join(folder, "scenario.toml");
      writeFileSync(file, text);
      const program = execFileSync(FANIN, ["compare", file, "--json", "--no-cache"], { encoding: "utf8" });
      assert.equal(figures(await downloaded(page, "Download the figures as JSON")), figures(program), title);
    }
  });

  test("fields and text agree", async (t) => {
    const { page } = await open(t, "index.html");
    await page.locator('[name="switch.buffer"]').fill("128 KiB");
    await page.locator(".cm-line", { hasText: "128 KiB" }).waitFor();
    await write(page, small("[switch]\nbuffer = \"48 KiB\"\n"));
    await holds(async () => (await page.locator('[name="switch.buffer"]').inputValue()) === "48 KiB");
    await page.locator('[name="link.rate"]').fill("10 parsecs");
    await page.locator(".problem:not([hidden])").waitFor();
    assert.match(await page.locator(".problem").textContent(), /^Line 3: .*rate/);
    await page.locator('[name="link.rate"]').fill("2 Gbit/s");
    await page.locator(".problem").waitFor({ state: "hidden" });
    await finished(page);
  });

  test("fields and text agree after 200 random changes", async (t) => {
    const { page } = await open(t, "index.html");
    const values = {
      "link.rate": ["1 Gbit/s", "10 Gbit/s", "2.5 Gbit/s", "fast"],
      "link.delay": ["5 us", "25 us", ""],
      "switch.buffer": ["64 KiB", "1 MiB", "none", ""],
      "tcp.rto_min": ["200 ms", "5 ms", ""],
      "tcp.receive_window": ["8 KiB", "64 KiB", ""],
      "workload.fragment": ["16 KiB", "4 KiB", "a \"quoted\" word"],
      "sweep.fan_in": ["[2, 4]", "8", "[3, 5, 9]"],
    };
    const expected = {};
    let random = 1;
    const below = (count) => (random = (random * 48271) % 2147483647) % count;
    for (let change = 0; change < 200; change++) {
      const path = Object.keys(values)[below(Object.keys(values).length)];
      const value = values[path][below(values[path].length)];
      await page.locator(`[name="${path}"]`).fill(value);
      expected[path] = value;
    }
    const lines = () => downloaded(page, "Download scenario.toml").then((text) => text.split("\n"));
    for (const [path, value] of Object.entries(expected)) {
      const key = path.split(".")[1];
      const written = /^[[\d]+[\d, \]]*$/.test(value) ? value : value.includes('"') ? `'${value}'` : `"${value}"`;
      const isIn = (all) => (value === "" ? !all.some((line) => line.startsWith(`${key} =`)) : all.some((line) => line.startsWith(`${key} = ${written}`)));
      await holds(async () => isIn(await lines()));
      assert.equal(await page.locator(`[name="${path}"]`).inputValue(), value, path);
    }
  });

  test("is small, quick and steady", async (t) => {
    const packed = (file) => gzipSync(readFileSync(new URL(`../../../target/site/${file}`, import.meta.url)), { level: 9 }).length;
    assert.ok(packed("play/fanin.wasm") < 1_800_000, `engine: ${packed("play/fanin.wasm")} B`);
    assert.ok(packed("play/play.js") < 200_000, "script");
    const { page, heard } = await open(t, "index.html", { bypassCSP: true });
    await page.locator(".results .finding").first().waitFor({ timeout: 60_000 });
    assert.ok(new Set(heard.requests).size <= 12, heard.requests.join(" "));
    const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
    assert.ok(paint < 1000, `${paint} ms`);
    const shift = await page.evaluate(
      () =>
        new Promise((done) => {
          let sum = 0;
          new PerformanceObserver((list) => list.getEntries().forEach((entry) => (sum += entry.value))).observe({ type: "layout-shift", buffered: true });
          setTimeout(() => done(sum), 300);
        }),
    );
    assert.ok(shift < 0.25, `layout shift ${shift}`);
  });

  test("a newcomer finds a remedy for an own rack, and takes the file along", async (t) => {
    const { page } = await open(t, "index.html");
    await page.locator('[name="link.rate"]').fill("1 Gbit/s");
    await page.locator('[name="switch.buffer"]').fill("32 KiB");
    await page.locator('[name="workload.duration"]').fill("50 ms");
    await status(page, /^Simulating/);
    await page.getByRole("button", { name: "What should I change?" }).click();
    await page.locator(".remedies button").first().click({ timeout: 240_000 });
    await status(page, /^Simulating/);
    const file = await downloaded(page, "Download scenario.toml");
    assert.match(file, /buffer = "32 KiB"/);
    assert.ok(/receive_window|dctcp|grants/.test(file), file);
  });

  test("diagnoses a capture, and simulates a matching scenario", async (t) => {
    const { page } = await open(t, "index.html");
    const field = page.locator(".capture input");
    await field.setInputFiles(fileURLToPath(new URL("../../../docs/diagnosing/client.pcap.gz", import.meta.url)));
    await page.locator(".cure .finding", { hasText: "incast: 6 of 17 rounds" }).waitFor({ timeout: 60_000 });
    await page.getByRole("button", { name: "Simulate a matching scenario" }).click();
    await status(page, /^Simulating/);
    await field.setInputFiles({ name: "no.pcap", mimeType: "application/octet-stream", buffer: Buffer.from([1, 2, 3]) });
    await page.locator(".cure .problem", { hasText: "no.pcap" }).waitFor({ timeout: 60_000 });
  });

  test("offers what the program knows", async (t) => {
    const { page } = await open(t, "index.html");
    await page.locator('[name="workload.kind"]').selectOption("one-shot");
    await page.locator(".cm-line", { hasText: 'kind = "one-shot"' }).waitFor();
    assert.equal(await page.locator('[name="switch.buffer"]').getAttribute("placeholder").then(Boolean), true);
    await write(page, small().replace('"newreno"', '{ label = "mine", scheme = "cubic", rto_min = "5 ms" }'));
    await page.locator(".chips button:disabled").first().waitFor();
  });

  test("finds words of the documentation", async (t) => {
    const { page, heard } = await open(t, "search.html");
    await page.locator("#search input").fill("retransmission timeout");
    await page.locator(".pagefind-ui__result-link").first().waitFor();
    assert.deepEqual(heard.errors, []);
  });

  test("a link has the scenario, and a hostile one only an error", async (t) => {
    const { page } = await open(t, "index.html");
    await write(page, small());
    await page.getByRole("button", { name: "Copy a link" }).click();
    await holds(() => new URL(page.url()).hash.startsWith("#s="));
    const { page: other } = await open(t, `index.html${new URL(page.url()).hash}`);
    await finished(other);
    assert.equal(await downloaded(other, "Download scenario.toml"), small());
  });

  test("a damaged link leaves a page that works", async (t) => {
    const { page } = await open(t, "index.html");
    await write(page, small());
    await page.getByRole("button", { name: "Copy a link" }).click();
    await holds(() => new URL(page.url()).hash.startsWith("#s="));
    const { hash } = new URL(page.url());
    const { page: other, heard } = await open(t, "index.html");
    const address = other.url();
    let random = 1;
    const below = (count) => (random = (random * 48271) % 2147483647) % count;
    for (let damage = 0; damage < 200; damage++) {
      const place = 3 + below(hash.length - 3);
      const letter = "ABCxyz019-_%é"[below(13)];
      const damaged = damage % 3 === 0 ? hash.slice(0, place) : hash.slice(0, place) + letter + hash.slice(place + (damage % 3 === 1 ? 1 : 0));
      await other.goto("about:blank");
      await other.goto(address + damaged);
      await other.locator('[name="switch.buffer"]').waitFor({ timeout: 30_000 });
    }
    assert.deepEqual(heard.errors, []);
    // The reason, and a case to go on with.
    await other.goto("about:blank");
    await other.goto(`${address}#s=AAAA`);
    await other.locator(".problem", { hasText: "this address cannot be read" }).waitFor();
    await finished(other);
  });

  test("takes a list of servers without brackets", async (t) => {
    const { page } = await open(t, "index.html");
    await page.locator('[name="sweep.fan_in"]').fill("4,8, 16");
    await page.locator(".cm-line", { hasText: /fan_in = \[4, ?8, ?16\]/ }).waitFor();
    await finished(page);
  });

  test("refuses what is too large", async (t) => {
    const { page } = await open(t, "index.html");
    await write(page, small().replace("[2, 16]", "[500]").replace("50 ms", "1000 s"));
    await status(page, /^Too large.*fanin compare scenario.toml/);
  });

  test("has no serious barrier, on wide and narrow screens, in light and dark", async (t) => {
    for (const [width, colorScheme] of [[360, "light"], [2560, "dark"]]) {
      const { page } = await open(t, "index.html", { viewport: { width, height: 800 }, colorScheme, reducedMotion: "reduce", bypassCSP: true });
      await finished(page);
      assert.deepEqual(await seriousFindings(page), []);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width} px`);
    }
  });
});
