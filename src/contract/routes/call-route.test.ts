import { describe, expect, test } from "vitest";
import { adminRoutes } from "./admin-routes.ts";
import { buildRequest, JsonText } from "./build-request.ts";
import { callRoute, openRoute } from "./call-route.ts";
import { jobRoutes } from "./job-routes.ts";
import { type Received, readAnswer } from "./read-answer.ts";
import { workerRoutes } from "./worker-routes.ts";

const id = "01890000-0000-7000-8000-000000000000";

describe("a refusal", () => {
  test("is the hub's own error, with its code, details and status", () => {
    const error = { code: "OUTPUT_OFFSET", message: "no", details: { size: 7 } };
    expect(refused(409, JSON.stringify({ error }))).toMatchObject({
      code: "OUTPUT_OFFSET",
      message: "no",
      details: { size: 7, status: 409 },
    });
  });

  test("of a hub that is not well has its code and reason", () => {
    const body = { status: "store unavailable", code: "STORE_UNAVAILABLE", reason: "the disk is full" };
    expect(refused(503, JSON.stringify(body))).toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: "the disk is full",
      details: { status: 503 },
    });
  });

  test("that does not come from a hub is HTTP_ERROR", () => {
    expect(refused(502, "<html>")).toMatchObject({ code: "HTTP_ERROR", details: { status: 502 } });
    expect(refused(500, '{"error":{"code":"toString"}}')).toMatchObject({ code: "HTTP_ERROR" });
    expect(refused(302, "")).toMatchObject({ code: "HTTP_ERROR" });
  });

  test("of a stream is read as far as it is needed, and thrown", async () => {
    let isClosed = false;
    async function* endless() {
      try {
        for (;;) yield Buffer.from('{"error":{"code":"NOT_FOUND","message":"no such job"}}'.padEnd(8192));
      } finally {
        isClosed = true;
      }
    }
    const opening = openRoute(
      async () => ({ status: 404, header: () => undefined, body: endless() }),
      jobRoutes.streamEvents,
      {},
    );
    await expect(opening).rejects.toMatchObject({ details: { status: 404 } });
    expect(isClosed).toBe(true);
  });
});

describe("an answer", () => {
  test("must have a status that the table names, and a body in its shape", () => {
    expect(refused(202, "")).toMatchObject({ code: "HTTP_ERROR", details: { status: 202 } });
    expect(refused(200, "{")).toMatchObject({ code: "HTTP_ERROR", message: expect.stringContaining("JSON") });
    const wrong = JSON.stringify({ ...identity, user_id: 1 });
    expect(refused(200, wrong)).toMatchObject({ message: expect.stringContaining("user_id") });
  });

  test("comes in the types of its route", () => {
    const { status, body, header } = readAnswer(adminRoutes.getSession, received(200, identity));
    const known: 200 = status;
    const role: "admin" | "user" | "worker" | "viewer" = body.role;
    expect([known, role, header("x-any")]).toEqual([200, "user", "of x-any"]);
  });

  test("of a newer hub is understood: fields and values that this version does not know stay in it", () => {
    const worker = {
      id: "w",
      name: null,
      location: "MOON",
      cores: 1,
      ram_gb: 1,
      tags: [],
      types: [],
      slots: 1,
      capabilities: [{ provider: "NEW", model: "m", speed: 3 }],
      status: "active",
      registered_at: 1,
      last_heartbeat: 1,
      current_jobs: 0,
      job_counts: { completed: 0, failed: 0 },
      metrics: [],
      version: null,
      mood: "fine",
    };
    expect(readAnswer(adminRoutes.getWorker, received(200, worker)).body).toEqual(worker);
  });
});

describe("a request", () => {
  test("has its path, query and body from the route", () => {
    const params = { id: "a/b c" };
    expect(buildRequest(adminRoutes.getWorker, { params })).toEqual({
      method: "GET",
      path: "/api/v1/workers/a%2Fb%20c",
      headers: {},
      body: undefined,
      mayRepeat: true,
    });
    const query = { status: ["pending" as const, "failed" as const], limit: 10, cursor: undefined };
    expect(buildRequest(jobRoutes.listJobs, { query }).path).toBe(
      "/api/v1/jobs?status=pending%2Cfailed&limit=10",
    );
    expect(buildRequest(adminRoutes.createToken, { body: { role: "user" } })).toMatchObject({
      mayRepeat: false,
      headers: { "content-type": "application/json" },
      body: '{"role":"user"}',
    });
  });

  test("takes JSON that is written already, and bytes, as they are", () => {
    const text = new JsonText('{"a":1.0}');
    expect(buildRequest(jobRoutes.submitJob, { body: text }).body).toBe('{"a":1.0}');
    const body = new Uint8Array([1, 2]);
    const params = { id, stream: "stdout" } as const;
    const headers = { "x-worker-id": "w" };
    expect(buildRequest(workerRoutes.appendOutput, { params, query: { offset: 3 }, body, headers })).toEqual({
      method: "POST",
      path: `/api/v1/jobs/${id}/output/stdout?offset=3`,
      headers: { "content-type": "application/octet-stream", "x-worker-id": "w" },
      body,
      mayRepeat: true,
    });
  });

  test("does not compile with parts that its route does not have, or without those that it needs", () => {
    const send = async () => received(200, identity);
    const never = () => {
      // @ts-expect-error: the id is missing
      void callRoute(send, jobRoutes.getJob, {});
      // @ts-expect-error: no such state
      void callRoute(send, jobRoutes.listJobs, { query: { status: ["lost"] } });
      // @ts-expect-error: a token needs a role
      void callRoute(send, adminRoutes.createToken, { body: {} });
      // @ts-expect-error: it takes no body
      void callRoute(send, adminRoutes.getSession, { body: {} });
      // @ts-expect-error: an offset is needed
      void callRoute(send, workerRoutes.appendOutput, {
        params: { id, stream: "stdout" },
        body: new Uint8Array(),
      });
    };
    expect(never).toBeTypeOf("function");
  });
});

const identity = { role: "user", tenant_id: null, user_id: "alice", worker_id: null };

function received(status: number, body: unknown): Received {
  return { status, header: (name) => `of ${name}`, text: () => JSON.stringify(body) };
}

function refused(status: number, text: string): unknown {
  try {
    return readAnswer(adminRoutes.getSession, { status, header: () => undefined, text: () => text });
  } catch (error) {
    return error;
  }
}
