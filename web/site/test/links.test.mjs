import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { globSync } from "tinyglobby";
import { SITE } from "./served.mjs";

const attributes = (html, name) => [...html.matchAll(new RegExp(`\\b${name}="([^"]*)"`, "g"))].map(([, value]) => value);

test("links and anchors of all pages exist, and nothing is loaded from elsewhere", { skip: !existsSync(SITE) && "`make site` makes the site" }, () => {
  const pages = new Map(globSync("**/*.html", { cwd: SITE }).map((page) => [page, readFileSync(path.join(SITE, page), "utf8")]));
  assert.ok(pages.size > 100, `${pages.size} pages`);
  for (const [page, html] of pages) {
    assert.deepEqual(attributes(html, "src").filter((source) => /^([a-z]+:)?\/\//.test(source)), [], page);
    for (const link of attributes(html, "href")) {
      if (/^[a-z]+:/.test(link)) continue;
      const [file, anchor] = link.split("#");
      const target = file === "" ? page : path.normalize(path.join(path.dirname(page), file));
      assert.ok(!link.startsWith("/") && existsSync(path.join(SITE, target)), `${page}: ${link}`);
      // A scenario is no anchor.
      if (anchor && !anchor.startsWith("s=")) assert.ok(attributes(pages.get(target) ?? "", "id").includes(decodeURIComponent(anchor)), `${page}: ${link}`);
    }
  }
});
