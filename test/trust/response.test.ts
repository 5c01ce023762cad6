import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { signText } from "../../src/signing/ed25519.ts";
import { sha256Hex } from "../../src/signing/mac.ts";
import { receiptListText } from "../../src/signing/receipt.ts";
import { readEvents, readRows } from "../support/database.ts";
import { forgeDocuments } from "../support/edit-database.ts";
import { openEventStream } from "../support/event-stream.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub, stillEnv, type TestHub } from "../support/hub.ts";
import {
  claimedJob,
  freshName,
  type HeldJob,
  registerWorker,
  runningJob,
  submitJob,
} from "../support/jobs.ts";
import { receiptFor, signedRunningJob, signingWorker } from "../support/receipts.ts";
import { issueToken } from "../support/tokens.ts";
import { startTestWorker } from "../support/worker.ts";

let hub: TestHub;
beforeEach(async () => {
  hub = await startTestHub(stillEnv);
});
afterEach(() => hub.stop());

const names = () => readEvents(hub.home).map(({ event }) => event);
const worker = async (id: string) =>
  (await hub.must("GET", `/workers/${id}`, { token: hub.admin })).json<{ status: string }>();
const job = async (id: string) =>
  (await hub.must("GET", `/jobs/${id}`, { token: hub.admin })).json<Record<string, unknown>>();
const isLocked = async () =>
  (await hub.must("GET", "/lockdown", { token: hub.admin })).json<{ locked: boolean; reason: string }>();

/** A worker refuses a job whose signature does not hold. */
async function report(held: HeldJob, code = "INVALID_SIGNATURE"): Promise<void> {
  const body = { ...held.fence, reason: "the signature does not hold", code };
  await hub.must("POST", `/jobs/${held.id}/fail`, { token: hub.admin, body });
}

const editDocuments = () => forgeDocuments(hub.home);

/** Comes back when the responder has read everything that was there. */
async function answered(): Promise<void> {
  const last = readEvents(hub.home).at(-1)!.seq;
  await eventually("the responder has read the log", () => {
    const [row] = readRows(hub.home, "SELECT seq FROM log_readers WHERE name = 'responder'");
    return Number(row?.["seq"] ?? 0) >= last;
  });
}

describe("a forged job that an honest worker refuses", () => {
  test("does not get that worker blocked, and a tenant whose worker it is is watched", async () => {
    const alice = await issueToken(hub, { role: "user", tenant_id: "acme", user_id: "alice" });
    const own = await issueToken(hub, { role: "worker", tenant_id: "acme" });
    const workerId = await registerWorker(hub, { token: own.token });
    const held = await claimedJob(hub, { token: alice.token, workerId });
    await report(held);
    await answered();
    expect((await worker(held.fence.worker_id)).status).toBe("active");
    expect(names()).toContain("INVALID_SIGNATURE");
    // The responder moves on in the log first, and then says what it has done.
    const raised = await eventually("the tenant is watched", () =>
      readEvents(hub.home).find(({ event }) => event === "MONITORING_RAISED"),
    );
    expect(raised).toMatchObject({ tenant_id: "acme", details: { subject: "tenant:acme" } });
    await hub.must("GET", "/jobs", { token: alice.token });
    const recorded = await eventually("the request is recorded", () =>
      readEvents(hub.home).find(({ event }) => event === "REQUEST_RECORDED"),
    );
    expect(recorded).toMatchObject({
      tenant_id: "acme",
      details: { subject: "tenant:acme", outcome: "200", role: "user" },
      origin: { endpoint: "/jobs", method: "GET", userId: "alice" },
    });
  });

  test("is no reason to lock the hub, however often one or two workers say so", async () => {
    const workers = [await registerWorker(hub), await registerWorker(hub)];
    const held: HeldJob[] = [];
    for (let count = 0; count < 14; count++)
      held.push(await claimedJob(hub, { workerId: workers[count % 2]! }));
    for (const one of held) await report(one);
    await answered();
    expect(names().filter((name) => name === "INVALID_SIGNATURE")).toHaveLength(2);
    expect(await isLocked()).toMatchObject({ locked: false });
  });

  test("locks the hub when ten workers report it within a minute: each counts once for what it was given", async () => {
    for (let count = 0; count < 10; count++) await report(await claimedJob(hub));
    await eventually("the hub is locked", async () => (await isLocked()).locked);
    expect((await isLocked()).reason).toMatch(/10 workers reported 10/);
  });
});

