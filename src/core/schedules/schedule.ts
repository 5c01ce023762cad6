/** What a person has asked for. Times in milliseconds since the epoch, everything else as it is called in the API. */
export type ScheduleSpec = {
  /** The submission that each occurrence makes, as canonical JSON. */
  job: string;
  cron: string | null;
  every_sec: number | null;
  time_zone: string;
  start_at: number | null;
  end_at: number | null;
  max_runs: number | null;
  jitter_sec: number;
  catch_up: CatchUp;
  catch_up_sec: number;
  overlap: Overlap;
};

export const catchUps = ["latest", "none", "all"] as const;
type CatchUp = (typeof catchUps)[number];

export const overlaps = ["skip", "wait", "allow", "replace"] as const;
type Overlap = (typeof overlaps)[number];

/** A schedule with all that it remembers. Nothing of this is in the memory of a hub. Why: ADR 0130. */
export type Schedule = {
  /** Stays when the schedule changes; another one under the same name has another. */
  id: string;
  spec: ScheduleSpec;
  isPaused: boolean;
  /** From where intervals are counted. */
  anchorMs: number;
  /** Every occurrence at or before this was fired, skipped or put into `waiting`. It rises, except by a reset. */
  cursorMs: number;
  /** The last fixed local time that was reached; null for elapsed time, and after a reset. */
  cursorLocalMs: number | null;
  /** Occurrences that are due and have no job yet, in the order in which they get one. */
  waiting: Waiting[];
  /** How many jobs the clock has made; those of people are not counted. */
  runs: number;
  skippedInRow: number;
  last: { job_id: string; occurrence: string; at: number } | null;
  blocked: { since: number; reason: string } | null;
  /** The credential that it was last changed with. */
  putWith: string;
  createdAt: number;
  changedAt: number;
};

/** `by` is the clock, the clock after an outage, or a person; after `until` it is not fired any more. */
export type Waiting = {
  name: string;
  at: number;
  by: "clock" | "catch_up" | "run" | "backfill";
  until: number;
};

/** What has become of an occurrence. */
export type Skipped = { name: string; at: number; reason: SkipReason };
export type SkipReason = "overlap" | "replaced" | "window" | "too many";
