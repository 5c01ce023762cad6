import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "../../core/errors.ts";
import { type OutputStream, outputStreams } from "../../core/jobs/output-stream.ts";
import { writeWhole } from "../../runtime/files/write-whole.ts";
import { Masker } from "../../sandbox/plain/masker.ts";

type OutputOptions = {
  attemptDir: string;
  bytesMax: number;
  masks: readonly string[];
  /** Called once, when a stream exceeds its limit or this host cannot write it. */
  onTrouble(): void;
};

type Stream = { fd: number; masker: Masker; leftBytes: number };

/** Writes the output of a container into the files of the attempt, masked and bounded. */
export class ContainerOutput {
  readonly #options: OutputOptions;
  readonly #streams: Record<OutputStream, Stream>;
  isLimited = false;
  /** Why this host could not write all of it. */
  unwritable: string | undefined;

  constructor(options: OutputOptions) {
    this.#options = options;
    const stdout = this.#open("stdout");
    try {
      this.#streams = { stdout, stderr: this.#open("stderr") };
    } catch (error) {
      closeSync(stdout.fd);
      throw error;
    }
  }

  /** Never throws, because it is called from an event handler, where no caller could catch it. */
  write(stream: OutputStream, piece: Uint8Array): void {
    this.#keep(stream, this.#streams[stream].masker.push(piece));
  }

  close(): void {
    for (const stream of outputStreams) {
      this.#keep(stream, this.#streams[stream].masker.end());
      closeSync(this.#streams[stream].fd);
    }
  }

  #open(stream: OutputStream): Stream {
    const { attemptDir, masks, bytesMax } = this.#options;
    const fd = openSync(join(attemptDir, `${stream}.log`), "ax", 0o600);
    return { fd, masker: new Masker(masks), leftBytes: bytesMax };
  }

  #keep(stream: OutputStream, bytes: Buffer): void {
    if (this.unwritable !== undefined) return;
    const place = this.#streams[stream];
    const kept = bytes.subarray(0, place.leftBytes);
    try {
      writeWhole(place.fd, kept);
    } catch (error) {
      this.unwritable = `its output could not be written: ${codeOf(error)}`;
      this.#options.onTrouble();
      return;
    }
    place.leftBytes -= kept.length;
    if (kept.length === bytes.length || this.isLimited) return;
    this.isLimited = true;
    this.#options.onTrouble();
  }
}
