// The site in a headless browser, served from a subfolder of a file server of its own.
import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { after, before, describe } from "node:test";
import { fileURLToPath } from "node:url";
import { CHROMIUM, launch } from "../../test/browser.mjs";

export const SITE = fileURLToPath(new URL("../../../target/site", import.meta.url));
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm", ".png": "image/png", ".json": "application/json" };
/** The site's folder on the server. */
const FOLDER = "/some/folder/";

/** Tests of the site in a browser: they get its instance and the address of the site. */
export function describeServed(title, executable, launch, tests) {
  const missing = !existsSync(path.join(SITE, "index.html")) ? "`make site` makes the site" : existsSync(executable) ? undefined : `${executable} is not installed`;
  if (missing) console.log(`skipped: ${missing}`);
  describe(title, { skip: missing ?? false }, () => {
    const opened = {};
    const server = createServer(serve);
    before(async () => {
      await new Promise((listens) => server.listen(0, "127.0.0.1", listens));
      opened.site = `http://127.0.0.1:${server.address().port}${FOLDER}`;
      opened.browser = await launch();
    });
    after(async () => {
      await opened.browser?.close();
      server.close();
    });
    tests(opened);
  });
}

/** Tests of the site in Chromium: each gets a function that opens a page until the test's end. */
export function describeSite(title, tests) {
  describeServed(title, CHROMIUM, launch, (opened) => {
    tests(async (t, page, options = {}) => {
      const context = await opened.browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
      t.after(() => context.close());
      const shown = await context.newPage();
      const heard = { errors: [], requests: [] };
      shown.on("console", (message) => ["error", "warning"].includes(message.type()) && heard.errors.push(message.text()));
      shown.on("pageerror", (error) => heard.errors.push(error.message));
      shown.on("request", (request) => heard.requests.push(request.url()));
      await shown.goto(opened.site + page);
      return { page: shown, heard };
    });
  });
}

function serve(request, response) {
  const name = decodeURIComponent(new URL(request.url, "http://any").pathname);
  const file = path.join(SITE, name.slice(FOLDER.length));
  if (!name.startsWith(FOLDER) || !file.startsWith(SITE) || !existsSync(file) || !statSync(file).isFile()) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, { "content-type": TYPES[path.extname(file)] ?? "application/octet-stream" });
  createReadStream(file).pipe(response);
}
