import { once } from "node:events";
import { Worker as Thread } from "node:worker_threads";

export type HubThreadData = {
  /** The numbers of the jobs of the type `work` that it gives out. */
  jobs: number[];
  /** The number of the job whose heartbeats it counts, and that it reports as lost on request. */
  waiting: number;
  memory: SharedArrayBuffer;
};

/** Shared counters, for a test that cannot receive messages because its thread is busy. */
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
   * Reports the waiting job as lost, and returns when the worker's heartbeat has received that, which another heartbeat
   * shows. Nothing else happens in this thread meanwhile.
   */
  loseWaiting(): void {
    Atomics.store(this.#cells, hubCells.isLost, 1);
    // The first heartbeat may have been answered before the loss; the one after the answer with the loss is the third
    // at the latest.
    for (let beats = 0; beats < 3; beats++) {
      const seen = Atomics.load(this.#cells, hubCells.beats);
      Atomics.wait(this.#cells, hubCells.beats, seen, patienceMs);
    }
  }
}
