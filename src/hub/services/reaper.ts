import { repeat, type Service } from "../../runtime/service.ts";
import { type HubDeps, rulesNow } from "../deps.ts";

/** How many jobs are ended in one transaction; the rest wait for the next, so that nobody else has to. */
const jobsPerTurn = 200;

/**
 * Ends what nobody reports: lost leases, exceeded timeouts, expired waits, silent workers.
 *
 * It starts when the ports listen. Nobody could renew a lease or send a heartbeat before that, so every lease lasts at
 * least one more lease from then on, and no worker counts as silent until that time has passed.
 */
export function createReaper(deps: HubDeps): Service {
  const { clock, settings, logger } = deps;
  const onError = (error: unknown) => logger.error({ err: error }, "a round of the reaper failed");
  let graceEndsMs = Number.POSITIVE_INFINITY;
  const rounds = repeat(
    { name: "reaper", intervalMs: settings.reaperIntervalMs, clock, onError },
    async (signal) => {
      if (clock.monotonicMs() >= graceEndsMs) await retireSilentWorkers(deps);
      while (!signal.aborted) {
        const { reaped, more } = await deps.store.reapJobs({ rules: rulesNow(deps), limit: jobsPerTurn });
        if (reaped > 0) logger.info({ reaped }, "the reaper ended attempts that nobody reported");
        if (!more) break;
      }
      // A hint that was lost costs at most one round.
      deps.dispatcher.wakeAll();
    },
  );
  return {
    name: rounds.name,
    async start() {
      await deps.store.graceLeases({ nowMs: clock.nowMs(), leaseMs: settings.leaseMs });
      graceEndsMs = clock.monotonicMs() + settings.leaseMs;
      await rounds.start();
    },
    stop: () => rounds.stop(),
  };
}

async function retireSilentWorkers(deps: HubDeps): Promise<void> {
  const rules = rulesNow(deps);
  const silentSince = rules.nowMs - deps.settings.workerInactiveMs;
  const { retired } = await deps.store.retireSilentWorkers({ silentSince, rules });
  for (const workerId of retired) {
    deps.workers.forget(workerId);
    deps.logger.warn({ worker: workerId }, "a worker has been silent for too long and is now inactive");
  }
}
