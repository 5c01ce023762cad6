import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { makeAuthority, makeServerCertificate } from "../../hub/certs/make-certificate.ts";
import { handClock } from "../clock/hand-clock.testing.ts";
import { createHttpClient, type HttpClient, type HttpClientOptions } from "../http/http-client.ts";
import type { HubMove } from "./hub-pool.ts";

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});

describe("refusals", () => {
  test("a request that a hub refuses is not sent to another", async () => {
    for (const status of [302, 400, 401, 403, 404, 409, 423, 429, 500]) {
      const refusing = await serve((_request, response) => response.writeHead(status).end());
      const other = await serve((_request, response) => response.end("other"));
      const { status: found } = await post(client([refusing.url, other.url]));
      expect([found, other.requests()]).toEqual([status, 0]);
    }
  });

  test("a call that must not arrive twice is not sent again when its answer is lost", async () => {
    const cutting = await serve((request) => request.socket.destroy());
    const other = await serve((_request, response) => response.end("other"));
    const hubs = client([cutting.url, other.url], { patienceMs: 60_000 });
    const error = await post(hubs, { mayRepeat: false }).catch((reason) => reason);
    expect(error).toMatchObject({ code: "OUTCOME_UNKNOWN" });
    expect(error.message).toContain(`POST /x was sent, but no answer came (${cutting.url}: ECONNRESET)`);
    expect([cutting.requests(), other.requests()]).toEqual([1, 0]);
    const unwilling = await serve((_request, response) => response.writeHead(503).end());
    expect((await post(client([unwilling.url, other.url]), { mayRepeat: false })).status).toBe(503);
    expect(other.requests()).toBe(0);
  });

  test("when no hub can be reached, the error names each address and what happened there", async () => {
    const closed = await closedPort();
    const cutting = await serve((request) => request.socket.destroy());
    const error = await post(client([closed, cutting.url])).catch((reason) => reason);
    expect(error).toMatchObject({ code: "HUB_UNREACHABLE", details: { urls: [closed, cutting.url] } });
    expect(error.message).toBe(`no hub can be reached (${closed}: ECONNREFUSED; ${cutting.url}: ECONNRESET)`);
  });

  test("a caller that leaves ends the pause before the next round", async () => {
    const stop = new AbortController();
    const waiting = post(client([await closedPort(), await closedPort()], { patienceMs: 600_000 }), {
      signal: stop.signal,
    });
    const reason = new Error("stopping");
    stop.abort(reason);
    await expect(waiting).rejects.toBe(reason);
  });
});

