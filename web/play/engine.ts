// The engine: a WebAssembly module, and one call into it.

/** Operations of the module, by their numbers (crates/laboratory/browser/src/exports.rs). */
export const OPERATIONS = { describe: 0, setValue: 1, step: 2, stepWatched: 3, job: 4, run: 5, take: 6, advise: 7, diagnose: 8, keys: 9 } as const;
export type Operation = keyof typeof OPERATIONS;

interface Exports {
  memory: WebAssembly.Memory;
  start(): void;
  request(len: number): number;
  call(operation: number, argument: number): number;
  reply(): number;
  panic_text(): bigint;
}

/** An instance of the module. */
export class Engine {
  private constructor(private readonly exports: Exports) {}

  static async start(module: WebAssembly.Module): Promise<Engine> {
    const { exports } = await WebAssembly.instantiate(module, {});
    const engine = new Engine(exports as unknown as Exports);
    engine.exports.start();
    return engine;
  }

  /** Carries out an operation; throws the text of its error. */
  call(operation: Operation, argument: number, request: Uint8Array): Uint8Array {
    const { memory, request: room, reply } = this.exports;
    // Making room may give the memory another buffer.
    const place = room(request.length);
    new Uint8Array(memory.buffer, place, request.length).set(request);
    let len: number;
    try {
      len = this.exports.call(OPERATIONS[operation], argument);
    } catch {
      throw new Error(`a fault of the simulator: ${this.panicText()}`);
    }
    const bytes = new Uint8Array(memory.buffer, reply(), len < 0 ? -1 - len : len).slice();
    if (len < 0) throw new Error(new TextDecoder().decode(bytes));
    return bytes;
  }

  private panicText(): string {
    const place = this.exports.panic_text();
    const text = new Uint8Array(this.exports.memory.buffer, Number(place >> 16n), Number(place & 0xffffn));
    return new TextDecoder().decode(text.slice());
  }
}
