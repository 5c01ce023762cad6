import { expect, test } from "vitest";
import type { ReceiptView } from "../../src/contract/shapes/trust-view-shapes.ts";
import { verifyBundle } from "../../src/signing/bundle/verify-bundle.ts";
import { signText } from "../../src/signing/ed25519.ts";
import { sha256Hex } from "../../src/signing/mac.ts";
import { functionReceiptText, receiptListText } from "../../src/signing/receipt.ts";
import { readEvents } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { stillEnv } from "../support/hub.ts";
import { type HeldJob, jobReader, runningJob } from "../support/jobs.ts";
import { signedRunningJob, signingWorker } from "../support/receipts.ts";
import { hubForAll } from "../support/use-hub.ts";
import { activeKey } from "../support/worker.ts";

const hub = hubForAll(stillEnv);
const view = jobReader(hub);
const leaseSha256 = sha256Hex("what the hub signed");

type Worker = Awaited<ReturnType<typeof signingWorker>>;
type Row = [string, number, string, string, number, number, string, unknown];

/** A true row, whose result is 1; its receipt may be of another worker. */
async function rowOf({ id, fence }: HeldJob, workerId = fence.worker_id): Promise<Row> {
  const { document_sha256 } = (await view(id)) as unknown as { document_sha256: string };
  const { attempt, token } = fence;
  const facts = { job_id: id, attempt, worker_id: workerId, document_sha256, started_at: 5, ended_at: 9 };
  const receipt = sha256Hex(functionReceiptText({ ...facts, result_sha256: sha256Hex("1") }));
  return [id, attempt, token, document_sha256, 5, 9, receipt, 1];
}

type Answer = { ends: { row: number; job_id: string; error: { code: string } }[]; items: unknown[] };

async function report({ workerId, key }: Worker, rows: Row[], items: object[] = []): Promise<Answer> {
  const leases: [string, number][] = [[leaseSha256, rows.length]];
  const text = receiptListText(
    workerId,
    rows.map((row) => row[6]),
    leases,
  );
  const receipts = { signature: signText(key, text), leases };
  const body = { worker_id: workerId, receipts, ends: rows, items };
  return (await hub.must("POST", "/jobs/results", { token: hub.admin, body })).json<Answer>();
}

async function held(worker: Worker, count: number): Promise<HeldJob[]> {
  const jobs: HeldJob[] = [];
  for (let n = 0; n < count; n++) jobs.push(await runningJob(hub, { workerId: worker.workerId }));
  return jobs;
}

const codesOf = ({ ends }: Answer) => ends.map(({ row, error }) => [row, error.code]);
const refusals = (jobId: string) =>
  readEvents(hub.home).filter(({ job_id, event }) => job_id === jobId && event === "INVALID_SIGNATURE");

test("rows end their jobs, and the receipt of one is proven without the others", async () => {
  const worker = await signingWorker(hub);
  const jobs = await held(worker, 3);
  const rows = await Promise.all(jobs.map((job) => rowOf(job)));
  expect(await report(worker, rows)).toEqual({ items: [], ends: [] });
  const [{ id }] = jobs as [HeldJob];
  expect(await view(id)).toMatchObject({ status: "completed", result: 1 });
  const bundle = (await hub.must("GET", `/jobs/${id}/receipt`, { token: hub.admin })).json<ReceiptView>();
  const { keyId, publicKeyPem } = activeKey(hub);
  const keys = [{ key_id: keyId, public_key: publicKeyPem, status: "active" as const }];
  const steps = await verifyBundle({ bundle, keys });
  expect(steps.filter(({ isFine }) => isFine === false)).toEqual([]);
  expect(JSON.parse(bundle.signed)).toEqual({
    leases: [[leaseSha256, 3]],
    receipts: rows.map((row) => row[6]),
    worker_id: worker.workerId,
  });
  const shown = JSON.stringify(bundle);
  for (const other of jobs.slice(1)) expect(shown).not.toContain(other.id);
  for (const { fence } of jobs) expect(shown).not.toContain(fence.token);
});

