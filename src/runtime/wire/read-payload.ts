import type { Frame } from "./frame-reader.ts";
import { WireProblem } from "./wire-problem.ts";

type HeadAndBody = { head: string; body: Buffer };

/** The head of a request is `METHOD PATH`, and a line `name: value` for each header. */
export function readRequest({ payload }: Frame): HeadAndBody {
  return headAndBody(payload, 0);
}

/** The head of an answer has only the lines of its headers. */
export function readAnswer({ payload }: Frame): HeadAndBody & { status: number } {
  if (payload.length < 4) throw new WireProblem("bad-frame", "an answer ends before its head");
  return { status: payload.readUInt16BE(0), ...headAndBody(payload, 2) };
}

/** The number of a frame whose payload is one number. */
export function readNumber({ payload }: Frame): number {
  if (payload.length !== 4) throw new WireProblem("bad-frame", "the payload must be a number of four bytes");
  return payload.readUInt32BE(0);
}

/** The headers by name in lower case. A line that is none is refused. */
export function readHeaders(lines: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = Object.create(null);
  for (const line of lines) {
    const colon = line.indexOf(": ");
    const name = line.slice(0, colon);
    if (colon < 1 || !/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name) || /[^\t\x20-\x7e\x80-\xff]/.test(line))
      throw new WireProblem("bad-frame", "a head has a line that is no header");
    headers[name.toLowerCase()] = line.slice(colon + 2);
  }
  return headers;
}

function headAndBody(payload: Buffer, offset: number): HeadAndBody {
  const start = offset + 2;
  if (payload.length < start) throw new WireProblem("bad-frame", "a frame ends before its head");
  const end = start + payload.readUInt16BE(offset);
  if (payload.length < end) throw new WireProblem("bad-frame", "a head is longer than its frame");
  return { head: payload.toString("latin1", start, end), body: payload.subarray(end) };
}
