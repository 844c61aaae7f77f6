import { readFileSync } from "node:fs";
import { defineConfig } from "vite";

/** Puts uPlot's licence before the script that holds it, as the licence asks; minifying would take it away. */
const licence = {
  name: "licence",
  enforce: "post",
  generateBundle(_, bundle) {
    const text = readFileSync(new URL("node_modules/uplot/LICENSE", import.meta.url), "utf8").trim();
    for (const file of Object.values(bundle)) {
      if (file.type === "chunk") file.code = `/*! With uPlot, https://github.com/leeoniya/uPlot\n\n${text}\n*/\n${file.code}`;
    }
  },
};

// One script and one style sheet, without names that change: they are committed, and put into the report by `fanin`.
export default defineConfig({
  plugins: [licence],
  build: {
    target: "es2022",
    outDir: "dist",
    emptyOutDir: true,
    reportCompressedSize: false,
    lib: { entry: "src/main.ts", formats: ["iife"], name: "fanin", fileName: () => "report.js", cssFileName: "report" },
  },
});
