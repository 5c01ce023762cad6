import { type Limits, type LimitsText, resolveLimits } from "../core/limits.ts";

/** What the job asks for, else the worker's default, and never more than the worker's ceiling. */
export function effectiveLimits(
  asked: LimitsText,
  worker: { limits: LimitsText; maxLimits: LimitsText },
): Limits {
  const wanted = resolveLimits({ ...worker.limits, ...asked });
  const ceiling = resolveLimits(worker.maxLimits);
  return {
    cpuMillis: smaller(wanted.cpuMillis, ceiling.cpuMillis),
    memoryBytes: smaller(wanted.memoryBytes, ceiling.memoryBytes),
    ioBytesPerSec: smaller(wanted.ioBytesPerSec, ceiling.ioBytesPerSec),
    // A ceiling that says nothing about processes is none, although a job that says nothing gets the default.
    pidsMax: worker.maxLimits.pids === undefined ? wanted.pidsMax : smaller(wanted.pidsMax, ceiling.pidsMax),
    network: ceiling.network === "none" ? "none" : wanted.network,
  };
}

/** Null is "no limit". */
function smaller(left: number | null, right: number | null): number | null {
  if (left === null || right === null) return left ?? right;
  return Math.min(left, right);
}
