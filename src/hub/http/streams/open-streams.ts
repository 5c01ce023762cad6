import type { ServerResponse } from "node:http";
import type { Clock } from "../../../runtime/clock/clock.ts";
import { repeat, type Service, together } from "../../../runtime/service.ts";
import { stuckMs } from "../bodies/drained.ts";

/** How often streams check whether their token is still valid; a stream with a revoked token ends within 5 s. */
const checkMs = 2_000;
/** Proxies and workers consider a silent connection dead. */
const pingMs = 15_000;

type Stream = {
  response: ServerResponse;
  abort: AbortController;
  isStillAllowed: () => Promise<boolean>;
  onEnd: () => void;
  ping: string | null;
  /** Whether a normal end means that the content is complete. Such a stream is destroyed if it must end early. */
  isWhole: boolean;
  lastWriteAt: number;
};

type OpenStream = {
  /** Resolves when there is room for more. */
  write(chunk: string | Uint8Array): Promise<void>;
  /**
   * Writes the chunk if the reader keeps up, and otherwise drops it: nothing is buffered for a reader that does not
   * read.
   */
  hint(chunk: string): void;
  end(): void;
  signal: AbortSignal;
};

/** Every response that stays open: server-sent events and followed output. Why: ADR 0032. */
export class OpenStreams implements Service {
  readonly name = "open streams";
  readonly #streams = new Set<Stream>();
  readonly #clock: Clock;
  readonly #looks: Service;

  constructor(clock: Clock, onError: (error: unknown) => void) {
    this.#clock = clock;
    const options = { intervalMs: checkMs, clock, onError };
    // Two loops, so that a database that hangs delays only the one that queries it.
    this.#looks = together(this.name, [
      repeat({ ...options, name: "streams kept alive" }, () => this.#keepAllAlive()),
      repeat({ ...options, name: "streams still allowed" }, (signal) => this.#look(signal)),
    ]);
  }

  start(): Promise<void> {
    return this.#looks.start();
  }

  /** Ends all streams: a stopping hub must not wait for readers that never end. */
  async stop(): Promise<void> {
    await this.#looks.stop();
    for (const stream of [...this.#streams]) this.#cut(stream);
  }

  get size(): number {
    return this.#streams.size;
  }

  /** Takes over the response. `onEnd` is called once. */
  open(
    response: ServerResponse,
    options: Pick<Stream, "isStillAllowed" | "onEnd"> & {
      headers: Record<string, string>;
      ping?: string;
      isWhole?: boolean;
    },
  ): OpenStream {
    const { ping = null, isWhole = false, isStillAllowed, onEnd } = options;
    const stream: Stream = {
      response,
      ping,
      isWhole,
      isStillAllowed,
      onEnd,
      abort: new AbortController(),
      lastWriteAt: this.#clock.monotonicMs(),
    };
    this.#streams.add(stream);
    response.once("close", () => this.#end(stream));
    response.on("error", () => this.#end(stream));
    response.writeHead(200, options.headers);
    response.flushHeaders();
    // A client that has already hung up causes no further event.
    if (response.destroyed) this.#end(stream);
    return {
      write: (chunk) => this.#write(stream, chunk),
      hint: (chunk) => {
        if (!response.writableNeedDrain) void this.#write(stream, chunk);
      },
      end: () => this.#end(stream),
      signal: stream.abort.signal,
    };
  }

  async #write(stream: Stream, chunk: string | Uint8Array): Promise<void> {
    if (stream.abort.signal.aborted) return;
    stream.lastWriteAt = this.#clock.monotonicMs();
    if (stream.response.write(chunk)) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        stream.response.off("drain", done);
        stream.abort.signal.removeEventListener("abort", done);
        stream.lastWriteAt = this.#clock.monotonicMs();
        resolve();
      };
      stream.response.once("drain", done);
      stream.abort.signal.addEventListener("abort", done, { once: true });
    });
  }

  /** Ends a stream early. */
  #cut(stream: Stream): void {
    if (stream.isWhole) stream.response.destroy();
    this.#end(stream);
  }

  #end(stream: Stream): void {
    if (!this.#streams.delete(stream)) return;
    stream.abort.abort();
    stream.response.end();
    stream.onEnd();
  }

  /** If the database does not answer, no right can be checked: streams stay open, and each is checked by itself. */
  async #look(signal: AbortSignal): Promise<void> {
    const failures: unknown[] = [];
    for (const stream of [...this.#streams]) {
      if (signal.aborted) return;
      try {
        if (!(await stream.isStillAllowed())) this.#cut(stream);
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  #keepAllAlive(): void {
    const now = this.#clock.monotonicMs();
    for (const stream of [...this.#streams]) this.#keepAlive(stream, now);
  }

  #keepAlive(stream: Stream, now: number): void {
    const silentMs = now - stream.lastWriteAt;
    if (stream.response.writableNeedDrain) {
      if (silentMs > stuckMs) stream.response.destroy();
    } else if (stream.ping !== null && silentMs >= pingMs) {
      stream.lastWriteAt = now;
      stream.response.write(stream.ping);
    }
  }
}
