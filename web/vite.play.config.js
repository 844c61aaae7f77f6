import license from "rollup-plugin-license";
import { defineConfig } from "vite";

// The playground's script, its worker and its style sheet, with relative paths: the site works from any folder of a server.
export default defineConfig({
  base: "./",
  plugins: [license({ thirdParty: { output: "../target/site/play/LICENSES.txt" } })],
  build: {
    target: "es2022",
    outDir: "../target/site/play",
    emptyOutDir: true,
    reportCompressedSize: false,
    cssCodeSplit: false,
    rollupOptions: {
      input: "play/main.ts",
      output: { entryFileNames: "play.js", assetFileNames: "play[extname]" },
    },
  },
  worker: { format: "es", rollupOptions: { output: { entryFileNames: "worker.js" } } },
});
