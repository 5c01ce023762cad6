import { WritError } from "../../../core/errors.ts";
import type { ErrorText } from "./wire.ts";

/** An error as it is sent to the hub's thread. Why: ADR 0003. */
export function describeError(error: unknown): ErrorText {
  if (error instanceof WritError) return { code: error.code, message: error.message, details: error.details };
  const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return {
    code: "INTERNAL",
    message: "the store failed; nothing was changed",
    details: { reason },
  };
}