describe("A4: one tenant", () => {
  const keys = async () => (await hub.must("GET", "/keys", { token: hub.admin })).text;

  test("locks only itself with reports of its own workers, and rotates nothing", async () => {
    const evil = (await issueToken(hub, { role: "worker", tenant_id: "evil" })).token;
    const user = (await issueToken(hub, { role: "user", tenant_id: "evil" })).token;
    const before = await keys();
    const workers: string[] = [];
    for (let count = 0; count < 11; count++) workers.push(await registerWorker(hub, { token: evil }));
    const claimed = [];
    for (const workerId of workers.slice(1)) claimed.push(await claimedJob(hub, { token: user, workerId }));
    // Claimed before the first report: the tenth locks the tenant as soon as the responder sees it.
    for (const job of claimed) await report(job);
    const tenants = async () =>
      (await hub.must("GET", "/lockdown", { token: hub.admin })).json<{ tenants: { tenant_id: string }[] }>()
        .tenants;
    await eventually("the tenant is locked", async () => (await tenants()).length === 1);
    expect(await tenants()).toMatchObject([{ tenant_id: "evil" }]);
    expect(await isLocked()).toMatchObject({ locked: false });
    expect(await keys()).toBe(before);

    const { id, type } = await submitJob(hub, { token: user });
    const own = { worker_id: workers[0], types: [type] };
    expect(await hub.call("POST", "/jobs/claim", { token: evil, body: own })).toMatchObject({ status: 423 });
    const shared = await registerWorker(hub);
    const claim = { worker_id: shared, types: [type] };
    expect((await hub.call("POST", "/jobs/claim", { token: hub.admin, body: claim })).status).toBe(204);
    expect((await hub.must("GET", `/jobs/${id}/why`, { token: user })).json()).toMatchObject({
      held_by: "lockdown",
    });
    expect((await claimedJob(hub, { workerId: shared })).fence.worker_id).toBe(shared);

    const stranger = (await issueToken(hub, { role: "admin", tenant_id: "good" })).token;
    const lift = (token: string) => hub.call("DELETE", "/lockdown?tenant_id=evil", { token });
    expect((await lift(stranger)).status).toBe(403);
    expect((await hub.must("GET", "/lockdown", { token: stranger })).json()).toMatchObject({ tenants: [] });
    const ownAdmin = (await issueToken(hub, { role: "admin", tenant_id: "evil" })).token;
    expect((await lift(ownAdmin)).status).toBe(204);
    expect((await hub.call("POST", "/jobs/claim", { token: evil, body: own })).status).toBe(200);
  });

  test("cannot lock the hub with ten bad receipts in one batch: only their worker is blocked", async () => {
    const { workerId, key } = await signingWorker(hub);
    const held: HeldJob[] = [];
    for (let count = 0; count < 12; count++) held.push(await runningJob(hub, { workerId }));
    const texts = await Promise.all(
      held.map(async (one) => (await receiptFor(hub, { ...one, key }, { result: 2 })).text),
    );
    const items = held.map(({ id, fence: { attempt, token } }, index) => {
      return { job_id: id, attempt, token, result: 1, receipt: texts[index] };
    });
    const receipts = { signature: signText(key, receiptListText(workerId, texts.map(sha256Hex))) };
    const body = { worker_id: workerId, items, receipts };
    await hub.must("POST", "/jobs/results", { token: hub.admin, body });
    await eventually("it is blocked", async () => (await worker(workerId)).status === "blocked");
    await answered();
    expect(names().filter((name) => name === "INVALID_SIGNATURE").length).toBeGreaterThanOrEqual(10);
    expect(await isLocked()).toMatchObject({ locked: false });
  });
});

