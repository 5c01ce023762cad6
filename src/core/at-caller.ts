import { WritError } from "./errors.ts";

/**
 * Gives an error the stack of the code that is waiting here. The error was made where an answer arrived; the stack
 * there does not show which call has failed.
 */
export function atCaller(error: unknown): unknown {
  if (error instanceof WritError) Error.captureStackTrace(error, atCaller);
  return error;
}
