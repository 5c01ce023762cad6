import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { JobView } from "../../src/contract/shapes/view-shapes.ts";
import type { WorkerView } from "../../src/contract/shapes/worker-view.ts";
import type { WhyView } from "../../src/contract/why-view.ts";
import { formatOf } from "../../src/core/jobs/document-format.ts";
import type { NewJob } from "../../src/core/jobs/job.ts";
import { parseQueueKey, queueKey } from "../../src/core/jobs/queue-key.ts";
import type { JsonObject } from "../../src/core/text/json-value.ts";
import { buildDocument } from "../../src/hub/use-cases/jobs/build-document.ts";
import { canonicalize } from "../../src/signing/canonical.ts";
import { sha256Hex } from "../../src/signing/mac.ts";
import { parseJson } from "../../src/signing/parse-json.ts";
import { openSqliteStore } from "../../src/store/sqlite/open-store.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub, type TestHub } from "../support/hub.ts";
import { jobReader, submitJob } from "../support/jobs.ts";
import { type OldWorker, startOldWorker } from "./old-worker.ts";

/** Exec jobs with a field that no version has, stored as a hub that had it would: with its format, and without. */
const future = { jobId: "00000000-0000-4000-8000-000000000001", priority: 10, formats: { on_holiday: 2 } };
const unrouted = { jobId: "00000000-0000-4000-8000-000000000002", priority: 9, formats: {} };

let hub: TestHub;
let old: OldWorker;

beforeAll(async () => {
  const { home, stop } = await startTestHub();
  await stop({ keepHome: true });
  await storeJobs(home, [future, unrouted].map(futureJob));
  hub = await startTestHub({}, { home });
  old = startOldWorker(hub);
});
afterAll(async () => {
  await old.stop();
  await hub.stop();
});

function futureJob({ jobId, priority, formats }: typeof future | typeof unrouted): NewJob {
  const submission = { type: "exec", priority, run: { kind: "exec" as const, argv: ["true"] } };
  const job = buildDocument(submission, { tenantId: "default", userId: "ada" }, { jobId, nowMs: Date.now() });
  const fields = { ...(parseJson(job.document) as JsonObject), on_holiday: true };
  const document = canonicalize(fields);
  const facts = { ...parseQueueKey(job.queueKey), document_format: formatOf(fields, formats) };
  return { ...job, document, documentSha256: sha256Hex(document), queueKey: queueKey(facts) };
}

async function storeJobs(home: string, jobs: NewJob[]): Promise<void> {
  const macKey = Buffer.from(readFileSync(join(home, "keys/mac.key"), "utf8").trim(), "hex");
  const store = await openSqliteStore({ path: join(home, "writ.sqlite"), macKey });
  await store.submitJobs({ jobs, maxPending: null, origin: null });
  await store.close();
}

function readJob(id: string): Promise<JobView> {
  return jobReader(hub)(id);
}

function ended(id: string): Promise<JobView> {
  return eventually(`job ${id} ends`, async () => {
    const job = await readJob(id);
    return job.completed_at !== null && job;
  });
}

/** It has one slot and takes the highest priority first: what came after was done, and this was left. */
async function expectLeft(id: string, why: string[]): Promise<void> {
  const { id: lowest } = await submitJob(hub, { type: "exec", priority: 1 });
  expect(await ended(lowest)).toMatchObject({ status: "completed" });
  expect(await readJob(id)).toMatchObject({ status: "pending", attempt: 0, worker_id: null });
  const answer = (await hub.must("GET", `/jobs/${id}/why`, { token: hub.admin })).json<WhyView>();
  expect(answer.held_by).toBe("no_fitting_worker");
  expect(answer.workers.find(({ worker_id }) => worker_id === old.workerId)?.why).toEqual(why);
  expect(answer.summary).toContain(why[0]);
}

test("a worker of version 0.1 is taken for what it is", async () => {
  const worker = await eventually("the old worker registers", async () => {
    const workers = (await hub.must("GET", "/workers", { token: hub.admin })).json<WorkerView[]>();
    return workers.find(({ id }) => id === old.workerId);
  });
  expect(worker).toMatchObject({
    kinds: ["exec", "handler"],
    sessions: ["tmux:one"],
    containers: [],
    document_format: 1,
  });
});

test("it leaves a job of a format that it does not read, and `why` names the format", async () => {
  await expectLeft(future.jobId, ["reads documents up to format 1, and this one has 2"]);
});

test("without its format in the queue key it would have claimed that job and failed it for good", async () => {
  const job = await ended(unrouted.jobId);
  expect(job).toMatchObject({ status: "failed", worker_id: old.workerId, fail_code: "INVALID_JOB" });
  expect(job.fail_history[0]?.reason).toContain("on_holiday");
});

test("it leaves a job of a kind that it does not run, and `why` names the kind", async () => {
  const run = { kind: "solver", url: "https://example.org/solver", checksum: "a".repeat(64) };
  const { id } = await submitJob(hub, { type: "solve", priority: 10, run });
  await expectLeft(id, ["does not run solver jobs"]);
});

test("B2: it leaves a job that says what to do when the hub is away, because it cannot read that", async () => {
  const { id } = await submitJob(hub, { type: "exec", priority: 10, on_disconnect: "stop" });
  await expectLeft(id, ["reads documents up to format 1, and this one has 2"]);
});

test("it leaves a job in a container, and `why` names all three reasons", async () => {
  const run = { kind: "exec_per_job", worker_command: ["resize"], container: "image-worker" };
  const { id } = await submitJob(hub, { type: "resize", priority: 10, run });
  await expectLeft(id, [
    "does not run exec_per_job jobs",
    "has no container image-worker",
    "reads documents up to format 1, and this one has 2",
  ]);
});

test("it runs everything that it could run before", async () => {
  const submit = async (body: Record<string, unknown>) => (await submitJob(hub, body)).id;
  const env = { WHO: "Ada" };
  const argv = ["sh", "-c", 'echo "hello $WHO"; echo "[1.0]"'];
  const exec = await submit({ type: "exec", run: { kind: "exec", argv, env }, limits: { network: "host" } });
  const session = await submit({ type: "exec", requires: { session: "tmux:one", cores: 1 } });
  const command = await submit({ type: "old.greet", run: undefined, params: { name: "Ada" } });
  const fn = await submit({ type: "old.double", run: { kind: "handler", params: { number: 21 } } });
  const failing = await submit({ type: "exec", max_attempts: 1, run: { kind: "exec", argv: ["false"] } });

  expect(await ended(exec)).toMatchObject({ status: "completed", exit_code: 0, result: [1.0] });
  const output = await hub.must("GET", `/jobs/${exec}/output/stdout`, { token: hub.admin });
  expect(output.text).toBe("hello Ada\n[1.0]\n");
  expect(await ended(session)).toMatchObject({ status: "completed", worker_id: old.workerId });
  expect(await ended(command)).toMatchObject({ status: "completed", result: { name: "Ada" } });
  expect(await ended(fn)).toMatchObject({ status: "completed", result: 42 });
  expect(await ended(failing)).toMatchObject({ status: "failed", exit_code: 1 });
  const receipt = await hub.must("GET", `/jobs/${exec}/receipt`, { token: hub.admin });
  expect(receipt.json()).toMatchObject({ job_id: exec, worker: { worker_id: old.workerId } });
});
