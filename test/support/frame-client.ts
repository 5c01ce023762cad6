import type { Agent } from "node:http";
import type { Duplex } from "node:stream";
import { frameKinds, requestFrame, writeLimits } from "../../src/runtime/wire/frame.ts";
import { type Frame, FrameReader } from "../../src/runtime/wire/frame-reader.ts";
import { readAnswer, readHeaders } from "../../src/runtime/wire/read-payload.ts";

type FramedAnswer = { status: number; headers: Record<string, string>; text: string; json: unknown };

type Reached = { agent: Agent; port: number };

/** How a hub answers a request for an upgrade: the status, the headers, the body if it refuses, and the connection. */
export async function askForFrames(
  hub: Reached,
  headers: Record<string, string | readonly string[]>,
  from = "127.0.0.1",
): Promise<{
  status: number;
  headers: Record<string, string>;
  text: string;
  socket: Duplex;
  early: Buffer<ArrayBuffer>;
}> {
  const options = { host: "127.0.0.1", port: hub.port, localAddress: from };
  const socket = (hub.agent as Agent & { createConnection(o: object): Duplex }).createConnection(options);
  const asked = {
    host: `127.0.0.1:${hub.port}`,
    connection: "Upgrade",
    upgrade: "writ-frames",
    "writ-frames": writeLimits({ credit: 8 * 1024 ** 2, requests: 1 }),
    ...headers,
  };
  const lines = Object.entries(asked).flatMap(([name, value]) =>
    [value].flat().map((each) => `${name}: ${each}\r\n`),
  );
  socket.write(`GET /api/v1/frames HTTP/1.1\r\n${lines.join("")}\r\n`);
  let read = Buffer.alloc(0);
  const head = await new Promise<string>((resolve, reject) => {
    const onData = (bytes: Buffer): void => {
      read = Buffer.concat([read, bytes]);
      const end = read.indexOf("\r\n\r\n");
      if (end === -1) return;
      socket.off("data", onData).pause();
      resolve(read.toString("latin1", 0, end));
    };
    socket.on("data", onData).once("close", () => reject(new Error("no answer to the upgrade")));
  });
  const rest = read.subarray(head.length + 4);
  const [status = "", ...fields] = head.split("\r\n");
  const answer = { status: Number(status.split(" ")[1]), headers: readHeaders(fields), socket };
  if (answer.status === 101) return { ...answer, text: "", early: rest };
  const parts: Uint8Array[] = [rest];
  let missing = Number(answer.headers["content-length"] ?? 0) - rest.length;
  // The server may keep a connection whose upgrade it has refused.
  for await (const part of missing > 0 ? (socket as AsyncIterable<Buffer>) : []) {
    parts.push(part);
    missing -= part.length;
    if (missing <= 0) break;
  }
  socket.destroy();
  return { ...answer, text: Buffer.concat(parts).toString(), early: rest };
}

/** A client that may break every rule: it sends what it is told to, and tells what comes. */
export class FrameClient {
  readonly socket: Duplex;
  readonly frames: Frame[] = [];
  /** What the hub gives as the reason for ending the connection; empty if it gives none. */
  readonly closed: Promise<string>;
  #lastId = 0;
  #waiting: (() => void)[] = [];
  #isOver = false;

  constructor(socket: Duplex, early: Buffer<ArrayBuffer>) {
    this.socket = socket;
    const reader = new FrameReader(64 * 1024 ** 2, (frame) => {
      this.frames.push({ ...frame, payload: Buffer.from(frame.payload) });
      this.#wakeAll();
    });
    const over = Promise.withResolvers<string>();
    this.closed = over.promise;
    const end = (): void => {
      this.#isOver = true;
      const close = this.frames.find(({ kind }) => kind === frameKinds.close);
      over.resolve(close?.payload.toString() ?? "");
      this.#wakeAll();
    };
    socket
      .on("data", (bytes: Buffer) => reader.push(bytes))
      .once("end", end)
      .once("close", end);
    socket.on("error", () => {});
    if (early.length > 0) reader.push(early);
    socket.resume();
  }

  static async open(
    hub: Reached,
    token: string,
    { headers = {}, from }: { headers?: Record<string, string>; from?: string } = {},
  ): Promise<FrameClient> {
    const all = { authorization: `Bearer ${token}`, ...headers };
    const { status, socket, early, text } = await askForFrames(hub, all, from);
    if (status !== 101) throw new Error(`no frames: ${status} ${text}`);
    return new FrameClient(socket, early);
  }

  send(...frames: Uint8Array[]): void {
    this.socket.write(Buffer.concat(frames));
  }

  newId(): number {
    return ++this.#lastId;
  }

  async request(head: string, body?: unknown): Promise<FramedAnswer> {
    const id = this.newId();
    const bytes =
      body === undefined || body instanceof Uint8Array
        ? (body as Uint8Array | undefined)
        : Buffer.from(JSON.stringify(body));
    this.send(requestFrame(id, head, bytes));
    return this.answer(id);
  }

  async answer(id: number): Promise<FramedAnswer> {
    const frame = await this.until((one) => one.kind === frameKinds.answer && one.id === id);
    const { status, head, body } = readAnswer(frame);
    const headers = head === "" ? {} : readHeaders(head.split("\n"));
    const text = body.toString();
    const isJson = text !== "" && headers["content-type"] === undefined;
    return { status, headers: { ...headers }, text, json: isJson ? JSON.parse(text) : undefined };
  }

  /** The first frame of this kind, of those that have come or of those to come. */
  async until(fits: (frame: Frame) => boolean): Promise<Frame> {
    for (;;) {
      const found = this.frames.find(fits);
      if (found !== undefined) return found;
      if (this.#isOver) throw new Error(`the connection has ended: ${await this.closed}`);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #wakeAll(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
