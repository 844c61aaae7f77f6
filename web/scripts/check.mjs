// Builds the bundle anew and fails where the committed one differs.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const web = dirname(dirname(fileURLToPath(import.meta.url)));
const files = ["report.js", "report.css"].map((name) => join(web, "dist", name));
const read = () => files.map((file) => readFileSync(file, "utf8"));

const committed = read();
execFileSync("npm", ["run", "build", "--silent"], { cwd: web, stdio: ["ignore", "ignore", "inherit"] });
const stale = files.filter((_, i) => committed[i] !== read()[i]);
if (stale.length > 0) {
  console.error(`not current: ${stale.join(", ")}; commit what \`npm run build\` wrote`);
  process.exit(1);
}
console.log("web/dist is what web/src gives");
