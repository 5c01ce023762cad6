import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { type JobInput, Writ } from "../../src/client/index.ts";
import { Worker } from "../../src/worker/index.ts";
import { startCable } from "../support/cable.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub, type TestHub } from "../support/hub.ts";
import { freshName } from "../support/jobs.ts";

const kept = (type: string): JobInput => ({ type, params: { n: 1 } });

test("client and worker go over to frames through TLS with the home's authority", async () => {
  const hub = await startedHub({ WRIT_HOST: "0.0.0.0" });
  const ca = readFileSync(join(hub.home, "certs/ca.crt"), "utf8");
  const url = `https://localhost:${hub.port}`;
  const writ = open({ url, token: hub.admin, ca });
  const type = freshName("tls");
  const worker = await handling(type, { url, token: hub.admin, ca });
  const ids = await submitMany(writ, type, 30);
  await eventually("all have ended", async () => (await completedOf(writ, type)) === ids.length);
  await eventually(
    "both have a connection with frames",
    async () => (await frameConnections(url, hub, ca)) >= 2,
  );
  await worker.stop();
});

test("a proxy that drops the upgrade is no obstacle: calls go over HTTP, and it is asked once", async () => {
  const hub = await startedHub();
  const asked: string[] = [];
  const proxy = createServer((incoming, outgoing) => {
    if (incoming.url === "/api/v1/frames") asked.push(String(incoming.headers.upgrade));
    // As proxies do by default: what is about one connection is not passed on.
    const { upgrade: _, connection: __, ...headers } = incoming.headers;
    const { method, url: path } = incoming;
    const onward = requestHttp({ port: hub.port, method, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on("error", () => outgoing.destroy());
    outgoing.on("close", () => onward.destroy());
    incoming.pipe(onward);
  });
  // Node asks what to do with an upgrade; without a listener it is an ordinary request.
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const writ = open({ url, token: hub.admin });
  const type = freshName("proxied");
  for (let n = 0; n < 5; n++) await submitMany(writ, type, 20);
  expect(await countOf(writ, type)).toBe(100);
  expect(asked.length).toBe(1);
  expect(await frameConnections(hub.url, hub)).toBe(0);
});

test("a hub with WRIT_FRAMES=false, and a client that is told so, use HTTP alone", async () => {
  const plain = await startedHub({ WRIT_FRAMES: "false" });
  const writ = open({ url: plain.url, token: plain.admin });
  const type = freshName("plain");
  for (let n = 0; n < 3; n++) await submitMany(writ, type, 10);
  expect(await countOf(writ, type)).toBe(30);
  const hub = await startedHub();
  const unframed = open({ url: hub.url, token: hub.admin, frames: false });
  for (let n = 0; n < 3; n++) await submitMany(unframed, type, 10);
  expect(await frameConnections(hub.url, hub)).toBe(0);
});

test("a connection that is cut loses no job and makes none twice", async () => {
  const hub = await startedHub();
  const cable = await startCable(hub.port);
  onTestFinished(() => cable.stop());
  const writ = open({ url: cable.url, token: hub.admin, retryMs: 600_000 });
  const type = freshName("cut");
  const ids: string[] = [];
  for (let round = 0; round < 5; round++) {
    // Enough of them for the connection to be upgraded.
    for (let n = 0; n < 6; n++) ids.push(...(await submitMany(writ, type, 4)));
    const under = submitMany(writ, type, 20);
    cable.cut();
    cable.mend();
    ids.push(...(await under));
  }
  expect(new Set(ids).size).toBe(5 * 44);
  expect(await countOf(writ, type)).toBe(5 * 44);
});

test("a hub that restarts: what was sent is sent again, each job is made once and completed, and frames come back", async () => {
  const home = mkdtempSync(join(tmpdir(), "writ-framed-"));
  const begin = () => startTestHub({}, { home });
  let hub = await begin();
  const url = await forwarded(() => hub.port);
  onTestFinished(async () => {
    await hub.stop();
    rmSync(home, { recursive: true, force: true });
  });
  const { admin } = hub;
  const writ = open({ url, token: admin, retryMs: 600_000 });
  const type = freshName("restart");
  const worker = await handling(type, { url, token: admin });
  let isOver = false;
  const ids: string[] = [];
  const producers = Array.from({ length: 8 }, async () => {
    while (!isOver) ids.push((await writ.submit(kept(type))).id);
  });
  for (let round = 0; round < 2; round++) {
    const before = ids.length;
    await eventually("jobs are accepted in frames", async () => {
      return ids.length > before + 50 && (await frameConnections(hub.url, hub)) >= 1;
    });
    await hub.stop({ keepHome: true });
    hub = await begin();
  }
  const before = ids.length;
  await eventually("jobs are accepted again", () => ids.length > before + 50);
  isOver = true;
  await Promise.all(producers);
  await eventually("all have completed", async () => (await completedOf(writ, type)) === ids.length);
  expect(new Set(ids).size).toBe(ids.length);
  expect(await countOf(writ, type)).toBe(ids.length);
  await worker.stop();
});

/** One address for a hub whose port changes. */
async function forwarded(port: () => number): Promise<string> {
  const server = createTcpServer((near) => {
    const far = connect(port(), "127.0.0.1");
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const)
      one.on("error", () => {}).on("close", () => other.destroy());
    near.pipe(far).pipe(near);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function startedHub(env: Record<string, string> = {}): Promise<TestHub> {
  const hub = await startTestHub(env);
  onTestFinished(() => hub.stop());
  return hub;
}

function open(options: ConstructorParameters<typeof Writ>[0]): Writ {
  const writ = new Writ(options);
  onTestFinished(() => writ.close());
  return writ;
}

async function handling(type: string, hub: { url: string; token: string; ca?: string }): Promise<Worker> {
  const dataDir = mkdtempSync(join(tmpdir(), "writ-framed-worker-"));
  const worker = new Worker({ ...hub, workerId: freshName("w"), dataDir });
  worker.handle(type, async () => null);
  await worker.start();
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  return worker;
}

async function submitMany(writ: Writ, type: string, count: number): Promise<string[]> {
  const jobs = await Promise.all(Array.from({ length: count }, () => writ.submit(kept(type))));
  return jobs.map(({ id }) => id);
}

async function countOf(writ: Writ, type: string): Promise<number> {
  return (await Array.fromAsync(writ.list({ type }))).length;
}

async function completedOf(writ: Writ, type: string): Promise<number> {
  return (await Array.fromAsync(writ.list({ type, status: ["completed"] }))).length;
}

/** How many connections with frames the hub has. */
async function frameConnections(url: string, hub: TestHub, ca?: string): Promise<number> {
  const ask = url.startsWith("https:") ? requestHttps : requestHttp;
  const call = ask(`${url}/metrics`, { ca, headers: { authorization: `Bearer ${hub.admin}` } });
  call.end();
  const [answer] = await once(call, "response");
  return Number(/^writ_frame_connections (\d+)/m.exec(await text(answer))?.[1]);
}
