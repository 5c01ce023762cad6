import { abilitiesHeader, hubAbilities } from "../../../contract/hub-abilities.ts";
import type { workerRoutes } from "../../../contract/routes/worker-routes.ts";
import { invalidArgument, type WritError } from "../../../core/errors.ts";
import type { Identity } from "../../../core/identity.ts";
import { oldWorker, simpleWorker } from "../../../core/jobs/queue-key.ts";
import { formatSse } from "../../../runtime/http/sse.ts";
import { admitCommandStream } from "../../use-cases/access/admit-stream.ts";
import { appendOutput } from "../../use-cases/workers/append-output.ts";
import {
  heartbeatJob,
  releaseJob,
  reportAgent,
  reportProgress,
  reportStopped,
  startJob,
} from "../../use-cases/workers/change-attempt.ts";
import { claimJobs, type LeasedJobs } from "../../use-cases/workers/claim-jobs.ts";
import { findActingWorker } from "../../use-cases/workers/find-worker.ts";
import { failJob, finishJob, finishJobs, type ItemAnswer } from "../../use-cases/workers/finish-jobs.ts";
import { issueJobToken } from "../../use-cases/workers/issue-job-token.ts";
import {
  heartbeatWorker,
  registerWorker,
  saveWorkerMetrics,
} from "../../use-cases/workers/manage-workers.ts";
import { plainFields } from "../../use-cases/workers/plain-fields.ts";
import { readAllowance } from "../../use-cases/workers/read-allowance.ts";
import { refuseClaim } from "../../use-cases/workers/refuse-claim.ts";
import { signBatchLease } from "../../use-cases/workers/sign-batch-lease.ts";
import { type LeasedJob, leaseOf, signBatch, signClaim } from "../../use-cases/workers/sign-claim.ts";
import { type Call, done, type Handlers, written } from "../call.ts";
import { type Exchange, headerOf, overHttp, refuseHead } from "../exchange.ts";
import { sseHeaders, ssePing, stillAllowed } from "../streams/stream-events.ts";

