import { hasCode, WritError } from "../../core/errors.ts";

/**
 * After a crash, the hub may have fewer bytes than its reader has seen, until the worker has sent them again. So a
 * reader that follows waits when the hub refuses to read from there.
 */
export function asHubBehind(error: unknown, offset: number): unknown {
  if (!hasCode(error, "RANGE_NOT_SATISFIABLE")) return error;
  return new WritError("OUTPUT_UNAVAILABLE", `the hub has fewer than ${offset} bytes of this output`);
}
