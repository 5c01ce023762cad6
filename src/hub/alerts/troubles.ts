import type { Severity } from "../../core/events.ts";
import type { NewMessage } from "../../store/response-store.ts";

/** Conditions that keep jobs from running and are no security event. */
type TroubleKind = "WORKER_SILENT" | "NO_WORKER" | "DATABASE_AWAY" | "DISK_FULL";

/** One thing that is wrong now. `subject` tells it apart from others of its kind; `says` is a line for people. */
export type Trouble = { kind: TroubleKind; subject: string; says: string };

/** A change that is reported: troubles that have begun, or have ended. */
type TroubleReport = { kind: TroubleKind; state: "begun" | "over"; troubles: Omit<Trouble, "kind">[] };

/** The troubles that were reported and have not ended, by kind. */
export type ToldTroubles = Partial<
  Record<TroubleKind, { toldAtMs: number; troubles: Record<string, string> }>
>;

/** A trouble that comes and goes is reported at most this often; one that ends before that is not reported. */
const pauseMs = 60_000;
/** The most troubles of a kind that are remembered and reported. */
const troublesMax = 500;
const linesMax = 20;

const levels: Record<TroubleKind, Severity> = {
  WORKER_SILENT: "HIGH",
  NO_WORKER: "HIGH",
  DATABASE_AWAY: "CRITICAL",
  DISK_FULL: "CRITICAL",
};

const advice: Record<TroubleKind, string> = {
  WORKER_SILENT:
    "Look at the worker's machine; `writ workers remove ID` forgets a worker that will not come back.",
  NO_WORKER: "Start a worker that takes these jobs; `jobctl why ID` says what a waiting job needs.",
  DATABASE_AWAY: "Calls are refused until the database answers; nothing that was accepted is lost.",
  DISK_FULL:
    "Make room on the hub's disk; calls that write are refused until then, and nothing that was accepted is lost. " +
    "Running jobs continue; one whose output has no room on its worker's disk waits, until its time limit.",
};

/** The sentence for the end of a trouble. */
const endings: Record<TroubleKind, (subject: string) => string> = {
  WORKER_SILENT: (workerId) => `worker ${workerId} is back, or was removed`,
  NO_WORKER: (type) => `no jobs wait any more that no worker takes: ${type}`,
  DATABASE_AWAY: () => "the database answers again",
  DISK_FULL: (disk) => `there is room on the disk again: ${disk}`,
};

/**
 * Compares the present troubles with those that were reported. Returns what to report, and what is reported after that.
 */
export function compareTroubles(
  told: ToldTroubles,
  found: readonly Trouble[],
  { kinds, nowMs }: { kinds: readonly TroubleKind[]; nowMs: number },
): { told: ToldTroubles; reports: TroubleReport[] } {
  const next: ToldTroubles = { ...told };
  const reports: TroubleReport[] = [];
  for (const kind of kinds) {
    const before = told[kind] ?? { toldAtMs: Number.NEGATIVE_INFINITY, troubles: {} };
    if (nowMs - before.toldAtMs < pauseMs) continue;
    const now = found.filter((trouble) => trouble.kind === kind).slice(0, troublesMax);
    const subjects = new Set(now.map(({ subject }) => subject));
    const begun = now.filter(({ subject }) => !Object.hasOwn(before.troubles, subject));
    const over = Object.entries(before.troubles).filter(([subject]) => !subjects.has(subject));
    if (begun.length + over.length === 0) continue;
    if (begun.length > 0) reports.push({ kind, state: "begun", troubles: begun });
    if (over.length > 0)
      reports.push({ kind, state: "over", troubles: over.map(([subject, says]) => ({ subject, says })) });
    next[kind] = {
      toldAtMs: nowMs,
      troubles: Object.fromEntries(
        now.map(({ subject, says }) => [subject, before.troubles[subject] ?? says]),
      ),
    };
  }
  return { told: next, reports };
}

/** A report in a form for every channel. */
export function troubleText(
  { kind, state, troubles }: TroubleReport,
  { nowMs, hub }: { nowMs: number; hub: string },
): Omit<NewMessage, "channel"> {
  const isOver = state === "over";
  const level = isOver ? "LOW" : levels[kind];
  const what = troubles.length === 1 ? troubles[0]!.subject : `${troubles.length} at once`;
  const more = troubles.length - linesMax;
  const lines = [
    ...troubles
      .slice(0, linesMax)
      .map(({ subject, says }) => (isOver ? `${endings[kind](subject)}. Before: ${says}` : says)),
    ...(more > 0 ? [`and ${more} more`] : []),
    `time: ${new Date(nowMs).toISOString()}`,
    `hub: ${hub}`,
    ...(isOver ? [] : ["", advice[kind]]),
  ];
  return {
    subject: `[${level}] ${kind}${isOver ? " is over" : ""}: ${what}`,
    body: lines.join("\n"),
    data: JSON.stringify({
      level,
      event: kind,
      state,
      count: troubles.length,
      ts: nowMs,
      hub,
      subjects: troubles.slice(0, linesMax).map(({ subject }) => subject),
    }),
  };
}
