import { closeSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { OutputSizes } from "../../contract/shapes/report-shapes.ts";
import { hasCode } from "../../core/errors.ts";
import { type OutputStream, outputStreams } from "../../core/jobs/output-stream.ts";
import { type SmallOutput, smallOutputBytesMax } from "../../core/jobs/small-output.ts";
import type { AttemptSecrets } from "../../runners/attempt-secrets.ts";
import { writeWhole } from "../../runtime/files/write-whole.ts";
import type { Logger } from "../../runtime/log/logger.ts";
import type { Masker } from "../../sandbox/plain/masker.ts";
import { sha256Hex } from "../../signing/mac.ts";
import { emptySha256 } from "../../signing/receipt.ts";
import { type HeldJob, loseJob, stopJob } from "../claims/held-jobs.ts";
import { type ShipDeps, shipOutput } from "./output-shipper.ts";
import { StreamHash } from "./stream-hash.ts";

type OutputDeps = ShipDeps & { logger: Logger };

/** The output of one attempt: written to files, and sent to the hub. */
export class AttemptOutput {
  readonly #deps: OutputDeps;
  readonly #held: HeldJob;
  readonly #dir: string;
  readonly #bytesMax: number;
  readonly #secrets: AttemptSecrets;
  /** Set for a job that runs inside the worker and has secrets. */
  #masker: Masker | undefined;
  readonly #shipments = new Map<OutputStream, Promise<void>>();
  readonly #hashes = new Map<OutputStream, StreamHash>();
  #file: number | undefined;
  #writtenBytes = 0;
  #isOver = false;
  #isRefused = false;
  /** Created for the first stream that is followed, because most functions write nothing. */
  #ended: AbortController | undefined;

  constructor(
    deps: OutputDeps,
    held: HeldJob,
    options: { dir: string; bytesMax: number; secrets: AttemptSecrets },
  ) {
    this.#deps = deps;
    this.#held = held;
    this.#dir = options.dir;
    this.#bytesMax = options.bytesMax;
    this.#secrets = options.secrets;
  }

  /** The whole output, if the attempt ended before anything was sent. */
  #small: SmallOutput | undefined;

  /** Keeps the output of an ended attempt that was neither sent nor written to disk, for the report of its end. */
  keepSmall(output: SmallOutput): void {
    this.#small = output;
  }

  /** The output for the report of the end; undefined if there is none. */
  get small(): SmallOutput | undefined {
    return this.#small !== undefined && this.#small.stdout.length + this.#small.stderr.length > 0
      ? this.#small
      : undefined;
  }

  /** Sends the small output like that of a long job, because the hub refuses it in the report. */
  async shipSmall(): Promise<void> {
    const small = this.#small;
    if (small === undefined) return;
    this.#small = undefined;
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 });
    for (const stream of outputStreams) {
      if (small[stream].length === 0) continue;
      writeFileSync(this.#path(stream), small[stream], { mode: 0o600 });
      this.follow(stream);
    }
    await this.finish();
  }

  /** Whether the attempt has left anything on disk. */
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
    const bytes = Buffer.from(text);
    if (!this.#secrets.isEmpty) this.#masker ??= this.#secrets.newMasker();
    this.#append(this.#masker?.push(bytes) ?? bytes);
  }

  /**
   * Adds the last lines of stderr, for a job that runs inside the worker. They are sent with the report of the end if
   * the job has written nothing else. A long text is cut, so that it does not change how the attempt has ended.
   */
  writeTrace(text: string): void {
    if (this.#isOver) return;
    const bytes = Buffer.from(this.#secrets.maskMessage(text)).subarray(0, this.#bytesMax);
    if (!this.hasFiles && bytes.length <= smallOutputBytesMax) {
      this.keepSmall({ stdout: Buffer.alloc(0), stderr: bytes });
      return;
    }
    try {
      mkdirSync(this.#dir, { recursive: true, mode: 0o700 });
      writeFileSync(this.#path("stderr"), bytes, { mode: 0o600 });
      this.follow("stderr");
    } catch (error) {
      const { job_id, attempt } = this.#held.lease;
      this.#deps.logger.error({ err: error, job_id, attempt }, "where a handler failed could not be written");
    }
  }

  #append(bytes: Buffer): void {
    const left = this.#bytesMax - this.#writtenBytes;
    const kept = bytes.subarray(0, left);
    this.#file ??= this.#open();
    writeWhole(this.#file, kept);
    this.#writtenBytes += kept.length;
    if (bytes.length > left) stopJob(this.#held, "output");
  }

  /** Ends the output. Resolves when the hub has everything, or when the output no longer matters. */
  async finish(): Promise<void> {
    const held = this.#isOver ? undefined : this.#masker?.end();
    if (held !== undefined && held.length > 0) this.#append(held);
    this.#isOver = true;
    this.#ended?.abort();
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
    await Promise.all(this.#shipments.values());
  }

  /** Whether the hub has accepted only a part, because the rest exceeds its limit. Valid after `finish`. */
  get isRefused(): boolean {
    return this.#isRefused;
  }

  /** How much the hub has confirmed; undefined if nothing was written. Valid after `finish`. */
  get sizes(): OutputSizes | undefined {
    const [stdout, stderr] = [this.#keptBytes("stdout"), this.#keptBytes("stderr")];
    return stdout + stderr === 0 ? undefined : { stdout, stderr };
  }

  /**
   * Sends output again that the hub has accepted and then lost; `has` is the hub's report of what it has. Resolves when
   * the hub has all of it again, or accepts no more: `sizes` are correct either way.
   */
  async shipAgain(has: OutputSizes = { stdout: 0, stderr: 0 }): Promise<void> {
    const again = (["stdout", "stderr"] as const).filter((stream) => has[stream] < this.#keptBytes(stream));
    await Promise.all(again.map((stream) => this.#mend(stream, has[stream])));
  }

  /** The SHA-256 of the hub's part of a stream. Valid after `finish`. */
  hashOf(stream: OutputStream): Promise<string> {
    const small = this.#small?.[stream];
    if (small !== undefined && small.length > 0) return Promise.resolve(sha256Hex(small));
    return this.#hashes.get(stream)?.digest() ?? Promise.resolve(emptySha256);
  }

  #keptBytes(stream: OutputStream): number {
    return this.#hashes.get(stream)?.keptBytes ?? 0;
  }

  async #mend(stream: OutputStream, offset: number): Promise<void> {
    const { job_id, attempt } = this.#held.lease;
    const bytesMax = this.#keptBytes(stream);
    const facts = { job_id, attempt, stream, bytes: bytesMax, at_hub: offset };
    this.#deps.logger.warn(facts, "the hub has lost output that it had accepted; sending it again");
    this.#hashes.get(stream)?.jump(offset);
    const wasRefused = this.#isRefused;
    await this.#ship(stream, { offset, bytesMax });
    // The hub had all of it once, so the job did not exceed its limit.
    this.#isRefused = wasRefused;
    const left = this.#keptBytes(stream);
    if (left === bytesMax || this.#held.gone.signal.aborted) return;
    this.#deps.logger.error(
      { ...facts, at_hub: left },
      "output that the hub has lost could not be sent again",
    );
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

  async #ship(stream: OutputStream, part = { offset: 0, bytesMax: this.#bytesMax }): Promise<void> {
    const { lease, gone } = this.#held;
    this.#ended ??= new AbortController();
    const hash = this.#hashes.get(stream) ?? new StreamHash(this.#path(stream));
    this.#hashes.set(stream, hash);
    try {
      await shipOutput(this.#deps, {
        lease,
        stream,
        hash,
        path: this.#path(stream),
        ...part,
        ended: this.#ended.signal,
        signal: gone.signal,
      });
    } catch (error) {
      if (gone.signal.aborted) return;
      if (hasCode(error, "LEASE_LOST", "NOT_FOUND")) return loseJob(this.#held, "hub");
      if (hasCode(error, "TOO_LARGE")) {
        this.#isRefused = true;
        return stopJob(this.#held, "output");
      }
      const { job_id, attempt } = lease;
      this.#deps.logger.error({ err: error, job_id, attempt, stream }, "output could not be sent to the hub");
    }
  }
}
