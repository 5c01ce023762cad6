import type { Context } from "../context.ts";
import { appendEvent } from "../log/append-event.ts";

/**
 * A frame of which no entry can be trusted is one incident, however many jobs wait for it: it is recorded once, in the group
 * that has noticed it. Nothing in it says whose jobs these are. Why: ADR 0116.
 */
export function reportDamagedFrame(context: Context, frame: number, nowMs: number): void {
  if (context.sql.run("INSERT OR IGNORE INTO damaged_frames VALUES (?)", frame) === 0) return;
  const error = "the list of this frame is damaged; its jobs wait until it is restored from a backup";
  appendEvent(context, {
    event: "SECURITY_VIOLATION",
    ts: nowMs,
    tenantId: null,
    jobId: null,
    ownerId: null,
    details: { violation_type: "FRAME_DAMAGED", frame, error },
    origin: null,
  });
}
