/** Durations up to 40 days have a bucket of their own; longer ones share the last. */
const bucketMax = 127;
/** Buckets per doubling: a quantile is at most a tenth off. */
const perDoubling = 4;

/** Pairs of bucket and count, one after the other. */
export type HistogramText = readonly number[];

/**
 * How often which durations occurred. Buckets grow with the duration, so that few of them hold milliseconds as well as
 * days, and histograms of different times or places can be added. Why: ADR 0047.
 */
export class Histogram {
  readonly #counts = new Map<number, number>();

  static read(text: HistogramText = []): Histogram {
    const histogram = new Histogram();
    for (let i = 0; i + 1 < text.length; i += 2) histogram.#add(text[i]!, text[i + 1]!);
    return histogram;
  }

  add(ms: number): void {
    this.#add(bucketOf(ms), 1);
  }

  merge(other: Histogram): void {
    for (const [bucket, count] of other.#counts) this.#add(bucket, count);
  }

  /** The duration that this part of all does not exceed, in milliseconds; null if there are none. */
  quantile(part: number): number | null {
    let left = part * this.#total();
    const sorted = [...this.#counts].sort(([a], [b]) => a - b);
    for (const [bucket, count] of sorted) {
      left -= count;
      if (left <= 0) return middleOf(bucket);
    }
    return null;
  }

  text(): HistogramText {
    return [...this.#counts].flat();
  }

  #add(bucket: number, count: number): void {
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + count);
  }

  #total(): number {
    return this.#counts.values().reduce((sum, count) => sum + count, 0);
  }
}

function bucketOf(ms: number): number {
  return ms < 1 ? 0 : Math.min(bucketMax, 1 + Math.floor(Math.log2(ms) * perDoubling));
}

function middleOf(bucket: number): number {
  return bucket === 0 ? 0 : Math.round(2 ** ((bucket - 0.5) / perDoubling));
}
