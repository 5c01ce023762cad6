import { WritError } from "../core/errors.ts";

/** A call on a client after its `close`, or one that `close` has ended. */
export function clientClosed(): WritError {
  return new WritError(
    "CLIENT_CLOSED",
    "this client was closed; make a new one, or close it after the last call",
  );
}
