import { describe, expect, onTestFinished, test } from "vitest";
import { type HandClock, handClock } from "../../src/runtime/clock/hand-clock.testing.ts";
import { elsewhereStatus, frameKinds, plainFrame, requestFrame } from "../../src/runtime/wire/frame.ts";
import { errorOf } from "../support/call-http.ts";
import { lastSeq, readEvents } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { askForFrames, FrameClient } from "../support/frame-client.ts";
import { stillEnv } from "../support/hub.ts";
import { freshName, registerWorker } from "../support/jobs.ts";
import { type MemoryHub, startMemoryHub } from "../support/memory-hub.ts";
import { issueToken } from "../support/tokens.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";

const hub = memoryHubForAll(stillEnv);
const tokens = tokensOf(hub);

describe("an upgrade is refused", () => {
  const cases: [string, () => Record<string, string | string[]>, number, string][] = [
    ["without a token", () => ({}), 401, "UNAUTHENTICATED"],
    ["with a wrong token", () => ({ authorization: "Bearer sk_user_nobody" }), 401, "UNAUTHENTICATED"],
    [
      "with two tokens",
      () => ({ authorization: [`Bearer ${hub.admin}`, `Bearer ${hub.admin}`] }),
      401,
      "UNAUTHENTICATED",
    ],
    [
      "to a page of another site",
      () => ({ ...bearer(), origin: "https://evil.example" }),
      403,
      "PERMISSION_DENIED",
    ],
    [
      "to a page whose name leads here for a moment",
      () => ({ ...bearer(), host: "evil.example", origin: "https://evil.example" }),
      403,
      "PERMISSION_DENIED",
    ],
    ["with two hosts", () => ({ ...bearer(), host: ["a", "b"] }), 400, "INVALID_ARGUMENT"],
    ["without limits", () => ({ ...bearer(), "writ-frames": "2; credit=1" }), 400, "INVALID_ARGUMENT"],
  ];

  test.each(cases)("%s", async (_, headers, status, code) => {
    const seq = lastSeq(hub.home);
    const answer = await askForFrames(hub, headers());
    expect(answer.status).toBe(status);
    expect(errorOf(answer.text).code).toBe(code);
    if (status === 400) return;
    const event = status === 401 ? "LOGIN_FAILED" : "PERMISSION_DENIED";
    expect(readEvents(hub.home, seq)).toMatchObject([
      { event, origin: { endpoint: "/frames", method: "GET" } },
    ]);
  });

  test("with a session's cookie, which a browser sends by itself", async () => {
    const login = await hub.must("POST", "/session", { body: { token: hub.admin } });
    const cookie = login.headers["set-cookie"]![0]!.split(";")[0]!;
    const answer = await askForFrames(hub, { cookie });
    expect({ status: answer.status, code: errorOf(answer.text).code }).toEqual({
      status: 401,
      code: "UNAUTHENTICATED",
    });
  });

  test("by a hub that is set to serve none, as by one that knows none", async () => {
    const plain = await startMemoryHub({ ...stillEnv, WRIT_FRAMES: "false" });
    onTestFinished(() => plain.stop());
    const answer = await askForFrames(plain, { authorization: `Bearer ${plain.admin}` });
    expect({ status: answer.status, code: errorOf(answer.text).code }).toEqual({
      status: 404,
      code: "NOT_FOUND",
    });
  });

  test("of another protocol: the request is served as it is", async () => {
    const answer = await askForFrames(hub, { ...bearer(), upgrade: "h2c" });
    expect(answer.status).toBe(404);
    const list = await hub.call("GET", "/jobs", {
      token: hub.admin,
      headers: { Connection: "Upgrade", Upgrade: "h2c" },
    });
    expect(list.status).toBe(200);
  });
});

