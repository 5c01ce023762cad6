import type { JobDocument } from "../../../contract/document.ts";
import { type Change, decideChange } from "../../../core/change.ts";
import { invalidArgument } from "../../../core/errors.ts";
import type { OutputFile } from "../../../core/output-file.ts";
import { allowsObject, storagePolicyOf } from "../../../core/storage-policy.ts";
import { type HubDeps, rulesNow } from "../../deps.ts";

type ReportedEnd = { jobId: string; change: Extract<Change, { act: "result" | "fail" }> };

/**
 * Refuses the end of an attempt that lists files which its job could not have written: people who may read a job may
 * read its files, so a worker must not be able to list somebody else's.
 */
export async function checkOutputFiles(
  deps: Pick<HubDeps, "store" | "clock" | "settings">,
  { jobId, change }: ReportedEnd,
): Promise<void> {
  if (change.outputFiles === null) return;
  const rules = rulesNow(deps);
  const stored = await deps.store.getJob({ jobId });
  // An end that is refused, or was accepted before, is answered as usual.
  if (stored === null || decideChange(stored.job, change, rules).kind !== "moved") return;

  const policy = storagePolicyOf(JSON.parse(stored.document) as JobDocument) ?? [];
  const files = JSON.parse(change.outputFiles) as OutputFile[];
  const index = files.findIndex(
    ({ folder_id: folderId, object_key: objectKey }) =>
      !allowsObject(policy, { folderId, objectKey, method: "PUT" }),
  );
  const file = files[index];
  if (file === undefined) return;
  const message =
    policy.length === 0
      ? "the job has no output_location, so it has no files"
      : `${file.folder_id}/${file.object_key} is not where this job may put files; see its output_location and storage_access_policy`;
  throw invalidArgument({ path: `output_files[${index}].object_key`, message });
}
