import { expect, test } from "vitest";
import type { RpcJob } from "../../../client/index.ts";
import { resolveLimits } from "../../../core/limits.ts";
import { decideIsolation } from "../../../sandbox/host/decide-isolation.ts";
import { hostFacts } from "../../../sandbox/host/host-facts.testing.ts";
import type { Asked } from "../../../sandbox/sandbox.ts";
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

test("a limit that was asked for and is missing is reported with the reason", () => {
  expect(unkeptLimits({ memory: "100M", cpu: "1" }, jobWith(["cpu"], ["memory"]))).toEqual([
    "--memory 100M was not kept on w1: no cgroup was delegated; no limit holds instead",
  ]);
});

test("an rlimit of an earlier worker, which sends no details, is reported too", () => {
  expect(unkeptLimits({ memory: "100M" }, jobWith(["memory: rlimit"], ["memory"]))).toEqual([
    "--memory 100M was not kept on w1: no cgroup was delegated; instead it was set for each process alone, and wider",
  ]);
});

test("O-26: what replaces a limit is reported with its number", () => {
  const asked: Asked = {
    limits: resolveLimits({ cpu: "500m", memory: "100M", io: "low", pids: 20 }),
    asked: ["cpuMillis", "memoryBytes", "ioBytesPerSec", "pidsMax"],
    timeoutSec: 60,
  };
  const host = hostFacts(["cgroup", "cpu", "memory", "io", "pids"], { isRoot: false, countsProcesses: true });
  const { isolation } = decideIsolation("best-effort", host, asked);
  const job = { worker: "w1", isolation } as unknown as RpcJob;
  expect(unkeptLimits({ cpu: "500m", memory: "100M", io: "low", pids: 20 }, job)).toEqual([
    "--cpu 500m was not kept on w1: no cpu; instead each process may use 30 s of CPU time, at any speed",
    "--memory 100M was not kept on w1: no memory; instead each process may use 1.1 GiB (the limit + 1.0 GiB), and the job as a whole has no limit",
    "--io low was not kept on w1: no io; no limit holds instead",
    "--pids 20 was not kept on w1: no pids; instead the kernel allows 20 processes and threads",
  ]);
});

test("a missing default, and a job without a cage of its own, are not reported", () => {
  expect(unkeptLimits({}, jobWith([], ["cpu", "memory", "io", "pids"]))).toEqual([]);
  expect(unkeptLimits({ cpu: "1" }, { isolation: null } as RpcJob)).toEqual([]);
});
