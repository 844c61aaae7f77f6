// Loads the engine, if this browser can run it.

import { Workers } from "./workers";

/** A sentence that lists the features that this browser lacks to run the engine. */
export function lacks(): string | undefined {
  const parts = { WebAssembly: "WebAssembly", Worker: "web workers", CompressionStream: "compression streams" };
  const missing = Object.entries(parts).flatMap(([name, words]) => (name in globalThis ? [] : [words]));
  return missing.length > 0 ? `This browser lacks ${missing.join(" and ")}. The command line needs no browser.` : undefined;
}

/** The engine, with workers for this many cores. */
export async function load(cores: number): Promise<Workers> {
  const module = await WebAssembly.compileStreaming(fetch(new URL(/* @vite-ignore */ "./fanin.wasm", import.meta.url)));
  return new Workers(module, cores);
}
