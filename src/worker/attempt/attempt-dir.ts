import { mkdir, rmdir } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { DiscardFolder } from "../../sandbox/discard-folder.ts";
import type { Lease } from "../../signing/lease.ts";

/**
 * The directory of an attempt, which only the worker may enter: its output, and what it fetches or keeps for the job. No
 * claim with an invalid job id is accepted, so the path stays inside the work directory.
 */
export function attemptDirOf(workDir: string, lease: Lease): string {
  return `${workDir}/${jobsName}/${lease.job_id}/${lease.attempt}`;
}

/**
 * The directory that the job itself sees and owns. It is not inside that of the attempt, so that a job which ends in a
 * moment needs no more than this one. Why: ADR 0148.
 */
export function jobWorkDirOf(workDir: string, lease: Lease): string {
  return `${workDir}/${foldersName}/${lease.job_id}.${lease.attempt}`;
}

/** Both, and they are new: no other attempt has the same number. */
export async function makeAttemptDirs(attemptDir: string, jobWorkDir: string): Promise<void> {
  await mkdir(attemptDir, { recursive: true, mode: 0o700 });
  await mkdir(jobWorkDir, { recursive: true, mode: 0o700 });
}

/** Removes the attempt's files at once, even trees that cannot be deleted normally. Never rejects. */
export async function removeAttemptDirs(
  discards: Pick<DiscardFolder, "discard">,
  attemptDir: string,
  jobWorkDir: string,
): Promise<void> {
  const jobDir = dirname(attemptDir);
  const name = basename(jobWorkDir);
  await discards.discard(jobWorkDir, name);
  await discards.discard(attemptDir, name);
  // Another attempt of the job may be beside it; then its directory stays.
  await rmdir(jobDir).catch(() => {});
}

/** Below the work directory: of the worker, a directory for each job; and of jobs, one for each attempt. */
export const jobsName = "jobs";
export const foldersName = "folders";
