import type { EventKind, Origin } from "../../../core/events.ts";
import type { HubDeps } from "../../deps.ts";

/** Writes an event that belongs to no change, for example a refusal. */
export async function recordEvent(
  deps: Pick<HubDeps, "store" | "clock">,
  happened: {
    event: EventKind;
    origin: Origin | null;
    tenantId?: string | null;
    jobId?: string | null;
    details?: Record<string, unknown>;
  },
): Promise<void> {
  const { event, origin, tenantId = null, jobId = null, details = {} } = happened;
  await deps.store.recordEvents({
    events: [{ event, ts: deps.clock.nowMs(), tenantId, jobId, ownerId: null, details, origin }],
  });
}
