import { createHash } from "node:crypto";
import { z } from "zod";
import { workerConnections } from "../../runners/http-worker/connect-to-worker.ts";
import { HttpWorkerClient } from "../../runners/http-worker/http-worker-client.ts";
import { listenersOn } from "../../runners/http-worker/listeners.ts";
import type { Clock } from "../../runtime/clock/clock.ts";
import { writePrivateFile } from "../../runtime/files/private-file.ts";
import { findTree } from "../../sandbox/plain/process-tree.ts";
import { canonicalize } from "../../signing/canonical.ts";
import { type AgentSettings, workerFiles, workerIdOf } from "../agent-settings.ts";
import { readState } from "../job-state.ts";
import type { ReadPayload } from "../read-payload.ts";

const workerState = z.object({
  worker_id: z.string(),
  /** Of the job that it was started for; it may serve others. */
  job_class: z.string(),
  kind: z.literal("persistent_http"),
  port: z.int(),
  pid: z.int(),
  status: z.enum(["starting", "ready", "unhealthy", "stopped"]),
  started_at: z.string(),
  last_checked_at: z.string(),
  agent_version: z.string(),
  start_ticks: z.number(),
  /** The agent process that writes its log and records its end. */
  keeper: z.object({ pid: z.int(), start_ticks: z.number() }),
  command: z.array(z.string()),
  /** Distinguishes workers with the same command, without naming their secrets. */
  fingerprint: z.string(),
  /** How it ended. */
  end: z.string().nullable(),
});
export type WorkerState = z.infer<typeof workerState>;

export async function readWorkerState(settings: AgentSettings, port: number): Promise<WorkerState | null> {
  return readState(workerFiles(settings, port).state, workerState);
}

export async function writeWorkerState(settings: AgentSettings, state: WorkerState): Promise<void> {
  await writePrivateFile(workerFiles(settings, state.port).state, `${JSON.stringify(state)}\n`);
}

/** Records what was found; a worker that its keeper has already seen end stays as it is. */
export async function noteWorkerStatus(
  settings: AgentSettings,
  worker: WorkerState,
  { status, nowMs }: { status: WorkerState["status"]; nowMs: number },
): Promise<void> {
  const current = await readWorkerState(settings, worker.port);
  if (current?.pid !== worker.pid || current.status === "stopped") return;
  await writeWorkerState(settings, { ...current, status, last_checked_at: new Date(nowMs).toISOString() });
}

/** Which worker a job needs. */
export type WantedWorker = {
  port: number;
  jobClass: string;
  command: readonly string[];
  secrets: Readonly<Record<string, string>>;
  fingerprint: string;
};

/** Jobs of different tenants, or with different secrets, never share a worker. */
export function wantedWorker(payload: ReadPayload, port: number): WantedWorker {
  const { worker_command: command, secrets = {}, tenant_id = "", job_class: jobClass } = payload;
  const identity = canonicalize({ command, secrets, tenant_id });
  const fingerprint = createHash("sha256").update(identity).digest("hex");
  return { port, jobClass, command, secrets, fingerprint };
}

/** Calls a worker, and no other program that may listen on its port. */
export function workerClient(
  { settings, clock }: { settings: AgentSettings; clock: Clock },
  { pid, port }: Pick<WorkerState, "pid" | "port">,
): HttpWorkerClient {
  const socketFile = workerFiles(settings, port).socket;
  const connections = workerConnections(clock, { port, socketFile, pids: () => findTree(pid) });
  return new HttpWorkerClient(clock, connections, `the worker on port ${port}`);
}

export function isPortTaken(port: number): boolean {
  return listenersOn(port).length > 0;
}

export function workerSubject(port: number): { worker: string } {
  return { worker: workerIdOf(port) };
}
