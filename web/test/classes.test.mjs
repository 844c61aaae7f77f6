import assert from "node:assert/strict";
import { it } from "node:test";
import { describePage } from "./browser.mjs";

describePage("the report of a scenario with traffic classes", "FANIN_CLASSES", (opened) => {
  const part = (page) => page.locator("section", { has: page.locator("#classes") });
  const data = (page) => page.evaluate(() => JSON.parse(document.getElementById("data").textContent).classes);

  it("draws a bar for each class of the port that they share", async (t) => {
    const { page, heard } = await opened(t);
    const all = await data(page);
    const articles = part(page).locator("article");
    assert.equal(await articles.count(), all.length);
    for (const [i, { scheme, port, charts }] of all.entries()) {
      const article = articles.nth(i);
      assert.ok((await article.locator("h3").innerText()).startsWith(`${scheme}, `));
      assert.ok((await article.innerText()).includes(`Port ${port}, one run with seed `));
      const shares = charts[0].curves.map((curve) => curve.y[0]);
      assert.ok(Math.abs(shares.reduce((a, b) => a + b) - 100) < 0.01, `${scheme}: shares ${shares}`);
      for (const [at, chart] of charts.entries()) {
        const names = await article.locator("table.bars").nth(at).locator("th").allInnerTexts();
        assert.deepEqual(names, chart.curves.map((curve) => curve.name));
      }
    }
    assert.deepEqual(heard.errors, []);
  });

  it("shows that only the class that is not lossless drops", async (t) => {
    const { page } = await opened(t);
    const drops = ({ charts }) => charts.find((chart) => chart.y === "dropped packets")?.curves ?? [];
    for (const of of (await data(page)).filter(({ scheme }) => scheme !== "one class that drops")) {
      assert.equal(drops(of).find(({ name }) => name === "class 3")?.y[0] ?? 0, 0);
    }
  });
});
