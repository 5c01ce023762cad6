import type { Clock, Timer } from "../../runtime/clock/clock.ts";
import { type RepeatedService, repeat, type Service } from "../../runtime/service.ts";
import type { HubDeps } from "../deps.ts";

const jobsPerTurn = 1_000;
/**
 * A job whose retry or start is nearer than this gets a timer of its own; the others are found by the periodic round.
 */
const roundMs = 1_000;

/** Makes delayed jobs claimable when they are due; the commit that does so wakes the workers. */
export function createScheduler(deps: HubDeps): Service {
  const { clock, failures } = deps;
  const onError = (error: unknown) => failures.error(error, "a round of the scheduler failed");
  let timer: Timer | null = null;
  const rounds: RepeatedService = repeat(
    { name: "scheduler", intervalMs: roundMs, clock, onError },
    async () => {
      const { nextRunAt } = await deps.store.promoteJobs({ nowMs: clock.nowMs(), limit: jobsPerTurn });
      timer?.cancel();
      timer = nextRunAt === null ? null : wakeAt(clock, nextRunAt, () => rounds.wake());
    },
  );
  return {
    name: rounds.name,
    start: () => rounds.start(),
    async stop() {
      timer?.cancel();
      await rounds.stop();
    },
  };
}

function wakeAt(clock: Clock, atMs: number, wake: () => void): Timer | null {
  const inMs = atMs - clock.nowMs();
  return inMs >= roundMs ? null : clock.setTimer(wake, Math.max(0, inMs));
}
