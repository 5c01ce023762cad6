import { Code, ConnectError } from "@connectrpc/connect";
import { errorTable, WritError } from "../../core/errors.ts";
import type { FailureLog } from "../failure-log.ts";

/**
 * The one place where an error becomes a status. Unexpected errors are logged and tell strangers nothing. The code of
 * our own table is sent as metadata, because gRPC has fewer codes.
 */
export function rpcError(error: unknown, requestId: string, failures: FailureLog): ConnectError {
  const known = knownError(error, requestId, failures);
  if (known instanceof ConnectError) return known;
  const metadata = { "writ-code": known.code, "writ-request-id": requestId };
  return new ConnectError(known.message, codeNamed(errorTable[known.code].grpc), metadata);
}

function knownError(error: unknown, requestId: string, failures: FailureLog): WritError | ConnectError {
  if (error instanceof WritError) return error;
  // An error of the framework: a deadline, a cancelled call, or an invalid message.
  if (error instanceof ConnectError && error.code !== Code.Internal) return error;
  failures.error(error, "a call failed with an unexpected error", { request_id: requestId });
  return new WritError(
    "INTERNAL",
    "something went wrong in the hub; its log has details under the request id",
  );
}

/** INVALID_ARGUMENT is called InvalidArgument there. */
function codeNamed(name: string): Code {
  const key = name
    .toLowerCase()
    .replaceAll(/(?:^|_)([a-z])/g, (_match, letter: string) => letter.toUpperCase());
  return Code[key as keyof typeof Code] ?? Code.Unknown;
}

/** As gRPC writes it: NotFound is NOT_FOUND. */
export function codeText(code: Code): string {
  return Code[code].replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}
