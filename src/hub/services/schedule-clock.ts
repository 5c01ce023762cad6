import type { Timer } from "../../runtime/clock/clock.ts";
import { type RepeatedService, repeat, type Service } from "../../runtime/service.ts";
import type { HubDeps } from "../deps.ts";
import { fireDueSchedules } from "../use-cases/schedules/fire-schedules.ts";
import { resetSchedulesAhead } from "../use-cases/schedules/reset-schedules.ts";

/** A schedule that is due sooner than this gets a timer; the others, and what other hubs have changed, are found by rounds. */
const roundMs = 1_000;
/** A clock that leaps this far against the one that only runs is not believed for two rounds: it may be set back at once. */
const leapMs = 300_000;
const roundsOfDoubt = 2;
/** A schedule that has come further than the present was moved by a clock that was set back. */
const aheadMs = 3_600_000;
const roundsBetweenChecks = 60;
/** 10,000 schedules at midnight; more are continued in the next round. */
const turnsPerRound = 100;

/** Makes the jobs of schedules when they are due. It runs at every hub; none of them leads. Why: ADR 0130. */
export function createScheduleClock(deps: HubDeps): Service {
  const { clock, failures } = deps;
  const onError = (error: unknown) => failures.error(error, "a round of the schedules failed");
  const leaps = new Leaps(deps);
  let timer: Timer | null = null;
  let rounds = 0;
  const service: RepeatedService = repeat(
    { name: "schedules", intervalMs: roundMs, clock, onError },
    async (signal) => {
      timer?.cancel();
      if (leaps.isInDoubt()) return;
      if (rounds++ % roundsBetweenChecks === 0) {
        const reason = "it had come further than the present time: the clock was set back";
        await resetSchedulesAhead(deps, { afterMs: clock.nowMs() + aheadMs, reason });
      }
      const nextAt = await fireAllDue(deps, signal);
      const inMs = nextAt === null ? roundMs : nextAt - clock.nowMs();
      timer = inMs >= roundMs ? null : clock.setTimer(() => service.wake(), Math.max(0, inMs));
    },
  );
  return {
    name: service.name,
    start: () => service.start(),
    async stop() {
      timer?.cancel();
      await service.stop();
    },
  };
}

/** Turns are short, so that claims and submissions come in between. Returns when the next schedule is due. */
async function fireAllDue(deps: HubDeps, signal: AbortSignal): Promise<number | null> {
  for (let turn = 0; turn < turnsPerRound && !signal.aborted; turn++) {
    const { looked, nextAt } = await fireDueSchedules(deps);
    if (looked === 0) return nextAt;
  }
  return deps.clock.nowMs();
}

class Leaps {
  readonly #deps: HubDeps;
  #lastAheadMs: number | null = null;
  #doubts = 0;

  constructor(deps: HubDeps) {
    this.#deps = deps;
  }

  isInDoubt(): boolean {
    const { clock, logger } = this.#deps;
    const ahead = clock.nowMs() - clock.monotonicMs();
    const leapt = this.#lastAheadMs === null ? 0 : ahead - this.#lastAheadMs;
    this.#lastAheadMs = ahead;
    if (Math.abs(leapt) > leapMs) {
      this.#doubts = roundsOfDoubt;
      logger.warn({ by_ms: leapt }, "the clock has leapt; schedules wait two rounds");
    }
    return this.#doubts > 0 && this.#doubts-- > 0;
  }
}
