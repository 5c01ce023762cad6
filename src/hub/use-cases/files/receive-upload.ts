import { hasCode, invalidArgument, WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import type { ArrivingBytes } from "../../../objects/objects.ts";
import type { StoredObject } from "../../../store/object-store.ts";
import type { HubDeps } from "../../deps.ts";
import { compareWithFile } from "./compare-with-file.ts";
import type { FileTicket } from "./file-ticket.ts";
import { openUpload } from "./open-upload.ts";
import { checkOutcome } from "./over-quota.ts";
import { uploadRestMs } from "./presign-files.ts";
import { publishUpload, tidyEnded } from "./publish-upload.ts";
import { otherBytes } from "./upload-ended.ts";

type ReceiveCall = {
  ticket: FileTicket;
  identity: Identity;
  origin: Origin;
  /** Null if the sender did not say how large the file is. */
  total: number | null;
  /** The offset after this request's bytes; null for everything that is left. */
  end: number | null;
} & Pick<ArrivingBytes, "offset" | "bytes">;

type Arrived = { size: number; sha256: string | null };

/**
 * Takes bytes of a file from a signed URL. The file exists when the last one has arrived and the hash is right, and never
 * changes after that: the same bytes again, after a lost answer, are answered like the first, others are refused.
 * Why: ADR 0093.
 */
export async function receiveUpload(deps: HubDeps, call: ReceiveCall): Promise<Arrived> {
  const { objects } = deps;
  if (objects.servedBy !== "hub") throw notHere();
  const upload = await openUpload(deps, call.ticket);
  const total = upload.state === "arriving" ? await reserve(deps, call, upload) : null;
  // The upload may have ended after it was opened.
  if (total === null) return compareWithFile({ ...deps, objects }, call, await openUpload(deps, call.ticket));
  const { offset, bytes } = call;
  try {
    const arrived = await objects.receive(upload, { offset, total, sha256: upload.sha256, bytes });
    if (arrived.sha256 === null) return checkEnd(call, arrived, total);
    return await publishUpload(deps, upload, { ...arrived, sha256: arrived.sha256 });
  } catch (error) {
    const file = await tidyEnded(deps, upload);
    throw file !== null && hasCode(error, "CHECKSUM_MISMATCH") ? otherBytes(file) : error;
  }
}

/** How far an upload has come, for a sender that wants to continue it. */
export async function uploadProgress(
  deps: HubDeps,
  ticket: FileTicket,
): Promise<{ size: number; isComplete: boolean }> {
  if (deps.objects.servedBy !== "hub") throw notHere();
  const upload = await deps.store.getObject({ id: ticket.id ?? "", nowMs: deps.clock.nowMs() });
  if (upload === null) throw new WritError("NOT_FOUND", "there is no such upload; ask for a new URL");
  if (upload.state !== "arriving") return { size: upload.size ?? 0, isComplete: true };
  return { size: await deps.objects.arrivedBytes(upload), isComplete: false };
}

/** The size of the whole file, counted against the quota before its first byte arrives. Null if the upload has ended. */
async function reserve(deps: HubDeps, call: ReceiveCall, upload: StoredObject): Promise<number | null> {
  const { size } = call.ticket;
  const total = call.total ?? size;
  if (total === null) {
    throw invalidArgument({
      path: "Content-Length",
      message: "is required, because the URL contains no size",
    });
  }
  if (size !== null && size !== total) {
    const message = `the file has ${total} bytes, but the URL is for one of ${size}`;
    throw new WritError("INVALID_ARGUMENT", message);
  }
  const nowMs = deps.clock.nowMs();
  const expiresAt = nowMs + uploadRestMs;
  const outcome = await deps.store.reserveUpload({ id: upload.id, size: total, nowMs, expiresAt });
  if (outcome.kind === "unknown") return null;
  await checkOutcome(deps, { ...call, owner: upload }, outcome);
  return total;
}

/** A part with a declared end may end there; any other body that ends early was cut off. */
function checkEnd({ end }: ReceiveCall, arrived: Arrived, total: number): Arrived {
  if (end === arrived.size) return { size: arrived.size, sha256: null };
  throw new WritError(
    "INVALID_ARGUMENT",
    `only ${arrived.size} of ${total} bytes have arrived; send the rest`,
    {
      size: arrived.size,
    },
  );
}

function notHere(): WritError {
  return new WritError("NOT_FOUND", "this hub's files are in its object store; ask for a new URL");
}
