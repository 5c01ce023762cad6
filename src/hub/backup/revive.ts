import type { EventKind, Origin } from "../../core/events.ts";
import type { HubDeps } from "../deps.ts";
import { recallLeases } from "../use-cases/access/manage-keys.ts";
import { recordEvent } from "../use-cases/audit/record-event.ts";
import { resetAllSchedules } from "../use-cases/schedules/reset-schedules.ts";
import { resetAllWebhooks } from "../use-cases/webhooks/reset-webhooks.ts";

/**
 * A worker refuses an attempt that it has already run, and after the backup more attempts were made than it contains.
 * No job makes as many as this: at most a hundred attempts, each given back at most nine times.
 */
const attemptsAhead = 1_000;

type Revival = { event: EventKind; origin: Origin | null; details: Record<string, unknown> };

/**
 * Adjusts a database from an earlier time: its leases are no longer held by any worker, and new attempts must not look
 * like earlier ones. Returns how many leases were taken back, and how many of their jobs have ended. Why: ADR 0018.
 */
export async function revive(
  deps: Pick<HubDeps, "store" | "settings" | "clock" | "renewals"> & {
    keys: Pick<HubDeps["keys"], "macKey">;
  },
  { event, origin, details }: Revival,
): Promise<{ recalled: number; ended: number }> {
  const reason = "the hub continues with an older database";
  const { recalled, ended } = await recallLeases(deps, { keyId: null, origin: null, reason });
  await deps.store.raiseAttempts({ by: attemptsAhead });
  await resetAllSchedules(deps, reason);
  await resetAllWebhooks(deps, reason);
  await recordEvent(deps, { event, origin, details: { ...details, recalled } });
  return { recalled, ended };
}
