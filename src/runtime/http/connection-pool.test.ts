import { type AddressInfo, createServer, type Socket } from "node:net";
import { afterEach, describe, expect, it, test } from "vitest";
import { systemClock } from "../clock/clock.ts";
import { handClock } from "../clock/hand-clock.testing.ts";
import { ConnectionPool, type PooledCall } from "./connection-pool.ts";

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});

const call: PooledCall = {
  method: "GET",
  path: "/",
  headers: {},
  body: undefined,
  signal: undefined,
  clock: systemClock,
  timeoutMs: 20_000,
  responseBytesMax: 1000,
};
const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

describe("refuses to send", () => {
  test.each([
    ["a path with a line break", { path: "/\r\nX: y" }],
    ["a path with a space", { path: "/a b" }],
    ["a header with a line break", { headers: { authorization: "Bearer a\r\nX: y" } }],
    ["a header with another alphabet", { headers: { authorization: "Bearer \u0436" } }],
  ])("%s", async (_what, wrong) => {
    const { pool, requests } = await serve(() => ok);
    await expect(pool.call({ ...call, ...wrong })).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    expect(requests).toEqual([]);
  });
});

it("sends the head and the body, each with its length", async () => {
  const { pool, requests, url } = await serve(() => ok);
  const body = Buffer.from("\u00e9");
  await pool.call({ ...call, method: "POST", path: "/a?b", headers: { "x-a": "1" }, body });
  await pool.call({ ...call, method: "DELETE" });
  await pool.call(call);
  expect(requests).toEqual([
    `POST /a?b HTTP/1.1\r\nhost: ${url.host}\r\nx-a: 1\r\ncontent-length: 2\r\n\r\n\u00e9`,
    `DELETE / HTTP/1.1\r\nhost: ${url.host}\r\ncontent-length: 0\r\n\r\n`,
    `GET / HTTP/1.1\r\nhost: ${url.host}\r\n\r\n`,
  ]);
});

it("uses a connection again, but not one that is to be closed or that sent more than it was asked for", async () => {
  const answers = [ok, ok.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"), `${ok}${ok}`, ok, ok];
  const { pool, sockets } = await serve(() => answers.shift()!);
  const used: number[] = [];
  while (answers.length > 0) {
    expect((await pool.call(call)).body.toString()).toBe("ok");
    used.push(sockets.length);
  }
  expect(used).toEqual([1, 1, 2, 3, 3]);
});

it("does not use a connection for longer than the server keeps it", async () => {
  const clock = handClock();
  const { pool, sockets } = await serve(() => ok.replace("\r\n\r\n", "\r\nKeep-Alive: timeout=5\r\n\r\n"));
  await pool.call({ ...call, clock });
  await clock.pass(3_999);
  await pool.call({ ...call, clock });
  expect(sockets).toHaveLength(1);
  await clock.pass(4_000);
  await pool.call({ ...call, clock });
  expect(sockets).toHaveLength(2);
});

it("lets calls wait for a connection, and forgets those that gave up", async () => {
  const { pool, requests, sockets } = await serve((request) => (request.includes("/hold") ? "" : ok), {
    connectionsMax: 1,
  });
  const holding = new AbortController();
  const waiting = new AbortController();
  const held = pool.call({ ...call, path: "/hold", signal: holding.signal });
  const leaves = pool.call({ ...call, path: "/leaves", signal: waiting.signal });
  const stays = pool.call({ ...call, path: "/stays" });
  waiting.abort("left");
  await expect(leaves).rejects.toBe("left");
  holding.abort("done");
  await expect(held).rejects.toBe("done");
  expect((await stays).status).toBe(200);
  expect(requests.filter((request) => request.includes("/leaves"))).toEqual([]);
  expect(sockets.length).toBeLessThanOrEqual(2);
});

it("calls a connection that was closed before its answer began stale, only if it was used before", async () => {
  let answered = 0;
  const { pool } = await serve((_request, socket) => {
    if (answered++ === 0) return ok;
    socket.destroy();
    return "";
  });
  await pool.call(call);
  await expect(pool.call(call)).rejects.toMatchObject({ name: "ConnectionFailure", wasStale: true });
  await expect(pool.call(call)).rejects.toMatchObject({ name: "ConnectionFailure", wasStale: false });
});

async function serve(
  answer: (request: string, socket: Socket) => string,
  { connectionsMax = 10 }: { connectionsMax?: number } = {},
) {
  const requests: string[] = [];
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      requests.push(bytes.toString());
      socket.write(answer(bytes.toString(), socket));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const pool = new ConnectionPool({ url, connectionsMax });
  cleanups.push(() => {
    pool.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { pool, requests, sockets, url };
}
