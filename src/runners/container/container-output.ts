import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { type OutputStream, outputStreams } from "../../core/output-stream.ts";
import { Masker } from "../../sandbox/masker.ts";

type OutputOptions = {
  attemptDir: string;
  bytesMax: number;
  masks: readonly string[];
  /** Called once, when a stream has more than it may. */
  onLimit(): void;
};

/** Writes what comes out of a container into the files of the attempt, masked and bounded. */
export class ContainerOutput {
  readonly #options: OutputOptions;
  readonly #streams: Record<OutputStream, { fd: number; masker: Masker; leftBytes: number }>;
  isLimited = false;

  constructor(options: OutputOptions) {
    this.#options = options;
    const open = (stream: OutputStream) => ({
      fd: openSync(join(options.attemptDir, `${stream}.log`), "ax", 0o600),
      masker: new Masker(options.masks),
      leftBytes: options.bytesMax,
    });
    this.#streams = { stdout: open("stdout"), stderr: open("stderr") };
  }

  write(stream: OutputStream, piece: Uint8Array): void {
    this.#keep(stream, this.#streams[stream].masker.push(piece));
  }

  close(): void {
    for (const stream of outputStreams) {
      this.#keep(stream, this.#streams[stream].masker.end());
      closeSync(this.#streams[stream].fd);
    }
  }

  #keep(stream: OutputStream, bytes: Buffer): void {
    const place = this.#streams[stream];
    const kept = bytes.subarray(0, place.leftBytes);
    for (let done = 0; done < kept.length; ) done += writeSync(place.fd, kept, done);
    place.leftBytes -= kept.length;
    if (kept.length === bytes.length || this.isLimited) return;
    this.isLimited = true;
    this.#options.onLimit();
  }
}
