import type { LoggedEvent } from "../../core/events.ts";
import { workerOf } from "./response-rules.ts";

/** A failed signature; `by` is the worker that reported it, null if the hub found it itself. */
export type Failure = { ts: number; by: string | null };

const windowMs = 60_000;
const failuresMax = 10;
/** A single worker could be lying or misconfigured. */
const reportersMin = 3;
/** Remembering more is not needed to decide; the newest count. */
const rememberedMax = 200;

/**
 * Adds a failure to those remembered and returns why the hub must be locked, or null. Failures that the hub found count
 * by themselves; those that workers report count only if several workers do.
 */
export function addFailure(
  failures: readonly Failure[],
  event: LoggedEvent,
): { failures: Failure[]; alarm: string | null } {
  const since = event.ts - windowMs;
  const recent = [...failures.filter(({ ts }) => ts > since), { ts: event.ts, by: reporterOf(event) }];
  const seen = recent.filter(({ by }) => by === null);
  const reported = recent.filter(({ by }) => by !== null);
  const reporters = new Set(reported.map(({ by }) => by)).size;
  if (seen.length >= failuresMax) {
    return alarmed(`${seen.length} signatures or seals failed in the hub within ${windowMs / 1000} s`);
  }
  if (reported.length >= failuresMax && reporters >= reportersMin) {
    return alarmed(
      `${reporters} workers reported ${reported.length} bad signatures within ${windowMs / 1000} s`,
    );
  }
  return { failures: recent.slice(-rememberedMax), alarm: null };
}

/** After a lockdown was lifted, the count starts again. */
function alarmed(alarm: string): { failures: Failure[]; alarm: string } {
  return { failures: [], alarm };
}

/** A seal that does not match is found before anybody claims, and a receipt is checked by the hub, which reports it. */
function reporterOf(event: LoggedEvent): string | null {
  const isSeenByHub = event.details["seen_by"] === "hub" || event.details["evidence_against"] !== undefined;
  return isSeenByHub ? null : workerOf(event);
}
