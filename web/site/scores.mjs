// The papers' claims with their recorded verdicts at the papers' own settings: papers/NAME/claims.toml and expected.json.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "smol-toml";
import { globSync } from "tinyglobby";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

const git = (...words) => execFileSync("git", words, { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();

/** The date since which a paper's verdicts are as they are; none without the project's history. */
function since(file, full) {
  try {
    if (git("rev-parse", "--is-shallow-repository") === "true") return undefined;
    let date;
    for (const line of git("log", "--format=%H %cs", "--", file).split("\n")) {
      const [commit, day] = line.split(" ");
      const then = JSON.parse(git("show", `${commit}:${file}`)).full;
      if (Object.keys(full).length !== Object.keys(then).length || Object.entries(full).some(([id, verdict]) => then[id] !== verdict)) break;
      date = day;
    }
    return date;
  } catch {
    return undefined;
  }
}

/** Verdicts of claims that count, and their numbers. */
function counts(claims) {
  const counted = claims.filter((claim) => claim.counts);
  const of = (verdict) => counted.filter((claim) => claim.verdict === verdict).length;
  return { all: counted.length, held: of("pass"), failed: of("fail"), undecided: of("undecided") };
}

/** All papers, and their numbers together. */
export function scores() {
  const papers = globSync("papers/*/claims.toml", { cwd: ROOT }).sort().map((file) => {
    const name = path.basename(path.dirname(file));
    const { title, figure } = parse(readFileSync(path.join(ROOT, file), "utf8"));
    const { full } = JSON.parse(readFileSync(path.join(ROOT, `papers/${name}/expected.json`), "utf8"));
    const figures = figure.map(({ id, title, claim }) => ({ id, title, claims: (claim ?? []).map((one) => judged(one, full)) }));
    return { name, title, figures, since: since(`papers/${name}/expected.json`, full), ...counts(figures.flatMap(({ claims }) => claims)) };
  });
  return { papers, ...counts(papers.flatMap(({ figures }) => figures.flatMap(({ claims }) => claims))) };
}

/** A claim with its verdict. Claims that repeat another's measurement, the project's own, and those read elsewhere do not count. */
function judged({ id, says, where, why, note, repeats, own, read_from }, full) {
  const verdict = full[id];
  if (verdict === undefined) throw new Error(`papers: no recorded verdict of ${id}`);
  return { id, says, where, verdict, remark: [why, note].filter(Boolean).join(" "), counts: repeats === undefined && !own && (read_from ?? "paper") === "paper" };
}
