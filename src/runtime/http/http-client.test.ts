import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { createHttpClient, type HttpClient, type HttpClientOptions } from "./http-client.ts";

const canaryToken = "sk_worker_canary0123456789";
const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});

describe("refusals", () => {
  test.each([
    "http://hub.example:3000",
    "http://10.0.0.1",
    "http://127.0.0.1.evil.example",
    "http://[::2]:1",
  ])("%s would send the token in plain text", (url) => {
    expect(() => createHttpClient({ baseUrls: [url] })).toThrow(
      expect.objectContaining({ code: "CONFIG_INVALID" }),
    );
    expect(() => createHttpClient({ baseUrls: [url], allowInsecure: true })).not.toThrow();
  });

  test.each([
    "ftp://localhost",
    "localhost:3000",
    "",
    "http://u:secretcanary@localhost",
    "http://localhost/?t=secretcanary",
  ])("%j is no address of a hub", (url) => {
    const error = catchError(() => createHttpClient({ baseUrls: [url] }));
    expect(error).toMatchObject({ code: "CONFIG_INVALID" });
    expect(error.message).not.toContain("secretcanary");
  });

  test.each([
    ["http://localhost:3000/api/v1", "http://localhost:3000"],
    ["http://localhost:3000/api/", "http://localhost:3000"],
    ["https://hub.example/writ/api/v1/", "https://hub.example/writ"],
  ])("%s contains the path of the API, and the address to use is named", (url, right) => {
    expect(() => createHttpClient({ baseUrls: [url] })).toThrow(
      `hub address ${url} must not contain the path of the API; use ${right}`,
    );
    expect(() => createHttpClient({ baseUrls: [right] })).not.toThrow();
  });

  test("loopback and https need no permission", () => {
    const baseUrls = ["http://localhost:1", "http://127.0.0.1:1", "http://[::1]:1", "https://hub.example"];
    expect(() => createHttpClient({ baseUrls })).not.toThrow();
    expect(() => createHttpClient({ baseUrls: [] })).toThrow(
      expect.objectContaining({ code: "CONFIG_INVALID" }),
    );
  });

  test("a hub that is not there is named, and the token is not", async () => {
    const url = await closedPort();
    const error = await client([url])
      .request({ method: "GET", path: "/x", timeoutMs: 1000 })
      .catch((reason) => reason);
    expect(error).toMatchObject({ code: "HUB_UNREACHABLE", details: { urls: [url] } });
    expect(error.message).toContain(`${url}: ECONNREFUSED`);
    expect(JSON.stringify([error, error.message, error.stack, error.cause ?? null])).not.toContain("canary");
  });

  test("a hub that does not answer in time, or breaks off its answer, cannot be reached", async () => {
    const silent = await serve(() => {});
    await expect(
      client([silent.url]).request({ method: "GET", path: "/", timeoutMs: 30 }),
    ).rejects.toMatchObject({
      code: "HUB_UNREACHABLE",
    });
    const broken = await serve((_request, response) => {
      response.writeHead(200, { "content-length": "10" });
      response.write("half", () => response.destroy());
    });
    await expect(
      client([broken.url]).request({ method: "GET", path: "/", timeoutMs: 5000 }),
    ).rejects.toMatchObject({
      code: "HUB_UNREACHABLE",
    });
    const dribble = await serve((_request, response) => void response.writeHead(200).write("half"));
    await expect(
      client([dribble.url]).request({ method: "GET", path: "/", timeoutMs: 30 }),
    ).rejects.toMatchObject({
      code: "HUB_UNREACHABLE",
    });
  });

  test("an answer that is too large is not kept, and an abort is the caller's own reason", async () => {
    const { url } = await serve((request, response) => {
      if (request.url === "/large") response.end(Buffer.alloc(2000));
    });
    const large = client([url]).request({
      method: "GET",
      path: "/large",
      timeoutMs: 5000,
      responseBytesMax: 1999,
    });
    await expect(large).rejects.toMatchObject({ code: "HTTP_ERROR" });
    const stop = new AbortController();
    const waiting = client([url]).request({
      method: "GET",
      path: "/wait",
      timeoutMs: 5000,
      signal: stop.signal,
    });
    const reason = new Error("stopping");
    stop.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    const late = client([url]).request({ method: "GET", path: "/", timeoutMs: 5000, signal: stop.signal });
    await expect(late).rejects.toBe(reason);
  });
});

