import { hasCode, WritError } from "../core/errors.ts";

/**
 * After a crash the hub may have fewer bytes than its reader has seen, until the worker has sent them again. For a
 * reader that follows, its refusal to read from there is therefore something to wait for.
 */
export function asHubBehind(error: unknown, offset: number): unknown {
  if (!hasCode(error, "RANGE_NOT_SATISFIABLE")) return error;
  return new WritError("OUTPUT_UNAVAILABLE", `the hub has fewer than ${offset} bytes of this output`);
}
