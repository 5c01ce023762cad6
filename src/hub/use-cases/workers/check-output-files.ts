import type { JobDocument } from "../../../contract/document.ts";
import { invalidArgument, WritError } from "../../../core/errors.ts";
import { type Change, decideChange } from "../../../core/jobs/change.ts";
import type { OutputFile } from "../../../core/jobs/output-file.ts";
import { allowsObject, storagePolicyOf } from "../../../core/storage-policy.ts";
import type { StoredObject } from "../../../store/object-store.ts";
import { type HubDeps, rulesNow } from "../../deps.ts";
import { tryFinish } from "../files/finish-upload.ts";

type ReportedEnd = { jobId: string; change: Extract<Change, { act: "result" | "fail" }> };

/** More would not help the reader. */
const problemsMax = 100;

/**
 * Refuses the end of an attempt that lists files which its job could not have written: people who may read a job may
 * read its files, so a worker must not be able to list files of others. Files that have not arrived, or are different,
 * are refused too: no job ends with a list of files that cannot be read. Why: ADR 0041.
 */
export async function checkOutputFiles(deps: HubDeps, { jobId, change }: ReportedEnd): Promise<void> {
  if (change.outputFiles === null) return;
  const rules = rulesNow(deps);
  const stored = await deps.store.getJob({ jobId });
  // An end that is refused, or was accepted before, is answered as usual.
  if (stored === null || decideChange(stored.job, change, rules).kind !== "moved") return;

  const files = JSON.parse(change.outputFiles) as OutputFile[];
  checkPlaces(files, JSON.parse(stored.document) as JobDocument);
  await checkArrived(deps, files, stored.job);
}

function checkPlaces(files: OutputFile[], document: JobDocument): void {
  const policy = storagePolicyOf(document) ?? [];
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

async function checkArrived(
  deps: HubDeps,
  files: OutputFile[],
  { id: jobId, attempt }: { id: string; attempt: number },
): Promise<void> {
  const objects = await deps.store.listJobObjects({ jobId, nowMs: deps.clock.nowMs() });
  const ofAttempt = objects.filter((object) => object.attempt === attempt);
  const byKey = Map.groupBy(ofAttempt, ({ folderId, objectKey }) => `${folderId}/${objectKey}`);
  const problems: { folder_id: string; object_key: string; problem: string }[] = [];
  for (const file of files) {
    const problem = await problemOf(deps, file, byKey.get(`${file.folder_id}/${file.object_key}`) ?? []);
    if (problem !== null) problems.push({ folder_id: file.folder_id, object_key: file.object_key, problem });
  }
  const [first] = problems;
  if (first === undefined) return;
  const more = problems.length > 1 ? `, and ${problems.length - 1} others` : "";
  throw new WritError(
    "FILES_INCOMPLETE",
    `${first.folder_id}/${first.object_key}${more}: ${meaning[first.problem]}; upload again and report again, or report UPLOAD_FAILED`,
    { files: problems.slice(0, problemsMax) },
  );
}

const meaning: Record<string, string> = {
  missing: "the file has not arrived",
  size: "the file that has arrived has another size",
  sha256: "the file that has arrived has another SHA-256",
};

async function problemOf(deps: HubDeps, file: OutputFile, here: StoredObject[]): Promise<string | null> {
  const arrived: StoredObject[] = [];
  for (const object of here) {
    // A sender that puts files into an object store directly may not have completed the upload.
    if (object.state === "arrived" || (await tryFinish(deps, object))) arrived.push(object);
  }
  if (arrived.length === 0) return "missing";
  const ofSize = arrived.filter(({ size }) => size === file.size);
  if (ofSize.length === 0) return "size";
  return ofSize.some(({ sha256 }) => sha256 === file.sha256) ? null : "sha256";
}
