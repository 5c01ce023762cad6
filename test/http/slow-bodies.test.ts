import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { handClock } from "../../src/runtime/clock/hand-clock.testing.ts";
import { errorOf } from "../support/call-http.ts";
import { eventually } from "../support/eventually.ts";
import { type MemoryHub, startMemoryHub } from "../support/memory-hub.ts";

test("A18: a body that is too slow is refused after ten seconds, one at the minimum rate is not", async () => {
  const clock = handClock();
  const hub = await started(startMemoryHub({}, { clock }));
  const seen = watchBodies(hub);
  const slow = beginSubmit(hub);
  const slowAnswer = answerOf(slow);
  slow.write("{");
  const steady = beginSubmit(hub);
  steady.write('{"type":"steady","params":"');
  await eventually("both are read", () => seen.bodies === 2);
  for (let bytes = 16_384; bytes <= 16 * 16_384; bytes += 16_384) {
    steady.write("x".repeat(16_384));
    await eventually("a piece arrives", () => seen.bytes > bytes);
    await clock.pass(1_000);
  }
  const { status, connection, error } = await slowAnswer;
  expect({ status, connection }).toEqual({ status: 408, connection: "close" });
  expect(error).toMatchObject({ code: "BODY_TIMEOUT", message: expect.stringContaining("16384 bytes") });
  steady.end('"}');
  expect((await answerOf(steady)).status).toBe(201);
});

test("A18: of 300 slow bodies of one caller 32 stay open, and none of them for a minute", async () => {
  const clock = handClock();
  const hub = await started(startMemoryHub({}, { clock }));
  const seen = watchBodies(hub);
  const statuses: (number | undefined)[] = [];
  for (let i = 0; i < 300; i++) {
    const call = beginSubmit(hub);
    call.write("{");
    void answerOf(call).then(({ status }) => statuses.push(status));
  }
  await eventually("all are read", () => seen.bodies === 300);
  await clock.pass(2_000);
  await eventually("most are refused", () => statuses.length === 268);
  expect(new Set(statuses)).toEqual(new Set([429]));
  await clock.pass(9_000);
  await eventually("the others are late", () => statuses.length === 300);
  expect(new Set(statuses.slice(268))).toEqual(new Set([408]));
});

test("A18: a client that hangs up in the middle of a body is not an error of the hub", async () => {
  const lines: object[] = [];
  const logger = pino({ level: "info" }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const hub = await started(startMemoryHub({}, { logger }));
  const seen = watchBodies(hub);
  const call = beginSubmit(hub);
  call.on("error", () => {});
  call.write("{");
  await eventually("it is read", () => seen.bodies === 1);
  call.destroy();
  await eventually("the call is logged", () => lines.length > 0);
  expect(lines).toMatchObject([{ level: 30, msg: "call", route: "submitJob" }]);
});

async function started(starting: Promise<MemoryHub>): Promise<MemoryHub> {
  const hub = await starting;
  onTestFinished(() => hub.stop());
  return hub;
}

/** How many bodies the hub has begun to read, and what it has received of them. */
function watchBodies(hub: MemoryHub): { bodies: number; bytes: number } {
  const seen = { bodies: 0, bytes: 0 };
  const count = (chunk: Buffer) => {
    seen.bytes += chunk.length;
  };
  hub.onRequest((incoming) => {
    incoming.on("newListener", (event: string, listener: unknown) => {
      if (event !== "data" || listener === count) return;
      seen.bodies += 1;
      incoming.prependListener("data", count);
    });
  });
  return seen;
}

/** A submission whose body is still to be written. */
function beginSubmit(hub: MemoryHub): ClientRequest {
  const { agent, port, admin } = hub;
  const headers = { Authorization: `Bearer ${admin}`, "Content-Type": "application/json" };
  return request({ agent, port, path: "/api/v1/jobs", method: "POST", headers });
}

async function answerOf(call: ClientRequest) {
  const [incoming] = (await once(call, "response")) as [IncomingMessage];
  const body = await text(incoming);
  const error = (incoming.statusCode ?? 0) < 400 ? null : errorOf(body);
  return { status: incoming.statusCode, connection: incoming.headers.connection, error };
}
