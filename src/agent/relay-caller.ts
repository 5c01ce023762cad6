import type { Readable } from "node:stream";
import { z } from "zod";
import { WritError } from "../core/errors.ts";
import { readLines } from "./read-payload.ts";

const message = z.object({ job_token: z.string().optional(), hurry: z.boolean().optional() });

/**
 * The worker that relays a job. It keeps our standard input open for as long as it watches over the job. Why: ADR 0045.
 */
export class RelayCaller {
  readonly #lines: AsyncGenerator<string>;
  readonly #gone = new AbortController();
  readonly #hurry = new AbortController();
  #jobToken: string | undefined;

  constructor(stdin: Readable) {
    this.#lines = readLines(stdin);
  }

  /** Aborted when the caller has gone, so that nothing watches over the job any more. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** Aborted when the job must end at once. */
  get hurry(): AbortSignal {
    return this.#hurry.signal;
  }

  /** The newest one that was sent after the payload. */
  get jobToken(): string | undefined {
    return this.#jobToken;
  }

  /** The first line; those after it are messages. */
  async readPayload(): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (done)
      throw new WritError(
        "INVALID_ARGUMENT",
        "--relay: standard input has no line with a payload; docker exec and podman exec pass it on only with -i",
      );
    void this.#listen();
    return value;
  }

  async #listen(): Promise<void> {
    try {
      for await (const line of this.#lines) this.#take(message.parse(JSON.parse(line)));
    } catch {
      // A sender of lines that cannot be parsed could not watch over the job either.
    }
    this.#gone.abort();
  }

  #take({ job_token, hurry }: z.infer<typeof message>): void {
    if (job_token !== undefined) this.#jobToken = job_token;
    if (hurry) this.#hurry.abort();
  }
}
