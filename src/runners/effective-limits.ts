import {
  type Limits,
  type LimitsText,
  limitNames,
  type Network,
  networks,
  resolveLimits,
} from "../core/limits.ts";
import type { AskedLimits } from "../sandbox/sandbox.ts";

const fields = {
  cpu: "cpuMillis",
  memory: "memoryBytes",
  io: "ioBytesPerSec",
  pids: "pidsMax",
  network: "network",
} as const satisfies Record<keyof LimitsText, keyof Limits>;

/**
 * The limits that the job asks for, else the worker's defaults, and never more than the worker's ceiling. `defaulted`
 * names those that the hub has set because the job asked for nothing.
 */
export function effectiveLimits(
  asked: LimitsText,
  worker: { limits: LimitsText; maxLimits: LimitsText },
  defaulted: readonly string[] = [],
): AskedLimits {
  const wanted = resolveLimits({ ...worker.limits, ...asked });
  const ceiling = resolveLimits(worker.maxLimits);
  const limits: Limits = {
    cpuMillis: smaller(wanted.cpuMillis, ceiling.cpuMillis),
    memoryBytes: smaller(wanted.memoryBytes, ceiling.memoryBytes),
    ioBytesPerSec: smaller(wanted.ioBytesPerSec, ceiling.ioBytesPerSec),
    // A ceiling without a process limit sets none, although a job without one gets the default.
    pidsMax: worker.maxLimits.pids === undefined ? wanted.pidsMax : smaller(wanted.pidsMax, ceiling.pidsMax),
    network: narrower(wanted.network, ceiling.network),
  };
  return { limits, asked: insistedOn(asked, worker.maxLimits, defaulted) };
}

/** A ceiling is as binding as what a job asks for; a default only applies if nothing else is set. */
function insistedOn(
  asked: LimitsText,
  maxLimits: LimitsText,
  defaulted: readonly string[],
): (keyof Limits)[] {
  const isAsked = (name: keyof LimitsText) => asked[name] !== undefined && !defaulted.includes(name);
  return limitNames
    .filter((name) => isAsked(name) || maxLimits[name] !== undefined)
    .map((name) => fields[name]);
}

/** The one of the two that lets less through. */
export function narrower(left: Network, right: Network): Network {
  return networks.indexOf(left) > networks.indexOf(right) ? left : right;
}

/** Null means no limit. */
function smaller(left: number | null, right: number | null): number | null {
  if (left === null || right === null) return left ?? right;
  return Math.min(left, right);
}
