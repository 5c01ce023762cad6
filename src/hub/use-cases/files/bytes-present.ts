import { WritError } from "../../../core/errors.ts";
import type { ObjectKey, StoredObject } from "../../../store/object-store.ts";
import type { HubDeps } from "../../deps.ts";
import { areFilesSeparate, askOtherHub } from "../../home/separate-files.ts";

const asksAtOnce = 16;
/** A list is shown without knowing everything rather than late. */
const listMs = 2_000;

/** Whether the bytes of a file are in storage. Why: ADR 0054. */
export function hasBytes({ objects }: Pick<HubDeps, "objects">, file: StoredObject): Promise<boolean> {
  return objects.has(file, file.size ?? 0);
}

export function bytesGone(
  deps: Pick<HubDeps, "objects" | "leadership">,
  { folderId, objectKey }: Omit<ObjectKey, "tenantId">,
  size: number,
): WritError {
  const why = areFilesSeparate(deps)
    ? askOtherHub
    : "they are not in the hub's storage, and were not restored with it";
  return new WritError("FILE_REMOVED", `the ${size} bytes of ${folderId}/${objectKey} are missing: ${why}`, {
    size,
  });
}

/** The ids of those files whose bytes are known to be gone. Storage that does not answer in time has lost none. */
export async function findGone(deps: HubDeps, files: readonly StoredObject[]): Promise<Set<string>> {
  const gone = new Set<string>();
  const rest = files.values();
  const stop = new AbortController();
  const line = async (): Promise<void> => {
    for (const file of rest) {
      if (stop.signal.aborted) return;
      if (!(await hasBytes(deps, file).catch(() => true))) gone.add(file.id);
    }
  };
  const late = deps.clock.sleep(listMs, stop.signal).catch(() => {});
  const lines = Promise.all(Array.from({ length: Math.min(asksAtOnce, files.length) }, line));
  await Promise.race([lines, late]);
  stop.abort();
  return new Set(gone);
}