describe("the next hub is taken", () => {
  test("when one refuses connections, resets them, speaks no TLS or is silent, and is kept", async () => {
    const good = await serve((_request, response) => response.end("good"));
    const silent = await serve(() => {});
    const resetting = await serveTcp((socket) => socket.once("data", () => socket.resetAndDestroy()));
    const noTls = (await serveTcp((socket) => socket.end("what?"))).replace("http:", "https:");
    const moves: HubMove[] = [];
    const bad = [await closedPort(), resetting, noTls, silent.url];
    const hubs = client([...bad, good.url], { onMove: (move) => moves.push(move) });
    for (let call = 0; call < 3; call++) expect((await post(hubs, { timeoutMs: 2000 })).text()).toBe("good");
    expect([silent.requests(), good.requests()]).toEqual([1, 3]);
    expect([hubs.currentHub, hubs.moves, moves.length]).toEqual([good.url, 1, 1]);
    for (const url of bad) expect(moves[0]!.why).toContain(`${url}: `);
  });

  test("when one only says that it cannot answer; if all say so, that is the answer", async () => {
    for (const status of [502, 503, 504]) {
      const unwilling = await serve((_request, response) => response.writeHead(status).end("later"));
      const good = await serve((_request, response) => response.end("good"));
      const hubs = client([unwilling.url, await closedPort(), good.url]);
      expect((await post(hubs)).text()).toBe("good");
      expect((await post(hubs)).text()).toBe("good");
      expect(unwilling.requests()).toBe(1);
      const alone = await post(client([unwilling.url, await closedPort()]));
      expect([alone.status, alone.text()]).toEqual([status, "later"]);
    }
  });

  test("when one could not be connected to, even for a call that must not arrive twice", async () => {
    const good = await serve((_request, response) => response.end("good"));
    expect((await post(client([await closedPort(), good.url]), { mayRepeat: false })).text()).toBe("good");
  });

  test("when one freezes: what waits there is given up long before its time is over", async () => {
    const connections = new Arrivals();
    const frozen = await serveTcp(() => connections.arrive());
    const good = await serve((_request, response) => response.end("good"));
    const clock = handClock();
    const hubs = client([frozen, good.url], { clock });
    const answers = Promise.all([1, 2, 3].map(() => post(hubs, { timeoutMs: 3_600_000 })));
    await connections.reach(3);
    await clock.pass(3_000);
    await connections.reach(4);
    await clock.pass(4_000);
    expect((await answers).map(({ text }) => text())).toEqual(["good", "good", "good"]);
  });

  test("but not when one is only slow", async () => {
    const requests = new Arrivals();
    const wasAsked = Promise.withResolvers<void>();
    const slow = await serve(async (request, response) => {
      requests.arrive();
      if (request.url === "/healthz") wasAsked.resolve();
      else await wasAsked.promise;
      response.end("slow");
    });
    const other = await serve((_request, response) => response.end("other"));
    const clock = handClock();
    const answer = post(client([slow.url, other.url], { clock }));
    await requests.reach(1);
    await clock.pass(3_000);
    expect((await answer).text()).toBe("slow");
    expect(other.requests()).toBe(0);
  });

  test("when one waits for its database, and its health says that there is none", async () => {
    const requests = new Arrivals();
    const waiting = await serve((request, response) => {
      requests.arrive();
      if (request.url === "/healthz") response.writeHead(503).end("store unavailable");
    });
    const other = await serve((_request, response) => response.end("other"));
    const clock = handClock();
    const answer = post(client([waiting.url, other.url], { clock }));
    await requests.reach(1);
    await clock.pass(3_000);
    expect((await answer).text()).toBe("other");
  });

  test("for a stream too, also when it breaks off or its hub freezes in the middle", async () => {
    const unwilling = await serve((_request, response) => response.writeHead(503).end("later"));
    const requests = new Arrivals();
    const first = await serve((request, response) => {
      requests.arrive();
      if (request.url !== "/healthz") response.write("first");
    });
    const second = await serve((_request, response) => response.end("second"));
    const clock = handClock();
    const hubs = client([unwilling.url, first.url, second.url], { clock });
    const signal = new AbortController().signal;
    const stream = await hubs.openStream({ path: "/", signal });
    const chunks = stream.body[Symbol.asyncIterator]();
    expect(String((await chunks.next()).value)).toBe("first");
    const read = chunks.next();
    read.catch(() => {});
    // Its health is never answered either, so it is found to be frozen.
    await clock.pass(3_000);
    await requests.reach(2);
    await clock.pass(4_000);
    await expect(read).rejects.toThrow(`the stream from ${first.url} ended: has stopped answering`);
    const next = await hubs.openStream({ path: "/", signal });
    expect(await Array.fromAsync(next.body, (chunk) => chunk.toString())).toEqual(["second"]);
  });
});

