import type { JobView } from "../../src/contract/shapes/view-shapes.ts";
import type { TestHub } from "./hub.ts";

/** The worker and its attempt: what every call of a worker about a job carries. */
export type Fence = { worker_id: string; attempt: number; token: string };
export type HeldJob = { id: string; type: string; fence: Fence };

type Wish = Record<string, unknown>;

let made = 0;

/** A name that no other test uses, so that no claim meets a job that it was not meant for. */
export function freshName(what: string): string {
  return `${what}-${process.pid}-${++made}`;
}

/** Reads jobs of this hub, as the administrator unless another token is given. */
export function jobReader(hub: TestHub): (id: string, token?: string) => Promise<JobView> {
  return async (id, token = hub.admin) => (await hub.must("GET", `/jobs/${id}`, { token })).json<JobView>();
}

/** A pending job of a type of its own. The administrator submits it unless another token is given. */
export async function submitJob(
  hub: TestHub,
  wish: Wish & { token?: string } = {},
): Promise<{ id: string; type: string }> {
  const { token = hub.admin, ...fields } = wish;
  const type = (fields["type"] as string | undefined) ?? freshName("type");
  const body = { run: { kind: "exec", argv: ["true"] }, ...fields, type };
  const { id } = (await hub.must("POST", "/jobs", { token, body })).json<{ id: string }>();
  return { id, type };
}

/** A worker for `exec` jobs, and for `handler` jobs of types that it names. */
export async function registerWorker(
  hub: TestHub,
  wish: Wish & { token?: string; worker_id?: string } = {},
): Promise<string> {
  const { token = hub.admin, worker_id: workerId = freshName("worker"), ...fields } = wish;
  const body = { worker_id: workerId, cores: 4, ram_gb: 8, tags: [], kinds: ["exec", "handler"], ...fields };
  await hub.must("POST", "/workers/register", { token, body });
  return workerId;
}

/** Claims one job of this type for this worker. */
export async function claimJob(hub: TestHub, wanted: { workerId: string; type: string }): Promise<HeldJob> {
  const body = { worker_id: wanted.workerId, types: [wanted.type] };
  const answer = await hub.must("POST", "/jobs/claim", { token: hub.admin, body });
  if (answer.status === 204) throw new Error(`there is no ${wanted.type} job to claim`);
  const { id, attempt, token } = answer.json<{ id: string; attempt: number; token: string }>();
  return { id, type: wanted.type, fence: { worker_id: wanted.workerId, attempt, token } };
}

/** A job that a worker holds but has not started. */
export async function claimedJob(
  hub: TestHub,
  wish: Wish & { token?: string; workerId?: string } = {},
): Promise<HeldJob> {
  const { workerId = await registerWorker(hub), ...fields } = wish;
  const { type } = await submitJob(hub, fields);
  return claimJob(hub, { workerId, type });
}

export async function runningJob(
  hub: TestHub,
  wish: Parameters<typeof claimedJob>[1] = {},
): Promise<HeldJob> {
  const held = await claimedJob(hub, wish);
  await hub.must("POST", `/jobs/${held.id}/start`, { token: hub.admin, body: held.fence });
  return held;
}

export async function completedJob(
  hub: TestHub,
  wish: Parameters<typeof claimedJob>[1] & { result?: unknown } = {},
): Promise<HeldJob> {
  const { result = { answer: 42 }, ...fields } = wish;
  const held = await runningJob(hub, fields);
  await hub.must("POST", `/jobs/${held.id}/result`, { token: hub.admin, body: { ...held.fence, result } });
  return held;
}

/** Failed in a way that is never retried. */
export async function failedJob(
  hub: TestHub,
  wish: Parameters<typeof claimedJob>[1] & { code?: string } = {},
): Promise<HeldJob> {
  const { code = "INVALID_JOB", ...fields } = wish;
  const held = await runningJob(hub, fields);
  const body = { ...held.fence, reason: "as the test wishes", code };
  await hub.must("POST", `/jobs/${held.id}/fail`, { token: hub.admin, body });
  return held;
}

export async function cancelledJob(hub: TestHub, wish: Parameters<typeof submitJob>[1] = {}) {
  const job = await submitJob(hub, wish);
  await hub.must("DELETE", `/jobs/${job.id}`, { token: hub.admin });
  return job;
}

/** Its retries are used up. The hub must run with WRIT_BACKOFF_SCALE=0, or the second claim would wait. */
export async function quarantinedJob(
  hub: TestHub,
  wish: Parameters<typeof claimedJob>[1] = {},
): Promise<HeldJob> {
  const workerId = wish.workerId ?? (await registerWorker(hub));
  const first = await failedJob(hub, { ...wish, workerId, max_attempts: 2, code: "EXECUTION_ERROR" });
  const second = await claimJob(hub, { workerId, type: first.type });
  const body = { ...second.fence, reason: "once more" };
  await hub.must("POST", `/jobs/${second.id}/fail`, { token: hub.admin, body });
  return second;
}
