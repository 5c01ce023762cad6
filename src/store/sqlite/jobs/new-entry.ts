import type { Effects } from "../../../core/jobs/effects.ts";
import type { Context } from "../context.ts";
import { type JobEntry, type Place, readyOf } from "./job-entry.ts";

/** A job as it is in memory once it is submitted, and again after a replay of its frame. Why: ADR 0116. */
export function newEntry(
  { names }: Pick<Context, "names">,
  { after, dueAt, readiness }: Effects,
  { queueId, at, document = null }: { queueId: number; at: Place; document?: string | null },
): JobEntry {
  return {
    record: after,
    queueId,
    owner: names.ownerNumber(after),
    at,
    lineAt: null,
    receiptAt: null,
    ready: readyOf[readiness],
    dueAt,
    eventFrames: String(at.frame),
    isStored: false,
    isStoredPlain: false,
    isGenuine: true,
    document,
  };
}

/** Whether nothing has happened to it since, so that its line has everything that its row would have. */
export function isAsSubmitted({ record, at, ready, eventFrames }: JobEntry, frame: number): boolean {
  return (
    at.frame === frame &&
    record.status === "pending" &&
    record.attempt === 0 &&
    record.eventCount === 1 &&
    ready === (record.runAt <= record.createdAt ? 1 : 0) &&
    eventFrames === String(frame)
  );
}
