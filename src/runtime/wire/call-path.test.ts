import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import type { Clock } from "../clock/clock.ts";
import { systemClock } from "../clock/clock.ts";
import { handClock } from "../clock/hand-clock.testing.ts";
import { ConnectionPool, type PooledCall } from "../http/connection-pool.ts";
import { CallPath } from "./call-path.ts";
import {
  answerFrame,
  elsewhereStatus,
  frameKinds,
  numberFrame,
  plainFrame,
  requestBodyMax,
  type WireLimits,
  writeLimits,
} from "./frame.ts";
import { type Frame, FrameReader } from "./frame-reader.ts";
import { readRequest } from "./read-payload.ts";

const wide: WireLimits = { credit: 4 * 1024 ** 2, requests: 256 };
const call: PooledCall = {
  method: "POST",
  path: "/api/v1/jobs",
  headers: { authorization: "Bearer t", "content-type": "application/json" },
  body: Buffer.from("{}"),
  signal: undefined,
  clock: systemClock,
  timeoutMs: 20_000,
  responseBytesMax: 100_000,
};

test("a server that does not upgrade is called over HTTP, and asked again after ten minutes", async () => {
  const clock = handClock();
  const server = await serve({ mayUpgrade: () => false });
  const path = pathTo(server, { clock });
  await callAll(path, 20);
  expect(server.upgrades).toBe(0);
  expect(server.asked).toBe(1);
  await clock.pass(200_000);
  await callAll(path, 5);
  expect(server.asked).toBe(1);
  await clock.pass(400_000);
  await callAll(path, 5);
  expect(server.asked).toBe(2);
});

test("a program that calls a few times opens no second connection", async () => {
  const server = await serve();
  await callAll(pathTo(server), 4);
  expect(server.asked).toBe(0);
});

test("after that, calls go in frames, and the connection says who calls", async () => {
  const server = await serve();
  const path = await framedPath(server);
  const heads: string[] = [];
  server.onRequest = (frame, answer) => {
    heads.push(readRequest(frame).head);
    answer(200, "framed");
  };
  const { status, body } = await path.call(call);
  expect([status, body.toString()]).toEqual([200, "framed"]);
  await path.call({
    ...call,
    headers: { ...call.headers, authorization: "Bearer other", "x-worker-id": "w" },
  });
  expect(heads).toEqual([
    "POST /api/v1/jobs",
    "POST /api/v1/jobs\nauthorization: Bearer other\nx-worker-id: w",
  ]);
  expect(server.upgradeHeaders).toMatchObject({ authorization: "Bearer t", upgrade: "writ-frames" });
  expect(() => path.call({ ...call, headers: { authorization: "Bearer a\r\nX: y" } })).toThrow(
    expect.objectContaining({ code: "CONFIG_INVALID" }),
  );
});

test("a proxy below whose path the hub is served does not see that path in frames", async () => {
  const server = await serve();
  const path = await framedPath(server, { prefix: "/writ" });
  const heads: string[] = [];
  server.onRequest = (frame, answer) => {
    heads.push(readRequest(frame).head);
    answer(200, "");
  };
  await path.call({ ...call, path: "/writ/api/v1/jobs" });
  expect(heads).toEqual(["POST /api/v1/jobs"]);
});

test("what does not fit goes over HTTP: a large body, too many open calls, a call that may arrive once only", async () => {
  const server = await serve({ limits: { credit: 3_000, requests: 2 } });
  const path = await framedPath(server);
  const held: (() => void)[] = [];
  server.onRequest = (_, answer) => held.push(() => answer(200, "framed"));
  const first = path.call(call);
  const text = async (answer: Promise<{ body: Buffer }>) => (await answer).body.toString();
  expect(await text(path.call({ ...call, body: Buffer.alloc(requestBodyMax + 1) }))).toBe("http");
  expect(await text(path.call({ ...call, body: Buffer.alloc(3_000) }))).toBe("http");
  expect(await text(path.call({ ...call, isAlone: true }))).toBe("http");
  const second = path.call(call);
  await until(() => held.length === 2);
  expect(await text(path.call(call))).toBe("http");
  for (const answer of held.splice(0)) answer();
  expect([await text(first), await text(second)]).toEqual(["framed", "framed"]);
  // The answers have given the credit back.
  server.onRequest = (_, answer) => answer(200, "framed");
  expect(await text(path.call({ ...call, body: Buffer.alloc(2_500) }))).toBe("framed");
});

