import { lastOccurrence, nextOccurrence, type Occurrence, type Timing } from "./occurrences.ts";
import type { Schedule, Skipped, SkipReason, Waiting } from "./schedule.ts";

export type FiringPlan = {
  /** Gets a job each, now. */
  fire: Waiting[];
  skipped: Skipped[];
  /** Passed while no hub looked, and left out by `catch_up`; at most `missedMax` are counted. */
  missed: number;
  /** The job of the last occurrence is to be cancelled, because a newer one replaces it. */
  cancelsLast: boolean;
  /** The schedule once this has been done. */
  after: Schedule;
  /** When to look again; null if nothing will ever be due. */
  nextAtMs: number | null;
};

/** An occurrence that is later than this was missed, and `catch_up` decides about it. */
const onTimeMs = 60_000;
const secondMs = 1_000;

const missedMax = 1_000;
/** The newest of those that were missed, and of those that wait for an earlier job. */
export const waitingMax = 100;
/** With overlap `allow`, this many jobs of one schedule are made in one transaction. */
const firedMax = 100;
/** How soon it is looked again whether the job before has ended. */
const againMs = 1_000;

/**
 * What is to be done about a schedule at this moment. `isBusy`: the job of its last occurrence has not ended. Pure: whichever hub
 * asks, the answer is the same. Why: ADR 0130.
 */
export function planFiring(
  schedule: Schedule,
  { timing, nowMs, isBusy }: { timing: Timing; nowMs: number; isBusy: boolean },
): FiringPlan {
  const due = takeDue(schedule, timing, nowMs);
  const line = new Line(schedule, isBusy);
  line.expire(nowMs);
  for (const entry of due.entries) line.add(entry);
  const fire = line.take();
  const counted = fire.filter(({ by }) => by === "clock" || by === "catch_up").length;
  const overlaps = line.skipped.filter(({ reason }) => reason === "overlap").length;
  const after: Schedule = {
    ...schedule,
    cursorMs: due.cursorMs,
    cursorLocalMs: due.cursorLocalMs,
    waiting: line.waiting,
    runs: schedule.runs + counted,
    skippedInRow: fire.length > 0 ? 0 : schedule.skippedInRow + overlaps,
    blocked: fire.length > 0 ? null : schedule.blocked,
  };
  const nextAtMs = nextLook(after, timing, nowMs);
  return { fire, skipped: line.skipped, missed: due.missed, cancelsLast: line.cancelsLast, after, nextAtMs };
}

/** When the clock makes the next occurrence of a schedule due; null if it does not. */
export function nextDue(schedule: Schedule, timing: Timing): (Occurrence & { dueMs: number }) | null {
  const { spec, isPaused, cursorMs: atMs, cursorLocalMs: localMs } = schedule;
  if (isPaused || isUsedUp(schedule)) return null;
  const next = nextOccurrence(timing, { atMs, localMs });
  if (next === null || next.atMs > (spec.end_at ?? Number.POSITIVE_INFINITY)) return null;
  return { name: next.name, atMs: next.atMs, dueMs: next.atMs + jitterMs(schedule) };
}

/** The same for each occurrence, so that their distances stay: a share of `jitter_sec` by a hash of the id. */
export function jitterMs({ id, spec }: Pick<Schedule, "id" | "spec">): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < id.length; index++) {
    hash ^= id.charCodeAt(index);
    hash = Math.imul(hash, 0x01000193) >>> 0;
  }
  return Math.floor((hash / 2 ** 32) * spec.jitter_sec * secondMs);
}

function isUsedUp({ spec, runs }: Schedule): boolean {
  return spec.max_runs !== null && runs >= spec.max_runs;
}

/** The line may still be served while the schedule is paused: a person wanted what is in it. */
function nextLook(schedule: Schedule, timing: Timing, nowMs: number): number | null {
  const due = nextDue(schedule, timing)?.dueMs ?? null;
  if (schedule.waiting.length === 0) return due;
  return Math.min(nowMs + againMs, due ?? Number.POSITIVE_INFINITY);
}

type Due = { entries: Waiting[]; missed: number; cursorMs: number; cursorLocalMs: number | null };

