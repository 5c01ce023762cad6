import { createHmac, generateKeyPairSync } from "node:crypto";
import { join } from "node:path";
import type { RouteName } from "../../src/contract/routes/routes.ts";
import { makeTicket, readTicket } from "../../src/hub/use-cases/files/file-ticket.ts";
import { openKeyRing } from "../../src/signing/key-ring.ts";
import { sha256Hex } from "../../src/signing/mac.ts";
import { issuedCert } from "../support/certs.ts";
import { jobTokenOf, octets, presign, storedFile, ticketIn, uploadForJob } from "../support/files.ts";
import type { TestHub } from "../support/hub.ts";
import {
  claimedJob,
  failedJob,
  freshName,
  type HeldJob,
  registerWorker,
  runningJob,
  submitJob,
} from "../support/jobs.ts";
import { receiptFor, signedRunningJob } from "../support/receipts.ts";
import { issueToken, type Tokens } from "../support/tokens.ts";

export type World = { hub: TestHub; tokens: Tokens };

/** A request that its route accepts, with the state that it needs. Every refusal is this request with one fault. */
export type Example = {
  token: string;
  params?: Record<string, string>;
  query?: Record<string, string>;
  body?: unknown;
  headers?: Record<string, string>;
};

/** One valid request per route. A route without one does not compile, and fails the first test. */
export const examples: Record<RouteName, (world: World) => Promise<Example>> = {
  submitJob: async ({ tokens }) => ({ token: tokens.alice, body: fullSubmission() }),
  startCommand: async ({ tokens }) => ({
    token: tokens.alice,
    body: {
      command: ["echo", "hello"],
      limits: { cpu: "1", memory: "100M", io: "low", pids: 10, network: "closed" },
      egress: { allow: ["api.test:443"], inject: ["KEY"] },
      env: { A: "b" },
      cwd: "/tmp",
      stdin_from: { folder_id: "in", object_key: "a/b.txt", sha256: "0".repeat(64) },
      inputs: [{ path: "data/b.txt", folder_id: "in", object_key: "a/b.txt", sha256: "0".repeat(64) }],
      collect: ["**/*.png"],
      output_location: { folder_id: "out", prefix: "run" },
      timeout_sec: 60,
      requires: { tags: ["gpu"], session: "s" },
      idempotency_key: freshName("start"),
      max_attempts: 2,
      traceparent,
    },
  }),
  submitJobs: async ({ tokens }) => ({
    token: tokens.alice,
    body: { jobs: [fullSubmission(), delegateSubmission()] },
  }),
  listJobs: async ({ tokens }) => ({
    token: tokens.alice,
    query: { status: "pending", type: "some.type", worker_id: "w", limit: "10", offset: "0", cursor: "1" },
  }),
  putSchedule: async ({ tokens }) => ({
    token: tokens.alice,
    params: { name: freshName("schedule") },
    query: ofAcme,
    body: {
      job: { type: "some.type", params: { a: 1 } },
      cron: "30 2 * * mon-fri",
      time_zone: "Europe/Berlin",
      start_at: 1,
      end_at: 4_000_000_000_000,
      max_runs: 10,
      jitter_sec: 60,
      catch_up: "all",
      catch_up_sec: 3600,
      overlap: "wait",
      paused: false,
    },
  }),
  getSchedule: async (world) => ({
    token: world.tokens.alice,
    params: await aliceSchedule(world),
    query: ofAcme,
  }),
  listSchedules: async ({ tokens }) => ({
    token: tokens.alice,
    query: { limit: "10", cursor: "acme/a", tenant: "acme" },
  }),
  listLanes: async ({ tokens }) => ({
    token: tokens.alice,
    query: { limit: "10", cursor: "acme/a", tenant: "acme" },
  }),
  removeSchedule: async (world) => ({
    token: world.tokens.alice,
    params: await aliceSchedule(world),
    query: ofAcme,
  }),
  pauseSchedule: async (world) => ({
    token: world.tokens.alice,
    params: await aliceSchedule(world),
    query: ofAcme,
    body: {},
  }),
  resumeSchedule: async (world) => ({
    token: world.tokens.alice,
    params: await aliceSchedule(world),
    query: ofAcme,
    body: {},
  }),
  runSchedule: async (world) => ({
    token: world.tokens.alice,
    params: await aliceSchedule(world),
    query: ofAcme,
    body: {},
  }),
  backfillSchedule: async (world) => ({
    token: world.tokens.alice,
    params: await aliceSchedule(world),
    query: ofAcme,
    body: { from: 1, to: 1_000 },
  }),
  putWebhook: async ({ hub }) => ({
    token: hub.admin,
    params: { name: freshName("webhook") },
    query: ofAcme,
    body: {
      url: "https://receiver.example/writ",
      events: ["job:completed", "job:failed"],
      filter: { types: ["some.type"], user_ids: ["alice"] },
    },
  }),
  getWebhook: async (world) => ({
    token: world.hub.admin,
    params: await someWebhook(world),
    query: ofAcme,
  }),
  listWebhooks: async ({ hub }) => ({
    token: hub.admin,
    query: { limit: "10", cursor: "acme/a", tenant: "acme" },
  }),
  removeWebhook: async (world) => ({
    token: world.hub.admin,
    params: await someWebhook(world),
    query: ofAcme,
  }),
  rotateWebhook: async (world) => ({
    token: world.hub.admin,
    params: await someWebhook(world),
    query: ofAcme,
    body: {},
  }),
  redeliverWebhook: async (world) => ({
    token: world.hub.admin,
    params: await someWebhook(world),
    query: ofAcme,
    body: { from_seq: 1 },
  }),
  putHook: async ({ tokens }) => ({
    token: tokens.alice,
    params: { name: freshName("hook") },
    query: ofAcme,
    body: { job: { type: "some.type" }, verify: "github", tolerance_sec: 60 },
  }),
  getHook: async (world) => ({
    token: world.tokens.alice,
    params: { name: (await aliceHook(world)).name },
    query: ofAcme,
  }),
  listHooks: async ({ tokens }) => ({
    token: tokens.alice,
    query: { limit: "10", cursor: "acme/a", tenant: "acme" },
  }),
  removeHook: async (world) => ({
    token: world.tokens.alice,
    params: { name: (await aliceHook(world)).name },
    query: ofAcme,
  }),
  receiveDelivery: async (world) => {
    const { name, secret } = await aliceHook(world);
    const body = Buffer.from('{"a":1}');
    const mac = createHmac("sha256", secret).update(body).digest("hex");
    const headers = { "x-hub-signature-256": `sha256=${mac}` };
    return { token: "", params: { tenant: "acme", name }, body, headers };
  },
  changeJobs: async (world) => ({
    token: world.tokens.alice,
    body: { act: "cancel", ids: [await aliceJob(world)], dry_run: true },
  }),
  countJobs: async ({ tokens }) => ({ token: tokens.alice, query: { type: "video.*", since: "0" } }),
  streamEvents: async (world) => ({ token: world.tokens.alice, query: { job_id: await aliceJob(world) } }),
  getJob: async (world) => ({ token: world.tokens.alice, params: { id: await aliceJob(world) } }),
  cancelJob: async (world) => ({ token: world.tokens.alice, params: { id: await aliceJob(world) } }),
  retryJob: async ({ hub, tokens }) => ({
    token: tokens.alice,
    params: { id: (await failedJob(hub, { token: tokens.alice })).id },
    body: {},
  }),
  holdJob: async (world) => ({
    token: world.tokens.alice,
    params: { id: await aliceJob(world) },
    body: {},
  }),
  resumeJob: async (world) => ({
    token: world.tokens.alice,
    params: { id: await aliceJob(world) },
    body: {},
  }),
  readOutput: async (world) => ({
    token: world.tokens.alice,
    params: { id: await aliceJob(world), stream: "stdout" },
    query: { offset: "0", attempt: "1", follow: "false" },
  }),
  searchOutput: async (world) => ({
    token: world.tokens.alice,
    params: { id: await aliceJob(world), stream: "stdout" },
    query: { q: "error", attempt: "1", from: "0" },
  }),
  listJobEvents: async (world) => ({
    token: world.tokens.alice,
    params: { id: await aliceJob(world) },
    query: { after: "0", limit: "10" },
  }),
  explainJob: async (world) => ({ token: world.tokens.alice, params: { id: await aliceJob(world) } }),
  getReceipt: async ({ hub, tokens }) => {
    const held = await signedRunningJob(hub, { token: tokens.alice });
    const body = { ...held.fence, result: 1, receipt: await receiptFor(hub, held, { result: 1 }) };
    await hub.must("POST", `/jobs/${held.id}/result`, { token: hub.admin, body });
    return { token: tokens.alice, params: { id: held.id } };
  },
  presignFiles: async ({ tokens }) => ({
    token: tokens.alice,
    body: [{ folderId: "f", objectKey: "a/b", method: "PUT", size: 5, sha256: sha256Hex("hello") }],
  }),
  listArtifacts: async (world) => ({
    token: world.tokens.alice,
    params: { id: (await jobWithFile(world)).id },
  }),
  getArtifact: async (world) => ({
    token: world.tokens.alice,
    params: { id: (await jobWithFile(world)).id, key: "a/k" },
    query: { folder_id: "f" },
  }),
  startByToken: async (world) => byToken(world, {}),
  presignByToken: async (world) =>
    byToken(world, [{ folderId: "f", objectKey: "a/k", method: "PUT", size: 5, sha256: sha256Hex("hello") }]),
  completeByToken: async (world) =>
    byToken(world, {
      success: false,
      result: { a: 1 },
      error: { code: "WORKER_EXIT_ERROR", message: "bad luck" },
      exit_code: 1,
      outputFiles: [],
    }),
  putObject: async (world) => ({ ...(await ticket(world, "PUT")), body: hello, headers: octets }),
  getObject: async (world) => ticket(world, "GET"),
  removeObject: async (world) => ticket(world, "DELETE"),
  completeUpload: async ({ hub, tokens }) => {
    await storedFile(hub, tokens.alice, { folderId: "f", objectKey: "c", bytes: hello });
    const [url] = await presign(hub, tokens.alice, { folderId: "f", objectKey: "c", method: "HEAD" });
    const { macKey } = openKeyRing(join(hub.home, "keys"), { nowMs: Date.now() });
    const forHead = readTicket(macKey, ticketIn(url!), { method: "HEAD", nowMs: Date.now() });
    const body = { parts: [{ number: 1, etag: "e" }] };
    return { token: "", params: { ticket: makeTicket(macKey, { ...forHead, method: "POST" }) }, body };
  },

  readStatistics: async ({ tokens }) => ({ token: tokens.viewer, query: { range: "15m", type: "exec" } }),

  registerWorker: async ({ tokens }) => ({ token: tokens.worker, body: fullRegistration() }),
  heartbeatWorker: async ({ hub, tokens }) => {
    const { id, fence } = await runningJob(hub, { token: tokens.alice });
    const lease = { job_id: id, attempt: fence.attempt, token: fence.token };
    const capabilities = [{ provider: "OLLAMA", model: "llama" }];
    const caller = { worker_id: fence.worker_id, boot_id: "b1", status: "active" };
    return { token: tokens.worker, body: { ...caller, current_jobs: [lease], capabilities } };
  },
  refuseClaim: async ({ hub, tokens }) => {
    const { id, fence } = await claimedJob(hub);
    const { worker_id, attempt, token } = fence;
    return {
      token: tokens.worker,
      params: { id: worker_id },
      body: {
        detail: "INVALID_SIGNATURE",
        reason: "the batch has no valid signature",
        jobs: [{ job_id: id, attempt, token, document_sha256: "0".repeat(64), lease_sha256: "1".repeat(64) }],
        unreadable: 0,
        key_id: "0".repeat(16),
        signature: "base64:",
      },
    };
  },
  saveWorkerMetrics: async ({ hub, tokens }) => ({
    token: tokens.worker,
    params: { id: await registerWorker(hub) },
    body: {
      ts: 1_700_000_000_000,
      cpu_percent: 12.5,
      load1: 0.25,
      mem_used_bytes: 1,
      mem_total_bytes: 2,
      disk_free_bytes: 3,
      slots_used: 0,
      slots: 4,
      signatures_verified: 1,
    },
  }),
  streamCommands: async ({ hub, tokens }) => ({
    token: tokens.worker,
    params: { id: await registerWorker(hub) },
    query: { session: "a" },
  }),
  claimJob: async ({ hub, tokens }) => ({
    token: tokens.worker,
    body: {
      worker_id: await registerWorker(hub),
      types: [freshName("none")],
      session: "a",
      wait_ms: 0,
      boot_id: "process 1",
    },
  }),
  claimJobs: async ({ hub, tokens }) => ({
    token: tokens.worker,
    body: {
      worker_id: await registerWorker(hub),
      types: [freshName("none")],
      session: "a",
      wait_ms: 0,
      boot_id: "process 1",
      max: 5,
      batch_lease: true,
    },
  }),
  pendingJob: async ({ hub, tokens }) => ({
    token: tokens.worker,
    query: { worker_id: await registerWorker(hub, { types: [freshName("none")] }), wait: "0" },
  }),
  startJob: async ({ hub, tokens }) => {
    const { id, fence } = await claimedJob(hub, { token: tokens.alice });
    return {
      token: tokens.worker,
      params: { id },
      body: { ...fence, progress: 1.5, detail: "x", isolation: fullIsolation },
    };
  },
  heartbeatJob: async (world) => fenced(world, { progress: 20, detail: "going on" }),
  releaseJob: async (world) => fenced(world, { progress: 1, detail: "d", reason: "a drain" }),
  reportProgress: async (world) => fenced(world, { progress: 50, detail: "half" }),
  reportAgent: async (world) =>
    fenced(world, {
      calls: [{ call: 1, tool: "Edit", title: "src/a.txt", path: "src/a.txt", status: "completed" }],
    }),
  readAllowance: async (world) => fenced(world, {}),
  reportStopped: async ({ hub, tokens }) => {
    const { id, fence } = await runningJob(hub, { token: tokens.alice });
    await hub.must("DELETE", `/jobs/${id}`, { token: tokens.alice });
    return { token: tokens.worker, params: { id }, body: { ...fence, exit_code: 143 } };
  },
  issueJobToken: async ({ hub, tokens }) => {
    const { id, fence } = await runningJob(hub, { token: tokens.alice, output_location: { folder_id: "f" } });
    return { token: tokens.worker, params: { id }, body: fence };
  },
  appendOutput: async ({ hub, tokens }) => {
    const { id, fence } = await runningJob(hub, { token: tokens.alice });
    return {
      token: tokens.worker,
      params: { id, stream: "stdout" },
      query: { offset: "0" },
      body: Buffer.from("hello"),
      headers: {
        "Content-Type": "application/octet-stream",
        "X-Worker-Id": fence.worker_id,
        "X-Job-Attempt": String(fence.attempt),
        "X-Lease-Token": fence.token,
      },
    };
  },
  finishJob: async (world) =>
    reported(world, { result: { a: 1.5 } }, { result: { a: 1.5 }, result_hash: sha256Hex('{"a":1.5}') }),
  failJob: async (world) =>
    reported(
      world,
      { result: [1] },
      {
        reason: "bad luck",
        code: "TIMEOUT",
        detail: "d",
        final: true,
        retry_in_sec: 60,
        partial_result: [1],
      },
    ),
  finishJobs: async ({ hub, tokens }) => {
    const { id, fence } = await runningJob(hub, { token: tokens.alice });
    const { worker_id, ...lease } = fence;
    const [hash, ended] = [sha256Hex(""), await runningJob(hub, { workerId: worker_id })];
    return {
      token: tokens.worker,
      body: {
        worker_id,
        items: [{ job_id: id, ...lease, result: 1, output: { stdout: 0, stderr: 0 } }],
        ends: [[ended.id, ended.fence.attempt, ended.fence.token, hash, 1, 2, hash, null]],
        receipts: { signature: "base64:x", leases: [[hash, 1]] },
      },
    };
  },

  listWorkers: async ({ tokens }) => ({ token: tokens.viewer, query: { samples: "1" } }),
  getWorker: async ({ hub, tokens }) => ({
    token: tokens.viewer,
    params: { id: await registerWorker(hub) },
  }),
  blockWorker: async (world) => onWorker(world),
  unblockWorker: async (world) => onWorker(world),
  drainWorker: async (world) => onWorker(world),
  undrainWorker: async (world) => onWorker(world),
  removeWorker: async ({ hub, tokens }) => ({
    token: tokens.worker,
    params: { id: await registerWorker(hub) },
    query: { boot_id: "b1" },
  }),
  createSession: async ({ tokens }) => ({ token: tokens.alice, body: { token: tokens.alice } }),
  verifyAudit: async ({ hub }) => ({ token: hub.admin, body: {} }),
  getAuditCheck: async ({ hub }) => ({ token: hub.admin }),
  listHubs: async ({ hub }) => ({ token: hub.admin }),
  listSettings: async ({ hub }) => ({ token: hub.admin }),
  createLoginCode: async ({ tokens }) => ({ token: tokens.alice, body: {} }),
  getSession: async ({ tokens }) => ({ token: tokens.alice }),
  removeSession: async ({ tokens }) => ({ token: tokens.alice }),
  createToken: async ({ hub }) => ({
    token: hub.admin,
    body: {
      role: "worker",
      tenant_id: "acme",
      user_id: "carol",
      worker_id: "carols.worker",
      expires_in_sec: 60,
    },
  }),
  refreshToken: async ({ hub }) => ({
    token: (await issueToken(hub, { role: "user" })).token,
    body: { expires_in_sec: 60 },
  }),
  listTokens: async ({ hub }) => ({ token: hub.admin }),
  revokeToken: async ({ hub }) => ({
    token: hub.admin,
    params: { id: (await issueToken(hub, { role: "user" })).id },
  }),
  listCerts: async ({ hub }) => ({ token: hub.admin }),
  revokeCert: async ({ hub }) => ({ token: hub.admin, params: { serial: await issuedCert(hub) } }),
  listKeys: async ({ tokens }) => ({ token: tokens.alice }),
  rotateKeys: async ({ hub }) => ({ token: hub.admin, body: { emergency: true, notice_sec: 3600 } }),
  revokeKey: async ({ hub }) => {
    await hub.must("POST", "/keys/rotate", { token: hub.admin, body: {} });
    const { keys } = (await hub.must("GET", "/keys", { token: hub.admin })).json<{ keys: Key[] }>();
    return {
      token: hub.admin,
      params: { id: keys.find(({ status }) => status === "retiring")!.key_id },
      body: { now: true },
    };
  },
  listQuotas: async ({ hub }) => ({ token: hub.admin }),
  getQuota: async ({ hub }) => ({ token: hub.admin, params: { id: "acme" } }),
  putQuota: async ({ hub }) => ({
    token: hub.admin,
    params: { id: "limited" },
    body: {
      max_queues: 100,
      max_pending: 10,
      max_running: 2,
      submits_per_sec: 5,
      max_output_bytes: 1000,
      max_artifact_bytes: 1000,
      max_schedules: 10,
      max_agent_usd_per_day: 2.5,
      max_agent_tokens_per_day: 1000,
      max_agent_tool_calls_per_day: 10,
      max_webhooks: 5,
      max_hooks: 5,
    },
  }),
  listQueues: async ({ hub }) => ({ token: hub.admin }),
  setQueuePaused: async ({ hub }) => ({
    token: hub.admin,
    params: { type: freshName("type") },
    body: { paused: true },
  }),
  searchAudit: async ({ hub, tokens }) => ({
    token: hub.admin,
    query: {
      event: "JOB_CREATED",
      user_id: "alice",
      tenant_id: "acme",
      job_id: (await submitJob(hub, { token: tokens.alice })).id,
      severity: "LOW",
      since: "0",
      until: "9000000000000",
      cursor: "1000000",
      limit: "10",
    },
  }),
  getLockdown: async ({ tokens }) => ({ token: tokens.viewer }),
  lockDown: async ({ hub }) => ({ token: hub.admin, body: { reason: "a drill" } }),
  liftLockdown: async ({ hub }) => ({ token: hub.admin, query: { tenant_id: "acme" } }),
};

