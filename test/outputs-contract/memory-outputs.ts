import { WritError } from "../../src/core/errors.ts";
import { isJobId } from "../../src/core/ids.ts";
import { outputStreams } from "../../src/core/jobs/output-stream.ts";
import type {
  AttemptName,
  FollowOptions,
  OutputName,
  Outputs,
  StreamSizes,
} from "../../src/output/outputs.ts";

/** What several hubs share: bytes by name, and who wants to hear that there are more. */
export class MemoryPlace {
  readonly bytes = new Map<string, Buffer>();
  readonly listeners = new Set<() => void>();
}

/**
 * Outputs without files, inotify or descriptors: chunks in a table and a notice after each, which is what a database
 * has. It is here to show that the seam asks for nothing else.
 */
export class MemoryOutputs implements Outputs {
  readonly #place: MemoryPlace;

  constructor(place: MemoryPlace) {
    this.#place = place;
  }

  async append(
    output: OutputName,
    { offset, bytes }: { offset: number; bytes: Uint8Array },
  ): Promise<{ size: number }> {
    const before = this.#bytesOf(output);
    if (offset !== before.length) {
      throw new WritError("OUTPUT_OFFSET", `the output has ${before.length} bytes`, { size: before.length });
    }
    const after = Buffer.concat([before, bytes]);
    this.#place.bytes.set(keyOf(output), after);
    this.#notify();
    return { size: after.length };
  }

  async sizes({ jobId, attempt }: AttemptName): Promise<StreamSizes> {
    const [stdout = 0, stderr = 0] = outputStreams.map(
      (stream) => this.#bytesOf({ jobId, attempt, stream }).length,
    );
    return { stdout, stderr };
  }

  async *read(output: OutputName, { start, end }: { start: number; end: number }): AsyncGenerator<Buffer> {
    const bytes = this.#bytesOf(output).subarray(start, end);
    if (bytes.length < end - start) throw unavailable("the output is shorter");
    if (bytes.length > 0) yield Buffer.from(bytes);
  }

  async *follow(output: OutputName, { offset, ended, signal }: FollowOptions): AsyncGenerator<Buffer> {
    const key = keyOf(output);
    const { bytes, listeners } = this.#place;
    let wake = () => {};
    const hear = () => wake();
    let end: { error?: unknown } | undefined;
    const finish = (outcome: { error?: unknown }) => {
      end = outcome;
      hear();
    };
    ended().then(
      () => finish({}),
      (error) => finish({ error }),
    );
    listeners.add(hear);
    signal.addEventListener("abort", hear);
    let wasThere = false;
    try {
      for (let position = offset; ; ) {
        const news = new Promise<void>((resolve) => {
          wake = resolve;
        });
        signal.throwIfAborted();
        if (end !== undefined && "error" in end) throw end.error;
        const isOver = end !== undefined;
        const piece = Buffer.from((bytes.get(key) ?? Buffer.alloc(0)).subarray(position));
        position += piece.length;
        if (piece.length > 0) yield piece;
        if (isOver) return;
        if (wasThere && !bytes.has(key)) throw unavailable("the output was removed");
        wasThere = bytes.has(key);
        await news;
      }
    } finally {
      listeners.delete(hear);
      signal.removeEventListener("abort", hear);
    }
  }

  async sync(): Promise<void> {}
  assumeUnsynced(): void {}
  async syncOverdue(): Promise<void> {}
  async compact(): Promise<void> {}

  async remove(jobId: string): Promise<void> {
    await this.removeAttempts(jobId, await this.listAttempts(jobId));
  }

  async removeAttempts(jobId: string, attempts: readonly number[]): Promise<void> {
    for (const attempt of attempts) {
      for (const stream of outputStreams) this.#place.bytes.delete(keyOf({ jobId, attempt, stream }));
    }
    this.#notify();
  }

  async *listJobs(): AsyncGenerator<string[]> {
    const jobIds = new Set(Array.from(this.#place.bytes.keys(), (key) => key.split(" ")[0]!));
    if (jobIds.size > 0) yield [...jobIds];
  }

  async listAttempts(jobId: string): Promise<number[]> {
    if (!isJobId(jobId)) throw unavailable(`there is no job ${jobId}`);
    const keys = Array.from(this.#place.bytes.keys(), (key) => key.split(" "));
    return [...new Set(keys.filter(([id]) => id === jobId).map(([, attempt]) => Number(attempt)))];
  }

  async capacityBytes(): Promise<null> {
    return null;
  }

  async close(): Promise<void> {}

  #bytesOf(output: OutputName): Buffer {
    return this.#place.bytes.get(keyOf(output)) ?? Buffer.alloc(0);
  }

  #notify(): void {
    for (const listener of [...this.#place.listeners]) listener();
  }
}

function keyOf({ jobId, attempt, stream }: OutputName): string {
  const isName =
    isJobId(jobId) && Number.isSafeInteger(attempt) && attempt > 0 && outputStreams.includes(stream);
  if (!isName) throw unavailable("there is no such output");
  return `${jobId} ${attempt} ${stream}`;
}

function unavailable(message: string): WritError {
  return new WritError("OUTPUT_UNAVAILABLE", message);
}
