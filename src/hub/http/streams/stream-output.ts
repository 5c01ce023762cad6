import { WritError } from "../../../core/errors.ts";
import { admitOutputStream } from "../../use-cases/access/admit-stream.ts";
import { type Output, openOutput } from "../../use-cases/jobs/read-output.ts";
import { drained, endAnswer } from "../bodies/drained.ts";
import { type Answer, type Call, written } from "../call.ts";
import { headerOf, overHttp, refuseHead } from "../exchange.ts";
import { stillAllowed } from "./stream-events.ts";

/** Sends one stream of one attempt: the existing bytes, a range of them, or all bytes as they are written. */
export async function readOutput(call: Call<"readOutput">): Promise<Answer<"readOutput">> {
  const { deps, identity, origin, params, query, exchange } = call;
  const request = { identity, origin, jobId: params.id, stream: params.stream, attempt: query.attempt };
  const output = await openOutput(deps, request);
  const offset = query.offset ?? 0;
  if (query.follow === true) return follow(call, output, offset);
  const range = parseRange(headerOf(exchange, "range"), output.size, "output");
  if (range !== null) return send(call, output, { ...range, isPart: true });
  if (offset > output.size) throw unsatisfiable(output.size, "output");
  return send(call, output, { start: offset, end: output.size, isPart: false });
}

async function follow(
  call: Call<"readOutput">,
  output: Output,
  offset: number,
): Promise<Answer<"readOutput">> {
  const { deps, exchange, identity, origin } = call;
  refuseHead(exchange);
  await refuseUnreadable(output, offset);
  const onEnd = await admitOutputStream(deps, { identity, origin });
  const stream = deps.streams.open(overHttp(exchange).outgoing, {
    headers: headersOf(output),
    onEnd,
    isWhole: true,
    isStillAllowed: stillAllowed(call),
  });
  const pump = async () => {
    try {
      for await (const chunk of output.follow(offset, stream.signal)) await stream.write(chunk);
      stream.end();
    } catch (error) {
      if (stream.signal.aborted) return;
      deps.failures.warn(error, "following an output failed");
      // A normal end would make the output look complete.
      overHttp(exchange).outgoing.destroy();
    }
  };
  void pump();
  return { status: 200, body: written };
}

async function send(
  { deps, exchange }: Call<"readOutput">,
  output: Output,
  part: { start: number; end: number; isPart: boolean },
): Promise<Answer<"readOutput">> {
  const { start, end, isPart } = part;
  const { outgoing } = overHttp(exchange);
  const headers: Record<string, string> = {
    ...headersOf(output),
    "Accept-Ranges": "bytes",
    "Content-Length": String(end - start),
  };
  if (isPart) headers["Content-Range"] = `bytes ${start}-${end - 1}/${output.size}`;
  const status = isPart ? 206 : 200;
  const pieces = output.read(start, end);
  // Read before the head is sent, so that unreadable output is an error with a code.
  let piece = await pieces.next();
  outgoing.writeHead(status, headers);
  try {
    for (; piece.done !== true && !outgoing.destroyed; piece = await pieces.next()) {
      if (!outgoing.write(piece.value)) await drained(outgoing, deps.clock);
    }
    endAnswer(outgoing, deps.clock);
  } finally {
    await pieces.return(undefined);
  }
  return { status, body: written };
}

/** A follower receives its head before the first byte, so unreadable output must be refused before that. */
async function refuseUnreadable(output: Output, offset: number): Promise<void> {
  if (offset >= output.size) return;
  for await (const _ of output.read(offset, offset + 1)) return;
}

function headersOf(output: Output): Record<string, string> {
  return {
    "Content-Type": "application/octet-stream",
    "Cache-Control": "no-store",
    // A browser must never treat a job's output as a page of the hub.
    "X-Content-Type-Options": "nosniff",
    "Content-Disposition": "attachment",
    "X-Job-Attempt": String(output.attempt),
  };
}

/** One range as defined by RFC 9110; null if none is requested. */
export function parseRange(
  header: string | undefined,
  size: number,
  what: "output" | "file",
): { start: number; end: number } | null {
  if (header === undefined) return null;
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header);
  if (match === null || (match[1] === "" && match[2] === "")) return null;
  const start = match[1] === "" ? Math.max(0, size - Number(match[2])) : Number(match[1]);
  const end = match[1] === "" || match[2] === "" ? size : Math.min(size, Number(match[2]) + 1);
  if (start >= end || start >= size) throw unsatisfiable(size, what);
  return { start, end };
}

function unsatisfiable(size: number, what: "output" | "file"): WritError {
  return new WritError("RANGE_NOT_SATISFIABLE", `the ${what} has ${size} bytes`, { size });
}
