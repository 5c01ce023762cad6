import { type FileHandle, readdir } from "node:fs/promises";
import { WritError } from "../core/errors.ts";
import { tryParseJson } from "../core/text/json-value.ts";
import { openBase, openBeneath, pathOf } from "../runtime/files/open-beneath.ts";
import { PathRefused } from "../runtime/files/path-refused.ts";
import { isRegistryJobId, type RegistryStatus } from "./job-record.ts";
import { findLogsDir, type RegistryPlace } from "./registry-place.ts";

/** One line of a job's history. */
export type HistoryLine = {
  ts: string;
  event: "registered" | "status_changed" | "published" | "received";
  from?: RegistryStatus;
  to?: RegistryStatus;
  reason?: string;
  payload?: unknown;
};

type StatusFile = { status: RegistryStatus; updated_at: string };

/** The history of a job, oldest first; with `tail`, the last lines of it. It needs no registry. */
export async function readLog(
  place: RegistryPlace,
  jobId: string,
  { tail = Number.POSITIVE_INFINITY }: { tail?: number | undefined } = {},
): Promise<HistoryLine[]> {
  const base = await openLogs(place);
  try {
    if (base === null || !isRegistryJobId(jobId)) throw noHistory(jobId);
    return await readLines(base, jobId, tail);
  } catch (error) {
    if (error instanceof PathRefused && error.refusal === "missing") throw noHistory(jobId);
    throw error;
  } finally {
    await base?.close();
  }
}

async function readLines(base: FileHandle, jobId: string, tail: number): Promise<HistoryLine[]> {
  const file = await openBeneath(base, `${jobId}/events.ndjson`);
  const lines: HistoryLine[] = [];
  // Closes the file at its end.
  for await (const text of file.readLines()) {
    // The last line of a process that was killed may be cut short.
    const line = tryParseJson(text) as HistoryLine | undefined;
    if (line === undefined) continue;
    lines.push(line);
    if (lines.length > tail) lines.shift();
  }
  return lines;
}

export type LoggedJob = StatusFile & { job_id: string };

/** The jobs that have a history, the last changed one last. */
export async function listLogs(place: RegistryPlace): Promise<LoggedJob[]> {
  const base = await openLogs(place);
  if (base === null) return [];
  try {
    const ids = (await readdir(pathOf(base))).filter(isRegistryJobId);
    const found: LoggedJob[] = [];
    for (const jobId of ids) {
      const status = await statusOf(base, jobId);
      if (status !== null) found.push({ job_id: jobId, ...status });
    }
    return found.sort((a, b) => (a.updated_at < b.updated_at ? -1 : 1));
  } finally {
    await base.close();
  }
}

async function statusOf(base: FileHandle, jobId: string): Promise<StatusFile | null> {
  try {
    const dir = await openBeneath(base, jobId, "directory");
    return await readStatusFile(dir).finally(() => dir.close());
  } catch (error) {
    if (error instanceof PathRefused) return null;
    throw error;
  }
}

/** What `status.json` in the directory of a job says; null if it is not there or no such file. */
export async function readStatusFile(dir: FileHandle): Promise<StatusFile | null> {
  try {
    const file = await openBeneath(dir, "status.json");
    const text = await file.readFile("utf8").finally(() => file.close());
    return (tryParseJson(text) as StatusFile | undefined) ?? null;
  } catch (error) {
    if (error instanceof PathRefused) return null;
    throw error;
  }
}

async function openLogs(place: RegistryPlace): Promise<FileHandle | null> {
  const dir = await findLogsDir(place, false);
  return dir === null ? null : openBase(dir);
}

function noHistory(jobId: string): WritError {
  return new WritError("NOT_FOUND", `there is no history of job ${JSON.stringify(jobId.slice(0, 100))}`, {
    advice: "`jobctl registry logs --list` shows the jobs that have one",
  });
}