type Key = { key_id: string; status: string };

const hello = Buffer.from("hello");

/** A URL for a file of alice. */
async function ticket({ hub, tokens }: World, method: string): Promise<Example> {
  const file = { folderId: "f", objectKey: freshName("k") };
  if (method !== "PUT") await storedFile(hub, tokens.alice, { ...file, bytes: hello });
  const [url] = await presign(hub, tokens.alice, { ...file, method });
  return { token: "", params: { ticket: ticketIn(url!) } };
}

/** A finished job of alice with one file. */
async function jobWithFile({ hub, tokens }: World): Promise<HeldJob> {
  const held = await runningJob(hub, { token: tokens.alice, output_location: { folder_id: "f" } });
  const file = await uploadForJob(hub, held, { folderId: "f", objectKey: "a/k", bytes: hello });
  const body = { ...held.fence, result: 1, output_files: [file] };
  await hub.must("POST", `/jobs/${held.id}/result`, { token: hub.admin, body });
  return held;
}

async function byToken({ hub, tokens }: World, body: unknown): Promise<Example> {
  const held = await runningJob(hub, { token: tokens.alice, output_location: { folder_id: "f" } });
  return { token: await jobTokenOf(hub, held), params: { id: held.id }, body };
}

async function aliceJob({ hub, tokens }: World): Promise<string> {
  return (await submitJob(hub, { token: tokens.alice })).id;
}

