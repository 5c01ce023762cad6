import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { PassThrough } from "node:stream";
import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "../clock/clock.ts";
import { handClock } from "../clock/hand-clock.testing.ts";
import { type BodyTarget, HttpConnection } from "./connection.ts";
import { connectionTo } from "./open-connection.ts";
import { callWhole, type FindConnection, type HttpCall, openRequest } from "./open-request.ts";

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const get: HttpCall = { method: "GET", host: "server", path: "/", headers: {}, clock: systemClock };

describe("a failure says whether the request was sent:", () => {
  it("it was not without a connection, and it was on one that is silent or breaks", async () => {
    const clock = handClock();
    const { find, url, server, sockets } = await serve(() => {});
    const silent = callWhole({ ...get, clock, timeoutMs: 50 }, find);
    await once(server, "connection");
    await once(sockets[0]!, "data");
    const late = expect(silent).rejects.toMatchObject({ message: "no response within 50 ms", wasSent: true });
    await clock.pass(50);
    await late;
    const broken = callWhole(get, find);
    await once(server, "connection");
    await once(sockets[1]!, "data");
    sockets[1]!.destroy();
    await expect(broken).rejects.toMatchObject({ message: "ECONNRESET", wasSent: true });
    await new Promise((resolve) => server.close(resolve));
    const refused = callWhole(get, connectionTo(url, { clock: systemClock }));
    await expect(refused).rejects.toMatchObject({ message: "ECONNREFUSED", wasSent: false });
  });

  it("it was not while a connection is looked for, and one that is found too late is closed", async () => {
    const clock = handClock();
    let isSearchOver = false;
    let find: ((connection: HttpConnection) => void) | undefined;
    const call = callWhole({ ...get, clock, timeoutMs: 50 }, (found) => {
      find = found;
      return () => {
        isSearchOver = true;
      };
    });
    const failing = expect(call).rejects.toMatchObject({ wasSent: false });
    await clock.pass(50);
    await failing;
    const late = new PassThrough();
    find!(new HttpConnection(late));
    expect([isSearchOver, late.destroyed]).toEqual([true, true]);
  });

  it("it was not on a connection that broke before it was used", async () => {
    const broken = new PassThrough().destroy();
    const find: FindConnection = (found) => {
      found(new HttpConnection(broken));
      return () => {};
    };
    await expect(callWhole(get, find)).rejects.toMatchObject({ name: "ConnectionFailure" });
  });
});

describe("a body that is read as it arrives", () => {
  it("ends with the signal, and its connection with it", async () => {
    const stop = new AbortController();
    const { find, sockets } = await serve((socket) => socket.write(ok.slice(0, -1)));
    const { body } = await openRequest({ ...get, signal: stop.signal }, find);
    const closed = once(sockets[0]!, "close");
    const reading = Array.fromAsync(body, () => stop.abort(new Error("stopping")));
    await expect(reading).rejects.toThrow();
    await closed;
  });

  it("is not read ahead of a slow reader", async () => {
    const pieces = 64;
    const piece = Buffer.alloc(1024 * 1024);
    const { find } = await serve((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${pieces * piece.length}\r\n\r\n`);
      for (let n = 0; n < pieces; n++) socket.write(piece);
    });
    const { body } = await openRequest(get, find);
    let bytes = 0;
    let waitingMax = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      // A turn of the event loop, in which more could arrive.
      await new Promise((resolve) => setImmediate(resolve));
      waitingMax = Math.max(waitingMax, body.readableLength);
    }
    expect(bytes).toBe(pieces * piece.length);
    expect(waitingMax).toBeLessThan(piece.length);
  });
});

it("a connection without a pool ends with its response, even if the server would keep it", async () => {
  const { find, sockets } = await serve((socket) => socket.write(ok));
  expect((await callWhole(get, find)).body.toString()).toBe("ok");
  if (!sockets[0]!.closed) await once(sockets[0]!, "close");
});

describe("a body that is sent in pieces", () => {
  const put = { ...get, method: "PUT", headers: { "content-length": "6" } };

  it("can wait until the server agrees to it", async () => {
    const got: string[] = [];
    const { find } = await serve((socket, text) => {
      got.push(text);
      socket.write(got.length === 1 ? "HTTP/1.1 100 Continue\r\n\r\n" : ok);
    });
    const body = async (target: BodyTarget): Promise<void> => {
      await target.agreed();
      expect(await target.write(Buffer.from("abcdef"))).toBe(true);
    };
    expect((await callWhole({ ...put, body }, find)).status).toBe(200);
    expect(got).toEqual([expect.stringMatching(/content-length: 6\r\n\r\n$/), "abcdef"]);
  });

  it("is given up when the answer comes first", async () => {
    const { find } = await serve((socket) => socket.write("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n"));
    const wanted = Promise.withResolvers<boolean>();
    const body = async (target: BodyTarget): Promise<void> => {
      await target.agreed();
      wanted.resolve(await target.write(Buffer.from("abcdef")));
    };
    expect((await callWhole({ ...put, body }, find)).status).toBe(403);
    expect(await wanted.promise).toBe(false);
  });

  it("ends the call with the error of its writer", async () => {
    const { find, sockets } = await serve(() => {});
    const problem = new Error("the file was changed");
    const body = async (target: BodyTarget): Promise<void> => {
      await target.write(Buffer.from("abc"));
      throw problem;
    };
    await expect(callWhole({ ...put, body }, find)).rejects.toBe(problem);
    for (const socket of sockets) if (!socket.closed) await once(socket, "close");
  });
});

async function serve(onText: (socket: Socket, text: string) => void) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    socket.on("data", (bytes) => onText(socket, bytes.toString()));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const url = new URL(`http://127.0.0.1:${port}`);
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url, server, sockets, find: connectionTo(url, { clock: systemClock }) };
}
