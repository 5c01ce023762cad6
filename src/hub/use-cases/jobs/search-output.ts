import type { Clock } from "../../../runtime/clock.ts";
import type { Output } from "./read-output.ts";

/** Bounds of one call: places that it finds, and about how long it reads. */
const offsetsMax = 1_000;
const searchMs = 250;

type Found = {
  /** Where the text begins, in bytes. */
  offsets: number[];
  /** Where to continue; null if everything that was written so far has been searched. */
  next: number | null;
};

/** Finds a literal text in an output, from an offset on. Places do not overlap. */
export async function searchOutput(
  output: Pick<Output, "size" | "read">,
  { text, from, clock }: { text: string; from: number; clock: Pick<Clock, "monotonicMs"> },
): Promise<Found> {
  const needle = Buffer.from(text);
  const endAt = clock.monotonicMs() + searchMs;
  const offsets: number[] = [];
  /** Bytes that may be the beginning of the text, and where they are. */
  let rest = Buffer.alloc(0);
  let restAt = from;
  for await (const chunk of output.read(Math.min(from, output.size), output.size)) {
    const bytes = Buffer.concat([rest, chunk]);
    let at = 0;
    for (let place = bytes.indexOf(needle); place !== -1; place = bytes.indexOf(needle, at)) {
      offsets.push(restAt + place);
      at = place + needle.length;
      if (offsets.length === offsetsMax) return { offsets, next: restAt + at };
    }
    const searched = Math.max(at, bytes.length - needle.length + 1, 0);
    rest = bytes.subarray(searched);
    restAt += searched;
    if (clock.monotonicMs() > endAt && restAt + rest.length < output.size) return { offsets, next: restAt };
  }
  return { offsets, next: null };
}