async function fenced({ hub, tokens }: World, body: Record<string, unknown>): Promise<Example> {
  const { id, fence } = await runningJob(hub, { token: tokens.alice });
  return { token: tokens.worker, params: { id }, body: { ...fence, ...body } };
}

/** An ending with everything that may come with one, a true receipt included. */
async function reported(
  { hub, tokens }: World,
  says: { result: unknown },
  body: Record<string, unknown>,
): Promise<Example> {
  const held = await signedRunningJob(hub, { token: tokens.alice, output_location: { folder_id: "f" } });
  const file = await uploadForJob(hub, held, { folderId: "f", objectKey: "k", bytes: hello });
  const output_files = [file];
  const { exit_code } = fullReport;
  const receipt = await receiptFor(hub, held, { ...says, exit_code, output_files });
  return {
    token: tokens.worker,
    params: { id: held.id },
    body: { ...held.fence, ...body, ...fullReport, output_files, receipt },
  };
}

async function onWorker({ hub }: World): Promise<Example> {
  return { token: hub.admin, params: { id: await registerWorker(hub) }, body: {} };
}

const fullIsolation = {
  level: "best-effort",
  applied: ["pid"],
  missing: [{ part: "net", why: "no" }],
  cgroup: "/sys/fs/cgroup/writ/jobs/1",
};
const fullReport = {
  started_at: 1,
  exit_code: 0,
  isolation: fullIsolation,
  usage: { cpu_ms: 1, memory_peak_bytes: 2, oom: false },
  output: { stdout: 0, stderr: 0 },
  small_output: { stdout: "", stderr: "" },
};
const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/** Every optional field that an exec job may have, so that each one is put to the test. */
const ofAcme = { tenant: "acme" };