describe("a hub that has moved", () => {
  test("is not followed to an address that is not trusted, and no token is sent there", async () => {
    const strange = await serveTls();
    const refused = ["http://hub.example:1", "not an address"];
    for (const [address, problem] of [
      [strange.url, "UNABLE_TO_VERIFY_LEAF_SIGNATURE"],
      [refused[0]!, "would send the token unencrypted"],
      [refused[1]!, "is not a hub address"],
    ] as const) {
      const old = await serveMoved(address);
      const error = await post(client([old.url], { token: "secret" })).catch((reason) => reason);
      expect(error).toMatchObject({ code: "HUB_UNREACHABLE" });
      expect(error.message).toContain(`${old.url}: has moved`);
      expect(error.message).toContain(problem);
    }
    expect(strange.requests()).toBe(0);
  });

  test("is followed only if the answer is 503, not if another answer carries the header", async () => {
    const other = await serve((_request, response) => response.end("other"));
    for (const status of [200, 307, 404, 500]) {
      const old = await serve((_request, response) =>
        response.writeHead(status, { "writ-moved-to": other.url, location: other.url }).end(),
      );
      expect((await post(client([old.url]))).status).toBe(status);
    }
    expect(other.requests()).toBe(0);
  });

  test("ends in an error when two hubs name each other", async () => {
    const two = await serve((_request, response) => moved(response, one.url));
    const one = await serveMoved(two.url);
    await expect(post(client([one.url]))).rejects.toThrow(
      `no hub can be reached (${one.url}: has moved to ${two.url}; ${two.url}: has moved to ${one.url})`,
    );
  });

  test("is left for the old address again if the new one does not know the caller", async () => {
    // After many wrong tokens a hub refuses to look at the next one.
    const statuses = [401, 429];
    const stranger = await serve((_request, response) => response.writeHead(statuses.shift()!).end());
    const steps = ["moved", "moved", "back"];
    const old = await serve((_request, response) =>
      steps.shift() === "moved" ? moved(response, stranger.url) : response.end("old"),
    );
    const clock = handClock();
    const hubs = client([old.url], { clock });
    const open = () => hubs.openStream({ path: "/", signal: new AbortController().signal });
    for (const call of [() => post(hubs, { mayRepeat: false }), open]) {
      await expect(call()).rejects.toThrow(
        `(${old.url}: has moved to ${stranger.url}; ${stranger.url}: does not accept the token)`,
      );
      await clock.pass(60_000);
    }
    expect((await post(hubs)).text()).toBe("old");
  });

  test("is trusted once it has accepted a call: its refusals count from then on", async () => {
    const answers = [200, 401];
    const fresh = await serve((_request, response) => response.writeHead(answers.shift()!).end());
    const hubs = client([(await serveMoved(fresh.url)).url]);
    expect([(await post(hubs)).status, (await post(hubs)).status]).toEqual([200, 401]);
  });

  test("adds at most 16 addresses", async () => {
    const closed = await closedPort();
    const many = Array.from({ length: 16 }, (_, n) => `${closed}/${n}`).join();
    const old = await serveMoved(many);
    await expect(post(client([old.url]))).rejects.toThrow("at most 16 addresses are kept");
  });

  test("is followed by calls, also many at once, by those that must not arrive twice, and by streams", async () => {
    const good = await serve((_request, response) => response.end("good"));
    const old = await serveMoved(`${await closedPort()}, ${good.url}`);
    const moves: HubMove[] = [];
    const hubs = client([old.url], { onMove: (move) => moves.push(move) });
    const answers = await Promise.all([1, 2, 3].map(() => post(hubs)));
    expect(answers.map(({ text }) => text())).toEqual(["good", "good", "good"]);
    expect([hubs.currentHub, hubs.moves]).toEqual([good.url, 1]);
    expect(moves[0]).toMatchObject({ to: good.url, isNewAddress: true });
    expect(moves[0]!.why).toContain(`${old.url}: has moved to `);
    const before = old.requests();
    expect((await post(hubs, { mayRepeat: false })).text()).toBe("good");
    expect(old.requests()).toBe(before);
    expect((await post(client([old.url]), { mayRepeat: false })).text()).toBe("good");
    const stream = await client([old.url]).openStream({ path: "/", signal: new AbortController().signal });
    expect(await Array.fromAsync(stream.body, (chunk) => chunk.toString())).toEqual(["good"]);
  });
});

test("when all are away, a call that may be repeated waits for one to come back", async () => {
  const [one, two] = [await closedPort(), await closedPort()];
  const answer = post(client([one, two], { patienceMs: 3_600_000 }));
  const server = createServer((_request, response) => response.end("back"));
  server.listen(Number(new URL(two).port), "127.0.0.1");
  await once(server, "listening");
  cleanups.push(() => void server.close().closeAllConnections());
  expect((await answer).text()).toBe("back");
});

/** Counts what arrives, and lets a test wait for it. */
class Arrivals {
  #count = 0;
  #awaited: { count: number; resolve(): void } | undefined;

  arrive(): void {
    this.#count++;
    if (this.#awaited !== undefined && this.#count >= this.#awaited.count) this.#awaited.resolve();
  }

  reach(count: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.#count >= count) resolve();
    this.#awaited = { count, resolve };
    return promise;
  }
}

type RequestOptions = Partial<Parameters<HttpClient["request"]>[0]>;

function post(hubs: HttpClient, options: RequestOptions = {}) {
  return hubs.request({ method: "POST", path: "/x", body: "{}", timeoutMs: 30_000, ...options });
}

/** It begins with the first address. */
function client(baseUrls: string[], options: Partial<HttpClientOptions> = {}): HttpClient {
  const created = createHttpClient({ baseUrls, random: () => 0, ...options });
  cleanups.push(() => created.close());
  return created;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

async function serve(handler: Handler): Promise<{ url: string; requests(): number }> {
  let requests = 0;
  const server = createServer((request, response) => {
    if (request.url !== "/healthz") requests++;
    void handler(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanups.push(() => void server.close().closeAllConnections());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests: () => requests };
}

function moved(response: ServerResponse, to: string): void {
  response.writeHead(503, { "writ-moved-to": to }).end();
}

function serveMoved(to: string): ReturnType<typeof serve> {
  return serve((_request, response) => moved(response, to));
}

/** With a certificate of an authority that the client does not trust. */
async function serveTls(): Promise<{ url: string; requests(): number }> {
  const nowMs = Date.now();
  const pair = await makeServerCertificate(await makeAuthority(nowMs), { hosts: ["127.0.0.1"], nowMs });
  let requests = 0;
  const server = createTlsServer({ cert: pair.certPem, key: pair.keyPem }, (_request, response) => {
    requests++;
    response.end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanups.push(() => void server.close().closeAllConnections());
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, requests: () => requests };
}

async function serveTcp(onConnection: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket.on("error", () => {}));
    onConnection(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanups.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function closedPort(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}