describe("evidence against a worker", () => {
  test("a token used outside its worker blocks that worker and no other, and ends its command stream", async () => {
    const token = (await issueToken(hub, { role: "worker", worker_id: "bound" })).token;
    await registerWorker(hub, { token, worker_id: "bound" });
    const other = await registerWorker(hub);
    const stream = await openEventStream(hub, "/workers/bound/commands", { token });
    const answer = await hub.call("POST", "/jobs/claim", { token, body: { worker_id: other } });
    expect(answer).toMatchObject({ status: 403, code: "PERMISSION_DENIED" });
    expect((await worker("bound")).status).toBe("blocked");
    expect((await worker(other)).status).toBe("active");
    const evidence = readEvents(hub.home).find(({ details }) => details["evidence_against"] === "bound")!;
    expect(readEvents(hub.home).find(({ event }) => event === "WORKER_BLOCKED")!.details).toMatchObject({
      worker_id: "bound",
      reason: `SECURITY_VIOLATION: ${evidence.details["error"]}`,
      evidence: evidence.seq,
    });
    await stream.ended;
    const claim = await hub.call("POST", "/jobs/claim", { token, body: { worker_id: "bound" } });
    expect(claim).toMatchObject({ status: 403, code: "WORKER_BLOCKED" });
  });

  test("a receipt that does not hold blocks the worker that signed it, a true one does not", async () => {
    const honest = await signedRunningJob(hub);
    const liar = await signedRunningJob(hub);
    for (const [held, says] of [
      [honest, { result: 1 }],
      [liar, { result: 2 }],
    ] as const) {
      const body = { ...held.fence, result: 1, receipt: await receiptFor(hub, held, says) };
      await hub.must("POST", `/jobs/${held.id}/result`, { token: hub.admin, body });
    }
    await eventually("it is blocked", async () => (await worker(liar.fence.worker_id)).status === "blocked");
    expect((await worker(honest.fence.worker_id)).status).toBe("active");
    expect(await isLocked()).toMatchObject({ locked: false });
  });

  test("A3: a block outlives a restart of the shipped worker and of the hub", async () => {
    const first = await startTestWorker(hub);
    await hub.must("POST", `/workers/${first.workerId}/block`, { token: hub.admin });
    await first.stop({ keepHome: true });
    expect((await worker(first.workerId)).status).toBe("blocked");
    await hub.stop({ keepHome: true });
    hub = await startTestHub(stillEnv, { home: hub.home });
    const second = await startTestWorker(hub, first);
    try {
      await eventually("it has registered again", () => {
        const told = readEvents(hub.home).filter(({ event }) => event === "WORKER_REGISTERED");
        return told.length === 2;
      });
      expect((await worker(first.workerId)).status).toBe("blocked");
    } finally {
      await second.stop();
    }
  });

  test("a worker's own words are none, whatever it writes as detail", async () => {
    const held = await runningJob(hub);
    const body = { ...held.fence, reason: "x", code: "SECURITY_VIOLATION", detail: "RECEIPT" };
    await hub.must("POST", `/jobs/${held.id}/fail`, { token: hub.admin, body });
    await answered();
    expect((await worker(held.fence.worker_id)).status).toBe("active");
  });
});

