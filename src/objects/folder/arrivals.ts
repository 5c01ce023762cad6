import { randomBytes } from "node:crypto";

/** A connection that is dead and has not been noticed as such, and the next try of its sender. */
const atOnceMax = 2;

export type Arrival = { name: string; signal: AbortSignal };

/** What is arriving in this process, by upload. Why: ADR 0093. */
export class Arrivals {
  readonly #byUpload = new Map<string, Map<string, Running>>();

  /** Runs `work` under a new name. One that has to be alone ends all others first; any other only those too many. */
  async run<T>(
    uploadId: string,
    { isAlone }: { isAlone: boolean },
    work: (arrival: Arrival) => Promise<T>,
  ): Promise<T> {
    // More may begin while the oldest ends.
    for (let older = this.#oldest(uploadId, isAlone ? 1 : atOnceMax); older !== undefined; ) {
      older.abort.abort();
      await older.over;
      older = this.#oldest(uploadId, isAlone ? 1 : atOnceMax);
    }
    const name = randomBytes(8).toString("hex");
    const abort = new AbortController();
    const result = work({ name, signal: abort.signal });
    const running = this.#byUpload.get(uploadId) ?? new Map<string, Running>();
    // The sender of the upload gets the error; others only wait for its end.
    this.#byUpload.set(uploadId, running.set(name, { abort, over: result.catch(() => {}) }));
    try {
      return await result;
    } finally {
      running.delete(name);
      if (running.size === 0) this.#byUpload.delete(uploadId);
    }
  }

  isRunning(uploadId: string, name: string): boolean {
    return this.#byUpload.get(uploadId)?.has(name) === true;
  }

  async end(uploadId: string): Promise<void> {
    await endAll(this.#byUpload.get(uploadId)?.values() ?? []);
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#byUpload.values(), (running) => endAll(running.values())));
  }

  #oldest(uploadId: string, countMax: number): Running | undefined {
    const running = this.#byUpload.get(uploadId);
    return running === undefined || running.size < countMax ? undefined : running.values().next().value;
  }
}

type Running = { abort: AbortController; over: Promise<unknown> };

async function endAll(running: Iterable<Running>): Promise<void> {
  const all = [...running];
  for (const { abort } of all) abort.abort();
  await Promise.all(all.map(({ over }) => over));
}
