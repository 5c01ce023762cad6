import { repeat, type Service } from "../../runtime/service.ts";
import { type HubDeps, rulesNow } from "../deps.ts";

/** How many jobs are ended in one transaction; the rest wait for the next, so that nobody else has to. */
const jobsPerTurn = 200;

/**
 * Ends what nobody reports: lost leases, exceeded timeouts, expired waits. It also notes which workers are silent.
 *
 * It starts when the ports listen, or when this hub takes the lead. If nobody could renew a lease or send a heartbeat before
 * that, every lease lasts at least one more lease from then on. No worker counts as silent until that time has passed. The
 * same holds when the hub could not store renewals for a while: whether it can again, only the extension shows, so nothing is
 * ended before that is stored. Why: ADR 0007, ADR 0083.
 */
export function createReaper(deps: HubDeps): Service {
  const { clock, settings, logger, failures, renewals } = deps;
  const onError = (error: unknown) => failures.error(error, "a round of the reaper failed");
  let graceEndsMs = Number.POSITIVE_INFINITY;
  const beginGrace = () => {
    graceEndsMs = clock.monotonicMs() + settings.leaseMs;
  };
  const rounds = repeat(
    { name: "reaper", intervalMs: settings.reaperIntervalMs, clock, onError },
    async (signal) => {
      if (await renewals.makeUpFor(() => extendLeases(deps))) beginGrace();
      if (clock.monotonicMs() >= graceEndsMs) await retireSilentWorkers(deps);
      while (!signal.aborted) {
        // The workers of another hub may have been refused too, and this one has not heard of it.
        const { reaped, more } = await renewals.watch(
          deps.store.reapJobs({ rules: rulesNow(deps), limit: jobsPerTurn }),
        );
        if (reaped > 0) logger.info({ reaped }, "the reaper ended attempts that nobody reported");
        if (!more) break;
      }
    },
  );
  return {
    name: rounds.name,
    async start() {
      if (deps.leadership.wasSilent) await extendLeases(deps);
      beginGrace();
      await rounds.start();
    },
    stop: () => rounds.stop(),
  };
}

/** A hub that does not lead has no reaper, and its workers can be refused all the same. */
export function createMakeUp(deps: HubDeps): Service {
  const { clock, settings, failures, leadership, renewals } = deps;
  const onError = (error: unknown) => failures.error(error, "leases could not be extended");
  const options = { name: "make up", intervalMs: settings.reaperIntervalMs, clock, onError };
  return repeat(options, async () => {
    if (!leadership.isLeader) await renewals.makeUpFor(() => extendLeases(deps));
  });
}

function extendLeases({ store, clock, settings }: HubDeps): Promise<unknown> {
  return store.graceLeases({ nowMs: clock.nowMs(), leaseMs: settings.leaseMs });
}

/** Everybody who waits looks again now and then: a hint that was lost costs at most one round. */
export function createLookAround({ dispatcher, settings, clock, failures }: HubDeps): Service {
  const onError = (error: unknown) => failures.error(error, "waiting workers could not be woken");
  const options = { name: "look around", intervalMs: settings.reaperIntervalMs, clock, onError };
  return repeat(options, () => dispatcher.wakeAll());
}

async function retireSilentWorkers(deps: HubDeps): Promise<void> {
  const nowMs = deps.clock.nowMs();
  const silentSince = nowMs - deps.settings.workerInactiveMs;
  const { retired } = await deps.store.retireSilentWorkers({ silentSince, nowMs });
  for (const workerId of retired) {
    deps.workers.forget(workerId);
    deps.logger.warn({ worker: workerId }, "a worker has been silent for too long and is now inactive");
  }
}
