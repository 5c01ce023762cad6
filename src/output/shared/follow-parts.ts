import { WritError } from "../../core/errors.ts";
import type { Clock } from "../../runtime/clock/clock.ts";
import type { JobWakes } from "../../runtime/clock/job-wakes.ts";
import { WakeUp } from "../../runtime/clock/wake-up.ts";
import type { OutputPart } from "../../store/output-table.ts";
import type { FollowOptions, OutputName } from "../outputs.ts";
import { watchEnd } from "../watch-end.ts";
import { piecesOf, type SharedPlaces } from "./read-parts.ts";

type Following = SharedPlaces & { wakes: JobWakes; clock: Pick<Clock, "sleep"> };

/** A change without a notice is found after this time. */
const lookEveryMs = 1_000;

/** Yields the bytes from `offset` on, and then what any hub adds. No read is under way while the consumer is busy. */
export async function* followParts(
  following: Following,
  output: OutputName,
  { offset, ended, signal }: FollowOptions,
): AsyncGenerator<Buffer> {
  const { wakes, clock } = following;
  const wakeUp = new WakeUp();
  const stopWaking = wakes.add(output.jobId, wakeUp.wake);
  const end = watchEnd(ended, wakeUp.wake);
  const reader = new PartReader(following, output, offset);
  try {
    while (true) {
      signal.throwIfAborted();
      // The order matters: forget earlier notices, note whether the output has ended, then look.
      wakeUp.clear();
      const isOver = end.isOver();
      for await (const piece of reader.rest(isOver)) {
        yield piece;
        signal.throwIfAborted();
      }
      if (isOver) return;
      await wakeUp.wait({ signal, timeout: { clock, ms: lookEveryMs } });
    }
  } finally {
    end.close();
    stopWaking();
  }
}

/** Reads on where it stopped, and notices when the output is another one. */
class PartReader {
  readonly #shared: SharedPlaces;
  readonly #output: OutputName;
  #position: number;
  #last: Pick<OutputPart, "outputId" | "size"> | null = null;

  constructor(shared: SharedPlaces, output: OutputName, offset: number) {
    this.#shared = shared;
    this.#output = output;
    this.#position = offset;
  }

  async *rest(isOver: boolean): AsyncGenerator<Buffer> {
    const end = Number.MAX_SAFE_INTEGER;
    while (true) {
      const position = this.#position;
      const part = await this.#shared.table.read(this.#output, { start: position, end });
      if (this.#last !== null && part?.outputId !== this.#last.outputId) {
        // What was removed after its end and was read to its end is missing nothing.
        if (isOver && position >= this.#last.size) return;
        throw removed(this.#output);
      }
      this.#last = part;
      if (part === null || position >= part.size) return;
      for await (const piece of piecesOf(this.#shared, this.#output, { part, position, end })) {
        this.#position += piece.length;
        yield piece;
      }
    }
  }
}

function removed({ jobId, attempt, stream }: OutputName): WritError {
  return new WritError("OUTPUT_UNAVAILABLE", `output ${jobId}/${attempt}/${stream} was removed`);
}
