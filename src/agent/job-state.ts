import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { hasCode, WritError } from "../core/errors.ts";
import type { Clock } from "../runtime/clock/clock.ts";
import { lockFile } from "../runtime/files/file-lock.ts";
import { makeDir } from "../runtime/files/make-dir.ts";
import { writePrivateFile } from "../runtime/files/private-file.ts";
import type { AgentSettings, JobFiles } from "./agent-settings.ts";
import { isAlive } from "./workers/process-identity.ts";

const pid = z.int().nullable();
const process = z.object({ pid: z.int(), start_ticks: z.number() });

const jobState = z.object({
  job_id: z.string(),
  job_class: z.string(),
  /** Pending until the job has a process, or an HTTP worker that is ready. */
  status: z.enum(["pending", "running", "success", "failed"]),
  started_at: z.string(),
  completed_at: z.string().nullable(),
  worker_kind: z.enum(["exec_per_job", "persistent_http"]),
  /** The process that runs the job. */
  worker_pid: pid,
  /** The process in the state file of the HTTP worker that the job was given to. */
  worker_state_pid: pid,
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  meta: z.object({
    exit_code: z.int().nullable(),
    http_status: z.int().nullable(),
    /** The `run-job` that watches over it, and its own process, each with its start, so that they can be recognized. */
    agent: process,
    worker: process.nullable(),
    /** Of the HTTP worker that has the job. */
    worker_port: z.int().nullable(),
  }),
});
export type JobState = z.infer<typeof jobState>;

/** The state of a job, or null if this agent does not know it. */
export async function readJobState({ state }: Pick<JobFiles, "state">): Promise<JobState | null> {
  return readState(state, jobState);
}

export async function writeJobState({ state }: Pick<JobFiles, "state">, job: JobState): Promise<void> {
  await writePrivateFile(state, `${JSON.stringify(job)}\n`);
}

/** Whether it has not ended, as far as was recorded. */
export function isOpen({ status }: JobState): boolean {
  return status === "pending" || status === "running";
}

const lockMs = 10_000;

/** Records a new job. Refuses one that is running: two calls with the same id would mix their files. */
export async function admitJob(
  { settings, clock }: { settings: AgentSettings; clock: Clock },
  files: JobFiles,
  job: JobState,
): Promise<void> {
  makeDir(dirname(files.state));
  const lock = await lockFile(join(settings.stateDir, "jobs.lock"), { clock, waitMs: lockMs });
  if (lock === null)
    throw new WritError("STORE_UNAVAILABLE", `jobs.lock in ${settings.stateDir} was not free`);
  try {
    const known = await readJobState(files);
    if (known !== null && isOpen(known) && isAlive(known.meta.agent)) {
      throw new WritError("STATE_CONFLICT", `job ${job.job_id} is already running here`);
    }
    await writeJobState(files, job);
  } finally {
    lock.release();
  }
}

/** Reads a state file. One that cannot be understood is an error: somebody else has written to it. */
export async function readState<T>(path: string, shape: z.ZodType<T>): Promise<T | null> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (hasCode(error, "ENOENT")) return null;
    throw error;
  });
  if (text === null) return null;
  try {
    return shape.parse(JSON.parse(text));
  } catch {
    throw new WritError("CONFIG_INVALID", `${path} is not a state file of writ-agent; remove it`, { path });
  }
}
