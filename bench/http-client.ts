import { fork } from "node:child_process";
import { once } from "node:events";
import { Agent, request as requestHttp } from "node:http";
import { join } from "node:path";
import { systemClock as clock } from "../src/runtime/clock/clock.ts";
import { ConnectionPool } from "../src/runtime/http/connection-pool.ts";
import { connectionTo } from "../src/runtime/http/open-connection.ts";
import { callWhole, openRequest } from "../src/runtime/http/open-request.ts";
import { perSecond, quantile } from "./_figures.ts";
import { loadUndici } from "./peers/modules.ts";
import { needPeers } from "./peers/needs.ts";

/**
 * Our HTTP client beside undici's Pool and Node's own, in turns and against one server: the time and the CPU time of a call
 * in the client. Usage: npm run bench -- http-client
 */
type Client = {
  name: string;
  /** A small call on a kept connection, or on one of its own. */
  call(): Promise<unknown>;
  callAlone(): Promise<unknown>;
  /** Reads a large body as it arrives. */
  download(): Promise<unknown>;
};

const rounds = 5;
const largeBytes = 64 * 1024 ** 2;
const timeoutMs = 10_000;
const connectionsMax = 256;
const post = {
  method: "POST",
  path: "/",
  headers: { "content-type": "application/json" },
  body: Buffer.alloc(300, "b"),
};
const acts = [
  { what: "small calls, one at a time", act: "call", calls: 500, atOnce: 1 },
  { what: "small calls, 16 at once", act: "call", calls: 1_000, atOnce: 16 },
  { what: "small calls, each on its own connection", act: "callAlone", calls: 200, atOnce: 1 },
  { what: "64 MiB as they arrive", act: "download", calls: 1, atOnce: 1 },
] as const;

needPeers([]);
const server = fork(join(import.meta.dirname, "_http-server.ts"), [String(largeBytes)]);
const [port] = (await once(server, "message")) as [number];
const url = new URL(`http://127.0.0.1:${port}`);
const clients = [ours(), await undici(), nodes()];
for (const { what, act, calls, atOnce } of acts) {
  const figures = clients.map(() => ({ us: [] as number[], cpuUs: [] as number[] }));
  // The first round is for the compiler.
  for (let round = 0; round <= rounds; round++) {
    for (const [index, client] of clients.entries()) {
      const before = process.cpuUsage();
      const rate = await perSecond(calls, atOnce, () => client[act]().then(() => 1));
      const { user, system } = process.cpuUsage(before);
      if (round === 0) continue;
      figures[index]!.us.push(1e6 / rate);
      figures[index]!.cpuUs.push((user + system) / calls);
    }
  }
  for (const [index, { name }] of clients.entries()) {
    const { us, cpuUs } = figures[index]!;
    const row = `${quantile(us, 0.5).toFixed(0)} µs, ${quantile(cpuUs, 0.5).toFixed(0)} µs of CPU`;
    console.log(`${what}, ${name}: ${row}`);
  }
}
server.kill();
process.exit(0);

function ours(): Client {
  const pool = new ConnectionPool({ url, connectionsMax });
  const limits = { clock, timeoutMs, responseBytesMax: largeBytes };
  const alone = connectionTo(url, { clock });
  const { host } = url;
  return {
    name: "ours",
    call: () => pool.call({ ...post, ...limits }),
    callAlone: () => {
      const headers = { ...post.headers, connection: "close" };
      return callWhole({ ...post, ...limits, host, headers }, alone);
    },
    async download() {
      const get = { method: "GET", path: "/large", headers: {}, host };
      await count((await openRequest({ ...get, ...limits }, alone)).body);
    },
  };
}

async function undici(): Promise<Client> {
  const { Pool } = await loadUndici();
  const pool = new Pool(url.origin, { connections: connectionsMax });
  const limits = { headersTimeout: timeoutMs, bodyTimeout: timeoutMs };
  return {
    name: "undici",
    call: async () => (await pool.request({ ...post, ...limits })).body.arrayBuffer(),
    callAlone: async () => (await pool.request({ ...post, ...limits, reset: true })).body.arrayBuffer(),
    async download() {
      await count((await pool.request({ method: "GET", path: "/large", ...limits })).body);
    },
  };
}

function nodes(): Client {
  const kept = new Agent({ keepAlive: true });
  const send = (
    agent: Agent | false,
    { body, ...options }: { path: string; method: string; body?: Buffer },
  ) =>
    new Promise<AsyncIterable<Buffer>>((resolve, reject) => {
      const request = requestHttp(url, { agent, timeout: timeoutMs, ...options }, resolve);
      request.on("error", reject).end(body);
    });
  return {
    name: "Node",
    call: async () => count(await send(kept, post)),
    callAlone: async () => count(await send(false, post)),
    download: async () => count(await send(false, { path: "/large", method: "GET" })),
  };
}

async function count(body: AsyncIterable<Buffer>): Promise<number> {
  let bytes = 0;
  for await (const chunk of body) bytes += chunk.length;
  return bytes;
}
