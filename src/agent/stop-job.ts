import { killProcessTree } from "../sandbox/plain/process-tree.ts";
import type { AgentDeps } from "./agent-deps.ts";
import { stopGraceMs } from "./agent-job.ts";
import { jobFiles } from "./agent-settings.ts";
import { isOpen, type JobState, readJobState, writeJobState } from "./job-state.ts";
import { checkJobId, jobEnd, unknownJob } from "./logs/show-logs.ts";
import { isAlive, isSameProcess, signalProcess } from "./workers/process-identity.ts";
import { cancelHttpJob } from "./workers/run-http.ts";
import { readWorkerState } from "./workers/worker-state.ts";

/** In addition to the grace that the job gets. */
const marginMs = 10_000;

/** `stop-job`: asks the `run-job` that watches over the job to end it, and resolves when it has ended. */
export async function stopJobCommand(deps: AgentDeps, { jobId }: { jobId: string }): Promise<number> {
  const files = jobFiles(deps.settings, checkJobId(jobId));
  const state = await readJobState(files);
  if (state === null) throw unknownJob(jobId);
  const { agent } = state.meta;
  const wasRunning = isOpen(state);
  if (wasRunning && isAlive(agent)) {
    deps.log.info({ job: jobId }, "asked to stop");
    signalProcess(agent, "SIGTERM");
    await endWithin(deps, jobId, agent);
  }
  const after = (await readJobState(files)) ?? state;
  if (isOpen(after) && isSameProcess(after.meta.agent, agent)) {
    await endOrphan(deps, after);
    await recordEnd(deps, after);
  }
  deps.stdout.write(`${JSON.stringify({ success: true, job_id: jobId, was_running: wasRunning })}\n`);
  return 0;
}

/** An agent that cannot end its job within this time is killed, and then its job. */
async function endWithin(deps: AgentDeps, jobId: string, agent: JobState["meta"]["agent"]): Promise<void> {
  const { clock } = deps;
  const over = new AbortController();
  // The pause is only aborted once the race is over.
  const late = clock.sleep(stopGraceMs + marginMs, over.signal).catch(() => {});
  // What counts is the state that is read below.
  await Promise.race([jobEnd({ ...deps, stop: over.signal }, jobId, agent).catch(() => {}), late]);
  over.abort();
  const state = await readJobState(jobFiles(deps.settings, jobId));
  if (state !== null && isOpen(state) && isSameProcess(state.meta.agent, agent))
    signalProcess(agent, "SIGKILL");
}

/** The agent was killed, so the job is ended here. */
async function endOrphan(deps: AgentDeps, { job_id, worker_state_pid, meta }: JobState): Promise<void> {
  if (meta.worker !== null && isAlive(meta.worker)) await killProcessTree(meta.worker.pid);
  if (meta.worker_port === null) return;
  const worker = await readWorkerState(deps.settings, meta.worker_port);
  if (worker !== null && worker.pid === worker_state_pid) await cancelHttpJob(deps, worker, job_id);
}

async function recordEnd({ settings, clock }: AgentDeps, state: JobState): Promise<void> {
  await writeJobState(jobFiles(settings, state.job_id), {
    ...state,
    status: "failed",
    completed_at: new Date(clock.nowMs()).toISOString(),
    error: { code: "CANCELLED", message: "stopped after its agent had gone" },
  });
}
