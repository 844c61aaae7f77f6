// Workers: one knows the comparison, others carry out its runs, one advises and diagnoses. Work that is not wanted any more is stopped at once.

import type { Operation } from "./engine";
import type { Call, Reply } from "./worker";

const utf8 = new TextEncoder();

/** A call was stopped. */
export class Stopped extends Error {}

/** A worker that can be stopped. */
class Hand {
  private worker: Worker | undefined;
  private id = 0;
  private readonly waiting = new Map<number, { done: (bytes: Uint8Array) => void; failed: (error: Error) => void }>();

  constructor(private readonly module: WebAssembly.Module) {}

  call(operation: Operation, argument: number, request: Uint8Array): Promise<Uint8Array> {
    const worker = (this.worker ??= this.start());
    const call: Call = { id: ++this.id, operation, argument, request };
    const bytes = new Promise<Uint8Array>((done, failed) => this.waiting.set(call.id, { done, failed }));
    worker.postMessage(call);
    return bytes;
  }

  /** Stops it if it works; the next call starts it again. */
  stop(): void {
    if (this.waiting.size === 0) return;
    this.worker?.terminate();
    this.worker = undefined;
    this.fail(new Stopped());
  }

  private start(): Worker {
    const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
    worker.postMessage(this.module);
    worker.addEventListener("message", ({ data }: MessageEvent<Reply>) => {
      const call = this.waiting.get(data.id);
      this.waiting.delete(data.id);
      if ("bytes" in data) call?.done(data.bytes);
      else call?.failed(new Error(data.error));
    });
    worker.addEventListener("error", (event) => this.fail(new Error(event.message || "a worker cannot start")));
    return worker;
  }

  private fail(error: Error): void {
    for (const { failed } of this.waiting.values()) failed(error);
    this.waiting.clear();
  }
}

/** A problem of a scenario; line 0: the whole text. */
export interface Problem {
  line: number;
  what: string;
}

/** Content of a scenario (crates/laboratory/browser/src/scenario.rs). */
export interface Description {
  values?: Record<string, string>;
  problem?: Problem;
  seeds?: number;
  too_large?: string;
}

/** Keys of a scenario by path: default and form of a valid value. */
export type Keys = Record<string, { usual: string; right: string }>;

/** The result of a step: runs that are missing, or the comparison. */
export type Step = { runs: number } | { problem: Problem } | { summary: string; report: unknown };

export class Workers {
  /** Reads and changes texts; it is never stopped. */
  private readonly texts: Hand;
  private readonly session: Hand;
  private readonly runners: Hand[];
  private readonly adviser: Hand;
  /** Number of stops: work from before a stop does not continue. */
  private stops = 0;

  constructor(module: WebAssembly.Module, cores: number) {
    this.texts = new Hand(module);
    this.session = new Hand(module);
    this.adviser = new Hand(module);
    this.runners = Array.from({ length: Math.max(1, cores - 1) }, () => new Hand(module));
  }

  async keys(): Promise<Keys> {
    return json(await this.texts.call("keys", 0, new Uint8Array()));
  }

  async describe(text: string): Promise<Description> {
    return json(await this.texts.call("describe", 0, utf8.encode(text)));
  }

  async setValue(text: string, path: string, value: string): Promise<string> {
    const request = utf8.encode(JSON.stringify([text, path, value]));
    return new TextDecoder().decode(await this.texts.call("setValue", 0, request));
  }

  /** Compares with this many seeds; `progress` gets the share of the runs that are done. */
  async compare(text: string, seeds: number, watched: boolean, progress: (share: number) => void): Promise<Exclude<Step, { runs: number }>> {
    for (;;) {
      const step: Step = json(await this.session.call(watched ? "stepWatched" : "step", seeds, utf8.encode(text)));
      if (!("runs" in step)) return step;
      await this.carryOut(step.runs, progress);
    }
  }

  async advise(text: string): Promise<unknown> {
    return json(await this.adviser.call("advise", 0, utf8.encode(text)));
  }

  /** Diagnoses a capture; it does not leave the browser. */
  async diagnose(file: File): Promise<unknown> {
    const name = utf8.encode(file.name);
    return json(await this.adviser.call("diagnose", name.length, joined(name, new Uint8Array(await file.arrayBuffer()))));
  }

  /** Stops a comparison. */
  stop(): void {
    this.stops += 1;
    for (const hand of [this.session, ...this.runners]) hand.stop();
  }

  stopAdvice(): void {
    this.adviser.stop();
  }

  /** Carries out the runs that the last step asked for, one at a time on each runner. */
  private async carryOut(runs: number, progress: (share: number) => void): Promise<void> {
    const stops = this.stops;
    let [next, done] = [0, 0];
    const call = (hand: Hand, ...call: Parameters<Hand["call"]>) => {
      if (this.stops !== stops) throw new Stopped();
      return hand.call(...call);
    };
    const work = async (runner: Hand) => {
      while (next < runs) {
        const job = await call(this.session, "job", next++, new Uint8Array());
        const tables = await call(runner, "run", 0, job);
        await call(this.session, "take", job.length, joined(job, tables));
        progress(++done / runs);
      }
    };
    await Promise.all(this.runners.map(work));
  }
}

/** A request of two parts; the operation gets the length of the first one. */
function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

function json<T>(bytes: Uint8Array): T {
  return JSON.parse(new TextDecoder().decode(bytes)) as T;
}
