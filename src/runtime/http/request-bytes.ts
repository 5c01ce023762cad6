import { WritError } from "../../core/errors.ts";

export type CallRequest = {
  method: string;
  /** Path and query. */
  path: string;
  headers: Readonly<Record<string, string>>;
  body: Uint8Array | undefined;
};

/** A larger body is not copied: that would take its memory twice. */
const copiedBytesMax = 65_536;

/** A request as it is sent: in one piece, or head and body apart if the body is large. */
export function requestBytes(host: string, { method, path, headers, body }: CallRequest): Uint8Array[] {
  if (/[^\x21-\xff]/.test(path)) throw unsendable("the path");
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n`;
  for (const name in headers) {
    const value = headers[name]!;
    // A line break would begin a header that nobody meant to send.
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) throw unsendable(`the header ${name}`);
    head += `${name}: ${value}\r\n`;
  }
  if (body !== undefined || method !== "GET") head += `content-length: ${body?.byteLength ?? 0}\r\n`;
  head += "\r\n";
  if (body !== undefined && body.byteLength > copiedBytesMax) return [Buffer.from(head, "latin1"), body];
  const bytes = Buffer.allocUnsafe(head.length + (body?.byteLength ?? 0));
  bytes.write(head, 0, "latin1");
  if (body !== undefined) bytes.set(body, head.length);
  return [bytes];
}

function unsendable(what: string): WritError {
  return new WritError(
    "CONFIG_INVALID",
    `${what} of a request contains a character that HTTP does not allow`,
  );
}
