import { rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { hasCode, WritError } from "../core/errors.ts";
import type { RunOutcome } from "../runners/runner.ts";
import { secretForms } from "../runners/secret-forms.ts";
import { makeDir } from "../runtime/files/make-dir.ts";
import type { AgentDeps } from "./agent-deps.ts";
import { type JobFiles, jobFiles } from "./agent-settings.ts";
import { admitJob, type JobState, writeJobState } from "./job-state.ts";
import type { ReadPayload } from "./read-payload.ts";
import { identityOf } from "./workers/process-identity.ts";

/** How a job ended, with what only the agent reports. */
export type JobEnding = {
  outcome: RunOutcome;
  exitCode: number;
  httpStatus?: number | undefined;
};

type Stops = { signal: AbortSignal; hurry: AbortSignal };

/** What a worker gets to finish in order when its job is stopped. */
export const stopGraceMs = 5_000;

/** One job of this agent: its payload, its files and the state that others can read. */
export class AgentJob {
  readonly payload: ReadPayload;
  readonly files: JobFiles;
  /** Aborted with the reason when the job is to end: "cancelled" or "timeout". */
  readonly signal: AbortSignal;
  /** Aborted when the job must end at once. */
  readonly hurry: AbortSignal;
  readonly lease: { timeout_sec: number };
  /** The texts to mask in every report and log of the job. */
  readonly masks: readonly string[];
  #state: JobState;

  private constructor(payload: ReadPayload, files: JobFiles, stops: Stops, state: JobState) {
    this.payload = payload;
    this.files = files;
    this.signal = stops.signal;
    this.hurry = stops.hurry;
    this.lease = { timeout_sec: payload.timeout_sec ?? 0 };
    this.masks = secretForms(Object.values(payload.secrets ?? {}));
    this.#state = state;
  }

  /** Records the job and makes its files anew; refuses a job that is running. */
  static async begin(deps: AgentDeps, payload: ReadPayload, stops: Stops): Promise<AgentJob> {
    const files = jobFiles(deps.settings, payload.job_id);
    const state: JobState = {
      job_id: payload.job_id,
      job_class: payload.job_class,
      status: "pending",
      started_at: new Date(deps.clock.nowMs()).toISOString(),
      completed_at: null,
      worker_kind: payload.interface.kind,
      worker_pid: null,
      worker_state_pid: null,
      error: null,
      meta: {
        exit_code: null,
        http_status: null,
        agent: identityOf(process.pid)!,
        worker: null,
        worker_port: null,
      },
    };
    try {
      await admitJob(deps, files, state);
      await freshFiles(files, payload.inputJson);
    } catch (error) {
      throw unwritable(error) ?? error;
    }
    return new AgentJob(payload, files, stops, state);
  }

  /** Records which process runs the job, so that `stop-job` can end it even when this agent is gone. */
  async noteProcess(pid: number): Promise<void> {
    if (pid === 0) return;
    // A process that has ended by now needs no stop.
    const meta = { ...this.#state.meta, worker: identityOf(pid) };
    await this.#write({ status: "running", worker_pid: pid, meta });
  }

  /** Records which HTTP worker has the job. It outlives the job, so it is not the job's own process. */
  async noteWorker({ pid, port }: { pid: number; port: number }): Promise<void> {
    await this.#write({
      status: "running",
      worker_pid: pid,
      worker_state_pid: pid,
      meta: { ...this.#state.meta, worker_port: port },
    });
  }

  async end(
    { outcome, exitCode, httpStatus }: JobEnding,
    error: JobState["error"],
    nowMs: number,
  ): Promise<void> {
    await this.#write({
      status: outcome.kind === "succeeded" ? "success" : "failed",
      completed_at: new Date(nowMs).toISOString(),
      error,
      meta: { ...this.#state.meta, exit_code: exitCode, http_status: httpStatus ?? null },
    });
  }

  /** The agent itself has failed. */
  async fail(error: NonNullable<JobState["error"]>, nowMs: number): Promise<void> {
    await this.#write({ status: "failed", completed_at: new Date(nowMs).toISOString(), error });
  }

  async #write(change: Partial<JobState>): Promise<void> {
    this.#state = { ...this.#state, ...change };
    await writeJobState(this.files, this.#state);
  }
}

/** What an earlier attempt of the job left behind must not be taken for this one's. */
async function freshFiles(files: JobFiles, inputJson: string): Promise<void> {
  for (const path of [files.dir, files.stdout, files.stderr])
    await rm(path, { recursive: true, force: true });
  makeDir(files.output);
  makeDir(dirname(files.stdout));
  await writeFile(files.input, inputJson, { mode: 0o600 });
  for (const path of [files.stdout, files.stderr]) await writeFile(path, "", { mode: 0o600 });
}

/** In many images the program is not root, and may not write where the agent keeps its state by default. */
function unwritable(error: unknown): WritError | undefined {
  if (!hasCode(error, "EACCES", "EPERM", "EROFS", "ENOTDIR", "ENOENT", "EEXIST")) return undefined;
  const { path, code } = error as NodeJS.ErrnoException;
  const advice = "set WRIT_AGENT_STATE_DIR and WRIT_AGENT_LOG_DIR to directories that this user may write";
  return new WritError("CONFIG_INVALID", `${path} cannot be written: ${code}; ${advice}`);
}