async function aliceSchedule({ hub, tokens }: World): Promise<{ name: string }> {
  const name = freshName("schedule");
  const body = { job: { type: "some.type" }, every_sec: 3600 };
  await hub.must("PUT", `/schedules/${name}`, { token: tokens.alice, body });
  return { name };
}

async function someWebhook({ hub }: World): Promise<{ name: string }> {
  const name = freshName("webhook");
  const body = { url: "https://receiver.example/writ", events: ["job:failed"] };
  await hub.must("PUT", `/webhooks/${name}?tenant=acme`, { token: hub.admin, body });
  return { name };
}

async function aliceHook({ hub, tokens }: World): Promise<{ name: string; secret: string }> {
  const name = freshName("hook");
  const body = { job: { type: "some.type" }, verify: "github" };
  const answer = await hub.must("PUT", `/hooks/${name}`, { token: tokens.alice, body });
  return { name, secret: answer.json<{ secret: string }>().secret };
}

function fullSubmission(): Record<string, unknown> {
  return {
    type: freshName("full"),
    params: { a: [1, 2.5, "x"] },
    run: { kind: "exec", argv: ["echo", "hi"], env: { LANG: "C" }, cwd: "/work", secrets: ["KEY"] },
    priority: 5,
    max_attempts: 3,
    retry: { max: 2, delay_sec: 1, backoff: "fixed", max_delay_sec: 5, jitter: 0.5, not_on: ["TIMEOUT", 2] },
    finish_within_sec: 86_400,
    labels: ["nightly", "customer: 7"],
    keep_sec: 3_600,
    unique: {
      key: "index: 7",
      until: "start",
      on_duplicate: "postpone",
      debounce_sec: 10,
      max_wait_sec: 60,
    },
    lanes: [{ name: "stripe", max_running: 5, rate: { limit: 100, period_sec: 60, burst: 10 } }],
    timeout_sec: 60,
    requires: { tags: ["gpu"], session: "s", cores: 2, ram_gb: 1.5 },
    limits: { cpu: "500m", memory: "64M", io: "low", pids: 10, network: "closed" },
    egress: { allow: ["api.test:443"], inject: ["KEY"] },
    idempotency_key: freshName("key"),
    run_at: 1,
    queue_ttl_sec: 100_000,
    on_disconnect: "keep",
    steps: ["one", { two: 2 }],
    metadata: { note: "n" },
    output_location: { folder_id: "f", prefix: "a/b" },
    storage_access_policy: [{ folderId: "f", prefix: "a", method: "PUT" }],
    execution_location: "LOCAL_MACHINE",
    traceparent,
  };
}

