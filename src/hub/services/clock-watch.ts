import { repeat, type Service } from "../../runtime/service.ts";
import type { SteadyClock } from "../../runtime/steady-clock.ts";
import type { HubDeps } from "../deps.ts";

const roundMs = 1_000;

/**
 * Follows the system's clock when somebody sets it. Until then the hub's time passes as if nothing had happened; then
 * the hub's clock and all stored times that measure how long something lasts move by the same amount.
 */
export function createClockWatch(deps: HubDeps, clock: SteadyClock): Service {
  const { store, logger } = deps;
  const onError = (error: unknown) =>
    logger.error({ err: error }, "the system's clock could not be followed");
  return repeat({ name: "clock watch", intervalMs: roundMs, clock, onError }, async () => {
    const byMs = clock.jumpMs();
    if (byMs === 0) return;
    // Both in one turn: the store works in order, so what was asked with the old time meets the old times.
    clock.follow(byMs);
    try {
      await store.shiftTimes({ byMs });
    } catch (error) {
      // The stored times have not moved, so the next round tries again.
      clock.follow(-byMs);
      throw error;
    }
    logger.warn({ by_ms: byMs }, "the system's clock was set; leases and deadlines have moved with it");
  });
}