export const workerHandlers: Handlers<keyof typeof workerRoutes> = {
  async registerWorker({ deps, identity, origin, body }) {
    await registerWorker(deps, { identity, origin, worker: registrationOf(identity, body) });
    return { status: 204, headers: { [abilitiesHeader]: hubAbilities.join(", ") } };
  },

  async heartbeatWorker({ deps, identity, origin, body }) {
    const answer = await heartbeatWorker(deps, {
      identity,
      origin,
      workerId: body.worker_id,
      bootId: body.boot_id,
      isDraining: body.status === "draining",
      capabilities: body.capabilities,
      leases: body.current_jobs.map(({ job_id: jobId, ...lease }) => ({ jobId, ...lease })),
    });
    const { cancel, lost, draining, blocked } = answer;
    const drain = draining || blocked;
    return { status: 200, body: { cancel, lost, drain, lease_ms: deps.settings.leaseMs } };
  },

  async saveWorkerMetrics({ deps, identity, params, body }) {
    await saveWorkerMetrics(deps, { identity, workerId: params.id, ts: body.ts, metrics: body });
    return done;
  },

  async streamCommands(call) {
    const { deps, identity, origin, params, exchange } = call;
    refuseHead(exchange);
    await findActingWorker(deps, { identity, workerId: params.id });
    const isAllowed = stillAllowed(call);
    const onEnd = await admitCommandStream(deps, { identity, origin, workerId: params.id });
    const stream = deps.streams.open(overHttp(exchange).outgoing, {
      headers: sseHeaders,
      ping: ssePing,
      onEnd,
      isStillAllowed: async () => (await isAllowed()) && !(await isBlocked(deps, params.id)),
    });
    // This stream would replace the worker's new one, and no event would ever close it.
    if (stream.signal.aborted) return { status: 200, body: written };
    const stopListening = deps.dispatcher.listen(params.id, (command, data) => {
      // Commands are hints: a worker that misses one learns the same from its next heartbeat.
      stream.hint(formatSse({ event: command, data: JSON.stringify(data) }));
    });
    stream.signal.addEventListener("abort", stopListening, { once: true });
    // Earlier jobs were not announced to this worker, so it should claim once.
    await stream.write(formatSse({ event: "work", data: "{}" }));
    return { status: 200, body: written };
  },

  async claimJob({ deps, identity, origin, body, signal, exchange }) {
    exchange.workerId = body.worker_id;
    const leased = await claimJobs(deps, { ...claimOf(body), identity, origin, signal, max: 1 });
    const claimed = onlyJob(leased);
    if (claimed === undefined) return done;
    const { id, type, status, attempt, timeoutSec } = claimed.job;
    const convenience = { id, type, status, attempt, token: claimed.leaseToken, timeout_sec: timeoutSec };
    const plain = leased.isSimpleWorker ? plainFields(claimed) : {};
    return { status: 200, body: { ...convenience, ...plain, ...signClaim(deps, claimed) } };
  },

  async claimJobs({ deps, identity, origin, body, signal, exchange }) {
    exchange.workerId = body.worker_id;
    const leased = await claimJobs(deps, { ...claimOf(body), identity, origin, signal, max: body.max });
    if (leased.jobs.length === 0) return done;
    const sign = body.batch_lease === true ? signBatchLease : signBatch;
    return { status: 200, body: sign(deps, body.worker_id, leased) };
  },

  async pendingJob({ deps, identity, origin, query, signal, exchange }) {
    refuseHead(exchange);
    exchange.workerId = query.worker_id;
    const call = { identity, origin, signal, workerId: query.worker_id, bootId: query.boot_id, max: 1 };
    const claimed = onlyJob(await claimJobs(deps, { ...call, waitMs: (query.wait ?? 0) * 1000 }));
    if (claimed === undefined) return done;
    const signed = signClaim(deps, claimed);
    const lease = { ...claimed.lease, key_id: signed.key_id, signature: signed.lease_signature };
    const headers = {
      "Writ-Key-Id": signed.key_id,
      "Writ-Lease": Buffer.from(JSON.stringify(lease)).toString("base64"),
      ...(signed.job_token === undefined ? {} : { "Writ-Job-Token": signed.job_token }),
    };
    const text = `${signed.document.slice(0, -1)},"signature":${JSON.stringify(signed.signature)}}`;
    return { status: 200, body: text, headers };
  },

  async refuseClaim({ deps, identity, origin, params, body }) {
    const { returned, pausedUntil } = await refuseClaim(deps, {
      identity,
      origin,
      workerId: params.id,
      body,
    });
    return { status: 200, body: { returned, paused_until: pausedUntil } };
  },

  async startJob({ deps, identity, origin, params, body }) {
    await startJob(deps, { ...body, identity, origin, jobId: params.id });
    return done;
  },

  async heartbeatJob({ deps, identity, origin, params, body }) {
    await heartbeatJob(deps, { ...body, identity, origin, jobId: params.id });
    return done;
  },

  async releaseJob({ deps, identity, origin, params, body }) {
    await releaseJob(deps, { ...body, identity, origin, jobId: params.id });
    return done;
  },

  async reportProgress({ deps, identity, origin, params, body }) {
    await reportProgress(deps, { ...body, identity, origin, jobId: params.id });
    return done;
  },

  async reportAgent({ deps, identity, origin, params, body }) {
    await reportAgent(deps, { ...body, identity, origin, jobId: params.id });
    return done;
  },

  async readAllowance({ deps, identity, origin, params, body }) {
    const allowance = await readAllowance(deps, { ...body, identity, origin, jobId: params.id });
    return { status: 200, body: allowance };
  },

  async reportStopped({ deps, identity, origin, params, body }) {
    await reportStopped(deps, { ...body, identity, origin, jobId: params.id });
    return done;
  },

  async issueJobToken({ deps, identity, origin, params, body }) {
    const { token, expiresAt } = await issueJobToken(deps, { ...body, identity, origin, jobId: params.id });
    return { status: 200, body: { job_token: token, expires_at: expiresAt } };
  },

  async appendOutput({ deps, identity, origin, params, query, body, exchange }) {
    const { id: jobId, stream } = params;
    const attempt = { ...fenceHeaders(exchange), identity, origin, jobId };
    const { size } = await appendOutput(deps, { ...attempt, stream, offset: query.offset, bytes: body });
    return { status: 200, body: { size } };
  },

  async finishJob({ deps, identity, origin, params, body, exchange }) {
    const idempotencyKey = headerOf(exchange, "x-idempotency-key") ?? null;
    const call = { identity, origin, jobId: params.id, body, idempotencyKey };
    const { job, duplicate } = await finishJob(deps, call);
    return { status: 200, body: { status: job.status, ...(duplicate ? { duplicate } : {}) } };
  },

  async failJob({ deps, identity, origin, params, body }) {
    const job = await failJob(deps, { identity, origin, jobId: params.id, body });
    const { status, runAt } = job;
    return { status: 200, body: { status, ...(status === "pending" ? { run_at: runAt } : {}) } };
  },

  async finishJobs({ deps, identity, origin, body }) {
    const { worker_id: workerId, ends, items, receipts } = body;
    const answers = await finishJobs(deps, { identity, origin, workerId, ends, items, receipts });
    const refused = ends && answers.ends.flatMap((answer, row) => refusedRow(answer, row));
    return {
      status: 200,
      body: { items: answers.items.map(itemAnswer), ...(refused === undefined ? {} : { ends: refused }) },
    };
  },
};

