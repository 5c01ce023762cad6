import { type GrpcStatus, WritError } from "../../core/errors.ts";
import { type CallStatus, statusOfError } from "../../runtime/grpc/call-status.ts";
import type { FailureLog } from "../failure-log.ts";

/**
 * The caller has ended its call, by hanging up or by a deadline. It has no code of the table, because it is no refusal.
 */
export class CallEnded extends Error {
  readonly status: GrpcStatus;

  constructor(status: "CANCELLED" | "DEADLINE_EXCEEDED", message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * The one place where an error becomes a status. Unexpected errors are logged, and the status contains none of their
 * details.
 */
export function refusalOf(error: unknown, requestId: string, failures: FailureLog): CallStatus {
  if (error instanceof CallEnded) return { status: error.status, message: error.message, metadata: {} };
  if (error instanceof WritError) return statusOfError(error, requestId);
  failures.error(error, "a call failed with an unexpected error", { request_id: requestId });
  const message = "something went wrong in the hub; its log has details under the request id";
  return statusOfError(new WritError("INTERNAL", message), requestId);
}
