import { WritError } from "../../core/errors.ts";
import type { Segments } from "../../objects/segments.ts";
import type { OutputPart, OutputTable, Segment, SegmentPlace } from "../../store/output-table.ts";
import type { OutputName } from "../outputs.ts";

/** Where segments are. A place that this hub does not know can still have some, of an earlier setting. */
export type SegmentPlaces = Partial<Record<SegmentPlace, Segments>>;

export type SharedPlaces = { table: Pick<OutputTable, "read">; places: SegmentPlaces };

/** As much as one answer of an object store contains. With the piece that the caller has, a reader has no more in memory. */
const segmentReadBytes = 1024 * 1024;
/** As large as the pieces of other drivers. */
const pieceBytes = 256 * 1024;

/** Yields exactly the bytes from `start` to before `end`; fails if there are fewer. Why: ADR 0085. */
export async function* readParts(
  shared: SharedPlaces,
  output: OutputName,
  { start, end }: { start: number; end: number },
): AsyncGenerator<Buffer> {
  for (let position = start; position < end; ) {
    const part = await shared.table.read(output, { start: position, end });
    // The length was already promised to a client, so fewer bytes must be a visible failure.
    if (part === null || position >= part.size) throw endsAt(output, position);
    for await (const piece of piecesOf(shared, output, { part, position, end })) {
      position += piece.length;
      yield piece;
    }
  }
}

/** What one part has from a position on; at least one byte. */
export async function* piecesOf(
  { places }: SharedPlaces,
  output: OutputName,
  { part, position, end }: { part: OutputPart; position: number; end: number },
): AsyncGenerator<Buffer> {
  if (part.segment !== null) {
    yield* readSegment(places, part.segment, { start: position, end });
    return;
  }
  // The table says that there is a byte; a loop that gets none would never end.
  if (part.chunks.length === 0) throw endsAt(output, position);
  yield* part.chunks;
}

async function* readSegment(
  places: SegmentPlaces,
  { id, keptIn, start: base, size }: Segment,
  { start, end }: { start: number; end: number },
): AsyncGenerator<Buffer> {
  const segments = places[keptIn];
  if (segments === undefined) throw new WritError("OUTPUT_ELSEWHERE", placeUnknown[keptIn]);
  const last = Math.min(size, end - base);
  for (let at = start - base; at < last; at += segmentReadBytes) {
    const range = { start: at, end: Math.min(last, at + segmentReadBytes) };
    const bytes = await segments.read(id, range);
    for (let from = 0; from < bytes.length; from += pieceBytes)
      yield bytes.subarray(from, Math.min(bytes.length, from + pieceBytes));
  }
}

const placeUnknown = {
  bucket:
    "this output is in an object store, and the hub has none; set WRIT_S3_ENDPOINT and the settings with it",
  folder: "this output is in a folder that hubs share, and the hub has none; set WRIT_OUTPUTS_DIR",
};

function endsAt({ jobId, attempt, stream }: OutputName, position: number): WritError {
  const message = `output ${jobId}/${attempt}/${stream} ends at byte ${position}`;
  return new WritError("OUTPUT_UNAVAILABLE", message);
}