function itemAnswer(answer: ItemAnswer) {
  if ("error" in answer) return { job_id: answer.jobId, error: errorOf(answer.error) };
  const { status, runAt } = answer.job;
  return {
    job_id: answer.jobId,
    status,
    ...(answer.duplicate ? { duplicate: true } : {}),
    ...(status === "pending" ? { run_at: runAt } : {}),
  };
}

function refusedRow(answer: ItemAnswer, row: number) {
  return "error" in answer ? [{ row, job_id: answer.jobId, error: errorOf(answer.error) }] : [];
}

function errorOf({ code, message, details }: WritError) {
  return { code, message, ...(details ? { details } : {}) };
}

async function isBlocked(deps: Call<"streamCommands">["deps"], workerId: string): Promise<boolean> {
  return (await deps.workers.get(workerId))?.blocked === true;
}

function registrationOf(identity: Identity, body: Call<"registerWorker">["body"]) {
  return {
    id: body.worker_id,
    name: body.name ?? null,
    facts: {
      tenantId: identity.tenantId,
      location: body.location ?? "LOCAL_MACHINE",
      cores: body.cores,
      ramGb: body.ram_gb,
      tags: body.tags,
      types: body.types ?? [],
      handlerTypes: body.handler_types ?? [],
      capabilities: body.capabilities ?? [],
      kinds: body.kinds ?? [...oldWorker.kinds],
      ...simplicityOf(body),
      sessions: [...(body.sessions ?? []), ...(body.session === undefined ? [] : [body.session])],
      containers: body.containers ?? [],
      documentFormat: body.document_format ?? oldWorker.documentFormat,
      ...(body.sandbox_problem === undefined ? {} : { sandboxProblem: body.sandbox_problem }),
      ...(body.agent_problems === undefined ? {} : { agentProblems: body.agent_problems }),
      ...(body.isolation === undefined ? {} : { isolation: body.isolation }),
      ...(body.boot_id === undefined ? {} : { bootId: body.boot_id }),
    },
    slots: body.slots ?? body.cores,
    keyIds: body.key_ids ?? [],
    publicKey: body.public_key ?? null,
    version: body.version ?? null,
  };
}

/** Absent, not empty: workers of version 0.1 send empty lists. */
function simplicityOf({ kinds, handler_types: handlerTypes }: Call<"registerWorker">["body"]) {
  if (kinds !== undefined || handlerTypes !== undefined) return {};
  return { ...simpleWorker, kinds: [...simpleWorker.kinds] };
}

/** The job of a claim that asked for one. */
function onlyJob({ jobs: [claimed], claimant }: LeasedJobs): LeasedJob | undefined {
  return claimed && { ...claimed, lease: leaseOf(claimed, claimant) };
}

function claimOf(body: Call<"claimJob">["body"]) {
  const { worker_id: workerId, boot_id: bootId, types, session, wait_ms: waitMs = 0 } = body;
  return { workerId, bootId, types, session, waitMs };
}

/** Output is raw bytes, so the attempt is named in headers; a missing header is refused like a missing field. */
function fenceHeaders(exchange: Exchange): { worker_id: string; attempt?: number; token?: string } {
  const workerId = headerOf(exchange, "x-worker-id");
  if (workerId === undefined) throw invalidArgument({ path: "X-Worker-Id", message: "is required" });
  const attempt = headerOf(exchange, "x-job-attempt");
  if (attempt !== undefined && !/^[1-9]\d{0,14}$/.test(attempt))
    throw invalidArgument({ path: "X-Job-Attempt", message: "must be a whole number" });
  return {
    worker_id: workerId,
    attempt: attempt === undefined ? undefined : Number(attempt),
    token: headerOf(exchange, "x-lease-token"),
  };
}
