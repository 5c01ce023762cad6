import { expect, test } from "vitest";
import { checkLimits } from "./check-limits.ts";

test.each([
  [{ cpu: "abc" }, 'cpu: "abc" is not allowed; use cores such as 500m, 2 or 1.5, from 10m to 1024, or max'],
  [{ cpu: 2 }, "cpu: 2 is not allowed"],
  [{ memory: "1M" }, 'memory: "1M" is not allowed; use bytes, or a number with K, M or G'],
  [{ io: "fast" }, 'io: "fast" is not allowed; use low, med or high'],
  [{ pids: 0 }, "pids: 0 is not allowed; use a whole number from 1 to 32768"],
  [{ pids: "5" }, 'pids: "5" is not allowed'],
  [{ network: "None" }, 'network: "None" is not allowed; use host, closed or none'],
  [{ foo: 1 }, '"foo" is not the name of a limit; use cpu, memory, io, pids, network'],
  [{ constructor: 1 }, '"constructor" is not the name of a limit'],
])("B6: %j is refused by name, value and what is allowed", (limits, message) => {
  expect(() => checkLimits(limits)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  expect(() => checkLimits(limits)).toThrow(message);
});

test("limits as people write them are accepted", () => {
  checkLimits({ cpu: "500m", memory: "64M", io: "low", pids: 20, network: "none" });
  checkLimits({ cpu: "max", memory: undefined });
});
