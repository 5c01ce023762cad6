import { expect, test } from "vitest";
import { SeenVersions } from "./seen-versions.ts";

test("before it is known where to begin, something may be missing", () => {
  const seen = new SeenVersions();
  seen.add(7);
  expect(seen.isMissing(7)).toBe(true);
  seen.skipTo(7);
  expect(seen.isMissing(7)).toBe(false);
});

test("a version that was not seen is missing, in whatever order the others come", () => {
  const seen = new SeenVersions();
  seen.skipTo(10);
  seen.add(13);
  seen.add(11);
  expect([seen.isMissing(11), seen.isMissing(12), seen.isMissing(13)]).toEqual([false, true, true]);
  seen.add(12);
  expect(seen.isMissing(13)).toBe(false);
  seen.add(14, 16);
  expect([seen.isMissing(16), seen.isMissing(17)]).toEqual([false, true]);
});

test("what is skipped is not missing, and what came after it counts", () => {
  const seen = new SeenVersions();
  seen.skipTo(1);
  seen.add(5);
  seen.add(4);
  seen.skipTo(3);
  expect(seen.isMissing(5)).toBe(false);
  seen.skipTo(2);
  expect([seen.isMissing(5), seen.isMissing(6)]).toEqual([false, true]);
});
