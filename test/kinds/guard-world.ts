/**
 * A small world of its own, in a network namespace where every address and port is free: a web server at a public
 * address, a name server, and on all other addresses a canary that counts connections. Reads cases from standard
 * input, runs each through the guard, and prints what came of it.
 */
import { createSocket } from "node:dgram";
import { promises as dns, type LookupAddress } from "node:dns";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { createServer, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { systemClock } from "../../src/runtime/clock/clock.ts";
import { parseAllowedHost } from "../../src/runtime/guarded-fetch/allowed-host.ts";
import { guardedFetch } from "../../src/runtime/guarded-fetch/guarded-fetch.ts";
import { guardedPost } from "../../src/runtime/guarded-fetch/guarded-post.ts";
import type { GuardCase, GuardResult } from "./guard-case.ts";
import { answerTo } from "./tiny-dns.ts";

const publicAddresses = ["93.184.216.34", "2606:2800:220:1::1"];
const purpose = { verb: "called", operator: "the operator", setting: "HOSTS" } as const;
const ports = [22, 25, 80, 443, 6379, 8443];

let canaries = 0;
let questions: string[] = [];
const heads: string[][] = [];

const site: RequestListener = (request, response) => {
  heads.push(request.rawHeaders);
  const { pathname, searchParams } = new URL(request.url ?? "", "https://site.test");
  if (pathname === "/to") {
    response
      .writeHead(302, { location: searchParams.get("url") ?? "", "set-cookie": "session=1" })
      .end("moved");
  } else if (pathname === "/hops") {
    const left = Number(searchParams.get("left"));
    response
      .writeHead(left > 0 ? 307 : 200, { location: `/hops?left=${left - 1}`, "content-length": 2 })
      .end("ok");
  } else if (pathname === "/large") {
    response.writeHead(200, { "content-length": 10 * 1024 ** 3 }).flushHeaders();
  } else if (pathname === "/endless") {
    response.writeHead(200);
    const send = (error?: Error | null): void => void (error || response.write(Buffer.alloc(65_536), send));
    send();
  } else if (pathname === "/bomb") {
    const bomb = gzipSync(Buffer.alloc(10 * 1024 ** 2));
    response.writeHead(200, { "content-encoding": "gzip", "content-length": bomb.length }).end(bomb);
  } else if (pathname === "/silent") {
    response.writeHead(200, { "content-length": 5 }).write("a");
  } else if (pathname === "/mute") {
    // Accepts the request, and never answers.
  } else if (pathname === "/drip") {
    response.writeHead(200, { "content-length": 1_000_000 });
    const drop = (): void => void (response.destroyed || response.write("a", () => setTimeout(drop, 5)));
    drop();
  } else if (pathname === "/cut") {
    response.writeHead(200, { "content-length": 1000 }).write("half", () => response.destroy());
  } else if (pathname === "/unmeasured") {
    request.socket.end("HTTP/1.1 200 OK\r\n\r\nwho knows whether this is all");
  } else {
    response.writeHead(pathname === "/ok" ? 200 : 404, { "content-length": 2 }).end("ok");
  }
};

async function open(): Promise<void> {
  const [key, cert] = ["key.pem", "cert.pem"].map((name) => readFileSync(`${process.argv[2]}/${name}`));
  const https = createHttpsServer({ key, cert }, site);
  for (const port of ports) {
    const server = createServer((socket: Socket) => {
      const address = socket.localAddress?.replace(/^::ffff:/, "") ?? "";
      if (port === 443 && publicAddresses.includes(address)) https.emit("connection", socket);
      else {
        canaries++;
        socket.destroy();
      }
    });
    server.listen(port, "::");
    await once(server, "listening");
  }
}

/** Resolves over a real name server, and asks it each time. */
async function openResolver(): Promise<(host: string) => Promise<LookupAddress[]>> {
  const socket = createSocket("udp4");
  socket.on("message", (message, from) => {
    const { name, answer } = answerTo(message, questions);
    questions.push(name);
    socket.send(answer, from.port, from.address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  const resolver = new dns.Resolver();
  resolver.setServers([`127.0.0.1:${socket.address().port}`]);
  return async (host) => {
    const found = await resolver.resolve4(host);
    const six = await resolver.resolve6(host).catch(() => []);
    return [
      ...found.map((address) => ({ address, family: 4 })),
      ...six.map((address) => ({ address, family: 6 })),
    ];
  };
}

async function run(
  resolve: (host: string) => Promise<LookupAddress[]>,
  {
    url,
    allowed = [],
    bytesMax = 1_000_000,
    idleMs = 60_000,
    totalMs = 60_000,
    own = [],
    ownLater = [],
    posts = false,
  }: GuardCase,
): Promise<GuardResult> {
  canaries = 0;
  questions = [];
  heads.length = 0;
  const pieces: Buffer[] = [];
  let looks = 0;
  const deps = {
    clock: systemClock,
    allowedHosts: allowed.map((host) => parseAllowedHost(host)!),
    // In this world the public addresses are on the loopback, so the machine's own addresses are given by the case.
    network: { resolve, ownAddresses: () => (looks++ === 0 ? own : [...own, ...ownLater]) },
    limits: { idleMs, totalMs },
  };
  const { signal } = new AbortController();
  const get = async (): Promise<string> => {
    const write = async (chunk: Buffer): Promise<void> => void pieces.push(chunk);
    await guardedFetch(deps, { url, bytesMax, signal, write });
    return "fetched";
  };
  const post = async (): Promise<string> => {
    const content = { headers: { "content-type": "application/json" }, body: Buffer.from("{}") };
    const { status } = await guardedPost(deps, { url, purpose, ...content, timeoutMs: totalMs, signal });
    return `answered ${status}`;
  };
  const outcome = await (posts ? post() : get()).catch(
    (error: { problem?: string; message: string }) => `${error.problem}: ${error.message}`,
  );
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
  return { outcome, bytes, canaries, questions: [...questions], heads: [...heads] };
}

await open();
const resolve = await openResolver();
const results: GuardResult[] = [];
for (const each of JSON.parse(await text(process.stdin)) as GuardCase[])
  results.push(await run(resolve, each));
process.stdout.write(JSON.stringify(results), () => process.exit(0));
