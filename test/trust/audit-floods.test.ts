import { expect, test } from "vitest";
import { lastSeq, readEvents } from "../support/database.ts";
import { startTestHub, stillEnv } from "../support/hub.ts";
import { registerWorker, submitJob } from "../support/jobs.ts";
import { issueToken } from "../support/tokens.ts";
import { hubForAll } from "../support/use-hub.ts";

const hub = hubForAll(stillEnv);

async function recordsOf(act: () => Promise<unknown>) {
  const before = lastSeq(hub.home);
  await act();
  return readEvents(hub.home, before);
}

test("A11: a caller that is denied again and again leaves one record, and then meets a rate limit", async () => {
  const { token } = await issueToken(hub, { role: "user", tenant_id: "evil", user_id: "m" });
  const statuses: number[] = [];
  let last = "";
  const records = await recordsOf(async () => {
    for (let count = 0; count < 150; count++) {
      const { status, headers } = await hub.call("GET", "/tokens", { token });
      statuses.push(status);
      last = String(headers["retry-after"]);
    }
  });
  expect(statuses.slice(0, 100)).toEqual(Array(100).fill(403));
  expect(statuses.at(-1)).toBe(429);
  expect(Number(last)).toBeGreaterThan(0);
  expect(records.map(({ event }) => event)).toEqual(["PERMISSION_DENIED", "RATE_LIMIT_HIT"]);
  // What the caller may do is not limited by what it may not.
  expect((await hub.call("GET", "/jobs", { token })).status).toBe(200);
});

test("A11: submissions over a quota leave one record", async () => {
  const { token } = await issueToken(hub, { role: "user", tenant_id: "full" });
  await hub.must("PUT", "/tenants/full/quota", { token: hub.admin, body: { max_pending: 0 } });
  const records = await recordsOf(async () => {
    for (let count = 0; count < 20; count++) {
      expect((await hub.call("POST", "/jobs", { token, body: { type: "x" } })).status).toBe(429);
    }
  });
  expect(records.map(({ event }) => event)).toEqual(["QUOTA_EXCEEDED"]);
});

test("A11: a worker that reports for thousands of attempts that never were leaves two records", async () => {
  const { token } = await issueToken(hub, { role: "worker", tenant_id: "evil" });
  const user = await issueToken(hub, { role: "user", tenant_id: "evil" });
  const workerId = await registerWorker(hub, { token });
  const { id } = await submitJob(hub, { token: user.token });
  const records = await recordsOf(async () => {
    for (let call = 0; call < 4; call++) {
      const items = Array.from({ length: 256 }, (_, index) => ({
        ...{ job_id: id, attempt: call * 256 + index + 1, token: "x".repeat(32) },
        ...{ reason: "x", code: "INVALID_SIGNATURE" },
      }));
      await hub.must("POST", "/jobs/results", { token, body: { worker_id: workerId, items } });
    }
  });
  const told = records.map(({ event }) => event).filter((event) => event !== "MONITORING_RAISED");
  expect(told.filter((event) => event !== "REQUEST_RECORDED")).toEqual([
    "INVALID_SIGNATURE",
    "STALE_RESULT_REJECTED",
  ]);
});

test("A11: what was only counted is recorded as one when the hub stops", async () => {
  const other = await startTestHub(stillEnv);
  const { token } = await issueToken(other, { role: "user", tenant_id: "evil", user_id: "m" });
  for (let count = 0; count < 7; count++) await other.call("GET", "/tokens", { token });
  await other.stop({ keepHome: true });
  const denied = readEvents(other.home).filter(({ event }) => event === "PERMISSION_DENIED");
  expect(denied).toMatchObject([{ details: { error: expect.any(String) } }, { details: { folded: 6 } }]);
  expect(denied[1]).toMatchObject({ tenant_id: "evil", origin: { userId: "m", endpoint: "/tokens" } });
});

test("A17: a probe of another tenant's job writes nothing to the job, and the same to the trail as any id", async () => {
  const owner = await issueToken(hub, { role: "user", tenant_id: "good" });
  const prober = await issueToken(hub, { role: "admin", tenant_id: "prober" });
  const { id } = await submitJob(hub, { token: owner.token });
  const timeline = async () => (await hub.must("GET", `/jobs/${id}/events`, { token: owner.token })).text;
  const before = await timeline();
  const unknown = "01890000-0000-7000-8000-000000000000";
  const records = await recordsOf(async () => {
    for (const jobId of [id, unknown]) {
      expect((await hub.call("GET", `/jobs/${jobId}`, { token: prober.token })).status).toBe(404);
    }
  });
  const shown = records.map((record) =>
    JSON.stringify({ ...record, seq: 0, ts: 0 })
      .replaceAll(id, "ID")
      .replaceAll(unknown, "ID"),
  );
  expect(shown).toHaveLength(2);
  expect(shown[0]).toBe(shown[1]);
  expect(await timeline()).toBe(before);
});