test("a call that is not served in frames is repeated over HTTP", async () => {
  const server = await serve();
  const path = await framedPath(server);
  server.onRequest = (_, answer) => answer(elsewhereStatus, "");
  expect((await path.call(call)).body.toString()).toBe("http");
});

test("a connection that breaks loses its calls, which may have arrived; the next go over HTTP", async () => {
  const clock = handClock();
  const server = await serve();
  const path = await framedPath(server, { clock });
  server.onRequest = (_, answer) => answer(200, "framed");
  await path.call(call);
  server.onRequest = (_frame, _answer, socket) => socket.destroy();
  await expect(path.call(call)).rejects.toMatchObject({ wasSent: true, wasStale: true });
  const asked = server.asked;
  expect((await path.call(call)).body.toString()).toBe("http");
  // It did not last, so it is not opened again at once.
  expect(server.asked).toBe(asked);
  await clock.pass(1_000);
  await until(async () => {
    await path.call(call);
    return server.asked === asked + 1;
  });
});

test("a hub that stops has not looked at what came after the request that it names", async () => {
  const server = await serve();
  const path = await framedPath(server);
  let count = 0;
  server.onRequest = (frame, answer, socket) => {
    if (++count < 2) return;
    socket.write(numberFrame(frameKinds.stop, 0, frame.id - 1));
    setImmediate(() => socket.write(answerFrame(frame.id - 1, { status: 200, head: "", body: '"last"' })));
    void answer;
  };
  const [first, second] = [path.call(call), path.call(call)];
  await expect(second).rejects.toMatchObject({ wasSent: false });
  expect((await first).body.toString()).toBe('"last"');
  expect((await path.call(call)).body.toString()).toBe("http");
});

test.each<[string, (frame: Frame) => Buffer]>([
  ["an answer to no request", () => answerFrame(77, { status: 200, head: "", body: null })],
  ["an answer that ends early", ({ id }) => plainFrame(frameKinds.answer, id, Buffer.from([0]))],
  ["a frame of an unknown kind", () => Buffer.from([0, 0, 0, 5, 99, 0, 0, 0, 0])],
  ["a frame that only clients send", () => plainFrame(frameKinds.cancel, 1)],
  ["a frame of four gigabytes", () => Buffer.from([255, 255, 255, 255, 2, 0, 0, 0, 1])],
  ["a close", () => plainFrame(frameKinds.close, 0, Buffer.from("token-refused: gone"))],
])("%s ends the connection, and the call may have arrived", async (_what, bad) => {
  const server = await serve();
  const path = await framedPath(server);
  server.onRequest = (frame, _answer, socket) => void socket.write(bad(frame));
  await expect(path.call(call)).rejects.toMatchObject({ name: "ConnectionFailure", wasSent: true });
  expect((await path.call(call)).body.toString()).toBe("http");
});

test("an answer that is larger than the call accepts fails this call alone", async () => {
  const server = await serve();
  const path = await framedPath(server);
  server.onRequest = (_, answer) => answer(200, "x".repeat(200));
  await expect(path.call({ ...call, responseBytesMax: 100 })).rejects.toMatchObject({ isTooLarge: true });
  expect((await path.call(call)).body.length).toBe(200);
});

test("a call that is given up is cancelled at the hub, and its answer is dropped", async () => {
  const server = await serve();
  const path = await framedPath(server);
  let first: (() => void) | undefined;
  server.onRequest = (_, answer) => {
    if (first === undefined) first = () => answer(200, "late");
    else answer(200, "framed");
  };
  const abort = new AbortController();
  const waiting = path.call({ ...call, signal: abort.signal });
  await until(() => first !== undefined);
  abort.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
  await until(() => server.cancelled === 1);
  first!();
  expect((await path.call(call)).body.toString()).toBe("framed");
  await expect(path.call({ ...call, signal: AbortSignal.abort(new Error("before")) })).rejects.toThrow(
    "before",
  );
});

test("a hub that says nothing at all until a call's time is over loses the connection", async () => {
  const clock = handClock();
  const server = await serve();
  const path = await framedPath(server, { clock });
  let heard = 0;
  server.onRequest = () => void heard++;
  const waiting = path.call({ ...call, clock, timeoutMs: 5_000 });
  const beside = path.call({ ...call, clock, timeoutMs: 60_000 });
  for (const each of [waiting, beside]) void each.catch(() => {});
  await until(() => heard === 2);
  await clock.pass(5_000);
  await expect(waiting).rejects.toMatchObject({ wasSent: true, wasStale: false });
  await expect(beside).rejects.toMatchObject({ wasSent: true, wasStale: false });
});

