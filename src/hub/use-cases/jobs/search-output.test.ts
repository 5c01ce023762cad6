import { expect, test } from "vitest";
import { searchOutput } from "./search-output.ts";

const still = { monotonicMs: () => 0 };

/** An output that is read in pieces of this many bytes. */
function outputOf(text: string, pieceBytes: number) {
  const bytes = Buffer.from(text);
  return {
    size: bytes.length,
    async *read(start: number, end: number) {
      for (let at = start; at < end; at += pieceBytes)
        yield bytes.subarray(at, Math.min(end, at + pieceBytes));
    },
  };
}

test("searchOutput finds every match, wherever the pieces are cut", async () => {
  const text = "error: äöü\nok\nerror: 2\nerrerror\n";
  // In bytes: each umlaut has two.
  const places = [0, 17, 29];
  for (let pieceBytes = 1; pieceBytes <= 40; pieceBytes++) {
    const found = await searchOutput(outputOf(text, pieceBytes), { text: "error", from: 0, clock: still });
    expect(found, `pieces of ${pieceBytes}`).toEqual({ offsets: places, next: null });
    const umlaut = await searchOutput(outputOf(text, pieceBytes), { text: "öü", from: 0, clock: still });
    expect(umlaut.offsets).toEqual([9]);
  }
});

test("matches do not overlap, and none begins before `from`", async () => {
  const found = await searchOutput(outputOf("aaaaaaa", 3), { text: "aa", from: 1, clock: still });
  expect(found).toEqual({ offsets: [1, 3, 5], next: null });
  expect(await searchOutput(outputOf("aaa", 3), { text: "a", from: 9, clock: still })).toEqual({
    offsets: [],
    next: null,
  });
});

test("searchOutput stops after 1,000 matches and continues where it stopped", async () => {
  const output = outputOf("x\n".repeat(1_500), 64);
  const first = await searchOutput(output, { text: "x", from: 0, clock: still });
  expect(first.offsets).toHaveLength(1_000);
  const second = await searchOutput(output, { text: "x", from: first.next!, clock: still });
  expect(second).toMatchObject({ offsets: { length: 500 }, next: null });
  expect([...first.offsets, ...second.offsets]).toEqual(Array.from({ length: 1_500 }, (_, i) => i * 2));
});

test("searchOutput stops when its time is over, and the next call finds a match across that offset", async () => {
  let now = 0;
  const clock = { monotonicMs: () => (now += 100) };
  const output = outputOf(`${"-".repeat(298)}needle${"-".repeat(300)}`, 100);
  const offsets: number[] = [];
  let calls = 0;
  for (let next: number | null = 0; next !== null; calls++) {
    const found = await searchOutput(output, { text: "needle", from: next, clock });
    offsets.push(...found.offsets);
    next = found.next;
  }
  expect(offsets).toEqual([298]);
  expect(calls).toBeGreaterThan(1);
});

test("O-29 a search that ignores case finds A to Z as a to z, and the reverse, at the same offsets", async () => {
  const search = { text: "ErrOr Ä", from: 0, isCaseIgnored: true, clock: still };
  const found = await searchOutput(outputOf("ö error Ä\nERROR ä\nerror Ä", 4), search);
  expect(found).toEqual({ offsets: [3, 21], next: null });
});
