import type { RpcJob } from "../../client/index.ts";
import type { LimitFlags } from "./process-options.ts";

const limits = ["cpu", "memory", "io", "pids"] as const;

/** A sentence for each limit that somebody asked for and that the worker could not set as asked. */
export function unkeptLimits(asked: LimitFlags, { isolation, worker }: RpcJob): string[] {
  if (isolation === null) return [];
  const { applied, missing } = isolation;
  return limits.flatMap((limit) => {
    const why = missing.find(({ part }) => part === limit)?.why;
    if (asked[limit] === undefined || why === undefined) return [];
    return applied.includes(`${limit}: rlimit`)
      ? [`--${limit} was set for each process alone, not for the job as a whole, on ${worker}: ${why}`]
      : [`--${limit} was not set on ${worker}: ${why}`];
  });
}