test("a hub that is found to be frozen loses all of its calls", async () => {
  const server = await serve();
  const path = await framedPath(server);
  let onFrozen: (() => void) | undefined;
  server.onRequest = () => {};
  const waiting = path.call({
    ...call,
    watch: (frozen) => {
      onFrozen = frozen;
      return () => {};
    },
  });
  const beside = path.call(call);
  for (const each of [waiting, beside]) void each.catch(() => {});
  onFrozen!();
  await expect(waiting).rejects.toThrow("has stopped answering");
  await expect(beside).rejects.toThrow("has stopped answering");
});

test("gives back the credit of large answers, and answers a ping", async () => {
  const server = await serve();
  const path = await framedPath(server);
  server.onRequest = (_frame, answer, socket) => {
    socket.write(plainFrame(frameKinds.ping, 0, Buffer.from("12345678")));
    answer(200, "x".repeat(3 * 1024 ** 2));
  };
  for (let n = 0; n < 3; n++) await path.call({ ...call, responseBytesMax: 2 ** 30 });
  await until(() => server.credit >= 4 * 1024 ** 2 && server.pongs === 3);
});

type FakeHub = Awaited<ReturnType<typeof serve>>;

/** A server that answers "http" over HTTP, and in frames what a test says. */
async function serve(options: { mayUpgrade?: () => boolean; limits?: WireLimits } = {}) {
  const { mayUpgrade = () => true, limits = wide } = options;
  const hub = {
    asked: 0,
    upgrades: 0,
    cancelled: 0,
    credit: 0,
    pongs: 0,
    url: new URL("http://127.0.0.1"),
    upgradeHeaders: {} as object,
    onRequest: (_frame: Frame, answer: (status: number, body: string) => void, _socket: Duplex): void =>
      answer(200, "framed"),
  };
  const server: Server = createServer(
    {
      shouldUpgradeCallback: () => {
        hub.asked++;
        return mayUpgrade();
      },
    },
    (incoming, outgoing) => {
      incoming.resume();
      outgoing.end("http");
    },
  );
  const sockets = new Set<Duplex>();
  server.on("connection", (socket) => sockets.add(socket));
  server.on("upgrade", (incoming, socket: Duplex) => {
    hub.upgrades++;
    hub.upgradeHeaders = incoming.headers;
    socket.on("error", () => {});
    const head = `HTTP/1.1 101 Switching Protocols\r\nUpgrade: writ-frames\r\nConnection: upgrade\r\n`;
    socket.write(`${head}Writ-Frames: ${writeLimits(limits)}\r\n\r\n`);
    const reader = new FrameReader(2 ** 25, (frame) => {
      if (frame.kind === frameKinds.cancel) hub.cancelled++;
      else if (frame.kind === frameKinds.credit) hub.credit += frame.payload.readUInt32BE(0);
      else if (frame.kind === frameKinds.pong) hub.pongs++;
      else if (frame.kind === frameKinds.request)
        hub.onRequest(
          frame,
          (status, body) => socket.write(answerFrame(frame.id, { status, head: "", body })),
          socket,
        );
    });
    socket.on("data", (bytes: Buffer) => reader.push(bytes));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  hub.url.port = String((server.address() as AddressInfo).port);
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return hub;
}

function pathTo(
  { url }: FakeHub,
  { clock = systemClock, prefix = "" }: { clock?: Clock; prefix?: string } = {},
) {
  const at = new URL(prefix, url);
  const pool = new ConnectionPool({ url: at, connectionsMax: 16 });
  const path = new CallPath({ url: at, clock, random: () => 1, pool, mayUpgrade: true });
  onTestFinished(() => path.close());
  return path;
}

/** One whose calls go in frames from now on. */
async function framedPath(hub: FakeHub, options: { clock?: Clock; prefix?: string } = {}): Promise<CallPath> {
  const path = pathTo(hub, options);
  const prefix = options.prefix ?? "";
  await until(async () => {
    const { body } = await path.call({ ...call, path: `${prefix}${call.path}` });
    return body.toString() === "framed";
  });
  return path;
}

async function callAll(path: CallPath, count: number): Promise<void> {
  for (let n = 0; n < count; n++) expect((await path.call(call)).body.toString()).toBe("http");
}

/** Bounded by the time of the test. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve));
}
