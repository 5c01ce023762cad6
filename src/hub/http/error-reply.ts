import { type ErrorCode, errorTable, WritError } from "../../core/errors.ts";
import { redactText } from "../../runtime/log/redact.ts";
import type { HubDeps } from "../deps.ts";
import { jsonReply, type Reply } from "./reply.ts";

type ErrorDeps = Pick<HubDeps, "logger" | "outage" | "failures">;

/**
 * The one place where an error becomes a reply. Unexpected errors are logged, and the reply contains none of their
 * details.
 */
export function errorReply(error: unknown, requestId: string, deps: ErrorDeps): Reply {
  const known = error instanceof WritError ? error : unforeseen(error, requestId, deps);
  const { http } = errorTable[known.code];
  const { retry_after_sec: _, ...details } = http < 500 ? (known.details ?? {}) : {};
  // Details of internal errors may mention files and statements: they go to the log, where the request id finds them.
  if (http >= 500 && known.details !== undefined && !deps.outage.noticed(known)) {
    deps.logger.error(
      { code: known.code, details: known.details, request_id: requestId },
      "a request failed",
    );
  }
  const body = {
    error: {
      code: known.code,
      message: known.message,
      ...(Object.keys(details).length > 0 ? { details } : {}),
      request_id: requestId,
    },
  };
  // A message or the name of a field may contain what the caller sent, and callers send tokens to the wrong places.
  return jsonReply(http, redactText(JSON.stringify(body)), headersFor(known.code, known.details));
}

function headersFor(code: ErrorCode, details: WritError["details"] = {}): Record<string, string> {
  if (code === "UNAUTHENTICATED") return { "WWW-Authenticate": 'Bearer realm="writ"' };
  if (code === "TOO_LARGE" || code === "BODY_TIMEOUT") return { Connection: "close" };
  if (code === "METHOD_NOT_ALLOWED") return { Allow: String(details["allow"]) };
  if (code === "RANGE_NOT_SATISFIABLE") return { "Content-Range": `bytes */${details["size"]}` };
  if (errorTable[code].http === 429) return { "Retry-After": String(details["retry_after_sec"] ?? 1) };
  return errorTable[code].http === 503 ? { "Retry-After": "1" } : {};
}

function unforeseen(error: unknown, requestId: string, { failures }: ErrorDeps): WritError {
  failures.error(error, "a request failed with an unexpected error", { request_id: requestId });
  return new WritError(
    "INTERNAL",
    "something went wrong in the hub; its log has details under the request id",
  );
}
