import { connect, type IncomingHttpHeaders } from "node:http2";
import { type ConnectionOptions, connect as connectTls } from "node:tls";

export type RawAnswer =
  | { kind: "status"; status: number; message: string; body: Buffer }
  | { kind: "broken"; error: string };

export type RawCall = {
  port: number;
  tls: ConnectionOptions & { localAddress?: string };
  path?: string;
  body?: Buffer;
  headers?: Record<string, string>;
};

const emptyMessage = Buffer.from([0, 0, 0, 0, 0]);

/** One gRPC call byte by byte on a connection of its own, with nothing in between that could repair or repeat it. */
export function rawCall(call: RawCall): Promise<RawAnswer> {
  const { promise, resolve } = Promise.withResolvers<RawAnswer>();
  const broken = (error: Error & { code?: string }) =>
    resolve({ kind: "broken", error: error.code ?? error.message });
  const options = { host: "127.0.0.1", servername: "localhost", ALPNProtocols: ["h2"], ...call.tls };
  const session = connect(`https://localhost:${call.port}`, {
    createConnection: () => connectTls({ port: call.port, ...options }),
  });
  session.on("error", broken);
  session.on("close", () => broken(new Error("closed")));
  const stream = session.request({
    ":method": "POST",
    ":path": call.path ?? "/writ.v1.JobService/ListJobs",
    "content-type": "application/grpc",
    te: "trailers",
    ...call.headers,
  });
  let status: IncomingHttpHeaders = {};
  const parts: Buffer[] = [];
  stream.on("error", broken);
  stream.on("response", (headers) => {
    status = { ...status, ...headers };
  });
  stream.on("trailers", (trailers) => {
    status = { ...status, ...trailers };
  });
  stream.on("data", (part: Buffer) => parts.push(part));
  stream.on("end", () => {
    const code = status["grpc-status"];
    const message = decodeURIComponent(String(status["grpc-message"] ?? ""));
    if (code === undefined) broken(new Error(`HTTP ${status[":status"]}`));
    else resolve({ kind: "status", status: Number(code), message, body: Buffer.concat(parts) });
    session.close();
  });
  stream.end(call.body ?? emptyMessage);
  return promise.finally(() => session.destroy());
}

/** A message with its prefix. */
export function framed(message: Uint8Array, flag = 0): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = flag;
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}
