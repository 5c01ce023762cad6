import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Artifact, Writ } from "../../../client/index.ts";
import { WritError } from "../../../core/errors.ts";
import { diffPath } from "../../../core/jobs/diff-path.ts";

/** Far more than a worker lets an agent change. */
const diffBytesMax = 256 * 1024 * 1024;

export type FetchedDiff = { bytes: Buffer; sha256: string; artifact: Artifact };

/** The diff that a coding agent has left; undefined if it changed nothing. */
export async function fetchDiff(
  writ: Writ,
  jobId: string,
  signal: AbortSignal,
): Promise<FetchedDiff | undefined> {
  const artifact = await findDiff(writ, jobId);
  if (artifact === undefined) return undefined;
  if (!artifact.available)
    throw new WritError("FILE_REMOVED", `the diff of job ${jobId} is no longer stored`);
  if (artifact.size > diffBytesMax)
    throw new WritError("TOO_LARGE", `the diff has ${artifact.size} bytes; at most ${diffBytesMax} are read`);
  const dir = await mkdtemp(join(tmpdir(), "jobctl-diff-"));
  try {
    await writ.files.saveArtifacts(jobId, dir, { files: [artifact], signal });
    const bytes = await readFile(join(dir, diffPath));
    return { bytes, sha256: createHash("sha256").update(bytes).digest("hex"), artifact };
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

export async function findDiff(writ: Writ, jobId: string): Promise<Artifact | undefined> {
  return (await writ.files.artifacts(jobId)).find(({ path }) => path === diffPath);
}