function delegateSubmission(): Record<string, unknown> {
  return {
    type: "delegate",
    run: {
      kind: "delegate",
      agent: "claude-code",
      prompt: "p",
      expected_artifacts: ["a.txt"],
      idle_timeout_sec: 0,
    },
    provider: "OLLAMA",
    model: "llama",
    repo_root: "/srv/repo",
    allowed_paths: ["src/"],
  };
}

function fullRegistration(): Record<string, unknown> {
  const { publicKey } = generateKeyPairSync("ed25519");
  return {
    worker_id: freshName("worker"),
    name: "a worker",
    location: "CLOUD",
    cores: 2,
    ram_gb: 1.5,
    tags: ["gpu"],
    types: ["exec"],
    handler_types: ["image.resize"],
    slots: 2,
    kinds: ["exec", "handler", "delegate"],
    sessions: ["s", "t"],
    session: "u",
    containers: ["image-worker"],
    document_format: 2,
    boot_id: "process 1",
    sandbox_problem: "no launcher",
    agent_problems: [{ agent: "roo-code", why: "runs outside the cage" }],
    isolation: { level: "best-effort", missing: [{ part: "memory", why: "no controller" }] },
    capabilities: [{ provider: "OPENROUTER", model: "m" }],
    key_ids: ["0123456789abcdef"],
    public_key: publicKey.export({ type: "spki", format: "pem" }),
    version: "1.0.0",
  };
}
