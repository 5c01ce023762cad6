import type { SteadyClock } from "../../runtime/clock/steady-clock.ts";
import type { Logger } from "../../runtime/log/logger.ts";
import { repeat, type Service } from "../../runtime/service.ts";
import type { HubDeps } from "../deps.ts";

const roundMs = 1_000;

/** Two clocks that are not set drift apart by less than this. */
const driftMsMax = 5_000;

/**
 * Follows the clock that the hub measures with when it is set. Until then the hub's time passes as if nothing had
 * happened; then the hub's clock and all stored times of durations move by the same amount.
 *
 * That clock is the system's, or with PostgreSQL the database's: all hubs compare the same stored times, so they must
 * have one clock, whatever their machines say. The leader moves the stored times, unless its own clock drifted. Why:
 * ADR 0028.
 */
export function createClockWatch(deps: HubDeps, clock: SteadyClock): Service {
  const { store, logger, failures, leadership } = deps;
  const onError = (error: unknown) => failures.error(error, "the clock could not be followed");
  return repeat({ name: "clock watch", intervalMs: roundMs, clock, onError }, async () => {
    const { aheadMs } = leadership;
    const byMs = clock.jumpMs(aheadMs ?? undefined);
    if (byMs === 0) return;
    // Both in one turn of the event loop: the store works in order, so calls with the old time meet the old stored
    // times.
    clock.follow(byMs);
    const wasSet = aheadMs === null || Math.abs(byMs) > driftMsMax;
    try {
      if (wasSet && leadership.isLeader) await store.shiftTimes({ byMs });
    } catch (error) {
      // The stored times have not moved, so the next round tries again.
      clock.follow(-byMs);
      throw error;
    }
    if (aheadMs === null)
      logger.warn({ by_ms: byMs }, "the system's clock was set; leases and deadlines have moved with it");
    else
      logger.warn(
        { by_ms: byMs },
        "the clocks of this hub and its database had drifted apart, or one was set",
      );
  });
}

/**
 * Called at the start, so that the hub has the database's time from its first moment on, if the database has a clock of
 * its own.
 */
export function followDatabase(clock: SteadyClock, aheadMs: number | null, logger: Logger): void {
  const byMs = aheadMs === null ? 0 : clock.jumpMs(aheadMs);
  if (byMs === 0) return;
  clock.follow(byMs);
  logger.warn(
    { by_ms: byMs },
    "the clock of this machine differs from that of the database; the database's is used, set this one",
  );
}
