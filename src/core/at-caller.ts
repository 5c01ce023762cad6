import { WritError } from "./errors.ts";

/**
 * Gives an error the stack of the code that is waiting here. It was made where an answer arrived, and what is there in the
 * stack tells nobody which of their calls has failed.
 */
export function atCaller(error: unknown): unknown {
  if (error instanceof WritError) Error.captureStackTrace(error, atCaller);
  return error;
}
