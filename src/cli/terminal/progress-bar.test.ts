import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { CliContext } from "../context.ts";
import { ProgressBar } from "./progress-bar.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

/** What is written in that many seconds, with a step each. */
function written(isTTY: boolean, seconds: number): string {
  let text = "";
  const stderr = { isTTY, columns: 80, write: (piece: string) => (text += piece) };
  const bar = new ProgressBar({ stderr } as unknown as CliContext, {
    what: "copying",
    total: 1000,
    unit: "rows",
  });
  for (let second = 0; second <= seconds; second++) {
    bar.show(second * 10);
    vi.advanceTimersByTime(1_000);
  }
  bar.end();
  return text;
}

test("a terminal has one line that changes, and is empty in the end", () => {
  const text = written(true, 3);
  expect(text.split("\r\x1b[K")).toEqual([
    "",
    "copying  [....................]   1 %  10 rows of 1000 rows  10 rows/s",
    "copying  [....................]   2 %  20 rows of 1000 rows  10 rows/s",
    "copying  [#...................]   3 %  30 rows of 1000 rows  10 rows/s",
    "",
  ]);
});

test("a file gets a line every half a minute, and none for an act that ends sooner", () => {
  expect(written(false, 29)).toBe("");
  expect(written(false, 65)).toBe(
    "copying   30 %  300 rows of 1000 rows  10 rows/s\ncopying   60 %  600 rows of 1000 rows  10 rows/s\n",
  );
});
