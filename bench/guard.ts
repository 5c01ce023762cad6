import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startBenchHub } from "./_hub.ts";
import type { Counts } from "./guard/count.ts";
import {
  type FigureName,
  type Figures,
  type Limits,
  readLimits,
  riseOf,
  writeLimits,
} from "./guard/limits.ts";
import { difference, readSettled, statementCount } from "./guard/read-counts.ts";
import { countSyscalls } from "./guard/syscalls.ts";
import { openWorkloads, type Workload } from "./guard/workloads.ts";

/**
 * What a job costs in figures that are the same on every machine: SQL statements, syncs, messages between threads, and
 * bytes on the wire, and the memory that the hub allocates for a drained job. It fails if one of them has risen
 * above what bench/guard.json says. System calls are shown beside them and not checked. Why: ADR 0058, ADR 0150.
 * Usage: npm run bench -- guard [--update] [--statements]
 */
const actsMin = 15;
const actsMax = 200;
const actsOfUpdate = 60;
const update = process.argv.includes("--update");
const showStatements = process.argv.includes("--statements");
const names: FigureName[] = ["sql statements", "syncs", "messages between threads", "bytes on the wire"];
const idleLooks = 10;

type Found = { figures: Figures; least: Counts };

const dir = mkdtempSync(join(tmpdir(), "writ-bench-counts-"));
const rises: string[] = [];
const limits: Limits = update ? {} : readLimits();
const ends: (() => Promise<void>)[] = [];
try {
  const hub = await startCountedHub();
  ends.push(hub.stop);
  const { workloads, close } = await openWorkloads(hub);
  ends.push(close);
  for (const workload of workloads) {
    const found = await measure(workload);
    tell(workload, found, await countSyscalls(hub.pid, workload));
    if (update) limits[workload.name] = found.figures;
    else rises.push(...risesOf(workload, found.figures));
  }
} finally {
  for (const end of ends.reverse()) await end();
  rmSync(dir, { recursive: true, force: true });
}
if (update) writeLimits(limits);
for (const rise of rises) console.error(`guard: ${rise}`);
if (rises.length > 0) {
  console.error("guard: `npm run bench -- guard --statements` shows the statements of each job.");
  console.error(
    "guard: If it has to be so, `npm run bench -- guard --update` writes the new values; say why in the commit.",
  );
  process.exitCode = 1;
}

/** Processes run by the hub's own worker, so that its share is counted too. */
function startCountedHub() {
  const sockets = join(dir, "sockets");
  const home = join(dir, "home");
  mkdirSync(sockets);
  mkdirSync(join(home, "worker"), { recursive: true, mode: 0o700 });
  writeFileSync(join(home, "worker/agents.yaml"), "execution:\n  slots: 2\n", { mode: 0o600 });
  const count = new URL("guard/count.ts", import.meta.url);
  const env = { NODE_OPTIONS: `--import=${count}`, WRIT_BENCH_COUNTS: sockets };
  return startBenchHub(env, home, "up");
}

/**
 * The least that any act costs, for each figure: what the hub does meanwhile for itself, and the longer way that a job
 * takes on a slow machine, only ever add to it. So one quick act is enough, and the rest need not be made.
 */
async function measure(workload: Workload): Promise<Found> {
  let found: Found | undefined;
  const idleBytes = workload.isSteady ? await allocatedByALook() : 0;
  let before = await readSettled(join(dir, "sockets"));
  for (let act = 0; act < actsMax; act++) {
    await workload.act();
    const after = await readSettled(join(dir, "sockets"));
    const counts = difference(after, before);
    counts.allocatedBytes = Math.max(0, counts.allocatedBytes - idleBytes);
    found = lesser(found, figuresOf(counts, workload));
    before = after;
    const isEnough = update ? act >= actsOfUpdate : risesOf(workload, found.figures).length === 0;
    if (act >= actsMin && isEnough) break;
  }
  return found!;
}

/** What the hub allocates to tell its counts, and for itself meanwhile. */
async function allocatedByALook(): Promise<number> {
  const differences: number[] = [];
  let before = await readSettled(join(dir, "sockets"));
  for (let look = 0; look < idleLooks; look++) {
    const after = await readSettled(join(dir, "sockets"));
    differences.push(after.allocatedBytes - before.allocatedBytes);
    before = after;
  }
  return Math.min(...differences);
}

function figuresOf(counts: Counts, { jobs, isSteady }: Workload): Found {
  const perJob = (count: number) => Number((count / jobs).toFixed(3));
  const commits = Object.entries(counts.statements).filter(([text]) => /^\s*COMMIT/i.test(text));
  const syncs = commits.reduce((total, [, count]) => total + count, counts.fileSyncs);
  return {
    figures: {
      "sql statements": perJob(statementCount(counts)),
      syncs: perJob(syncs),
      "messages between threads": perJob(counts.messages),
      "bytes on the wire": perJob(counts.bytes),
      ...(isSteady ? { "bytes allocated": Math.round(counts.allocatedBytes / jobs) } : {}),
    },
    least: counts,
  };
}

function lesser(old: Found | undefined, found: Found): Found {
  if (old === undefined) return found;
  const isLess = found.figures["sql statements"] < old.figures["sql statements"];
  const entries = namesIn(found.figures).map((name) => [
    name,
    Math.min(old.figures[name]!, found.figures[name]!),
  ]);
  return {
    figures: Object.fromEntries(entries) as Figures,
    least: isLess ? found.least : old.least,
  };
}

/** What is counted for a workload; memory only where it is much the same each time. */
function namesIn(figures: Figures): FigureName[] {
  return figures["bytes allocated"] === undefined ? names : [...names, "bytes allocated"];
}

function risesOf({ name: workload }: Workload, figures: Figures): string[] {
  return namesIn(figures)
    .map((name) => riseOf(workload, name, figures[name]!, limits))
    .filter((rise) => rise !== undefined);
}

function tell({ name, jobs }: Workload, { figures, least }: Found, syscalls: string): void {
  const committed = limits[name];
  const shown = namesIn(figures).map((figure) => {
    const fell = committed?.[figure] !== undefined && figures[figure]! < committed[figure] * 0.98;
    return `${figures[figure]} ${figure}${fell ? ` (${committed[figure]} committed)` : ""}`;
  });
  console.log(`${name}, per job: ${shown.join(", ")}; ${syscalls}`);
  if (!showStatements) return;
  const sorted = Object.entries(least.statements).sort(([, left], [, right]) => right - left);
  for (const [text, count] of sorted) console.log(`  ${count / jobs} × ${text.replace(/\s+/g, " ").trim()}`);
}
