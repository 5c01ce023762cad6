import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { written } from "../call.ts";
import type { Reply } from "../reply.ts";

/** Node has given the connection away, so the refusal is written by hand, and ends it. */
export function refuseUpgrade(socket: Duplex, { status, headers, body }: Reply): void {
  const bytes = body === null || body === written ? Buffer.alloc(0) : Buffer.from(body);
  const all = { ...headers, "Content-Length": String(bytes.length), Connection: "close" };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}\r\n`);
  socket.end(bytes, () => socket.destroy());
}
