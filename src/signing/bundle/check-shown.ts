import type { OutputFile } from "../../core/jobs/output-file.ts";
import type { JsonObject } from "../../core/text/json-value.ts";
import { canonicalize } from "../canonical.ts";
import { parseJson } from "../parse-json.ts";
import type { Receipt } from "../receipt-text.ts";
import { attempt } from "./attempt-to-read.ts";

/** `isFine` is null for what could not be checked because it is not available. */
export type BundleStep = { step: string; isFine: boolean | null; says: string };

/** A file as the hub lists it; reports from before receipts listed files may lack hash and size. */
export type ListedFile = Pick<OutputFile, "folder_id" | "object_key"> & {
  sha256?: string | undefined;
  size?: number | undefined;
};

/** `damaged` names what the hub itself has found. */
export type ShownJob = {
  status: string;
  attempt: number;
  exit_code: number | null;
  isolation: object | null;
  damaged?: string[] | undefined;
};

export function checkOutput(
  step: string,
  expected: string | undefined,
  found: string | undefined,
): BundleStep {
  if (found === undefined)
    return { step, isFine: null, says: `not available; the receipt names SHA-256 ${expected}` };
  const isSame = expected === found;
  return {
    step,
    isFine: isSame,
    says: isSame ? `matches the receipt (SHA-256 ${found})` : "does not match the receipt",
  };
}

export function checkFiles(receipt: Receipt | null, found: readonly ListedFile[] | undefined): BundleStep {
  const step = "files";
  if (receipt === null) return { step, isFine: false, says: "it is not a valid receipt" };
  const named = filesIn(receipt);
  const { length } = named;
  if (length === 0 && (found === undefined || found.length === 0)) {
    return { step, isFine: true, says: "none, as the receipt says" };
  }
  if (found === undefined) return { step, isFine: null, says: `not available; the receipt names ${length}` };
  const isSame = found.length === length && found.every((file, index) => isSameFile(file, named[index]));
  return {
    step,
    isFine: isSame,
    says: isSame ? `${length}, as in the receipt` : "do not match the receipt",
  };
}

function isSameFile(found: ListedFile, named: ListedFile | undefined): boolean {
  const fields = ["folder_id", "object_key", "sha256", "size"] as const;
  return fields.every((field) => found[field] === named?.[field]);
}

/** The receipt is untrusted and may contain anything. */
function filesIn(receipt: Receipt | null): OutputFile[] {
  return Array.isArray(receipt?.output_files) ? receipt.output_files : [];
}

export function checkArtifact(receipt: Receipt | null, key: string, sha256: string): BundleStep {
  const step = "artifact";
  const named = filesIn(receipt).filter((file) => file?.object_key === key);
  if (named.length === 0) return { step, isFine: false, says: `the receipt names no file ${key}` };
  const isSame = named.some((file) => file.sha256 === sha256);
  const says = isSame
    ? `${key} matches the receipt (SHA-256 ${sha256})`
    : `${key} does not match the receipt`;
  return { step, isFine: isSame, says };
}

/** Whether a job is shown with what its receipt has: a database that was edited may show something else. */
export function checkJob(receipt: Receipt | null, job: ShownJob): BundleStep {
  const step = "state";
  const broken = (says: string): BundleStep => ({ step, isFine: false, says });
  if (receipt === null) return broken("it is not a valid receipt");
  if (job.damaged !== undefined)
    return broken(`the hub shows the job as damaged: ${job.damaged.join(", ")} contradict what is sealed`);
  const { status, attempt: latest, exit_code: code } = job;
  if (latest > receipt.attempt)
    return {
      step,
      isFine: null,
      says: `attempt ${latest} is ${status}; the receipt is of ${receipt.attempt}`,
    };
  if (latest < receipt.attempt)
    return broken(`the hub shows attempt ${latest}, the receipt ${receipt.attempt}`);
  if (code !== receipt.exit_code)
    return broken(`the hub shows exit code ${code}, the receipt has ${receipt.exit_code}`);
  if (!isShownIsolation(job.isolation, receipt))
    return broken("the hub shows another isolation than the receipt");
  return { step, isFine: true, says: `${status}, with attempt, exit code and isolation as in the receipt` };
}

/** A hub shows each field that it knows. */
function isShownIsolation(shown: object | null, { isolation }: Receipt): boolean {
  if (shown === null || isolation === null) return true;
  const fields = attempt(() => parseJson(JSON.stringify(shown)) as JsonObject) ?? {};
  const signed = Object(isolation) as JsonObject;
  const same = (field: string): boolean =>
    attempt(() => canonicalize(fields[field] ?? null)) === attempt(() => canonicalize(signed[field] ?? null));
  return Object.keys(fields).every((field) => field === "cgroup" || same(field));
}
