import type { Cron } from "./cron.ts";
import { nextMatch } from "./next-match.ts";

/** How local time is read at a place: milliseconds ahead of UTC, and when that changes next. */
export type Zone = {
  /** Behind the local times of this place in the names of occurrences. */
  readonly label: string;
  offsetAt(ms: number): number;
  /** The first change after this instant; null if none is known. */
  changeAfter(ms: number): number | null;
  /** The last change at or before this instant. */
  changeBefore(ms: number): number | null;
};

export const utc: Zone = {
  label: "Z",
  offsetAt: () => 0,
  changeAfter: () => null,
  changeBefore: () => null,
};

export type Timing =
  | { kind: "cron"; cron: Cron; zone: Zone }
  /** Counted from `anchorMs`, whatever the clocks of a place do. */
  | { kind: "every"; everyMs: number; anchorMs: number };

export type Occurrence = {
  atMs: number;
  /**
   * Its name, which no other occurrence of the schedule has. A fixed local time is named by that time, so that new zone data
   * cannot fire it a second time; elapsed time by the instant.
   */
  name: string;
};

/** Where a schedule has come to: nothing at or before it is an occurrence any more. */
export type Place = {
  atMs: number;
  /** The last fixed local time that has been reached; a local time at or before it has been. */
  localMs?: number | null;
};

/** No two changes of a clock are nearer than this; local time that was read within it is not read a second time. */
const changesSeen = 3;
/** An expression waits nine years at most, and a place changes its clock a few times a year. */
const changesMax = 200;

/**
 * The first occurrence after a place, or null if there is none. A fixed time that falls into a gap of local time fires at the end
 * of the gap, together with all others of the gap, and in a repeated hour only the first time. With `*` or `*\/n` as minute or
 * hour, elapsed time counts, and a repeated hour is run through twice. Why: ADR 0130.
 */
export function nextOccurrence(
  timing: Timing,
  after: Place,
): (Occurrence & { localMs: number | null }) | null {
  if (timing.kind === "every") return nextOfInterval(timing, after);
  const { cron, zone } = timing;
  return cron.isElapsed ? nextElapsed(cron, zone, after.atMs) : nextFixed(cron, zone, after);
}

/** The last occurrence after a place and at or before an instant, or null. It takes some twenty looks, however far the place is. */
export function lastOccurrence(
  timing: Timing,
  after: Place,
  throughMs: number,
): (Occurrence & { localMs: number | null }) | null {
  const { localMs } = after;
  let found = nextOccurrence(timing, after);
  if (found === null || found.atMs > throughMs) return null;
  let [from, to] = [found.atMs, throughMs];
  for (;;) {
    const middle = from + Math.floor((to - from) / 2);
    const next = nextOccurrence(timing, { atMs: middle, localMs });
    if (next !== null && next.atMs <= throughMs) {
      found = next;
      from = next.atMs;
    } else if (middle === from) return found;
    else to = middle;
  }
}

/** The next ones, at most `count`. */
export function nextOccurrences(timing: Timing, after: Place, count: number): Occurrence[] {
  const found: Occurrence[] = [];
  let place: Place = after;
  while (found.length < count) {
    const next = nextOccurrence(timing, place);
    if (next === null) break;
    found.push({ atMs: next.atMs, name: next.name });
    place = next;
  }
  return found;
}

function nextOfInterval(
  { everyMs, anchorMs }: { everyMs: number; anchorMs: number },
  { atMs }: Place,
): (Occurrence & { localMs: null }) | null {
  const turn = Math.max(0, Math.floor((atMs - anchorMs) / everyMs) + 1);
  const next = anchorMs + turn * everyMs;
  return { atMs: next, name: instantName(next), localMs: null };
}

function nextElapsed(cron: Cron, zone: Zone, afterMs: number): (Occurrence & { localMs: null }) | null {
  let from = afterMs + 1;
  for (let changes = 0; changes < changesMax; changes++) {
    const offset = zone.offsetAt(from);
    const local = nextMatch(cron, from + offset);
    if (local === null) return null;
    const end = zone.changeAfter(from);
    if (end === null || local - offset < end) {
      const atMs = local - offset;
      return { atMs, name: instantName(atMs), localMs: null };
    }
    from = end;
  }
  return null;
}

function nextFixed(
  cron: Cron,
  zone: Zone,
  { atMs, localMs = null }: Place,
): (Occurrence & { localMs: number }) | null {
  let from = atMs + 1;
  // The first local time that has not been read yet, here or before the last changes.
  let unread = Math.max(readBefore(zone, from), localMs === null ? Number.NEGATIVE_INFINITY : localMs + 1);
  for (let changes = 0; changes < changesMax; changes++) {
    const offset = zone.offsetAt(from);
    const gap = firstOfGap(cron, zone, from, unread);
    if (gap !== null) return gap;
    const local = nextMatch(cron, Math.max(from + offset, unread));
    if (local === null) return null;
    const end = zone.changeAfter(from);
    if (end === null || local - offset < end)
      return { atMs: local - offset, name: localName(local, zone), localMs: local };
    unread = Math.max(unread, end + offset);
    from = end;
  }
  return null;
}

/** Local time up to here was read before this instant, or lies in a gap that has ended. */
function readBefore(zone: Zone, from: number): number {
  let read = Number.NEGATIVE_INFINITY;
  let change = zone.changeBefore(from);
  for (let count = 0; count < changesSeen && change !== null; count++) {
    // A change at this very instant has a gap that is still to be fired.
    if (change < from || zone.offsetAt(change) < zone.offsetAt(change - 1))
      read = Math.max(read, change + zone.offsetAt(change - 1));
    change = zone.changeBefore(change - 1);
  }
  return read;
}

/** If local time leaps at this instant, the fixed times that it leaves out: they fire now, as one. */
function firstOfGap(
  cron: Cron,
  zone: Zone,
  from: number,
  unread: number,
): (Occurrence & { localMs: number }) | null {
  if (zone.changeBefore(from) !== from) return null;
  const [gapStart, gapEnd] = [from + zone.offsetAt(from - 1), from + zone.offsetAt(from)];
  const first = nextMatch(cron, Math.max(gapStart, unread));
  if (first === null || first > gapEnd || gapEnd <= gapStart) return null;
  return { atMs: from, name: localName(first, zone), localMs: gapEnd };
}

function instantName(ms: number): string {
  return new Date(ms).toISOString().replace(".000Z", "Z");
}

function localName(ms: number, { label }: Zone): string {
  return `${new Date(ms).toISOString().slice(0, 19)}${label}`;
}
