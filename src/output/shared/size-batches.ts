import type { AppendedName, AttemptKey } from "../../store/output-table.ts";
import type { StreamSizes } from "../outputs.ts";

type Ask = (attempts: AttemptKey[]) => Promise<(AppendedName & { size: number })[]>;
type SizeRequest = AttemptKey & { resolve(sizes: StreamSizes): void; reject(error: unknown): void };

const attemptsPerAsk = 500;

/** The requests of one turn of the event loop are one query: the ends of a hundred jobs arrive in one call. */
export class SizeBatches {
  readonly #ask: Ask;
  #waiting: SizeRequest[] = [];

  constructor(ask: Ask) {
    this.#ask = ask;
  }

  get(attempt: AttemptKey): Promise<StreamSizes> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => this.#flush());
      this.#waiting.push({ ...attempt, resolve, reject });
    });
  }

  #flush(): void {
    const requests = this.#waiting;
    this.#waiting = [];
    for (let at = 0; at < requests.length; at += attemptsPerAsk)
      void this.#answer(requests.slice(at, at + attemptsPerAsk));
  }

  async #answer(requests: SizeRequest[]): Promise<void> {
    try {
      const unique = new Map(
        requests.map(({ jobId, attempt }) => [keyOf({ jobId, attempt }), { jobId, attempt }]),
      );
      const found = new Map<string, StreamSizes>();
      for (const { jobId, attempt, stream, size } of await this.#ask([...unique.values()])) {
        const key = keyOf({ jobId, attempt });
        found.set(key, { stdout: 0, stderr: 0, ...found.get(key), [stream]: size });
      }
      for (const request of requests) request.resolve({ stdout: 0, stderr: 0, ...found.get(keyOf(request)) });
    } catch (error) {
      for (const { reject } of requests) reject(error);
    }
  }
}

function keyOf({ jobId, attempt }: AttemptKey): string {
  return `${jobId} ${attempt}`;
}
