import type { ClientHttp2Stream, IncomingHttpHeaders } from "node:http2";
import { jobService } from "../../contract/gen/writ/v1/job_service.ts";
import { WritError } from "../../core/errors.ts";
import type { Clock } from "../../runtime/clock/clock.ts";
import { decodeMessage } from "../../runtime/grpc/decode-message.ts";
import { encodeMessage } from "../../runtime/grpc/encode-message.ts";
import { frameMessage, MessageReader } from "../../runtime/grpc/message-frames.ts";
import type { WireMessage } from "../../runtime/grpc/wire-message.ts";
import { openDeadline } from "../deadline.ts";
import type { RpcTarget } from "./find-rpc.ts";
import type { CallLimits, OpenClient } from "./rpc-caller.ts";
import { connectionError, refusal } from "./rpc-errors.ts";
import { RpcSession } from "./rpc-session.ts";

// A page of a thousand jobs with long commands is far smaller; anything larger is not a response of a hub.
const messageBytesMax = 256 * 1024 * 1024;

/** The calls of one hub. Nothing is compressed, because the network is rarely the slow part. Why: ADR 0115. */
export function openClient(target: RpcTarget, clock: Clock): OpenClient {
  const session = new RpcSession(target, clock);
  const hub = { session, target, clock };
  return {
    // The table and the type agree on which message belongs to which method.
    exchange: (name, request, limits) =>
      exchange(hub, jobService[name] as Method, request, limits) as AsyncGenerator<never>,
    close: () => session.close(),
  };
}

type Hub = { session: RpcSession; target: RpcTarget; clock: Clock };
type Method = { path: string; input: WireMessage; output: WireMessage };

/** One call: sends a message and yields the responses, until the hub reports how it ended. Every error is a WritError. */
async function* exchange(
  { session, target, clock }: Hub,
  { path, input, output }: Method,
  request: object,
  { signal, timeoutMs, headers }: CallLimits,
): AsyncGenerator<object> {
  const message = frameMessage(encodeMessage(input, request));
  const deadline = openDeadline(clock, { signal, timeout: timeoutOf(timeoutMs) });
  try {
    const sent = { ":path": path, ...usualHeaders, ...timeoutHeader(timeoutMs), ...headers };
    const stream = await session.request(sent, deadline.signal);
    for await (const answer of answersOf(stream, message)) yield parse(output, answer);
  } catch (error) {
    if (error instanceof WritError) throw error;
    throw connectionError(deadline.signal.aborted ? deadline.signal.reason : error, target);
  } finally {
    deadline.release();
  }
}

const usualHeaders = {
  ":method": "POST",
  "content-type": "application/grpc+proto",
  te: "trailers",
  "user-agent": "writ",
};

/** Tells the hub, so that it does not work for a caller that has left. */
function timeoutHeader(timeoutMs: number | undefined): Record<string, string> {
  return timeoutMs === undefined ? {} : { "grpc-timeout": `${timeoutMs}m` };
}

function timeoutOf(ms: number | undefined) {
  if (ms === undefined) return undefined;
  return { ms, error: () => new Error(`no response within ${Math.round(ms / 1000)} s`) };
}

async function* answersOf(stream: ClientHttp2Stream, message: Buffer): AsyncGenerator<Buffer> {
  let headers: IncomingHttpHeaders = {};
  let trailers: IncomingHttpHeaders = {};
  // The reader gets an error there; one after the end is of no interest.
  stream.on("error", () => {});
  stream.on("response", (received) => {
    headers = received;
  });
  stream.on("trailers", (received) => {
    trailers = received;
  });
  stream.end(message);
  const reader = new MessageReader({ bytesMax: messageBytesMax, refuse: refusedFrame });
  for await (const part of stream) yield* reader.add(part as Buffer);
  // A refusal without any message has its status in the headers.
  const ending = trailers["grpc-status"] === undefined ? headers : trailers;
  const status = ending["grpc-status"];
  if (status === "0" && reader.isEmpty) return;
  if (status !== undefined && status !== "0") throw refusal(ending);
  const found = headers[":status"] === undefined ? "" : ` (HTTP status ${headers[":status"]})`;
  throw new Error(`the response ended too early${found}`);
}

function refusedFrame(problem: "compressed" | "too large"): WritError {
  const what = problem === "compressed" ? "a compressed message, which was not requested" : "a huge message";
  return new WritError("HTTP_ERROR", `the hub sent ${what}`);
}

function parse(output: WireMessage, bytes: Buffer): object {
  try {
    return decodeMessage(output, bytes);
  } catch {
    throw new WritError("HTTP_ERROR", "the hub sent a message that is not one of JobService");
  }
}
