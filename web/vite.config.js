import { defineConfig } from "vite";

// One script and one style sheet, without names that change: they are committed, and put into the report by `fanin`.
export default defineConfig({
  build: {
    target: "es2022",
    outDir: "dist",
    emptyOutDir: true,
    reportCompressedSize: false,
    lib: { entry: "src/main.ts", formats: ["iife"], name: "fanin", fileName: () => "report.js", cssFileName: "report" },
  },
});
