import { Readable } from "node:stream";
import type { Clock } from "../clock/clock.ts";
import type { BodyTarget, HttpConnection, Receiver } from "./connection.ts";
import { ConnectionFailure, frozen } from "./connection-failure.ts";
import { type RequestHead, requestBytes } from "./request-bytes.ts";
import type { ResponseHead } from "./response-reader.ts";

export type HttpCall = RequestHead & {
  /** Bytes; or what writes them in pieces, with their length in the headers. What it throws ends the call. */
  body?: Uint8Array | ((target: BodyTarget) => Promise<void>) | undefined;
  signal?: AbortSignal | undefined;
  clock: Pick<Clock, "setTimer">;
  /** For the head of the response, or for all of it if it is read as a whole; without it, only the signal ends the call. */
  timeoutMs?: number | undefined;
  /** A larger body is refused (default: any is accepted). */
  responseBytesMax?: number | undefined;
  /** Calls back if the server is found to be frozen; returns what ends that. */
  watch?: ((onFrozen: () => void) => () => void) | undefined;
};

/**
 * Finds a connection for one request, and calls back once, at once or later. Returns what ends the search; a connection
 * that is found after that is destroyed.
 */
export type FindConnection = (
  found: (connection: HttpConnection) => void,
  failed: (error: unknown) => void,
) => () => void;

/** A response that was read to its end. */
export type WholeResponse = ResponseHead & { body: Buffer };
/**
 * The body is read as it arrives; a caller that does not want it destroys it, and with it the connection. The call's signal
 * destroys it, too.
 */
export type OpenResponse = ResponseHead & { body: Readable };

/**
 * Sends a request and resolves with the head of the response. Follows no redirect. Rejects with a
 * ConnectionFailure, the signal's reason, or what the search for a connection or the writer of the body throws.
 * Why: ADR 0113.
 */
export function openRequest(call: HttpCall, find: FindConnection): Promise<OpenResponse> {
  return exchange(call, find, ({ resolve, fail, connection }) => {
    const body = new Readable({
      read: () => connection.resume(),
      destroy: (error, done) => {
        connection.destroy("given up");
        done(error);
      },
    });
    // Until somebody reads, a lost connection would be an error event without a listener.
    body.on("error", () => {});
    return {
      onHead: (head) => {
        endWith(call.signal, body);
        resolve({ ...head, body });
      },
      onBody: (bytes) => void (body.push(bytes) || connection.pause()),
      onEnd: () => void body.push(null),
      onFail: (error) => {
        fail(error);
        body.destroy(error);
      },
    };
  });
}

function endWith(signal: AbortSignal | undefined, body: Readable): void {
  const onAbort = (): void => void body.destroy();
  signal?.addEventListener("abort", onAbort, { once: true });
  body.once("close", () => signal?.removeEventListener("abort", onAbort));
}

/** The same for a response that is wanted as a whole: it arrives within the time of the call. */
export function callWhole(call: HttpCall, find: FindConnection): Promise<WholeResponse> {
  return exchange(call, find, ({ resolve, fail }) => {
    let head: ResponseHead;
    const parts: Buffer[] = [];
    return {
      onHead: (arrived) => {
        head = arrived;
      },
      onBody: (bytes) => void parts.push(bytes),
      onEnd: () => resolve({ ...head, body: parts.length === 1 ? parts[0]! : Buffer.concat(parts) }),
      onFail: fail,
    };
  });
}

type Answering<T> = {
  resolve(value: T): void;
  /** Does nothing once it has resolved. */
  fail(error: unknown): void;
  connection: HttpConnection;
};

function exchange<T>(
  call: HttpCall,
  find: FindConnection,
  receiverFor: (answering: Answering<T>) => Receiver,
): Promise<T> {
  const { signal, clock, timeoutMs, responseBytesMax = Number.POSITIVE_INFINITY } = call;
  return new Promise((settleWith, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const outgoing = { bytes: requestBytes(call), responseBytesMax, isHead: call.method === "HEAD" };
    let used: HttpConnection | undefined;
    let endSearch: (() => void) | undefined;
    let isOver = false;
    const settle = (): void => {
      isOver = true;
      timer?.cancel();
      release?.();
      signal?.removeEventListener("abort", onAbort);
    };
    const resolve = (value: T): void => {
      settle();
      settleWith(value);
    };
    const fail = (error: unknown): void => {
      if (isOver) return;
      settle();
      reject(error);
      endSearch?.();
      used?.destroy("given up");
    };
    const onAbort = (): void => fail(signal?.reason);
    const giveUp = (reason: string): void =>
      fail(new ConnectionFailure(reason, { wasStale: false, wasSent: used?.isConnected === true }));
    const found = (connection: HttpConnection): void => {
      used = connection;
      if (isOver) return void connection.destroy("given up");
      connection.send(outgoing, receiverFor({ resolve, fail, connection }));
      if (typeof call.body === "function") call.body(connection).catch(fail);
    };
    const timer =
      timeoutMs === undefined
        ? undefined
        : clock.setTimer(() => giveUp(`no response within ${timeoutMs} ms`), timeoutMs);
    const release = call.watch?.(() => giveUp(frozen));
    signal?.addEventListener("abort", onAbort, { once: true });
    endSearch = find(found, fail);
  });
}