describe("requests", () => {
  test("send text or bytes with the token below the address's own path, and return every status", async () => {
    const { url } = await serve(async (request, response) => {
      const body = await readAll(request);
      const { authorization, "content-type": type } = request.headers;
      response
        .writeHead(418)
        .end(JSON.stringify({ method: request.method, url: request.url, authorization, type, body }));
    });
    const hub = client([`${url}/prefix/`]);
    const headers = { "content-type": "text/plain" };
    const text = await hub.request({ method: "POST", path: "/a?b=c?d", headers, body: "é", timeoutMs: 5000 });
    expect(text.status).toBe(418);
    expect(JSON.parse(text.text())).toEqual({
      method: "POST",
      url: "/prefix/a?b=c?d",
      authorization: `Bearer ${canaryToken}`,
      type: "text/plain",
      body: "é",
    });
    const bytes = await hub.request({ method: "PUT", path: "/", body: Buffer.from("raw"), timeoutMs: 5000 });
    expect(JSON.parse(bytes.text())).toMatchObject({ method: "PUT", body: "raw" });
  });

  test("do not follow redirects", async () => {
    let calls = 0;
    const { url } = await serve((_request, response) => {
      calls++;
      response.writeHead(302, { location: "http://evil.example/" }).end();
    });
    expect((await client([url]).request({ method: "GET", path: "/", timeoutMs: 5000 })).status).toBe(302);
    expect(calls).toBe(1);
  });

  test("share one connection, and survive that the hub closed it meanwhile", async () => {
    const sockets = new Set<Socket>();
    const { url, server } = await serve((request, response) => {
      sockets.add(request.socket);
      response.end("ok");
    });
    const hub = client([url]);
    for (let n = 0; n < 5; n++) await hub.request({ method: "GET", path: "/", timeoutMs: 5000 });
    expect(sockets.size).toBe(1);
    for (let n = 0; n < 20; n++) {
      server.closeAllConnections();
      expect((await hub.request({ method: "POST", path: "/", body: "{}", timeoutMs: 5000 })).text()).toBe(
        "ok",
      );
    }
  });
});

describe("openStream", () => {
  test("ends with HUB_UNREACHABLE when the hub goes away or falls silent, and with the reason when aborted", async () => {
    const { url } = await serve((request, response) => {
      response.write("first");
      if (request.url === "/break") setImmediate(() => response.destroy());
    });
    const signal = new AbortController().signal;
    const broken = await client([url]).openStream({ path: "/break", signal });
    await expect(Array.fromAsync(broken.body)).rejects.toMatchObject({ code: "HUB_UNREACHABLE" });
    const silent = await client([url]).openStream({ path: "/", signal, idleTimeoutMs: 1000 });
    await expect(Array.fromAsync(silent.body)).rejects.toThrow("silent for 1000 ms");
    const stop = new AbortController();
    const stopped = await client([url]).openStream({ path: "/", signal: stop.signal });
    const reason = new Error("stopping");
    const reading = Array.fromAsync(stopped.body, () => stop.abort(reason));
    await expect(reading).rejects.toBe(reason);
  });

  test("gives the body as it comes, from the hub that works, and closes when the reader leaves", async () => {
    const closed = Promise.withResolvers<void>();
    const { url } = await serve((_request, response) => {
      response.on("close", () => closed.resolve());
      response.writeHead(200, { "content-type": "text/event-stream" }).write("one");
    });
    const stream = await client([await closedPort(), url]).openStream({
      path: "/",
      signal: new AbortController().signal,
    });
    expect(stream.status).toBe(200);
    expect(stream.header("content-type")).toBe("text/event-stream");
    for await (const chunk of stream.body) {
      expect(chunk.toString()).toBe("one");
      break;
    }
    await closed.promise;
  });
});

function client(baseUrls: string[], options: Partial<HttpClientOptions> = {}): HttpClient {
  const created = createHttpClient({ baseUrls, token: canaryToken, ...options });
  cleanups.push(() => created.close());
  return created;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

async function serve(handler: Handler): Promise<{ url: string; server: Server; requests(): number }> {
  let requests = 0;
  const listener: RequestListener = (request, response) => {
    requests++;
    void handler(request, response);
  };
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    server,
    requests: () => requests,
  };
}

async function closedPort(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

async function readAll(request: IncomingMessage): Promise<string> {
  return Buffer.concat(await Array.fromAsync(request)).toString();
}

function catchError(act: () => unknown): Error {
  try {
    act();
  } catch (error) {
    return error as Error;
  }
  throw new Error("nothing was thrown");
}
