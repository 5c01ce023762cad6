import type { WorkerRecord } from "../worker-store.ts";

const firstPauseMs = 60_000;
const longestPauseMs = 3_600_000;

type Pause = Pick<WorkerRecord, "refusedClaims" | "pausedUntil">;

/**
 * Whether the worker is given nothing at present because it refused a claim. A time that is further ahead than any pause lasts
 * was written by a clock that has been set back since. Why: ADR 0099.
 */
export function isPaused({ pausedUntil }: Pick<Pause, "pausedUntil">, nowMs: number): boolean {
  return pausedUntil !== null && pausedUntil > nowMs && pausedUntil <= nowMs + longestPauseMs;
}

/** The pause after one more refusal: twice as long each time, from a minute up to an hour. */
export function nextPause(worker: Pause, nowMs: number): Pause & { pausedUntil: number } {
  const { pausedUntil } = worker;
  // Long after the last pause, whatever was wrong has been put right: the count starts again.
  const isRecent = pausedUntil !== null && Math.abs(nowMs - pausedUntil) < longestPauseMs;
  const refusedClaims = isRecent ? worker.refusedClaims + 1 : 1;
  const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(refusedClaims - 1, 10));
  return { refusedClaims, pausedUntil: nowMs + pauseMs };
}
