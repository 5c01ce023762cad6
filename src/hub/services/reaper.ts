import { repeat, type Service } from "../../runtime/service.ts";
import { type HubDeps, rulesNow } from "../deps.ts";

/** How many jobs one transaction ends; the rest wait for the next, so that other calls do not. */
const jobsPerTurn = 200;

/**
 * Ends jobs that no worker reports: lost leases, exceeded timeouts, expired waits. It also marks silent workers.
 *
 * It starts when the ports listen, or when this hub takes the lead. If workers could not renew leases or send
 * heartbeats before that, every lease lasts at least one more lease from then on. No worker counts as silent until that
 * time has passed. The same holds when the hub could not store renewals for a while: only a stored extension shows that
 * it can again, so nothing is ended before that. Why: ADR 0007, ADR 0083.
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
        // The workers of another hub may have been refused too, which this hub does not know.
        const { reaped, more } = await renewals.watch(
          deps.store.reapJobs({ rules: rulesNow(deps), limit: jobsPerTurn }),
        );
        if (reaped > 0) logger.info({ reaped }, "the reaper ended attempts that no worker reported");
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

/** A hub that does not lead has no reaper, but its workers can be refused too. */
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

/** Wakes all waiting workers from time to time, so that a lost hint costs at most one round. */
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
