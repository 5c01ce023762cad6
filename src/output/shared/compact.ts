import type { Segments } from "../../objects/segments.ts";
import type { NewSegment, OutputTable, SegmentPlace } from "../../store/output-table.ts";
import { readParts, type SegmentPlaces } from "./read-parts.ts";

/** So much is done in one call, one segment after the other: no more than one of 8 MiB is in memory. */
const segmentsPerCall = 16;
const removedPerCall = 200;

type CompactTimes = {
  /** How long nothing has been appended, until the rest of an output becomes a segment that is not full. */
  idleMs: number;
  /** Longer than any hub tries to store an object: the hub that began a segment then has died. */
  staleMs: number;
};

export const compactTimes: CompactTimes = { idleMs: 60_000, staleMs: 20 * 60_000 };

export type Compacting = {
  table: OutputTable;
  places: SegmentPlaces;
  times: CompactTimes;
  /** Called as `outputs.segmentPut` when an object is complete and its chunks are still there. */
  failpoint: (name: string) => void | Promise<void>;
};

/**
 * Moves old chunks into segments, if there is a place for them, and removes objects that are no longer needed. Why: ADR
 * 0085.
 */
export async function compact(compacting: Compacting, signal: AbortSignal): Promise<void> {
  const { table, places, times } = compacting;
  // Of two places the object store: what a shared folder has from before stays readable.
  const keptIn: SegmentPlace = places.bucket === undefined ? "folder" : "bucket";
  const segments = places[keptIn];
  if (segments === undefined) return;
  for (let count = 0; count < segmentsPerCall && !signal.aborted; count++) {
    const segment = await table.claimSegment({ keptIn, idleMs: times.idleMs });
    if (segment === null) break;
    await makeSegment({ ...compacting, segments }, segment);
  }
  if (!signal.aborted) await removeGone(compacting);
}

/**
 * The object first, then the exchange. Killed in between, the chunks are still there and the object is a segment that is
 * never kept; it is removed when it is stale.
 */
async function makeSegment(
  compacting: Compacting & { segments: Segments },
  segment: NewSegment,
): Promise<void> {
  const { table, segments, failpoint } = compacting;
  try {
    await segments.put(segment.id, await readChunks(compacting, segment));
  } catch (error) {
    // If this fails too, it is found when it is stale.
    await table.dropSegment(segment.id).catch(() => {});
    throw error;
  }
  await failpoint("outputs.segmentPut");
  // Its row may be gone already, if this has taken too long.
  if (!(await table.keepSegment(segment))) await segments.remove(segment.id);
}

async function readChunks(shared: Compacting, segment: NewSegment): Promise<Buffer<ArrayBuffer>> {
  const { start, size } = segment;
  const bytes = Buffer.allocUnsafe(size);
  let at = 0;
  for await (const piece of readParts(shared, segment, { start, end: start + size }))
    at += piece.copy(bytes, at);
  return bytes;
}

/** The row goes last, so what is interrupted is done again. */
async function removeGone({ table, places, times }: Compacting): Promise<void> {
  const keptIn = (["bucket", "folder"] as const).filter((place) => places[place] !== undefined);
  const gone = await table.listGone({ keptIn, staleMs: times.staleMs, limit: removedPerCall });
  const removed: string[] = [];
  try {
    for (const segment of gone) {
      await places[segment.keptIn]?.remove(segment.id);
      removed.push(segment.id);
    }
  } finally {
    if (removed.length > 0) await table.forgetSegments(removed);
  }
}
