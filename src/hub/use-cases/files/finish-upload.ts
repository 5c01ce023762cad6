import { hasCode, WritError } from "../../../core/errors.ts";
import type { PutUpload } from "../../../objects/objects.ts";
import type { ObjectKey, StoredObject } from "../../../store/object-store.ts";
import type { HubDeps } from "../../deps.ts";
import { uploadOver } from "./over-quota.ts";

const dayMs = 86_400_000;

/** Records that everything has arrived. */
export async function noteArrived(
  deps: HubDeps,
  upload: StoredObject,
  arrived: { size: number; sha256: string },
): Promise<void> {
  const nowMs = deps.clock.nowMs();
  const keptUntil = nowMs + deps.settings.fileRetentionDays * dayMs;
  const { sha256 } = arrived;
  if ((await deps.store.arriveObject({ id: upload.id, sha256, nowMs, keptUntil })) === null)
    throw uploadOver();
  deps.metrics.uploads.inc({ by: upload.jobId === null ? "user" : "job" });
  deps.metrics.uploadedBytes.inc(arrived.size);
}

/** Has a store that takes files directly check what was put, and records that it has arrived. */
export async function finishUpload(
  deps: HubDeps,
  upload: StoredObject,
  parts: PutUpload["parts"],
): Promise<{ size: number; sha256: string }> {
  const { objects } = deps;
  if (objects.servedBy === "hub" || upload.size === null || upload.sha256 === null) {
    throw new WritError("STATE_CONFLICT", "the file has not arrived completely; put the rest of it first");
  }
  const whole = { size: upload.size, sha256: upload.sha256 };
  try {
    await objects.complete(upload, { ...whole, parts });
  } catch (error) {
    if (hasCode(error, "CHECKSUM_MISMATCH")) await beginAgain(deps, upload);
    throw error;
  }
  await noteArrived(deps, upload, whole);
  return whole;
}

/** Parts that were wrong, or wrong together, are of no use: whoever asks for URLs again begins with the first. */
async function beginAgain({ objects, store }: HubDeps, upload: StoredObject): Promise<void> {
  await objects.remove(upload);
  if (upload.storeUpload !== null) await store.noteStoreUpload({ id: upload.id, storeUpload: null });
}

/** Finishes uploads under this key whose sender has put everything and not told the hub. True if there was one. */
export async function finishUploads(deps: HubDeps, key: ObjectKey & { userId: string }): Promise<boolean> {
  if (deps.objects.servedBy === "hub") return false;
  const uploads = await deps.store.listUploads({ ...key, nowMs: deps.clock.nowMs() });
  for (const upload of uploads) {
    if (await tryFinish(deps, upload)) return true;
  }
  return false;
}

/** Whether the upload could be finished; what is not there, or is something else, is not an error here. */
export async function tryFinish(deps: HubDeps, upload: StoredObject): Promise<boolean> {
  if (deps.objects.servedBy === "hub") return false;
  try {
    await finishUpload(deps, upload, []);
    return true;
  } catch (error) {
    const isOpen =
      error instanceof WritError && ["NOT_FOUND", "CHECKSUM_MISMATCH", "STATE_CONFLICT"].includes(error.code);
    if (isOpen) return false;
    throw error;
  }
}
