import { expect, test } from "vitest";
import { lastSeq, readEvents } from "../support/database.ts";
import { type EventStream, open, openEventStream } from "../support/event-stream.ts";
import { eventually } from "../support/eventually.ts";
import { stillEnv } from "../support/hub.ts";
import { registerWorker, submitJob } from "../support/jobs.ts";
import { issueToken } from "../support/tokens.ts";
import { memoryHubForAll } from "../support/use-hub.ts";

const hub = memoryHubForAll({
  ...stillEnv,
  WRIT_EVENT_STREAMS_MAX: "2",
  WRIT_OUTPUT_STREAMS_MAX: "1",
  WRIT_PUBLIC_EVENTS: "true",
});

const userOf = async (tenant: string) =>
  (await issueToken(hub, { role: "user", tenant_id: tenant, user_id: "u" })).token;
const events = (token?: string): Promise<EventStream> => openEventStream(hub, "/jobs/events", { token });

async function refusal(path: string, token?: string) {
  const { status, code, text, headers } = await hub.call("GET", path, { token });
  expect({ status, code }, text).toEqual({ status: 429, code: "TOO_MANY_STREAMS" });
  expect(Number(headers["retry-after"])).toBeGreaterThan(0);
  return JSON.parse(text).error.message as string;
}

test("A13: a token has so many event streams and no more, until one of them ends", async () => {
  const [token, colleague] = [await userOf("one"), await userOf("one")];
  const streams = [await events(token), await events(token)];
  const before = lastSeq(hub.home);
  const message = await refusal("/jobs/events", token);
  expect(message).toBe(
    "this token: 2 event streams are open, and no more are allowed; close one of them first",
  );
  await refusal("/jobs/events", token);
  expect(readEvents(hub.home, before)).toMatchObject([
    { event: "RATE_LIMIT_HIT", tenant_id: "one", details: { limit: "event streams" } },
  ]);

  // What others do is not limited by it, nor is anything else that the token does.
  const other = await events(colleague);
  const { id } = await submitJob(hub, { token });
  await other.until("the job", ({ data }) => data["id"] === id);

  streams.pop()!.cut();
  const again = await eventually("a place is free", async () => {
    const stream = await events(token);
    return stream.status === 200 ? stream : undefined;
  });
  for (const stream of [...streams, other, again]) stream.cut();
});

test("A13: all tokens of a tenant have four times as many streams as one, and other tenants have theirs", async () => {
  const streams: EventStream[] = [];
  for (let count = 0; count < 4; count++) {
    const token = await userOf("many");
    streams.push(await events(token), await events(token));
  }
  expect(await refusal("/jobs/events", await userOf("many"))).toContain("tenant many: 8 event streams");
  const other = await events(await userOf("other"));
  expect(other.status).toBe(200);
  for (const stream of [...streams, other]) stream.cut();
});

test("A13: callers without a token are counted by their address", async () => {
  const streams = [await events(), await events()];
  expect(await refusal("/jobs/events")).toContain("this address: 2 event streams");
  for (const stream of streams) stream.cut();
});

test("A13: a token has so many followed outputs; what is read at once does not count", async () => {
  const token = await userOf("reader");
  const { id } = await submitJob(hub, { token });
  const path = `/jobs/${id}/output/stdout`;
  const followed = await open(hub, `/api/v1${path}?follow=true`, { Authorization: `Bearer ${token}` });
  expect(followed.statusCode).toBe(200);
  expect(await refusal(`${path}?follow=true`, token)).toContain("this token: 1 output streams");
  expect((await hub.call("GET", path, { token })).status).toBe(200);
  followed.destroy();
});

test("A13: a worker has four command streams, whatever token they were opened with", async () => {
  const workerId = await registerWorker(hub);
  const path = `/workers/${workerId}/commands`;
  const streams: EventStream[] = [];
  for (let count = 0; count < 4; count++) {
    streams.push(
      await openEventStream(hub, path, { token: (await issueToken(hub, { role: "worker" })).token }),
    );
  }
  expect(await refusal(path, hub.admin)).toContain(`worker ${workerId}: 4 command streams`);
  for (const stream of streams) stream.cut();
});

test("A13: a worker has 64 waiting claims; one that does not wait is answered", async () => {
  const worker_id = await registerWorker(hub);
  const { token } = await issueToken(hub, { role: "worker" });
  const hangUp = new AbortController();
  const body = { worker_id, types: ["none"], wait_ms: 60_000 };
  const claim = (wait_ms: number, signal?: AbortSignal) =>
    hub.call("POST", "/jobs/claim", { token, body: { ...body, wait_ms }, signal });
  // The claim that looks whether all of them wait may be the 64th for a moment, and one of them be refused for it.
  const wait = async (): Promise<string> => {
    try {
      while (true) await claim(60_000, hangUp.signal);
    } catch {
      return "hung up";
    }
  };
  const waiting = Array.from({ length: 64 }, wait);
  const refused = await eventually("one too many", async () => {
    const answer = await claim(1);
    return answer.status === 204 ? undefined : answer;
  });
  expect(refused).toMatchObject({ status: 429, code: "TOO_MANY_STREAMS" });
  expect(refused.text).toContain(`worker ${worker_id}: 64 waiting claims are open`);
  expect((await claim(0)).status).toBe(204);
  hangUp.abort();
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(["hung up"]));
  await eventually("a place is free", async () => (await claim(1)).status === 204);
});
