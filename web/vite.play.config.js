import license from "rollup-plugin-license";
import { defineConfig } from "vite";

// The scripts of the playground, of living figures and of every page's header, their worker and style sheet, with relative paths: the site works from any folder of a server.
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
      input: { play: "play/main.ts", figures: "play/figures.ts", header: "play/header.ts" },
      output: { entryFileNames: "[name].js", chunkFileNames: "[name].js", assetFileNames: "play[extname]" },
    },
  },
  worker: { format: "es", rollupOptions: { output: { entryFileNames: "worker.js" } } },
});
