import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { WritError } from "../core/errors.ts";
import type { Logger } from "../runtime/logger.ts";
import { EMPTY_SHA256 } from "../signing/receipt.ts";
import type { OutputStream } from "./attempt-calls.ts";
import { type HeldJob, loseJob, stopJob } from "./held-jobs.ts";
import { hasCode } from "./hub-presence.ts";
import { type ShipDeps, shipOutput } from "./output-shipper.ts";
import { StreamHash } from "./stream-hash.ts";

export type OutputDeps = ShipDeps & { logger: Logger };

/** What one attempt says: where it is written, and its way to the hub. */
export class AttemptOutput {
  readonly #deps: OutputDeps;
  readonly #held: HeldJob;
  readonly #dir: string;
  readonly #bytesMax: number;
  readonly #shipments = new Map<OutputStream, Promise<void>>();
  readonly #hashes = new Map<OutputStream, StreamHash>();
  #file: number | undefined;
  #writtenBytes = 0;
  #isOver = false;
  /** Made for the first stream that is followed: most functions say nothing. */
  #ended: AbortController | undefined;

  constructor(deps: OutputDeps, held: HeldJob, options: { dir: string; bytesMax: number }) {
    this.#deps = deps;
    this.#held = held;
    this.#dir = options.dir;
    this.#bytesMax = options.bytesMax;
  }

  /** Has the attempt left anything on disk? */
  get hasFiles(): boolean {
    return this.#shipments.size > 0;
  }

  /** Begins to follow a stream; a second call changes nothing. */
  follow(stream: OutputStream): void {
    if (!this.#shipments.has(stream)) this.#shipments.set(stream, this.#ship(stream));
  }

  /** Adds to stdout, for a job that runs inside the worker. */
  write(text: string): void {
    if (this.#isOver) return;
    const left = this.#bytesMax - this.#writtenBytes;
    const bytes = Buffer.from(text);
    this.#file ??= this.#open();
    this.#writtenBytes += writeSync(this.#file, bytes, 0, Math.min(left, bytes.length));
    if (bytes.length > left) stopJob(this.#held, "output");
  }

  /** Nothing more will be said. Comes when the hub has everything, or when it does not count any more. */
  async finish(): Promise<void> {
    this.#isOver = true;
    this.#ended?.abort();
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
    await Promise.all(this.#shipments.values());
  }

  /** The SHA-256 of what the hub has of a stream. Once, after `finish`. */
  hashOf(stream: OutputStream): Promise<string> {
    return this.#hashes.get(stream)?.digest() ?? Promise.resolve(EMPTY_SHA256);
  }

  #open(): number {
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 });
    const file = openSync(this.#path("stdout"), "a", 0o600);
    this.follow("stdout");
    return file;
  }

  #path(stream: OutputStream): string {
    return join(this.#dir, `${stream}.log`);
  }

  async #ship(stream: OutputStream): Promise<void> {
    const { lease, gone } = this.#held;
    this.#ended ??= new AbortController();
    const hash = new StreamHash(this.#path(stream));
    this.#hashes.set(stream, hash);
    try {
      await shipOutput(this.#deps, {
        lease,
        stream,
        hash,
        path: this.#path(stream),
        bytesMax: this.#bytesMax,
        ended: this.#ended.signal,
        signal: gone.signal,
      });
    } catch (error) {
      if (gone.signal.aborted) return;
      if (hasCode(error, "LEASE_LOST") || hasCode(error, "NOT_FOUND")) return loseJob(this.#held, "hub");
      if (error instanceof WritError && error.code === "TOO_LARGE") return stopJob(this.#held, "output");
      const { job_id, attempt } = lease;
      this.#deps.logger.error({ err: error, job_id, attempt, stream }, "output could not be sent to the hub");
    }
  }
}
