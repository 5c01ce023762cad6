import { codeOf, WritError } from "../../../core/errors.ts";
import type { FailureClass, FailureDetail } from "../../../core/jobs/failure.ts";
import { cutText } from "../../../core/text/cut-text.ts";
import type { Clock } from "../../../runtime/clock/clock.ts";
import { ConnectionFailure } from "../../../runtime/http/connection-failure.ts";
import { collectBody, streamBody } from "../../../runtime/http/http-body.ts";
import { connectionTo, connectMsMax } from "../../../runtime/http/open-connection.ts";
import { type OpenResponse, openRequest } from "../../../runtime/http/open-request.ts";
import { RunFailure } from "../../runner.ts";
import type { Capability } from "../delegate-settings.ts";
import { chatProtocols, errorText } from "./chat-protocol.ts";

type EndpointCall = {
  capability: Capability & { endpoint: string };
  prompt: string;
  /** Sent in a header and nowhere else. */
  apiKey: string | undefined;
  /** Ends the call and its connection. */
  signal: AbortSignal;
};

/** Of the answer to a call that was refused. */
const refusalBytesMax = 64 * 1024;
const reasonCharsMax = 500;

/** Sends the prompt; the answer is read as it arrives. Throws a RunFailure if the endpoint refuses it. */
export async function callEndpoint(clock: Clock, call: EndpointCall): Promise<AsyncIterable<Uint8Array>> {
  const { capability, prompt, signal } = call;
  const { path, accept, body } = chatProtocols[capability.provider];
  const endpoint = new URL(capability.endpoint);
  const request = {
    method: "POST",
    host: endpoint.host,
    path: endpoint.pathname.replace(/\/+$/, "") + path,
    headers: {
      accept,
      connection: "close",
      "content-type": "application/json",
      ...(call.apiKey === undefined ? {} : { authorization: `Bearer ${call.apiKey}` }),
    },
    body: Buffer.from(JSON.stringify(body(capability.model, prompt))),
    signal,
    clock,
    timeoutMs: capability.timeoutMs,
  };
  const response = await openRequest(request, connectionTo(endpoint, { clock, connectMs: connectMsMax }));
  if (response.status !== 200) throw await refusal(clock, call, response);
  return streamBody(response.body, { clock, signal, idleTimeoutMs: undefined, address: endpoint.origin });
}

/** A redirect is not followed: the key is for this endpoint only. */
async function refusal(
  clock: Clock,
  { capability, signal }: EndpointCall,
  { status, body }: OpenResponse,
): Promise<RunFailure> {
  const options = { clock, signal, timeoutMs: capability.timeoutMs, bytesMax: refusalBytesMax };
  const said = await collectBody(body, options).then(messageIn, () => undefined);
  signal.throwIfAborted();
  const [code, detail] = verdicts[status] ?? (status >= 500 ? later : never);
  const why = said === undefined ? "" : `: ${said}`;
  return new RunFailure(code, detail, `the endpoint of ${capability.model} answered ${status}${why}`);
}

type Verdict = readonly [FailureClass, FailureDetail | undefined];

const later: Verdict = ["EXECUTION_ERROR", "HTTP_REQUEST_FAILED"];
/** The same call would be answered the same way. */
const never: Verdict = ["INVALID_JOB", "JOB_NOT_ACCEPTED"];
const verdicts: Readonly<Record<number, Verdict>> = {
  404: ["INVALID_JOB", "NO_SUCH_MODEL"],
  408: later,
  425: later,
  429: later,
};

function messageIn(body: Buffer): string | undefined {
  const text = body.toString("utf8");
  try {
    const { error, message } = JSON.parse(text) as { error?: unknown; message?: unknown };
    return errorText(error ?? message);
  } catch {
    // Not a page of HTML, which says nothing in its first lines.
    return text.startsWith("<") ? undefined : text.trim() || undefined;
  }
}

/** What a broken connection means for the job: it may be tried again. */
export function connectionFailure(model: string, error: unknown): RunFailure | undefined {
  if (!(error instanceof ConnectionFailure) && !(error instanceof WritError)) return undefined;
  const why =
    error instanceof WritError && error.code !== "HTTP_ERROR" ? "the connection broke off" : error.message;
  return new RunFailure(
    "EXECUTION_ERROR",
    "HTTP_REQUEST_FAILED",
    `the endpoint of ${model}: ${why || codeOf(error)}`,
  );
}

export function shorten(text: string): string {
  return cutText(text, reasonCharsMax);
}