describe("a connection with frames", () => {
  test("answers many requests at once, in the order in which they end", async () => {
    const client = await FrameClient.open(hub, tokens.alice);
    const bodies = Array.from({ length: 50 }, (_, index) => ({ type: freshName(`t${index}`) }));
    const answers = await Promise.all(bodies.map((body) => client.request("POST /api/v1/jobs", body)));
    expect(answers.map(({ status }) => status)).toEqual(bodies.map(() => 201));
    const ids = new Set(answers.map(({ json }) => (json as { id: string }).id));
    expect(ids.size).toBe(50);
    const worker = await registerWorker(hub);
    const waiting = client.newId();
    const claim = { worker_id: worker, wait_ms: 30_000, types: [freshName("none")] };
    const head = `POST /api/v1/jobs/claim\nauthorization: Bearer ${tokens.worker}`;
    client.send(requestFrame(waiting, head, Buffer.from(JSON.stringify(claim))));
    expect((await client.request("GET /api/v1/jobs?limit=1")).status).toBe(200);
    expect(client.frames.some(({ id }) => id === waiting)).toBe(false);
    client.send(plainFrame(frameKinds.cancel, waiting));
    expect((await client.answer(waiting)).text).toBe("");
  });

  test("frees what a request has waited for when the client cancels it, and when it hangs up", async () => {
    const worker = await registerWorker(hub);
    const claim = Buffer.from(JSON.stringify({ worker_id: worker, wait_ms: 30_000 }));
    const client = await FrameClient.open(hub, tokens.worker);
    client.send(requestFrame(1, "POST /api/v1/jobs/claim", claim));
    client.send(plainFrame(frameKinds.cancel, 1));
    await client.answer(1);
    client.send(requestFrame(2, "POST /api/v1/jobs/claim", claim));
    client.socket.destroy();
    // A job is not handed to a claim that has gone.
    const type = freshName("left");
    const { id } = (await hub.must("POST", "/jobs", { token: tokens.alice, body: { type } })).json<{
      id: string;
    }>();
    const job = (await hub.must("GET", `/jobs/${id}`, { token: tokens.alice })).json();
    expect(job).toMatchObject({ status: "pending", attempt: 0 });
  });

  test("records what it does under the caller's address, program and trace", async () => {
    const seq = lastSeq(hub.home);
    const client = await FrameClient.open(hub, tokens.alice, {
      headers: { "user-agent": "test/1" },
      from: "127.9.9.9",
    });
    const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const type = freshName("traced");
    await client.request(`POST /api/v1/jobs\ntraceparent: ${trace}`, { type });
    const [created] = readEvents(hub.home, seq).filter(({ event }) => event === "JOB_CREATED");
    expect(created?.origin).toMatchObject({ ipAddress: "127.9.9.9", userAgent: "test/1", userId: "alice" });
    const worker = await registerWorker(hub, { document_format: 6 });
    const claim = { worker_id: worker, types: [type] };
    const claimed = await hub.must("POST", "/jobs/claim", { token: hub.admin, body: claim });
    expect(claimed.json<{ document: string }>().document).toContain(`"traceparent":"${trace}"`);
  });

  test("never looks at a cookie or a host in a frame", async () => {
    const login = await hub.must("POST", "/session", { body: { token: hub.admin } });
    const cookie = login.headers["set-cookie"]![0]!.split(";")[0]!;
    const client = await FrameClient.open(hub, tokens.alice);
    const head = `GET /api/v1/session\ncookie: ${cookie}\nhost: evil.example\norigin: https://evil.example`;
    const { status, json } = await client.request(head);
    expect(status).toBe(200);
    expect(json).toMatchObject({ user_id: "alice", role: "user" });
  });

  test("says of a stream and of what is no route of the API that they are served over HTTP", async () => {
    const client = await FrameClient.open(hub, hub.admin);
    expect((await client.request("GET /api/v1/jobs/events")).status).toBe(elsewhereStatus);
    expect((await client.request("GET /api/v1/nothing")).status).toBe(404);
    expect((await client.request("PATCH /api/v1/jobs")).status).toBe(405);
  });

  test("refuses a body that is too large for its route with the words of HTTP", async () => {
    const client = await FrameClient.open(hub, hub.admin);
    const body = Buffer.alloc(1024 ** 2 + 1, " ");
    const head = "POST /api/v1/jobs";
    client.send(requestFrame(client.newId(), head, body.subarray(0, 1024 ** 2)));
    expect((await client.answer(1)).status).toBe(400);
    const overHttp = await hub.call("POST", "/jobs", { token: hub.admin, body });
    expect(overHttp.status).toBe(413);
  });

  test("counts refused and failed requests as the routes do", async () => {
    const quota = { max_pending: 0 };
    await hub.must("PUT", "/tenants/globex/quota", { token: hub.admin, body: quota });
    const client = await FrameClient.open(hub, tokens.eve);
    const { status, headers } = await client.request("POST /api/v1/jobs", { type: freshName("over") });
    expect({ status, retry: headers["retry-after"] }).toEqual({ status: 429, retry: expect.any(String) });
    await hub.must("POST", "/lockdown", { token: hub.admin, body: { reason: "test" } });
    const worker = await registerWorker(hub);
    const claim = { worker_id: worker };
    const locked = await client.request(
      `POST /api/v1/jobs/claim\nauthorization: Bearer ${tokens.worker}`,
      claim,
    );
    await hub.must("DELETE", "/lockdown", { token: hub.admin });
    expect(locked.status).toBe(423);
    const metrics = (await hub.must("GET", "//metrics", { token: hub.admin })).text;
    expect(metrics).toMatch(/writ_http_requests_total\{method="POST",route="\/jobs\/claim",status="423"\} 1/);
    expect(metrics).toMatch(/writ_frame_connections \d/);
  });
});

