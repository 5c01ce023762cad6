import { statfs } from "node:fs/promises";
import { cpus, freemem, loadavg, totalmem } from "node:os";
import type { Clock } from "../../runtime/clock/clock.ts";
import { type RepeatedService, repeat } from "../../runtime/service.ts";
import type { HubCalls, WorkerMetrics } from "./hub-calls.ts";

type PushMetricsDeps = {
  calls: Pick<HubCalls, "pushMetrics">;
  clock: Clock;
  intervalMs: number;
  workDir: string;
  slots(): { used: number; size: number };
  /** Signatures checked since the start. */
  verifications(): number;
};

/** Reports the load of the machine from time to time. A failed report is dropped, because the next one is newer. */
export function pushMetrics(deps: PushMetricsDeps): RepeatedService {
  const { clock, intervalMs } = deps;
  let before = cpuTimes();
  return repeat({ name: "push-metrics", intervalMs, clock, onError: () => {} }, async (signal) => {
    const now = cpuTimes();
    const cpuPercent = busyPercent(before, now);
    before = now;
    await deps.calls.pushMetrics(await measure(deps, cpuPercent), signal);
  });
}

async function measure(deps: PushMetricsDeps, cpuPercent: number): Promise<WorkerMetrics> {
  const disk = await statfs(deps.workDir);
  const { used, size } = deps.slots();
  return {
    ts: deps.clock.nowMs(),
    cpu_percent: rounded(cpuPercent),
    load1: rounded(loadavg()[0] ?? 0),
    mem_used_bytes: totalmem() - freemem(),
    mem_total_bytes: totalmem(),
    disk_free_bytes: disk.bavail * disk.bsize,
    slots_used: used,
    slots: size,
    signatures_verified: deps.verifications(),
  };
}

type CpuTimes = { busyMs: number; totalMs: number };

function cpuTimes(): CpuTimes {
  const sum = { busyMs: 0, totalMs: 0 };
  for (const { times } of cpus()) {
    const total = times.user + times.nice + times.sys + times.idle + times.irq;
    sum.totalMs += total;
    sum.busyMs += total - times.idle;
  }
  return sum;
}

function busyPercent(before: CpuTimes, now: CpuTimes): number {
  const totalMs = now.totalMs - before.totalMs;
  return totalMs <= 0 ? 0 : Math.max(0, Math.min(100, (100 * (now.busyMs - before.busyMs)) / totalMs));
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
