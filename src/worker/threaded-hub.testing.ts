import { once } from "node:events";
import { Worker as Thread } from "node:worker_threads";

export type HubThreadData = {
  /** The numbers of the jobs of the type `work` that it gives out. */
  jobs: number[];
  /** The number of the one that it counts heartbeats of, and calls lost when it is told to. */
  waiting: number;
  memory: SharedArrayBuffer;
};

/** Where the thread counts, for a test that can receive no message because it keeps its own thread busy. */
export const hubCells = { beats: 0, isLost: 1 } as const;

const patienceMs = 60_000;

/** A hub that answers while the thread of the test, and of the worker, is busy. */
export class ThreadedHub {
  readonly url: string;
  readonly publicKeyPem: string;
  readonly #thread: Thread;
  readonly #cells: Int32Array<SharedArrayBuffer>;

  private constructor(
    thread: Thread,
    cells: Int32Array<SharedArrayBuffer>,
    facts: { url: string; publicKeyPem: string },
  ) {
    this.#thread = thread;
    this.#cells = cells;
    this.url = facts.url;
    this.publicKeyPem = facts.publicKeyPem;
  }

  static async start(options: Omit<HubThreadData, "memory">): Promise<ThreadedHub> {
    const cells = new Int32Array(new SharedArrayBuffer(4 * Object.keys(hubCells).length));
    const workerData: HubThreadData = { ...options, memory: cells.buffer };
    const thread = new Thread(new URL("./fake-hub-thread.testing.ts", import.meta.url), { workerData });
    const [facts] = await once(thread, "message");
    return new ThreadedHub(thread, cells, facts);
  }

  async stop(): Promise<void> {
    await this.#thread.terminate();
  }

  /** Resolves when a heartbeat has named the waiting job. */
  async known(): Promise<void> {
    await Atomics.waitAsync(this.#cells, hubCells.beats, 0, patienceMs).value;
  }

  /**
   * Calls the waiting job lost, and returns when the worker's heartbeat has heard of it: it has sent another one since. Nothing
   * else happens in this thread meanwhile.
   */
  loseWaiting(): void {
    Atomics.store(this.#cells, hubCells.isLost, 1);
    // The first may have been answered before it was called lost, and the next is sent after the one that says so.
    for (let beats = 0; beats < 3; beats++) {
      const seen = Atomics.load(this.#cells, hubCells.beats);
      Atomics.wait(this.#cells, hubCells.beats, seen, patienceMs);
    }
  }
}
