import { expect, test } from "vitest";
import { handClock } from "../../runtime/clock/hand-clock.testing.ts";
import { RecordCache } from "./record-cache.ts";

type Answer = (value: string) => void;

/** A cache whose reads are answered by hand, in any order. */
function aCache() {
  const reads: Answer[] = [];
  const cache = new RecordCache(handClock(), () => new Promise<string>((resolve) => reads.push(resolve)));
  return { cache, reads };
}

test("a record is read once while it is fresh", async () => {
  const { cache, reads } = aCache();
  const first = cache.get("w1");
  reads[0]!("active");
  expect(await first).toBe("active");
  expect(await cache.get("w1")).toBe("active");
  expect(reads).toHaveLength(1);
});

const changes: [string, (cache: RecordCache<string>) => void][] = [
  ["forgotten", (cache) => cache.forget("w1")],
  ["forgotten with all others", (cache) => cache.forgetAll()],
];
for (const [what, change] of changes) {
  test(`a record that was ${what} while it was read is read again`, async () => {
    const { cache, reads } = aCache();
    const before = cache.get("w1");
    change(cache);
    reads[0]!("active");
    await before;
    const after = cache.get("w1");
    expect(reads).toHaveLength(2);
    reads[1]!("blocked");
    expect(await after).toBe("blocked");
    expect(await cache.get("w1")).toBe("blocked");
  });
}
