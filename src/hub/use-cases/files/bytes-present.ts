import { WritError } from "../../../core/errors.ts";
import type { ObjectKey, StoredObject } from "../../../store/object-store.ts";
import type { HubDeps } from "../../deps.ts";
import { areFilesSeparate, askOtherHub } from "../../home/separate-files.ts";

const asksAtOnce = 16;
/** After this time a list is shown without the remaining checks. */
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

/**
 * The ids of files whose bytes are known to be gone. If the storage does not answer in time, no file counts as gone.
 */
export async function findGone(deps: HubDeps, files: readonly StoredObject[]): Promise<Set<string>> {
  const gone = new Set<string>();
  const rest = files.values();
  const stop = new AbortController();
  const line = async (): Promise<void> => {
    for (const file of rest) {
      if (stop.signal.aborted) return;
      // Storage that does not answer has lost nothing.
      if (!(await hasBytes(deps, file).catch(() => true))) gone.add(file.id);
    }
  };
  // `stop` ends the wait when all answers have arrived.
  const late = deps.clock.sleep(listMs, stop.signal).catch(() => {});
  const lines = Promise.all(Array.from({ length: Math.min(asksAtOnce, files.length) }, line));
  await Promise.race([lines, late]);
  stop.abort();
  return new Set(gone);
}
