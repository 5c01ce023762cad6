import type { Clock } from "../../../runtime/clock/clock.ts";
import type { Output } from "./read-output.ts";

/** Bounds of one call: the matches that it finds, and about how long it reads. */
const offsetsMax = 1_000;
const searchMs = 250;

type Found = {
  /** The offsets of the matches, in bytes. */
  offsets: number[];
  /** The offset to continue at; null if all output so far has been searched. */
  next: number | null;
};

type Search = {
  text: string;
  from: number;
  /** A to Z match a to z; other letters match only themselves. */
  isCaseIgnored?: boolean;
  clock: Pick<Clock, "monotonicMs">;
};

/** Finds a literal text in an output, from an offset on. Matches do not overlap. */
export async function searchOutput(
  output: Pick<Output, "size" | "read">,
  { text, from, isCaseIgnored = false, clock }: Search,
): Promise<Found> {
  const fold = isCaseIgnored ? lowerCase : (bytes: Uint8Array) => bytes;
  const needle = fold(Buffer.from(text));
  const endAt = clock.monotonicMs() + searchMs;
  const offsets: number[] = [];
  /** Bytes that may be the beginning of a match, and their offset. */
  let rest = Buffer.alloc(0);
  let restAt = from;
  for await (const chunk of output.read(Math.min(from, output.size), output.size)) {
    const bytes = Buffer.concat([rest, fold(chunk)]);
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

/** Byte by byte, so that offsets stay the same; bytes of other characters are above these. */
function lowerCase(bytes: Uint8Array): Uint8Array {
  const folded = Uint8Array.from(bytes);
  for (let at = 0; at < folded.length; at++) {
    const byte = folded[at]!;
    if (byte >= 65 && byte <= 90) folded[at] = byte + 32;
  }
  return folded;
}
