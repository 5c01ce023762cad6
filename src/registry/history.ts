import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { createBeneath, makeDirectoryBeneath } from "../runtime/files/create-beneath.ts";
import { openBase, pathOf } from "../runtime/files/open-beneath.ts";
import type { RegistryJob, RegistryStatus } from "./job-record.ts";
import { isoTime } from "./job-row.ts";
import { readStatusFile } from "./read-log.ts";
import { keepOutOfGit } from "./registry-database.ts";
import { findLogsDir, type RegistryPlace } from "./registry-place.ts";

export type StatusChange = {
  jobId: string;
  from: RegistryStatus;
  to: RegistryStatus;
  atMs: number;
  /** Set if the time limit of the job ended it. */
  reason?: "timeout";
};

/**
 * The history of a job is what stays when the registry is gone: files that are only ever added to. It follows the
 * registry and never holds it up: whatever goes wrong here is reported and forgotten. Why: ADR 0098.
 */
export function writeRegistered(place: RegistryPlace, job: RegistryJob): Promise<void> {
  return bestEffort(place, job.job_id, async (dir) => {
    await replaceFile(dir, "meta.json", job);
    await appendLine(dir, { ts: job.created_at, event: "registered" });
    await replaceFile(dir, "status.json", { status: job.status, updated_at: job.created_at });
  });
}

export async function writeStatusChanges(
  place: RegistryPlace,
  changes: readonly StatusChange[],
): Promise<void> {
  for (const { jobId, from, to, atMs, reason } of changes) {
    await bestEffort(place, jobId, async (dir) => {
      const ts = isoTime(atMs);
      await appendLine(dir, { ts, event: "status_changed", from, to, ...(reason && { reason }) });
      // A process that did not get the lock may have been faster with a later change.
      const known = await readStatusFile(dir);
      if (known === null || known.updated_at <= ts)
        await replaceFile(dir, "status.json", { status: to, updated_at: ts });
    });
  }
}

/** `published`: the broker has it. `received`: a subscriber has it. */
export function writeMessages(
  place: RegistryPlace,
  jobId: string,
  { event, payloads, atMs }: { event: "published" | "received"; payloads: readonly unknown[]; atMs: number },
): Promise<void> {
  return bestEffort(place, jobId, async (dir) => {
    for (const payload of payloads) await appendLine(dir, { ts: isoTime(atMs), event, payload });
  });
}

async function bestEffort(
  place: RegistryPlace,
  jobId: string,
  write: (dir: FileHandle) => Promise<void>,
): Promise<void> {
  try {
    const logsDir = (await findLogsDir(place, true))!;
    keepOutOfGit(logsDir);
    const base = await openBase(logsDir);
    try {
      const dir = await makeDirectoryBeneath(base, [jobId], { mode: 0o700 });
      await write(dir).finally(() => dir.close());
    } finally {
      await base.close();
    }
  } catch (error) {
    place.onHistoryError?.(error);
  }
}

const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;

/** One write for each line, so that lines of several processes never mix. */
async function appendLine(dir: FileHandle, line: object): Promise<void> {
  const flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK;
  const file = await open(join(pathOf(dir), "events.ndjson"), flags, 0o600);
  await file.write(`${JSON.stringify(line)}\n`).finally(() => file.close());
}

async function replaceFile(dir: FileHandle, name: string, content: object): Promise<void> {
  const file = await createBeneath(dir, name);
  try {
    await file.handle.chmod(0o600);
    await file.handle.writeFile(`${JSON.stringify(content)}\n`);
    await file.keep();
  } finally {
    await file.discard();
  }
}
