import { expect, test } from "vitest";
import { errorOf } from "../support/call-http.ts";
import { editRows, readEvents, snapshot } from "../support/database.ts";
import { stillEnv } from "../support/hub.ts";
import { completedJob, failedJob, registerWorker, submitJob } from "../support/jobs.ts";
import { issueToken } from "../support/tokens.ts";
import { hubForAll } from "../support/use-hub.ts";

const hub = hubForAll(stillEnv);

/** Every event that the audit trail promises, with the act that brings it about. */
const promised: Record<string, () => Promise<unknown>> = {
  LOGIN_SUCCESS: async () => hub.must("POST", "/session", { body: { token: hub.admin } }),
  LOGIN_FAILED: async () => hub.call("GET", "/jobs", { token: "sk_user_nobody" }),
  TOKEN_REFRESH: async () => {
    const { token } = await issueToken(hub, { role: "user" });
    await hub.must("POST", "/tokens/refresh", { token });
  },
  TOKEN_ISSUED: () => issueToken(hub, { role: "user" }),
  TOKEN_REVOKED: async () => {
    const { id } = await issueToken(hub, { role: "user" });
    await hub.must("DELETE", `/tokens/${id}`, { token: hub.admin });
  },
  WORKER_REGISTERED: () => registerWorker(hub),
  WORKER_DEREGISTERED: async () => {
    const id = await registerWorker(hub);
    await hub.must("DELETE", `/workers/${id}`, { token: hub.admin });
  },
  WORKER_TOKEN_ISSUED: () => issueToken(hub, { role: "worker" }),
  WORKER_BLOCKED: async () => {
    const id = await registerWorker(hub);
    await hub.must("POST", `/workers/${id}/block`, { token: hub.admin, body: {} });
  },
  JOB_CREATED: () => submitJob(hub),
  JOB_STARTED: () => completedJob(hub),
  JOB_COMPLETED: () => completedJob(hub),
  JOB_FAILED: () => failedJob(hub),
  SECURITY_VIOLATION: () => failedJob(hub, { code: "SECURITY_VIOLATION" }),
  INVALID_SIGNATURE: () => failedJob(hub, { code: "INVALID_SIGNATURE" }),
  PATH_TRAVERSAL_ATTEMPT: () => failedJob(hub, { code: "PATH_TRAVERSAL_ATTEMPT" }),
  PERMISSION_DENIED: async () => {
    const { token } = await issueToken(hub, { role: "viewer" });
    expect((await hub.call("GET", "/tokens", { token })).status).toBe(403);
  },
  QUOTA_EXCEEDED: async () => {
    const { token } = await issueToken(hub, { role: "user", tenant_id: "full" });
    await hub.must("PUT", "/tenants/full/quota", { token: hub.admin, body: { max_pending: 0 } });
    await expect(submitJob(hub, { token })).rejects.toThrow(/429/);
  },
  RATE_LIMIT_HIT: async () => {
    const { token } = await issueToken(hub, { role: "user", tenant_id: "fast" });
    await hub.must("PUT", "/tenants/fast/quota", { token: hub.admin, body: { submits_per_sec: 1 } });
    const jobs = await Promise.allSettled(Array.from({ length: 5 }, () => submitJob(hub, { token })));
    expect(jobs.some(({ status }) => status === "rejected")).toBe(true);
  },
  KEY_ROTATED: async () => hub.must("POST", "/keys/rotate", { token: hub.admin, body: {} }),
  LOCKDOWN: async () => hub.must("POST", "/lockdown", { token: hub.admin, body: { reason: "a drill" } }),
  LOCKDOWN_LIFTED: async () => hub.must("DELETE", "/lockdown", { token: hub.admin }),
};

test.each(Object.keys(promised))("%s is in the log once its act is answered", async (name) => {
  const before = readEvents(hub.home).at(-1)?.seq ?? 0;
  await promised[name]!();
  expect(readEvents(hub.home, before).map(({ event }) => event)).toContain(name);
});

test("F-56: what cannot be recorded does not happen", async () => {
  const { id } = await submitJob(hub);
  editRows(
    hub.home,
    `CREATE TRIGGER no_audit BEFORE INSERT ON frames
      BEGIN SELECT RAISE(ABORT, 'the audit is full'); END`,
  );
  try {
    const before = snapshot(hub.home);
    const calls = [
      hub.call("POST", "/jobs", {
        token: hub.admin,
        body: { type: "x", run: { kind: "exec", argv: ["true"] } },
      }),
      hub.call("DELETE", `/jobs/${id}`, { token: hub.admin }),
      hub.call("POST", "/tokens", { token: hub.admin, body: { role: "admin" } }),
      hub.call("POST", "/session", { body: { token: hub.admin } }),
      hub.call("POST", "/lockdown", { token: hub.admin, body: { reason: "x" } }),
      hub.call("GET", "/jobs", { token: "sk_user_nobody" }),
    ];
    for (const answer of await Promise.all(calls)) {
      expect(answer.status, answer.text).toBeGreaterThanOrEqual(500);
      // Without the request's number, which is made of random letters.
      const { request_id: _, ...said } = errorOf(answer.text);
      expect(JSON.stringify(said)).not.toMatch(/audit is full|SQL|events|\.ts\b|\/tmp/);
    }
    expect(snapshot(hub.home)).toBe(before);
  } finally {
    editRows(hub.home, "DROP TRIGGER no_audit");
  }
  await submitJob(hub);
});
