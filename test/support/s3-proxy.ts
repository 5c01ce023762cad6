import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

/** What becomes of one request. */
export type S3Fault =
  | { kind: "status"; status: number; code: string; message?: string }
  /** The answer has this tag instead of its own. */
  | { kind: "tag"; etag: string }
  /** The connection breaks after so many bytes of the request, or of the answer. */
  | { kind: "cut request"; afterBytes: number }
  | { kind: "cut answer"; afterBytes: number }
  /** The answer comes byte by byte. */
  | { kind: "slow answer" }
  | { kind: "redirect"; to: string };

export type S3Proxy = {
  url: string;
  /** Every request that came, as `PUT /bucket/key`, with its query if that says what it is about. */
  readonly seen: string[];
  /** Decides what becomes of a request; undefined passes it on. */
  fault: ((method: string, path: string, headers: IncomingHttpHeaders) => S3Fault | undefined) | undefined;
  stop(): Promise<void>;
};

/** Somebody between an S3 server and its callers, who breaks what a test wants broken. */
export async function startS3Proxy(port: number): Promise<S3Proxy> {
  const server = createServer((incoming, outgoing) => {
    const path = incoming.url ?? "";
    proxy.seen.push(`${incoming.method} ${path.split("?")[0]}`);
    const fault = proxy.fault?.(incoming.method ?? "", path, incoming.headers);
    answer(port, incoming, outgoing, fault);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const proxy: S3Proxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen: [],
    fault: undefined,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return proxy;
}

function answer(port: number, incoming: IncomingMessage, outgoing: ServerResponse, fault?: S3Fault): void {
  if (fault?.kind === "status") {
    incoming.resume();
    const body = `<?xml version="1.0"?><Error><Code>${fault.code}</Code><Message>${fault.message ?? "as the test wants"}</Message></Error>`;
    outgoing.writeHead(fault.status, { "content-type": "application/xml" }).end(body);
    return;
  }
  if (fault?.kind === "redirect") {
    incoming.resume();
    outgoing.writeHead(307, { location: fault.to }).end();
    return;
  }
  const { method, url: path, headers } = incoming;
  const forward = request({ host: "127.0.0.1", port, method, path, headers }, (reply) => {
    const tag = fault?.kind === "tag" ? { etag: fault.etag } : {};
    outgoing.writeHead(reply.statusCode ?? 0, { ...reply.headers, ...tag });
    if (fault?.kind === "cut answer")
      return cutAfter(reply, fault.afterBytes, outgoing, () => outgoing.destroy());
    if (fault?.kind === "slow answer") return void dripFrom(reply, outgoing);
    reply.pipe(outgoing);
  });
  forward.on("error", () => outgoing.destroy());
  outgoing.on("close", () => forward.destroy());
  if (fault?.kind !== "cut request") return void incoming.pipe(forward);
  cutAfter(incoming, fault.afterBytes, forward, () => {
    forward.destroy();
    incoming.destroy();
  });
}

type Writable = {
  write(chunk: Buffer): boolean;
  end(): void;
  once(event: "drain", listener: () => void): unknown;
};

function cutAfter(from: IncomingMessage, bytesMax: number, to: Writable, cut: () => void): void {
  let bytes = 0;
  from.on("data", (chunk: Buffer) => {
    // A slow side is waited for: what passes before the cut may be more than fits into memory.
    const isTaken = bytes >= bytesMax || to.write(chunk.subarray(0, bytesMax - bytes));
    if (!isTaken) to.once("drain", () => from.resume());
    if (!isTaken) from.pause();
    bytes += chunk.length;
    if (bytes >= bytesMax) setImmediate(cut);
  });
  from.on("end", () => to.end());
}

async function dripFrom(from: IncomingMessage, to: Writable): Promise<void> {
  for await (const chunk of from) {
    for (const byte of chunk as Buffer) {
      to.write(Buffer.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  to.end();
}
