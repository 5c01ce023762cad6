import { mkdir, rmdir } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { DiscardFolder } from "../../sandbox/discard-folder.ts";
import type { Lease } from "../../signing/lease.ts";

/**
 * The directory of an attempt: its output, and below it the directory that the job itself sees. No claim with an
 * invalid job id is accepted, so the path stays inside the work directory.
 */
export function attemptDirOf(workDir: string, lease: Lease): string {
  return `${workDir}/jobs/${lease.job_id}/${lease.attempt}`;
}

export function jobWorkDir(attemptDir: string): string {
  return `${attemptDir}/work`;
}

export async function makeAttemptDir(attemptDir: string): Promise<void> {
  await mkdir(jobWorkDir(attemptDir), { recursive: true, mode: 0o700 });
}

/** Removes the attempt's files at once, even trees that cannot be deleted normally. Never rejects. */
export async function removeAttemptDir(
  discards: Pick<DiscardFolder, "discard">,
  attemptDir: string,
): Promise<void> {
  const jobDir = dirname(attemptDir);
  await discards.discard(attemptDir, `${basename(jobDir)}.${basename(attemptDir)}`);
  // Another attempt of the job may be beside it; then its directory stays.
  await rmdir(jobDir).catch(() => {});
}
