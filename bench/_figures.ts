/** One figure, one JSON line: for people to read and for programs to compare. */
export function figure(name: string, value: number, unit: string, more: Record<string, unknown> = {}): void {
  console.log(JSON.stringify({ figure: name, value: round(value), unit, ...more }));
}

/** Runs `work` over `count` items with so many under way at once; answers how many were done each second. */
export async function perSecond(
  count: number,
  concurrency: number,
  work: (index: number) => Promise<number>,
): Promise<number> {
  let next = 0;
  let done = 0;
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (next < count) {
        const finished = await work(next++);
        done += finished;
      }
    }),
  );
  return done / ((performance.now() - startedAt) / 1000);
}

/** The same for a given time. */
export async function perSecondFor(
  seconds: number,
  concurrency: number,
  work: () => Promise<unknown>,
): Promise<number> {
  let done = 0;
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1000;
  const lane = async () => {
    for (; performance.now() < endsAt; done++) await work();
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
  return done / ((performance.now() - startedAt) / 1000);
}

export function quantile(values: number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]!;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = sorted.length / 2;
  return (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle) - 1]!) / 2;
}

export function round(value: number): number {
  return value >= 100 ? Math.round(value) : Number(value.toPrecision(3));
}
