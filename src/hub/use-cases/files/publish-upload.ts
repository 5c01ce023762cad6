import type { StoredObject } from "../../../store/object-store.ts";
import type { HubDeps } from "../../deps.ts";
import { otherBytes, uploadGone } from "./upload-ended.ts";

const dayMs = 86_400_000;

type WholeFile = { storedAs: string; size: number; sha256: string };

/**
 * Makes arrived bytes the file of their upload, unless others came first: then they must be equal. The row alone
 * decides which came first, at one moment; earlier reads do not count. Why: ADR 0093.
 */
export async function publishUpload(
  deps: HubDeps,
  upload: StoredObject,
  { storedAs, size, sha256 }: WholeFile,
): Promise<{ size: number; sha256: string }> {
  const nowMs = deps.clock.nowMs();
  const keptUntil = nowMs + deps.settings.fileRetentionDays * dayMs;
  await deps.failpoint("upload.beforePublish");
  const file = await deps.store.arriveObject({ id: upload.id, size, sha256, storedAs, nowMs, keptUntil });
  await orNull(deps, upload, () => tidy(deps, upload, file));
  if (file === null) throw uploadGone();
  if (file.sha256 !== sha256) throw otherBytes(file);
  if (file.storedAs === storedAs) {
    deps.metrics.uploads.inc({ by: upload.jobId === null ? "user" : "job" });
    deps.metrics.uploadedBytes.inc(size);
  }
  return { size, sha256 };
}

/** Removes the leftovers of a failed call if its upload has ended meanwhile. Returns the file, if there is one. */
export async function tidyEnded(deps: HubDeps, upload: StoredObject): Promise<StoredObject | null> {
  const { store, clock } = deps;
  return orNull(deps, upload, async () => {
    const file = await store.getObject({ id: upload.id, nowMs: clock.nowMs() });
    if (file?.state === "arriving") return null;
    await tidy(deps, upload, file);
    return file;
  });
}

function tidy({ objects }: HubDeps, upload: StoredObject, file: StoredObject | null): Promise<void> {
  return file === null ? objects.remove(upload) : objects.tidy(file);
}

/** Leftovers are removed with their row at the latest, so an error here does not reach the sender. */
async function orNull<T>(
  { failures }: HubDeps,
  upload: StoredObject,
  act: () => Promise<T>,
): Promise<T | null> {
  try {
    return await act();
  } catch (error) {
    failures.warn(error, "what is left of an upload could not be removed", { object_id: upload.id });
    return null;
  }
}
