import { WritError } from "../../../core/errors.ts";

/** What one act of a group is answered; `again` if it has to be done once more. */
export type Answer = { value: unknown } | { error: unknown } | { again: true };

/** Others have changed meanwhile what a group was decided by: it is done again. Why: ADR 0080. */
export class MetOthers extends Error {}

/** The error of an act as callers see it. */
export function describeError(error: unknown): WritError {
  if (error instanceof WritError) return error;
  const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new WritError("INTERNAL", "the store failed; nothing was changed", { reason });
}
