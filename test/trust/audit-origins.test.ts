import { describe, expect, test } from "vitest";
import type { AuditView } from "../../src/contract/shapes/audit-shapes.ts";
import { lastSeq, readEvents } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { stillEnv } from "../support/hub.ts";
import { jobReader, registerWorker, runningJob, submitJob } from "../support/jobs.ts";
import { issueToken } from "../support/tokens.ts";
import { hubForAll } from "../support/use-hub.ts";
import { startTestWorker } from "../support/worker.ts";

const hub = hubForAll(stillEnv);

async function trailOf(jobId: string): Promise<AuditView[]> {
  const path = `/audit?job_id=${jobId}&limit=50`;
  return (await hub.must("GET", path, { token: hub.admin })).json<AuditView[]>().reverse();
}

test("O-17 every event that our worker causes names its address, program, user and route", async () => {
  const { token } = await issueToken(hub, { role: "worker", user_id: "fleet" });
  const { id, type } = await submitJob(hub);
  const worker = await startTestWorker(hub, { types: [type], env: { WRIT_TOKEN: token } });
  try {
    await eventually("it has ended", async () => (await jobReader(hub)(id)).status === "completed");
  } finally {
    await worker.stop();
  }
  const caller = {
    ip_address: "127.0.0.1",
    user_agent: expect.stringMatching(/^writ-worker\/\d+\.\d+\.\d+/),
    user_id: "fleet",
  };
  const [created, ...byWorker] = await trailOf(id);
  expect(created!.event).toBe("JOB_CREATED");
  expect(byWorker).toMatchObject([
    { ...caller, event: "JOB_ASSIGNED", context: { endpoint: "/jobs/claim-batch", method: "POST" } },
    { ...caller, event: "JOB_STARTED", context: { method: "POST" } },
    { ...caller, event: "JOB_COMPLETED", context: { endpoint: "/jobs/results", method: "POST" } },
  ]);
});

describe("O-17 a violation is recorded with who, from where, by which call and why", () => {
  const asWorker = { headers: { "User-Agent": "mine/1" }, from: "127.0.0.2" };
  const caller = { ip_address: "127.0.0.2", user_agent: "mine/1", user_id: "worker" };

  test.each(["SECURITY_VIOLATION", "PATH_TRAVERSAL_ATTEMPT"])("%s", async (code) => {
    const { token } = await issueToken(hub, { role: "worker" });
    const workerId = await registerWorker(hub, { token });
    const { id, fence } = await runningJob(hub, { workerId });
    const body = { ...fence, reason: "it tried /etc/shadow", code };
    await hub.must("POST", `/jobs/${id}/fail`, { token, body, ...asWorker });
    const context = { endpoint: "/jobs/:id/fail", method: "POST" };
    const details = { job_id: id, error: "it tried /etc/shadow" };
    expect((await trailOf(id)).slice(-2)).toMatchObject([
      { ...caller, event: "JOB_FAILED", context, details },
      { ...caller, event: code, severity: "HIGH", context, details },
    ]);
  });

  // A claim that does not verify says nothing of its jobs: the record is about the worker, and the jobs go back.
  test.each([
    { what: "INVALID_SIGNATURE", changes: {}, status: 200 },
    { what: "REPLAY", changes: { attempt: 7 }, status: 409 },
  ])("$what, reported with status $status", async ({ what, changes, status }) => {
    const { token } = await issueToken(hub, { role: "worker" });
    const workerId = await registerWorker(hub, { token });
    const { id, fence } = await runningJob(hub, { workerId });
    const body = {
      ...fence,
      reason: "it does not verify",
      code: "SECURITY_VIOLATION",
      detail: what,
      ...changes,
    };
    const answer = await hub.call("POST", `/jobs/${id}/fail`, { token, body, ...asWorker });
    expect(answer.status).toBe(status);
    const all = (await hub.must("GET", "/audit?severity=HIGH&limit=50", { token: hub.admin })).json<
      AuditView[]
    >();
    const found = all.find(({ details }) => details["worker_id"] === workerId);
    expect(found).toMatchObject({
      ...caller,
      context: { endpoint: "/jobs/:id/fail", method: "POST" },
      details: { error: "it does not verify" },
    });
  });
});

