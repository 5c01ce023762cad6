import { codeOf } from "../../core/errors.ts";
import type { Clock, Timer } from "../../runtime/clock/clock.ts";
import { HttpConnection } from "../../runtime/http/connection.ts";
import { ConnectionFailure } from "../../runtime/http/connection-failure.ts";
import { callWhole, type FindConnection } from "../../runtime/http/open-request.ts";
import { ResponseProblem } from "../../runtime/http/response-reader.ts";
import { RunFailure } from "../runner.ts";
import type { WorkerConnections } from "./connect-to-worker.ts";

export type WorkerRequest = {
  method: "GET" | "POST" | "DELETE";
  path: string;
  /** JSON text. */
  body?: string;
  /** For everything, up to the last byte of the answer. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
};

export type Answer = { status: number; text: string };

/**
 * There is no answer: no program listens, the connection broke, it took too long, or it was too large. The message is
 * what the server did, to follow its name: `closed the connection instead of answering GET /job/1`.
 */
export class ExchangeFailure extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ExchangeFailure";
  }
}

/** A result has at most 1 MiB; JSON may take several bytes for one character of it. */
const answerBytesMax = 4 * 1024 * 1024;

/**
 * Time is counted in this many parts, and a part counts once even if its timer fires late: on a busy machine this
 * program itself may be delayed while the answer waits to be read.
 */
const timeParts = 10;

/**
 * One request to a server on this machine. Each has a connection of its own, because a server with a single thread,
 * such as Python's, serves no other client for as long as a connection stays open. Redirects are not followed. Rejects
 * with a RunFailure if the connection would lead to another program; then nothing was sent. Why: ADR 0113.
 */
export async function exchange(
  clock: Clock,
  connections: WorkerConnections,
  call: WorkerRequest,
): Promise<Answer> {
  const { method, path, body, timeoutMs, signal } = call;
  let isLate = false;
  const setTimer: Clock["setTimer"] = (giveUp, ms) =>
    countTime(clock, ms, () => {
      isLate = true;
      giveUp();
    });
  const request = {
    method,
    host: "localhost",
    path,
    headers: {
      connection: "close",
      accept: "application/json",
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    body: body === undefined ? undefined : Buffer.from(body),
    signal,
    clock: { setTimer },
    timeoutMs,
    responseBytesMax: answerBytesMax,
  };
  try {
    const answer = await callWhole(request, connectionOf(connections));
    return { status: answer.status, text: answer.body.toString("utf8") };
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof RunFailure) throw error;
    const late = `did not answer ${method} ${path} within ${timeoutMs / 1000} s`;
    throw new ExchangeFailure(isLate ? late : faultOf(call, error));
  }
}

function connectionOf(connections: WorkerConnections): FindConnection {
  return (found, failed) => {
    const over = new AbortController();
    connections.open(over.signal).then((socket) => found(new HttpConnection(socket)), failed);
    return () => over.abort();
  };
}

function countTime(clock: Clock, ms: number, onOver: () => void): Timer {
  let parts = 0;
  let timer: Timer;
  const arm = (): void => {
    timer = clock.setTimer(() => (++parts < timeParts ? arm() : onOver()), ms / timeParts);
  };
  arm();
  return { cancel: () => timer.cancel() };
}

function faultOf({ method, path }: WorkerRequest, error: unknown): string {
  const name = `${method} ${path}`;
  if (error instanceof ResponseProblem && error.isTooLarge)
    return `answered ${name} with more than ${answerBytesMax} bytes`;
  if (error instanceof ResponseProblem) return `answered ${name} with something that is not HTTP`;
  const cause = error instanceof ConnectionFailure ? error.message : codeOf(error);
  if (cause === "ECONNREFUSED") return "does not accept connections";
  if (cause === "ECONNRESET") return `closed the connection instead of answering ${name}`;
  return `could not be asked ${name} (${cause})`;
}
