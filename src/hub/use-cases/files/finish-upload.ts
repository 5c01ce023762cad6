import { hasCode, WritError } from "../../../core/errors.ts";
import type { PutUpload } from "../../../objects/objects.ts";
import type { ObjectKey, StoredObject } from "../../../store/object-store.ts";
import type { HubDeps } from "../../deps.ts";
import { publishUpload, tidyEnded } from "./publish-upload.ts";

/**
 * Has an object store that receives files directly check the bytes, and makes them the file. If another call was
 * faster, its file is the announced one as well. Why: ADR 0041, ADR 0093.
 */
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
    const storedAs = await objects.complete(upload, { ...whole, parts });
    return await publishUpload(deps, upload, { ...whole, storedAs });
  } catch (error) {
    if ((await tidyEnded(deps, upload)) !== null) return whole;
    if (hasCode(error, "CHECKSUM_MISMATCH") && upload.storeUpload !== null) {
      await deps.store.noteStoreUpload({ id: upload.id, was: upload.storeUpload, storeUpload: null });
    }
    throw error;
  }
}

/**
 * Finishes uploads under this key whose sender has put everything without telling the hub. Resolves with true if there
 * was one.
 */
export async function finishUploads(deps: HubDeps, key: ObjectKey & { userId: string }): Promise<boolean> {
  if (deps.objects.servedBy === "hub") return false;
  const uploads = await deps.store.listUploads({ ...key, nowMs: deps.clock.nowMs() });
  for (const upload of uploads) {
    if (await tryFinish(deps, upload)) return true;
  }
  return false;
}

/** Whether the upload could be finished; missing or different bytes are not an error here. */
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
