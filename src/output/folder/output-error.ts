import { isDiskFull, WritError } from "../../core/errors.ts";
import { shortPath } from "./output-path.ts";

/** Distinguishes a full or broken disk from our own refusals, and gives a reason for the job's record. */
export function asOutputError(error: unknown, path: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  // An AbortError has a code too, but a number; the caller caused it, and the file is fine.
  if (error instanceof WritError || typeof code !== "string") return error;
  const what = isDiskFull(error)
    ? `the disk is full (${code}): nothing more of output ${shortPath(path)} was stored; send it again when there is room`
    : `output ${shortPath(path)} cannot be used: ${code}`;
  return new WritError("OUTPUT_UNAVAILABLE", what, { reason: code });
}
