import { Period } from "../../../core/statistics/period.ts";
import { periodStart, shortestMs } from "../../../core/statistics/ranges.ts";
import type { Clock } from "../../../runtime/clock/clock.ts";
import { repeat, type Service } from "../../../runtime/service.ts";
import type { Store } from "../../../store/store.ts";
import type { FailureLog } from "../../failure-log.ts";
import { sampleQueues } from "./sample-queues.ts";

type Deps = { store: Store; clock: Clock; failures: FailureLog };

/**
 * While the store cannot be written to, the oldest periods beyond this number are dropped: a gap in the statistics does
 * no harm.
 */
const waitingMax = 720;
/** The most tenants with periods of their own; others are only in the total of all tenants. */
const tenantsMax = 2_000;

/** Periods of one start, by tenant; null for all tenants together. */
type Open = { start: number; periods: Map<string | null, Period> };

/**
 * Counts events as commits announce them, and adds the counts to the store every few seconds. If the hub is killed,
 * only counts since the last write are lost. Why: ADR 0047.
 */
export class Statistics implements Service {
  readonly name = "statistics";
  readonly #deps: Deps;
  readonly #rounds: Service;
  readonly #leave: () => void;
  #open: Open;
  /** Periods that have ended and are not in the store yet. */
  #waiting: Open[] = [];

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#open = this.#begin();
    this.#leave = deps.store.onCommit(({ observed }) => {
      for (const observation of observed) {
        for (const tenantId of [observation.tenantId, null]) {
          this.#period(tenantId)?.add(observation, deps.clock.nowMs());
        }
      }
    });
    const onError = (error: unknown) => deps.failures.error(error, "statistics could not be written");
    this.#rounds = repeat({ name: this.name, intervalMs: shortestMs, clock: deps.clock, onError }, () =>
      this.#round(),
    );
  }

  start(): Promise<void> {
    return this.#rounds.start();
  }

  async stop(): Promise<void> {
    await this.#rounds.stop();
    this.#leave();
    this.#turn();
    await this.#write().catch((error: unknown) =>
      this.#deps.failures.warn(error, "the last statistics could not be written"),
    );
  }

  /** The periods that are not in the store yet. */
  recent(tenantId: string | null): { start: number; period: Period }[] {
    return [...this.#waiting, this.#open].flatMap(({ start, periods }) => {
      const period = periods.get(tenantId);
      return period === undefined ? [] : [{ start, period }];
    });
  }

  async #round(): Promise<void> {
    for (const { tenantId, type, ...gauges } of await sampleQueues(this.#deps)) {
      this.#period(tenantId)?.sample(type, gauges);
    }
    await this.#write();
  }

  async #write(): Promise<void> {
    const { store, clock } = this.#deps;
    const written = this.#waiting;
    const periods = written.flatMap(({ start, periods: open }) =>
      [...open].map(([tenantId, period]) => ({ tenantId, start, period: period.text() })),
    );
    if (periods.length === 0) return;
    await store.addStatistics({ periods, nowMs: clock.nowMs() });
    this.#waiting = this.#waiting.filter((open) => !written.includes(open));
  }

  #period(tenantId: string | null): Period | null {
    if (this.#open.start !== this.#begin().start) this.#turn();
    const { periods } = this.#open;
    const known = periods.get(tenantId);
    if (known !== undefined) return known;
    if (tenantId !== null && periods.size >= tenantsMax) return null;
    const period = new Period();
    periods.set(tenantId, period);
    return period;
  }

  #turn(): void {
    if (this.#open.periods.size > 0) this.#waiting = [...this.#waiting, this.#open].slice(-waitingMax);
    this.#open = this.#begin();
  }

  #begin(): Open {
    return { start: periodStart(this.#deps.clock.nowMs(), shortestMs), periods: new Map() };
  }
}