function takeDue(schedule: Schedule, timing: Timing, nowMs: number): Due {
  const { spec, cursorMs, cursorLocalMs } = schedule;
  const none = { entries: [], missed: 0, cursorMs, cursorLocalMs };
  const first = nextDue(schedule, timing);
  const throughMs = Math.min(nowMs - jitterMs(schedule), spec.end_at ?? Number.POSITIVE_INFINITY);
  if (first === null || first.atMs > throughMs) return none;
  const place = { atMs: cursorMs, localMs: cursorLocalMs };
  const last = lastOccurrence(timing, place, throughMs)!;
  const wasAway = nowMs - first.dueMs > onTimeMs;
  const wanted = spec.catch_up === "all" ? waitingMax : spec.catch_up === "none" && wasAway ? 0 : 1;
  const windowMs = spec.catch_up_sec * secondMs;
  const since = wasAway ? throughMs - windowMs : Number.NEGATIVE_INFINITY;
  const taken = newest(timing, place, { last, since, count: Math.min(wanted, runsLeft(schedule)) });
  const untilOf = (at: number): number => Math.max(at + windowMs, nowMs + onTimeMs);
  const entries = taken.map(({ name, atMs }): Waiting => {
    const by = spec.catch_up === "all" && wasAway ? "catch_up" : "clock";
    return { name, at: atMs, by, until: untilOf(atMs) };
  });
  const missed = countThrough(timing, place, last.atMs) - entries.length;
  return { entries, missed, cursorMs: last.atMs, cursorLocalMs: last.localMs };
}

function runsLeft({ spec, runs }: Schedule): number {
  return spec.max_runs === null ? Number.POSITIVE_INFINITY : Math.max(0, spec.max_runs - runs);
}

type Range = { last: Occurrence; since: number; count: number };

/** The newest occurrences after a place, in order. */
function newest(timing: Timing, place: { atMs: number; localMs: number | null }, range: Range): Occurrence[] {
  const found: Occurrence[] = [];
  let next: Occurrence | null = range.last;
  while (next !== null && next.atMs >= range.since && found.length < range.count) {
    found.unshift(next);
    next = lastOccurrence(timing, place, next.atMs - 1);
  }
  return found;
}

function countThrough(
  timing: Timing,
  place: { atMs: number; localMs: number | null },
  throughMs: number,
): number {
  let count = 0;
  let next = nextOccurrence(timing, place);
  while (next !== null && next.atMs <= throughMs && count < missedMax) {
    count++;
    next = nextOccurrence(timing, next);
  }
  return count;
}

/** The line of occurrences that wait for a job, and the rule for those that meet the job before. */
class Line {
  readonly #schedule: Schedule;
  readonly #isBusy: boolean;
  readonly skipped: Skipped[] = [];
  waiting: Waiting[];

  constructor(schedule: Schedule, isBusy: boolean) {
    this.#schedule = schedule;
    this.#isBusy = isBusy;
    this.waiting = [...schedule.waiting];
  }

  expire(nowMs: number): void {
    this.#drop("window", ({ until }) => until <= nowMs);
  }

  add(entry: Waiting): void {
    const { overlap, catch_up: catchUp } = this.#schedule.spec;
    const meetsOther = this.#isBusy || this.waiting.length > 0;
    if (entry.by === "clock" && overlap === "skip" && meetsOther && !this.#isBlocked) {
      this.#skip(entry, "overlap");
      return;
    }
    const isNewestEnough = this.#isBlocked && catchUp !== "all" && overlap !== "allow";
    if (entry.by === "clock" && (overlap === "replace" || isNewestEnough))
      this.#drop("replaced", ({ by }) => by === "clock");
    this.waiting.push(entry);
    const ofClock = this.waiting.filter(({ by }) => by === "clock" || by === "catch_up");
    if (ofClock.length > waitingMax) this.#drop("too many", (one) => one === ofClock[0]);
  }

  take(): Waiting[] {
    const isAll = this.#schedule.spec.overlap === "allow";
    if (this.#isBusy && !isAll) return [];
    return this.waiting.splice(0, isAll ? firedMax : 1);
  }

  /** Asked for at each look until it has ended: the hub that asked first may have died before it did. */
  get cancelsLast(): boolean {
    return (
      this.#isBusy &&
      this.#schedule.spec.overlap === "replace" &&
      this.waiting.some(({ by }) => by === "clock")
    );
  }

  /** Those that wait because a right or a quota is missing stand for the one that will be fired: the newest. */
  get #isBlocked(): boolean {
    return this.#schedule.blocked !== null && !this.#isBusy;
  }

  #drop(reason: SkipReason, isDropped: (entry: Waiting) => boolean): void {
    for (const entry of this.waiting.filter(isDropped)) this.#skip(entry, reason);
    this.waiting = this.waiting.filter((entry) => !isDropped(entry));
  }

  #skip({ name, at }: Waiting, reason: SkipReason): void {
    this.skipped.push({ name, at, reason });
  }
}
