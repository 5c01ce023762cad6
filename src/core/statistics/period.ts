import { Activity, type ActivityText, type Gauges } from "./activity.ts";
import type { Cause, Observation } from "./observation.ts";

/** Types with a line of their own; the others are counted together. */
const typesMax = 50;
/** Causes that are kept; the rarest are forgotten. */
const causesMax = 50;
/** While a period is open it knows more, so that the busiest are found among them. */
const openMax = 1_000;

type CauseCount = Cause & { jobs: number; lastAt: number };

/** A period as it is stored. */
type StoredPeriod = {
  total: ActivityText;
  types: [string, ActivityText][];
  other: ActivityText;
  causes: CauseCount[];
};

/** What happened in one tenant, or in all, during some time: in total, by type, and why jobs failed. Why: ADR 0047. */
export class Period {
  readonly total = new Activity();
  readonly types = new Map<string, Activity>();
  readonly other = new Activity();
  readonly #causes = new Map<string, CauseCount>();

  static read(text: string): Period {
    const { total, types, other, causes } = JSON.parse(text) as StoredPeriod;
    const period = new Period();
    period.total.merge(Activity.read(total));
    for (const [type, activity] of types) period.types.set(type, Activity.read(activity));
    period.other.merge(Activity.read(other));
    for (const cause of causes) period.#fail(cause);
    return period;
  }

  add(observed: Observation, nowMs: number): void {
    this.total.add(observed);
    this.#ofType(observed.type).add(observed);
    if (observed.kind !== "failed") return;
    const { type, code, reason } = observed;
    this.#fail({ type, code, reason, jobs: 1, lastAt: nowMs });
  }

  /** Null for all types together. */
  sample(type: string | null, gauges: Gauges): void {
    if (type === null) this.total.sample(gauges);
    else this.#ofType(type).sample(gauges);
  }

  merge(other: Period): void {
    this.total.merge(other.total);
    for (const [type, activity] of other.types) this.#ofType(type).merge(activity);
    this.other.merge(other.other);
    for (const cause of other.#causes.values()) this.#fail(cause);
  }

  /** What jobs of this type did; all jobs without one. */
  of(type: string | undefined): Activity {
    return type === undefined ? this.total : (this.types.get(type) ?? new Activity());
  }

  /** How many jobs failed for this cause. */
  failuresOf(cause: Cause): number {
    return this.#causes.get(keyOf(cause))?.jobs ?? 0;
  }

  /** The most frequent first. */
  causes(): CauseCount[] {
    return [...this.#causes.values()].sort((a, b) => b.jobs - a.jobs).slice(0, causesMax);
  }

  /** Which types have a line of their own, and what the others did together. */
  byType(): { named: [string, Activity][]; other: Activity } {
    const busiest = [...this.types].sort(([, a], [, b]) => b.size - a.size);
    const other = new Activity();
    other.merge(this.other);
    for (const [, activity] of busiest.slice(typesMax)) other.merge(activity);
    return { named: busiest.slice(0, typesMax), other };
  }

  text(): string {
    const { named, other } = this.byType();
    const stored: StoredPeriod = {
      total: this.total.text(),
      types: named.map(([type, activity]) => [type, activity.text()]),
      other: other.text(),
      causes: this.causes(),
    };
    return JSON.stringify(stored);
  }

  #ofType(type: string): Activity {
    const known = this.types.get(type);
    if (known !== undefined) return known;
    if (this.types.size >= openMax) return this.other;
    const activity = new Activity();
    this.types.set(type, activity);
    return activity;
  }

  #fail(cause: CauseCount): void {
    const key = keyOf(cause);
    const known = this.#causes.get(key);
    if (known === undefined && this.#causes.size >= openMax) return;
    this.#causes.set(key, {
      ...cause,
      jobs: (known?.jobs ?? 0) + cause.jobs,
      lastAt: Math.max(known?.lastAt ?? 0, cause.lastAt),
    });
  }
}

function keyOf({ type, code, reason }: Cause): string {
  return JSON.stringify([type, code, reason]);
}
