/** A lane as a job names it: a limit of its jobs that run at once, a rate at which they start, or both. */
export type LaneTerm = {
  name: string;
  max_running?: number | undefined;
  rate?: { limit: number; period_sec: number; burst?: number | undefined } | undefined;
};

/** What holds for all jobs of a lane. */
export type LaneNumbers = { maxRunning: number | null; rate: LaneRate | null };
type LaneRate = { limit: number; periodSec: number; burst: number };

/** How full a lane is. `startsUs` is when the next start would be due at the pace of its rate, in microseconds. */
export type LaneState = { active: number; startsUs: number };

export function numbersOf({ max_running, rate }: LaneTerm): LaneNumbers {
  const { limit, period_sec: periodSec, burst = 1 } = rate ?? { limit: 0, period_sec: 0 };
  return {
    maxRunning: max_running ?? null,
    rate: rate === undefined ? null : { limit, periodSec, burst },
  };
}

/** How far two starts are apart on average. */
function intervalUs({ limit, periodSec }: LaneRate): number {
  return Math.ceil((periodSec * 1_000_000) / limit);
}

export function isSameLane(one: LaneNumbers, other: LaneNumbers): boolean {
  return (
    one.maxRunning === other.maxRunning &&
    one.rate?.limit === other.rate?.limit &&
    one.rate?.periodSec === other.rate?.periodSec &&
    one.rate?.burst === other.rate?.burst
  );
}

/** How many jobs of the lane may start now. */
export function placesFree(lane: LaneNumbers & LaneState, nowMs: number): number {
  const byCount = lane.maxRunning === null ? Number.POSITIVE_INFINITY : lane.maxRunning - lane.active;
  const { rate } = lane;
  if (rate === null) return Math.max(0, byCount);
  const aheadUs = paceAt(rate, lane.startsUs, nowMs) - nowMs * 1000;
  return Math.max(0, Math.min(byCount, rate.burst - Math.ceil(aheadUs / intervalUs(rate))));
}

/** When the rate alone lets the next job start; null if it lets one start now. */
export function rateOpensAt({ rate, startsUs }: LaneNumbers & LaneState, nowMs: number): number | null {
  if (rate === null) return null;
  const opensUs = paceAt(rate, startsUs, nowMs) - (rate.burst - 1) * intervalUs(rate);
  return opensUs <= nowMs * 1000 ? null : Math.ceil(opensUs / 1000);
}

/** A job starts: the generic cell rate algorithm, whose only memory is one time. */
export function withStart<Lane extends LaneNumbers & LaneState>(lane: Lane, nowMs: number): Lane {
  const { rate } = lane;
  const startsUs = rate === null ? 0 : paceAt(rate, lane.startsUs, nowMs) + intervalUs(rate);
  return { ...lane, active: lane.active + 1, startsUs };
}

/** Never more than one burst ahead, so that a clock that was set back closes no lane for long. */
function paceAt(rate: LaneRate, startsUs: number, nowMs: number): number {
  const nowUs = nowMs * 1000;
  return Math.min(Math.max(startsUs, nowUs), nowUs + rate.burst * intervalUs(rate));
}
