import type { RpcJob } from "../../../client/index.ts";
import type { LimitFlags } from "./process-options.ts";

const limits = ["cpu", "memory", "io", "pids"] as const;

/** A sentence for each limit that somebody asked for and that the worker could not set as asked. */
export function unkeptLimits(asked: LimitFlags, { isolation, worker }: RpcJob): string[] {
  if (isolation === null) return [];
  const { applied, missing } = isolation;
  return limits.flatMap((limit) => {
    const why = missing.find(({ part }) => part === limit)?.why;
    if (asked[limit] === undefined || why === undefined) return [];
    const asWell = `--${limit} ${asked[limit]} was not kept on ${worker}: ${why}`;
    // A worker says what it has set instead; one of an earlier version only that it has.
    if (why.includes("; instead ")) return [asWell];
    return applied.includes(`${limit}: rlimit`)
      ? [`${asWell}; instead it was set for each process alone, and wider`]
      : [`${asWell}; no limit holds instead`];
  });
}