test("each row is judged by itself: a stale attempt, a swapped token, another worker's job and a false receipt", async () => {
  const worker = await signingWorker(hub);
  const [stale, swapped, fine, altered] = (await held(worker, 4)) as [HeldJob, HeldJob, HeldJob, HeldJob];
  const foreign = await signedRunningJob(hub);
  const rows = [
    await rowOf(stale),
    await rowOf(swapped),
    await rowOf(fine),
    await rowOf(altered),
    await rowOf(foreign, worker.workerId),
  ] as [Row, Row, Row, Row, Row];
  await hub.must("POST", `/jobs/${stale.id}/release`, { token: hub.admin, body: stale.fence });
  rows[1][2] = fine.fence.token;
  rows[3][7] = 2;
  const answer = await report(worker, rows);
  expect(codesOf(answer)).toEqual([
    [0, "LEASE_LOST"],
    [1, "LEASE_LOST"],
    [3, "INVALID_ARGUMENT"],
    [4, "LEASE_LOST"],
  ]);
  const states = await Promise.all([stale, swapped, fine, altered, foreign].map(({ id }) => view(id)));
  expect(states.map(({ status }) => status)).toEqual([
    "pending",
    "running",
    "completed",
    "running",
    "running",
  ]);
});

test("the same row again changes nothing, and one with another result is a conflict", async () => {
  const worker = await signingWorker(hub);
  const [job] = (await held(worker, 1)) as [HeldJob];
  const row = await rowOf(job);
  await report(worker, [row]);
  expect(await report(worker, [row])).toEqual({ items: [], ends: [] });
  const facts = { job_id: row[0], attempt: row[1], worker_id: worker.workerId, document_sha256: row[3] };
  const receipt = functionReceiptText({
    ...facts,
    result_sha256: sha256Hex("2"),
    started_at: 5,
    ended_at: 9,
  });
  const other: Row = [row[0], row[1], row[2], row[3], 5, 9, sha256Hex(receipt), 2];
  expect(codesOf(await report(worker, [other]))).toEqual([[0, "RESULT_CONFLICT"]]);
  expect(await view(job.id)).toMatchObject({ status: "completed", result: 1 });
});

test("a row that names another document, or hides output, leaves evidence against its worker", async () => {
  const worker = await signingWorker(hub);
  const [otherDocument, hidden, fine] = (await held(worker, 3)) as [HeldJob, HeldJob, HeldJob];
  const wrong = await rowOf(otherDocument);
  wrong[3] = sha256Hex("another document");
  const facts = {
    job_id: wrong[0],
    attempt: wrong[1],
    worker_id: worker.workerId,
    document_sha256: wrong[3],
  };
  const text = functionReceiptText({ ...facts, result_sha256: sha256Hex("1"), started_at: 5, ended_at: 9 });
  wrong[6] = sha256Hex(text);
  await hub.must("POST", `/jobs/${hidden.id}/output/stdout?offset=0`, {
    token: hub.admin,
    body: "words",
    headers: {
      "content-type": "application/octet-stream",
      "x-worker-id": worker.workerId,
      "x-job-attempt": String(hidden.fence.attempt),
      "x-lease-token": hidden.fence.token,
    },
  });
  expect(codesOf(await report(worker, [wrong, await rowOf(hidden), await rowOf(fine)]))).toEqual([]);
  for (const { id } of [otherDocument, hidden])
    await eventually("the evidence", async () => refusals(id).length === 1);
  expect(refusals(fine.id)).toEqual([]);
});

test("leases that do not name each receipt once are refused, and nothing ends", async () => {
  const worker = await signingWorker(hub);
  const [job] = (await held(worker, 1)) as [HeldJob];
  const row = await rowOf(job);
  const body = {
    worker_id: worker.workerId,
    receipts: { signature: "x", leases: [[leaseSha256, 2]] },
    ends: [row],
    items: [],
  };
  const answer = await hub.call("POST", "/jobs/results", { token: hub.admin, body });
  expect(answer).toMatchObject({ status: 400, code: "INVALID_ARGUMENT" });
  expect(await view(job.id)).toMatchObject({ status: "running" });
});

test("a refused row does not repeat its token", async () => {
  const worker = await signingWorker(hub);
  const [job] = (await held(worker, 1)) as [HeldJob];
  const row = await rowOf(job);
  row[2] = "short secret";
  expect(JSON.stringify(await report(worker, [row]))).not.toContain("short secret");
});
