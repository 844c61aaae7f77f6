// The documentation as a site. Its pages are the project's Markdown files at the same places, so that their links stay relative; the menu
// is docs/README.md. A link to a file that is no page leads to the repository.

import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { deflateRawSync } from "node:zlib";
import highlight from "highlight.js";
import anchor from "markdown-it-anchor";
import { picture, sentence } from "./first.mjs";
import { pages } from "./pages.mjs";
import { scores } from "./scores.mjs";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const REPOSITORY = "https://github.com/fanin-sim/fanin/blob/main/";
const IMAGES = ["docs/report.png"];

/** The address of a link in a source file: a page, an image, a file of the repository, or elsewhere. */
function address(href, source) {
  if (/^[a-z]+:|^#/.test(href)) return href;
  const [file, fragment] = href.split("#");
  const target = path.posix.join(path.posix.dirname(source), file);
  const rest = fragment === undefined ? "" : `#${fragment}`;
  if (pages.has(target)) return file.replace(/\.md$/, ".html") + rest;
  if (IMAGES.includes(target)) return href;
  if (!existsSync(path.join(ROOT, target))) throw new Error(`${source}: no file ${href}`);
  return REPOSITORY + target + rest;
}

/** The menu: headings and links of docs/README.md. */
function menu() {
  const groups = [];
  for (const line of readFileSync(path.join(ROOT, "docs/README.md"), "utf8").split("\n")) {
    if (line.startsWith("## ")) groups.push({ title: line.slice(3), links: [] });
    for (const [, text, href] of line.matchAll(/\[([^\]]+)\]\(([^)#]+\.md)\)/g)) {
      groups.at(-1)?.links.push({ text, to: address(href, "docs/README.md").replace(/^/, "docs/").replace("docs/../", "") });
    }
  }
  return groups;
}

/** The first screen's figure at its last point. */
function first() {
  const json = readFileSync(path.join(ROOT, "web/site/first.json"), "utf8");
  const figures = JSON.parse(json);
  const last = figures.points.length - 1;
  return { json, last, picture: picture(figures, last), sentence: sentence(figures, last) };
}

/** Scenarios that a block holds or that its commands name, with the words of their links; not those that need other files. */
function scenarios(text, language) {
  if (language === "toml") return /^\[workload\]|^workload[. ]/m.test(text) ? [["Open in the playground", text]] : [];
  const named = [...new Set([...text.matchAll(/\bscenarios\/[\w-]+\.toml\b/g)].map(([file]) => file))].filter((file) => existsSync(path.join(ROOT, file)));
  const all = named.map((file) => [`Open ${path.basename(file)} in the playground`, readFileSync(path.join(ROOT, file), "utf8")]);
  return all.filter(([, scenario]) => !/"[\w./-]+\.(csv|goal|et|json|txt)"/.test(scenario));
}

/** A code block with its colours, and links that open its scenarios in the playground. */
function code(text, language, up) {
  const known = highlight.getLanguage(language) ? highlight.highlight(text, { language }).value : undefined;
  const shown = known ?? text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const links = scenarios(text, language).map(([words, scenario]) => `<a href="${up}index.html#s=${deflateRawSync(scenario).toString("base64url")}">${words}</a>`);
  return `<pre tabindex="0"><code>${shown}</code></pre>\n${links.length > 0 ? `<p class="of-code">${links.join(" ")}</p>\n` : ""}`;
}

/** A page with links to its sections below its title, if it has several. */
function withContents(html) {
  const sections = [...html.matchAll(/<h2 id="([^"]+)"[^>]*>(.*?)<\/h2>/gs)].map(([, id, text]) => `<li><a href="#${id}">${text.replace(/<[^>]+>/g, "")}</a></li>`);
  const links = `<nav class="contents" aria-label="On this page"><ul>${sections.join("")}</ul></nav>`;
  return sections.length < 3 ? html : html.replace("</h1>", () => `</h1>\n${links}`);
}

const slug = (text) => text.trim().toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").replace(/\s/g, "-");

export default function (config) {
  config.amendLibrary("md", (markdown) => {
    markdown.use(anchor, { slugify: slug, tabIndex: false });
    const links = (token, attribute, env) => token.attrSet(attribute, address(token.attrGet(attribute), env.source));
    for (const [rule, attribute] of [["link_open", "href"], ["image", "src"]]) {
      const usual = markdown.renderer.rules[rule] ?? ((tokens, i, options, _, self) => self.renderToken(tokens, i, options));
      markdown.renderer.rules[rule] = (tokens, i, options, env, self) => {
        links(tokens[i], attribute, env);
        return usual(tokens, i, options, env, self);
      };
    }
    // A scenario after such a comment is also a figure that runs (web/play/figures.ts).
    const usual = markdown.renderer.rules.html_block;
    markdown.renderer.rules.html_block = (tokens, i, ...rest) => {
      if (tokens[i].content === "<!-- walk -->\n") return '<div class="living"></div>\n';
      const [, path, values] = /^<!-- figure: (\S+) = (.*) -->\n$/.exec(tokens[i].content) ?? [];
      if (path === undefined) return usual(tokens, i, ...rest);
      return `<div class="living" data-path="${path}" data-values="${markdown.utils.escapeHtml(values)}"></div>\n`;
    };
    markdown.renderer.rules.fence = (tokens, i, _options, env) => code(tokens[i].content, tokens[i].info.split(" ")[0], env.up);
    // The content security policy forbids styles of elements.
    for (const rule of ["th_open", "td_open"]) {
      markdown.renderer.rules[rule] = (tokens, i, options, _, self) => {
        const token = tokens[i];
        const align = /text-align:(\w+)/.exec(token.attrGet("style") ?? "")?.[1];
        token.attrs = (token.attrs ?? []).filter(([name]) => name !== "style");
        if (align) token.attrJoin("class", align);
        return self.renderToken(tokens, i, options);
      };
    }
    // Wide tables and code scroll by themselves, also by keyboard.
    markdown.renderer.rules.table_open = () => '<div class="wide" tabindex="0"><table>\n';
    markdown.renderer.rules.table_close = () => "</table></div>\n";
  });
  for (const [source, title] of pages) {
    const permalink = source.replace(/\.md$/, ".html");
    const up = "../".repeat(source.split("/").length - 1);
    config.addTemplate(source, readFileSync(path.join(ROOT, source), "utf8"), { layout: "page.njk", title, source, permalink, up, templateEngineOverride: "md" });
  }
  config.addFilter("withContents", withContents);
  config.addGlobalData("menu", menu());
  config.addGlobalData("first", first());
  config.addGlobalData("scores", scores());
  config.addGlobalData("scorecards", readFileSync(path.join(ROOT, "web/site/scorecards.html"), "utf8").replace("<main>", '<main id="main" class="scorecards">'));
  config.addGlobalData("repository", REPOSITORY.replace("/blob/main/", ""));
  for (const image of IMAGES) config.addPassthroughCopy({ [path.join(ROOT, image)]: image });
  for (const file of ["site.css", "theme.js", "search.js"]) config.addPassthroughCopy({ [path.join(ROOT, "web/site", file)]: file });
  config.addPassthroughCopy({ [path.join(ROOT, "web/dist/report.js")]: "report.js" });
  config.setUseGitIgnore(false);
  return { dir: { input: path.relative(process.cwd(), path.join(ROOT, "web/site")), includes: "_includes", output: path.relative(process.cwd(), path.join(ROOT, "target/site")) }, templateFormats: ["njk", "md"], markdownTemplateEngine: false };
}
