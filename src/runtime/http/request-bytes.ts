import { WritError } from "../../core/errors.ts";

export type RequestHead = {
  method: string;
  /** The authority of the URL: a name or an address, and the port unless it is the usual one. */
  host: string;
  /** Path and query. */
  path: string;
  headers: Readonly<Record<string, string>>;
};

type RequestBody = {
  /** Bytes; or what writes them later, and then their length is in the headers. */
  body?: Uint8Array | ((...args: never[]) => unknown) | undefined;
};

/** A larger body is not copied: that would take its memory twice. */
const copiedBytesMax = 65_536;

/** A request as it is sent: in one piece, or head and body apart if the body is large or follows later. */
export function requestBytes({ method, host, path, headers, body }: RequestHead & RequestBody): Uint8Array[] {
  if (/[^\x21-\xff]/.test(path)) throw unsendable("the path");
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n`;
  for (const name in headers) {
    const value = headers[name]!;
    // A line break would begin a header that the caller did not mean to send.
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) throw unsendable(`the header ${name}`);
    head += `${name}: ${value}\r\n`;
  }
  const bytes = body instanceof Uint8Array ? body : undefined;
  const hasLength = bytes !== undefined || (body === undefined && method !== "GET" && method !== "HEAD");
  if (hasLength) head += `content-length: ${bytes?.byteLength ?? 0}\r\n`;
  head += "\r\n";
  if (bytes !== undefined && bytes.byteLength > copiedBytesMax) return [Buffer.from(head, "latin1"), bytes];
  const all = Buffer.allocUnsafe(head.length + (bytes?.byteLength ?? 0));
  all.write(head, 0, "latin1");
  if (bytes !== undefined) all.set(bytes, head.length);
  return [all];
}

/** A request that would not be read as it was meant. */
export function unsendable(what: string): WritError {
  return new WritError(
    "CONFIG_INVALID",
    `${what} of a request contains a character that HTTP does not allow`,
  );
}