test("O-17 ten different path attempts in a minute are recorded whole, and the next ones counted", async () => {
  const { token } = await issueToken(hub, { role: "user", tenant_id: "climbers", user_id: "mallory" });
  const run = { kind: "delegate", agent: "a", prompt: "p" };
  const long = `../${"x".repeat(150)}`;
  const tried = ["../a", "a/../../b", "/etc/passwd", "~/.ssh", "~root/x", "a\0b", "%2e%2e/c", "\\etc"];
  const paths = [...tried, `${long}1`, `${long}2`, "../eleventh", "../twelfth"];
  const before = lastSeq(hub.home);
  for (const path of paths) {
    const body = { type: "t", run, provider: "OLLAMA", model: "m", repo_root: "/srv", allowed_paths: [path] };
    const answer = await hub.call("POST", "/jobs", { token, body });
    expect([path, answer.status, answer.text]).toEqual([path, 400, expect.stringContaining("TRAVERSAL")]);
  }
  const attempts = readEvents(hub.home, before).filter(({ event }) => event === "PATH_TRAVERSAL_ATTEMPT");
  const shown = paths.map((path) => path.replace("\0", "\\0"));
  // The eleventh is the first of those that are counted together.
  expect(attempts.map(({ details }) => details["paths"])).toEqual(shown.slice(0, 11).map((path) => [path]));
  for (const { origin, details } of attempts) {
    expect(origin).toMatchObject({ userId: "mallory", ipAddress: "127.0.0.1", endpoint: "/jobs" });
    expect(details["error"]).toContain("allowed_paths[0]");
  }
});

test("a path attempt is recorded whichever field of a request it is in, with that field", async () => {
  const sha256 = "0".repeat(64);
  const exec = { kind: "exec", argv: ["true"] };
  const stored = { folder_id: "in", object_key: "a", sha256 };
  const bodies: [string, string, unknown][] = [
    ["run.cwd", "/jobs", { type: "t", run: { ...exec, cwd: "../x" } }],
    ["run.cwd", "/jobs", { type: "t", run: { ...exec, cwd: "/work/../../x" } }],
    ["run.cwd", "/jobs", { type: "t", run: { ...exec, cwd: "~/x" } }],
    ["cwd", "/jobs/start", { command: ["true"], cwd: "/tmp/../etc" }],
    ["[0].folderId", "/files/presigned-urls", [{ folderId: "../x", objectKey: "a", method: "GET" }]],
    ["[0].objectKey", "/files/presigned-urls", [{ folderId: "x", objectKey: "../a", method: "GET" }]],
    ["output_location.folder_id", "/jobs", { type: "t", run: exec, output_location: { folder_id: ".." } }],
    [
      "run.inputs[0].folder_id",
      "/jobs",
      { type: "t", run: { ...exec, inputs: [{ ...stored, folder_id: "../x", path: "a" }] } },
    ],
    [
      "storage_access_policy[0].folderId",
      "/jobs",
      { type: "t", run: exec, storage_access_policy: [{ folderId: "/x", prefix: "", method: "GET" }] },
    ],
  ];
  for (const [field, path, body] of bodies) {
    const { token } = await issueToken(hub, { role: "user", tenant_id: "climbers" });
    const before = lastSeq(hub.home);
    const answer = await hub.call("POST", path, { token, body });
    expect([field, answer.status, answer.text]).toEqual([field, 400, expect.stringContaining("TRAVERSAL")]);
    const attempts = readEvents(hub.home, before).filter(({ event }) => event === "PATH_TRAVERSAL_ATTEMPT");
    expect(attempts).toMatchObject([{ details: { fields: [field] }, origin: { endpoint: path } }]);
  }
});

test("O-17 a wrong path that stays inside is a mistake, and no attempt", async () => {
  const { token } = await issueToken(hub, { role: "user", tenant_id: "climbers" });
  const run = { kind: "delegate", agent: "a", prompt: "p" };
  const before = lastSeq(hub.home);
  for (const [repo_root, path] of [
    ["/srv", ""],
    ["relative", "src"],
    ["/srv", "src/.git"],
  ] as const) {
    const body = { type: "t", run, provider: "OLLAMA", model: "m", repo_root, allowed_paths: [path] };
    expect((await hub.call("POST", "/jobs", { token, body })).status).toBe(400);
  }
  const events = readEvents(hub.home, before).map(({ event }) => event);
  expect(events).not.toContain("PATH_TRAVERSAL_ATTEMPT");
});