describe("stored documents that were edited", () => {
  test("lock the hub at the tenth, recall what runs without charge and start an emergency rotation", async () => {
    const held = await runningJob(hub, { type: freshName("kept") });
    const before = await job(held.id);
    const type = freshName("forged");
    for (let count = 0; count < 10; count++) await submitJob(hub, { type });
    await editDocuments();
    const workerId = await registerWorker(hub);
    const claim = { worker_id: workerId, types: [type] };
    expect((await hub.call("POST", "/jobs/claim", { token: hub.admin, body: claim })).status).toBe(204);
    await eventually("the hub is locked", async () => (await isLocked()).locked);

    const refused = await hub.call("POST", "/jobs/claim", { token: hub.admin, body: claim });
    expect(refused).toMatchObject({ status: 423, code: "LOCKDOWN" });
    expect(refused.text).toContain("failed in the hub");
    await eventually("the job is taken back", async () => (await job(held.id))["status"] === "pending");
    expect(await job(held.id)).toMatchObject({
      attempts: (before["attempts"] as number) - 1,
      attempt: before["attempt"],
    });
    const result = { ...held.fence, result: 1 };
    expect(
      await hub.call("POST", `/jobs/${held.id}/result`, { token: hub.admin, body: result }),
    ).toMatchObject({
      status: 409,
      code: "LEASE_LOST",
    });
    expect((await worker(workerId)).status).toBe("inactive");
    await eventually("a new key signs", () => names().includes("KEY_ROTATED"));
  });
});

describe("a lockdown by an administrator", () => {
  const lock = (token = hub.admin) =>
    hub.call("POST", "/lockdown", { token, body: { reason: "a key was seen elsewhere" } });

  test("is not for an administrator of one tenant", async () => {
    const { token } = await issueToken(hub, { role: "admin", tenant_id: "acme" });
    expect(await lock(token)).toMatchObject({ status: 403 });
    expect(await hub.call("DELETE", "/lockdown", { token })).toMatchObject({ status: 403 });
    expect(await isLocked()).toMatchObject({ locked: false });
  });

  test("says why on every claim and in the health, over a restart, until a person lifts it", async () => {
    const held = await runningJob(hub);
    expect((await lock()).status).toBe(204);
    expect((await lock()).status).toBe(204);
    expect(names().filter((name) => name === "LOCKDOWN")).toHaveLength(1);
    expect((await job(held.id))["status"]).toBe("pending");
    await hub.stop({ keepHome: true });
    hub = await startTestHub(stillEnv, { home: hub.home });

    const health = (await hub.must("GET", "//healthz")).json();
    expect(health).toMatchObject({ status: "locked", lockdown: { reason: "a key was seen elsewhere" } });
    const body = { worker_id: held.fence.worker_id, types: [held.type] };
    for (const path of ["/jobs/claim", "/jobs/claim-batch"]) {
      const claim = { ...body, ...(path.endsWith("batch") ? { max: 2 } : {}) };
      const refused = await hub.call("POST", path, { token: hub.admin, body: claim });
      expect(refused).toMatchObject({ status: 423, code: "LOCKDOWN" });
      expect(refused.text).toContain("a key was seen elsewhere");
    }
    const beat = { worker_id: held.fence.worker_id, status: "active", current_jobs: [] };
    await hub.must("POST", "/workers/heartbeat", { token: hub.admin, body: beat });
    expect((await worker(held.fence.worker_id)).status).toBe("inactive");

    expect((await hub.call("DELETE", "/lockdown", { token: hub.admin })).status).toBe(204);
    await hub.must("POST", "/workers/heartbeat", { token: hub.admin, body: beat });
    expect((await worker(held.fence.worker_id)).status).toBe("active");
    expect((await hub.call("POST", "/jobs/claim", { token: hub.admin, body })).status).toBe(200);
    expect(names()).toContain("LOCKDOWN_LIFTED");
  });

  test("ends a claim that waits", async () => {
    const workerId = await registerWorker(hub);
    const body = { worker_id: workerId, types: [freshName("none")], wait_ms: 30_000 };
    const waiting = hub.call("POST", "/jobs/claim", { token: hub.admin, body });
    await eventually("the claim waits", async () => {
      const { text } = await hub.must("GET", "//metrics", { token: hub.admin });
      return /writ_waiting_workers 1/.test(text);
    });
    await lock();
    expect(await waiting).toMatchObject({ status: 423 });
  });
});
