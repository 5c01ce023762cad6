import { WritError } from "../../core/errors.ts";
import type { OutputStream } from "../../core/jobs/output-stream.ts";
import { followFile } from "../../output/folder/follow-file.ts";
import type { Lease } from "../../signing/lease.ts";
import type { HubCalls } from "../hub/hub-calls.ts";
import { hubPauseMs, type RetryDeps, retryWhileAway } from "../hub/hub-presence.ts";
import type { StreamHash } from "./stream-hash.ts";

type Shipment = {
  lease: Lease;
  stream: OutputStream;
  path: string;
  /** The offset to begin at, if the hub has reported what it has (default: 0). */
  offset?: number;
  /** At most this many bytes of the file are sent. */
  bytesMax: number;
  /** Aborted when nothing more will be written. */
  ended: AbortSignal;
  /** Receives the bytes that the hub has accepted. */
  hash?: StreamHash;
  /** Aborted when the attempt's output no longer matters. */
  signal: AbortSignal;
};

export type ShipDeps = RetryDeps & { calls: Pick<HubCalls, "appendOutput"> };

const chunkBytes = 256 * 1024;

/**
 * Sends a job's output to the hub while it is written, and returns when the hub has all of it. Bytes are sent by offset
 * and stay on disk until then: a lost response, a hub that is away, or one that has lost the end, leaves no gap and no
 * duplicates. Only one chunk is in memory at a time.
 */
export async function shipOutput(deps: ShipDeps, shipment: Shipment): Promise<void> {
  let { offset = 0 } = shipment;
  let surprises = 0;
  while (true) {
    const { absences } = deps.presence;
    const { sent, isAtHub, size } = await shipFrom(deps, shipment, offset);
    // A hub that was away may have lost power, and with it bytes that it had accepted, so it is asked once more.
    const wasAway = deps.presence.absences !== absences && sent > 0;
    const atHub = isAtHub && wasAway ? await sendChunk(deps, shipment, nothingAt(sent)) : size;
    if (isAtHub && atHub === sent) return;
    // The hub's count differs from the worker's: it already had the chunk, or it has lost some. The hub's count is
    // right either way.
    surprises = atHub > offset ? 0 : surprises + 1;
    offset = atHub;
    shipment.hash?.jump(atHub);
    if (surprises > 1) await deps.clock.sleep(hubPauseMs(surprises, deps.random), shipment.signal);
  }
}

type Shipped = { sent: number; size: number; isAtHub: boolean };

/** Sends from an offset to the end; returns the hub's size as soon as it is not what was expected. */
async function shipFrom(deps: ShipDeps, shipment: Shipment, from: number): Promise<Shipped> {
  const { path, ended, signal, bytesMax } = shipment;
  let offset = from;
  // The next piece is read when the hub has confirmed this one; any other response ends the loop.
  const options = { path, offset, chunkBytes, reusesBuffer: true, isFresh: from === 0, ended, signal };
  for await (const chunk of followFile(options)) {
    const bytes = chunk.subarray(0, Math.max(0, bytesMax - offset));
    if (bytes.length === 0) break;
    const size = await sendChunk(deps, shipment, { offset, bytes });
    if (size !== offset + bytes.length) return { sent: offset, size, isAtHub: false };
    shipment.hash?.keep(offset, bytes);
    offset = size;
  }
  return { sent: offset, size: offset, isAtHub: true };
}

/** An empty chunk, which the hub answers with the size like any other. */
function nothingAt(offset: number): { offset: number; bytes: Uint8Array } {
  return { offset, bytes: new Uint8Array() };
}

function sendChunk(
  deps: ShipDeps,
  { lease, stream, signal }: Shipment,
  chunk: { offset: number; bytes: Uint8Array },
): Promise<number> {
  return retryWhileAway(deps, signal, async (callSignal) => {
    try {
      return await deps.calls.appendOutput(lease, { stream, ...chunk }, callSignal);
    } catch (error) {
      // A retry does not change the limit: the job has written more than it may.
      if (error instanceof WritError && error.code === "QUOTA_EXCEEDED") {
        throw new WritError("TOO_LARGE", error.message, error.details);
      }
      throw error;
    }
  });
}