describe("a token that is revoked", () => {
  test("is refused with the next request, and its connection ends", async () => {
    const { hub, clock } = await clockedHub();
    const { id, token } = await issueToken(hub, { role: "user", user_id: "rita" });
    const client = await FrameClient.open(hub, token);
    expect((await client.request("GET /api/v1/jobs")).status).toBe(200);
    await hub.must("DELETE", `/tokens/${id}`, { token: hub.admin });
    expect((await client.request("GET /api/v1/jobs")).status).toBe(401);
    expect(await endOf(client, clock)).toMatch(/^token-refused: /);
  });

  test("is refused when it has expired", async () => {
    const { hub, clock } = await clockedHub();
    const { token } = await issueToken(hub, { role: "user", user_id: "rita", expires_in_sec: 60 });
    const client = await FrameClient.open(hub, token);
    // Requests are signs of life, too.
    for (let passed = 0; passed < 50; passed += 10) {
      await clock.pass(10_000);
      expect((await client.request("GET /api/v1/jobs")).status).toBe(200);
    }
    expect(await endOf(client, clock)).toMatch(/^token-refused: /);
  });
});

test("a hub that stops answers what it has, and says that it will look at nothing after that", async () => {
  const hub = await startMemoryHub(stillEnv);
  const client = await FrameClient.open(hub, hub.admin);
  const worker = await registerWorker(hub);
  client.send(
    requestFrame(
      client.newId(),
      "POST /api/v1/jobs/claim",
      Buffer.from(JSON.stringify({ worker_id: worker, wait_ms: 30_000 })),
    ),
  );
  await eventually(
    "the claim waits",
    async () => (await client.request("GET /api/v1/session")).status === 200,
  );
  const stopped = hub.stop();
  const stop = await client.until(({ kind }) => kind === frameKinds.stop);
  expect(stop.payload.readUInt32BE(0)).toBeGreaterThanOrEqual(1);
  expect((await client.answer(1)).status).toBe(204);
  await client.closed;
  await stopped;
});

/** Lets time pass until the hub has looked. How long its database takes to answer is not measured by this clock. */
async function endOf(client: FrameClient, clock: HandClock): Promise<string> {
  let reason: string | undefined;
  void client.closed.then((given) => {
    reason = given;
  });
  await eventually("the hub ends the connection", async () => {
    client.send(plainFrame(frameKinds.pong));
    await clock.pass(1_000);
    return reason !== undefined;
  });
  return reason!;
}

async function clockedHub(): Promise<{ hub: MemoryHub; clock: HandClock }> {
  const clock = handClock();
  const hub = await startMemoryHub(stillEnv, { clock });
  onTestFinished(() => hub.stop());
  return { hub, clock };
}

function bearer(): Record<string, string> {
  return { authorization: `Bearer ${hub.admin}` };
}
