import { codeOf, hasCode, WritError } from "../../core/errors.ts";

/** The error for a caller when a file cannot be read or written; the path goes to the log. */
export function asObjectError(error: unknown, path: string): unknown {
  if (error instanceof WritError || !(error instanceof Error) || !("code" in error)) return error;
  if (hasCode(error, "ENOSPC", "EDQUOT")) {
    return new WritError(
      "STORAGE_FULL",
      "the hub's disk is full, and nothing of this file was kept; make room there, then upload it again",
      { path, reason: codeOf(error) },
    );
  }
  return new WritError("FILES_UNAVAILABLE", "the hub cannot use its storage for files; its log says why", {
    path,
    reason: codeOf(error),
  });
}
