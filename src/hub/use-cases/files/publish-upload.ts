import type { StoredObject } from "../../../store/object-store.ts";
import type { HubDeps } from "../../deps.ts";
import { otherBytes, uploadGone } from "./upload-ended.ts";

const dayMs = 86_400_000;

type WholeFile = { storedAs: string; size: number; sha256: string };

/**
 * Makes bytes that have arrived the file of their upload, unless others came first: then they must be the same. Which of
 * several come first is decided by the row, at one moment, and by nothing that was looked at before. Why: ADR 0093.
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

/** Removes what a call that failed has left, if its upload has ended meanwhile. Returns the file, if there is one. */
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

/** What is left over goes with its row at the latest, so the sender of a file need not hear of it. */
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
