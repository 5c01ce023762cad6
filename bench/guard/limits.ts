import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

type CountedName = "sql statements" | "syncs" | "messages between threads" | "bytes on the wire";
export type FigureName = CountedName | "bytes allocated";
export type Figures = Record<CountedName, number> & { "bytes allocated"?: number };
export type Limits = Record<string, Figures>;

const path = join(import.meta.dirname, "../guard.json");

/**
 * How far a figure may lie above the committed one. Bytes vary by a few digits. A drain makes larger or smaller batches,
 * as fast as the machine happens to be, so what a batch costs varies for each job. A worker that runs processes says how
 * it isolates them, which differs between machines. The SDK sends the jobs of one turn as two batches at once, which the
 * store takes in one transaction or in two. How much a function allocates depends on when the engine has optimised it, which a
 * busy machine does later. Why: ADR 0150.
 */
const tolerances: Record<string, Partial<Figures>> = {
  "": { "bytes on the wire": 0.02, "bytes allocated": 0.2 },
  "drain by SDK worker": {
    "sql statements": 0.1,
    syncs: 0.5,
    "messages between threads": 1,
    "bytes on the wire": 0.1,
  },
  "SDK enqueue": {
    "sql statements": 0.25,
    syncs: 1,
    "messages between threads": 0.5,
    "bytes on the wire": 0.02,
  },
  "exec job with output": { "bytes on the wire": 0.15 },
};

export function readLimits(): Limits {
  return JSON.parse(readFileSync(path, "utf8"));
}

export function writeLimits(limits: Limits): void {
  writeFileSync(path, `${JSON.stringify(limits, null, 2)}\n`);
}

/** Undefined if the figure is not above the committed one; else what to say about it. */
export function riseOf(
  workload: string,
  name: FigureName,
  found: number,
  limits: Limits,
): string | undefined {
  const committed = limits[workload]?.[name];
  if (committed === undefined) return `${workload}: ${name}: there is no committed value, ${found} was found`;
  const tolerance = tolerances[workload]?.[name] ?? tolerances[""]![name] ?? 0;
  if (found <= committed * (1 + tolerance)) return undefined;
  const allowed = tolerance === 0 ? "" : ` (${tolerance * 100} % more is allowed)`;
  return `${workload}: ${name} per job rose from ${committed} to ${found}${allowed}`;
}
