import { expect, test } from "vitest";
import type { RpcJob } from "../../client/index.ts";
import { unkeptLimits } from "./unkept-limits.ts";

const why = "no cgroup was delegated";

function jobWith(applied: string[], missing: string[]): RpcJob {
  const isolation = {
    level: "best-effort",
    applied,
    missing: missing.map((part) => ({ part, why })),
    cgroup: null,
  };
  return { worker: "w1", isolation } as unknown as RpcJob;
}

test("a limit that was asked for and is missing is told, with the reason", () => {
  expect(unkeptLimits({ memory: "100M", cpu: "1" }, jobWith(["cpu"], ["memory"]))).toEqual([
    "--memory was not set on w1: no cgroup was delegated",
  ]);
});

test("an rlimit that stands in is told as what it is", () => {
  expect(unkeptLimits({ memory: "100M" }, jobWith(["memory: rlimit"], ["memory"]))).toEqual([
    "--memory was set for each process alone, not for the job as a whole, on w1: no cgroup was delegated",
  ]);
});

test("a default that is missing, and a job without a cage of its own, are no news", () => {
  expect(unkeptLimits({}, jobWith([], ["cpu", "memory", "io", "pids"]))).toEqual([]);
  expect(unkeptLimits({ cpu: "1" }, { isolation: null } as RpcJob)).toEqual([]);
});
