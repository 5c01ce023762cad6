import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { WritError } from "../../core/errors.ts";
import type { Origin } from "../../core/events.ts";
import type { Identity } from "../../core/identity.ts";
import type { CallStatus } from "../../runtime/grpc/call-status.ts";
import { checkPeer, type Peer } from "../certs/verify-peer.ts";
import { certificateRules } from "../use-cases/access/authenticate.ts";
import { noteFailedLogin } from "../use-cases/access/note-failed-login.ts";
import { recordDenial } from "../use-cases/access/record-denial.ts";
import type { Connection, RpcCall, RpcDeps } from "./call.ts";
import { GrpcStream } from "./grpc-stream.ts";
import { CallEnded, refusalOf } from "./rpc-error.ts";

type ReceivedCall = {
  /** For example `writ.v1.JobService/GetStatus`. */
  method: string;
  connection: Connection | null;
  userAgent: string | null;
  jobId: string | undefined;
  /** Aborted when the caller has hung up, or its deadline has passed. */
  signal: AbortSignal;
  traceparent: string | undefined;
};

/** The two halves of a call on the HTTP/2 server. */
type Http2Exchange = { request: Http2ServerRequest; response: Http2ServerResponse };

/** Serves one call of one method. */
export type Serve = (connection: Connection | null, exchange: Http2Exchange) => Promise<void>;

/** Serves the calls of one method by `act`, which reads and writes its messages. Why: ADR 0115. */
export function serve(
  deps: RpcDeps,
  { path, messageBytesMax }: { path: string; messageBytesMax: number },
  act: (call: RpcCall, grpc: GrpcStream) => Promise<void>,
): Serve {
  return async (connection, { request, response }) => {
    const grpc = new GrpcStream({ request, response, messageBytesMax }, deps.clock);
    const received = receivedCall(path, connection, grpc, request);
    grpc.end(await serveCall(deps, received, (call) => act(call, grpc)));
  };
}

/** The facts of a call that are known before its message has been read. */
function receivedCall(
  path: string,
  connection: Connection | null,
  { signal }: { signal: AbortSignal },
  { headers }: Http2ServerRequest,
): ReceivedCall {
  const userAgent = headers["user-agent"]?.slice(0, userAgentCharsMax) ?? null;
  const sent = headers["traceparent"];
  const traceparent = typeof sent === "string" ? sent : undefined;
  return { method: path.replace(/^\//, ""), connection, userAgent, jobId: undefined, signal, traceparent };
}

const userAgentCharsMax = 200;

type Act = (call: RpcCall) => Promise<void>;

/**
 * The entry of every call: identifies the caller, runs the call, and logs one line. Returns the status of a refusal.
 */
async function serveCall(deps: RpcDeps, received: ReceivedCall, act: Act): Promise<CallStatus | null> {
  const caller: Caller = { identity: null, origin: originOf(received) };
  try {
    await serveAdmitted(deps, received, caller, act);
    logCall(deps, received, { ...caller, code: "OK" });
    return null;
  } catch (thrown) {
    const error = await noteRefusal(deps, received, caller, thrown);
    const requestId = deps.ids.recordId();
    const refusal = refusalOf(error, requestId, deps.failures);
    if (error instanceof WritError) deps.metrics.refused.inc({ code: error.code });
    logCall(deps, received, { ...caller, code: refusal.status, requestId });
    return refusal;
  }
}

type Caller = { identity: Identity | null; origin: Origin };

async function serveAdmitted(deps: RpcDeps, received: ReceivedCall, caller: Caller, act: Act): Promise<void> {
  const peer = peerOf(received.connection);
  const identity = admit(deps, peer);
  caller.identity = identity;
  caller.origin = { ...caller.origin, userId: identity.userId };
  const open = deps.calls.open(() => admit(deps, peer));
  const signal = AbortSignal.any([received.signal, open.signal]);
  try {
    const { traceparent } = received;
    const noteJob = (jobId: string): void => {
      received.jobId = jobId;
    };
    await act({ deps, peer, identity, origin: caller.origin, signal, traceparent, noteJob });
  } catch (error) {
    // Code that waits on the signal rejects with its reason, and the reason decides the caller's status.
    open.signal.throwIfAborted();
    if (received.signal.aborted) throw asError(received.signal.reason);
    throw error;
  } finally {
    open.close();
  }
}

function peerOf(connection: Connection | null): Peer {
  if (connection === null) throw new WritError("UNAUTHENTICATED", "a client certificate is required");
  if (connection.peer instanceof WritError) throw connection.peer;
  return connection.peer;
}

function admit(deps: RpcDeps, peer: Peer): Identity {
  return checkPeer(peer, certificateRules(deps));
}

/** Returns the error to answer with, which is RATE_LIMITED for a caller that is denied too often. */
async function noteRefusal(
  deps: RpcDeps,
  received: ReceivedCall,
  caller: Caller,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof WritError)) return error;
  const { identity, origin } = caller;
  try {
    if (identity !== null) return await recordDenial(deps, { identity, origin }, error);
    if (error.code === "UNAUTHENTICATED") {
      const serial = received.connection?.serial ?? null;
      await noteFailedLogin(deps, origin, { error: error.message, ...(serial === null ? {} : { serial }) });
    }
  } catch (failure) {
    // The caller is refused either way; a failure to record it goes to the log.
    deps.failures.error(failure, "a refusal could not be recorded");
  }
  return error;
}

function originOf({ connection, userAgent, method }: ReceivedCall): Origin {
  const ipAddress = connection?.ipAddress ?? null;
  return { userId: null, ipAddress, userAgent, endpoint: method, method: "gRPC" };
}

function asError(reason: unknown): unknown {
  return reason instanceof Error ? reason : new CallEnded("CANCELLED", "the call was cancelled");
}

type Ending = Caller & { code: string; requestId?: string };

/** Logs one line per call: caller, method, job and outcome. */
function logCall(deps: RpcDeps, received: ReceivedCall, { identity, code, requestId }: Ending): void {
  deps.rpcMetrics.calls.inc({ method: received.method, code });
  deps.logger.info(
    {
      route: received.method,
      method: "gRPC",
      status: code,
      user: identity?.userId,
      tenant: identity?.tenantId,
      job: received.jobId,
      request_id: requestId,
    },
    "call",
  );
}
