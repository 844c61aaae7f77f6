// The Markdown files that are pages of the site, with their titles.

import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { globSync } from "tinyglobby";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PATTERNS = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md", "docs/decisions/*.md", "papers/*/*.md", "python/README.md"];

/** Titles by path. */
export const pages = new Map(
  globSync(PATTERNS, { cwd: ROOT }).sort().map((source) => {
    const heading = /^# (.*)$/m.exec(readFileSync(path.join(ROOT, source), "utf8"));
    return [source, heading?.[1].replaceAll("`", "") ?? source];
  }),
);
