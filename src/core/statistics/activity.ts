import { Histogram, type HistogramText } from "./histogram.ts";
import type { Observation } from "./observation.ts";

/** The counts of an activity; what is zero is left out of the text. */
const countNames = ["submitted", "completed", "failed", "cancelled"] as const;
type CountName = (typeof countNames)[number];
export type Counts = Record<CountName, number>;

/** What waits at a moment. */
export type Gauges = { depth: number; oldestWaitMs: number };

export type ActivityText = Partial<Counts & Gauges> & { wait?: HistogramText; run?: HistogramText };

/** What happened during some time. Activities of different times or types can be added. */
export class Activity {
  readonly counts: Counts = { submitted: 0, completed: 0, failed: 0, cancelled: 0 };
  readonly wait = new Histogram();
  readonly run = new Histogram();
  /** The most that waited, and the longest wait. */
  readonly gauges: Gauges = { depth: 0, oldestWaitMs: 0 };

  static read(text: ActivityText): Activity {
    const activity = new Activity();
    for (const name of countNames) activity.counts[name] = text[name] ?? 0;
    activity.wait.merge(Histogram.read(text.wait));
    activity.run.merge(Histogram.read(text.run));
    activity.sample({ depth: text.depth ?? 0, oldestWaitMs: text.oldestWaitMs ?? 0 });
    return activity;
  }

  add(observed: Observation): void {
    if (observed.kind === "claimed") {
      this.wait.add(observed.waitMs);
      return;
    }
    if (observed.kind === "submitted") {
      this.counts.submitted += observed.count;
      return;
    }
    this.counts[observed.kind]++;
    if (observed.runMs !== null) this.run.add(observed.runMs);
  }

  sample({ depth, oldestWaitMs }: Gauges): void {
    this.gauges.depth = Math.max(this.gauges.depth, depth);
    this.gauges.oldestWaitMs = Math.max(this.gauges.oldestWaitMs, oldestWaitMs);
  }

  merge(other: Activity): void {
    for (const name of countNames) this.counts[name] += other.counts[name];
    this.wait.merge(other.wait);
    this.run.merge(other.run);
    this.sample(other.gauges);
  }

  /** How much happened, to find what is busiest. */
  get size(): number {
    const { submitted, completed, failed, cancelled } = this.counts;
    return submitted + completed + failed + cancelled + this.gauges.depth;
  }

  text(): ActivityText {
    const numbers = Object.entries({ ...this.counts, ...this.gauges }).filter(([, value]) => value > 0);
    const histograms = { wait: this.wait.text(), run: this.run.text() };
    const filled = Object.entries(histograms).filter(([, pairs]) => pairs.length > 0);
    return Object.fromEntries([...numbers, ...filled]);
  }
}
