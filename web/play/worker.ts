// A worker with an engine, which carries out one call after another.

import { Engine, type Operation } from "./engine";

export interface Call {
  id: number;
  operation: Operation;
  argument: number;
  request: Uint8Array;
}

export type Reply = { id: number; bytes: Uint8Array } | { id: number; error: string };

let engine: Promise<Engine>;

addEventListener("message", ({ data }: MessageEvent<WebAssembly.Module | Call>) => {
  if (data instanceof WebAssembly.Module) {
    engine = Engine.start(data);
    return;
  }
  const { id, operation, argument, request } = data;
  const answer = (reply: Reply, transfer: Transferable[] = []) => postMessage(reply, { transfer });
  engine
    .then((engine) => engine.call(operation, argument, request))
    .then(
      (bytes) => answer({ id, bytes }, [bytes.buffer]),
      (error: unknown) => answer({ id, error: error instanceof Error ? error.message : String(error) }),
    );
});
