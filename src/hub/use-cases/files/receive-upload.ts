import { invalidArgument, WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import type { ArrivingBytes } from "../../../objects/objects.ts";
import type { StoredObject } from "../../../store/object-store.ts";
import type { HubDeps } from "../../deps.ts";
import type { FileTicket } from "./file-ticket.ts";
import { noteArrived } from "./finish-upload.ts";
import { openUpload } from "./open-upload.ts";
import { checkOutcome } from "./over-quota.ts";
import { uploadRestMs } from "./presign-files.ts";

type ReceiveCall = {
  ticket: FileTicket;
  identity: Identity;
  origin: Origin;
  /** Null if the sender did not say how large the file is. */
  total: number | null;
  /** The first byte after what this request contains; null for all that is left. */
  end: number | null;
} & Pick<ArrivingBytes, "offset" | "bytes">;

type Arrived = { size: number; sha256: string | null };

/** Takes bytes of a file from a signed URL. The file exists when the last one has arrived and the hash is right. */
export async function receiveUpload(deps: HubDeps, call: ReceiveCall): Promise<Arrived> {
  const { ticket, offset, bytes } = call;
  const upload = await openUpload(deps, ticket);
  const total = await reserve(deps, call, upload);
  if (deps.objects.servedBy !== "hub") throw notHere();
  const arrived = await deps.objects.receive(upload, { offset, total, bytes });
  if (arrived.sha256 === null) return checkEnd(call, arrived, total);
  if (upload.sha256 !== null && upload.sha256 !== arrived.sha256) {
    await deps.objects.remove(upload);
    throw new WritError(
      "CHECKSUM_MISMATCH",
      `the bytes have the SHA-256 ${arrived.sha256}, not ${upload.sha256}; nothing of them was kept, send them again`,
    );
  }
  await noteArrived(deps, upload, { size: arrived.size, sha256: arrived.sha256 });
  return arrived;
}

/** How far an upload has come, for somebody who wants to continue it. */
export async function uploadProgress(
  deps: HubDeps,
  ticket: FileTicket,
): Promise<{ size: number; isComplete: boolean }> {
  if (deps.objects.servedBy !== "hub") throw notHere();
  const upload = await deps.store.getObject({ id: ticket.id ?? "", nowMs: deps.clock.nowMs() });
  if (upload === null) throw new WritError("NOT_FOUND", "there is no such upload; ask for a new URL");
  if (upload.state !== "arriving") return { size: upload.size ?? 0, isComplete: true };
  return { size: await deps.objects.sizeOf(upload), isComplete: false };
}

/** The size of the whole file, counted against the quota before its first byte arrives. */
async function reserve(deps: HubDeps, call: ReceiveCall, upload: StoredObject): Promise<number> {
  const total = call.total ?? upload.size;
  if (total === null) {
    throw invalidArgument({
      path: "Content-Length",
      message: "is required, because the URL contains no size",
    });
  }
  if (upload.size !== null && upload.size !== total && call.ticket.size !== null) {
    const message = `the file has ${total} bytes, but the URL is for one of ${upload.size}`;
    throw new WritError("INVALID_ARGUMENT", message);
  }
  const expiresAt = deps.clock.nowMs() + uploadRestMs;
  const outcome = await deps.store.reserveUpload({ id: upload.id, size: total, expiresAt });
  await checkOutcome(deps, { ...call, owner: upload }, outcome);
  return total;
}

/** A part that says where it ends may end there; anything else that ends early was cut off. */
function checkEnd({ end }: ReceiveCall, arrived: Arrived, total: number): Arrived {
  if (end === arrived.size) return arrived;
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
