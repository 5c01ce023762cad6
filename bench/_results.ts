import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { join } from "node:path";
import type { FigureResult } from "./_contest.ts";
import { round } from "./_figures.ts";
import type { BenchOptions } from "./_options.ts";

export const resultsFolder = join(import.meta.dirname, "results");

export type SavedResults = {
  bench: string;
  command: string;
  measured_at: string;
  commit: string;
  machine: { cpu: string; cores: number; memory_gb: number; kernel: string };
  versions: Record<string, string>;
  figures: FigureResult[];
};

/** Shows the results, as a table for people or as JSON lines, and keeps them if that was asked for. */
export function conclude(program: string, figures: readonly FigureResult[], options: BenchOptions): void {
  const bench = options.store === "sqlite" ? program : `${program}-${options.store}`;
  const rounded = figures.map(roundAll);
  if (options.json) for (const line of rounded.flatMap((figure) => linesOf(bench, figure))) console.log(line);
  else console.log(rounded.map(tableOf).join("\n\n"));
  if (options.save) save(bench, program, rounded);
}

function save(bench: string, program: string, figures: FigureResult[]): void {
  const saved: SavedResults = {
    bench,
    command: `npm run bench -- ${[program, ...process.argv.slice(2)].join(" ")}`,
    measured_at: new Date().toISOString(),
    commit: firstLine("git", ["rev-parse", "--short", "HEAD"]),
    machine: {
      cpu: cpus()[0]?.model ?? "unknown",
      cores: cpus().length,
      memory_gb: Math.round(totalmem() / 2 ** 30),
      kernel: release(),
    },
    versions: versions(),
    figures,
  };
  mkdirSync(resultsFolder, { recursive: true });
  const path = join(resultsFolder, `${bench}.json`);
  writeFileSync(path, `${JSON.stringify(saved, null, 2)}\n`);
  console.error(`bench: kept in ${path}`);
}

function linesOf(bench: string, { figure, unit, rounds, entries, ratios }: FigureResult): string[] {
  const ours = entries[0]?.rival;
  return [
    ...entries.map((entry) => JSON.stringify({ bench, figure, unit, rounds, ...entry })),
    ...ratios.map(({ to, ...more }) =>
      JSON.stringify({ bench, figure, ratio: `${ours} / ${to}`, rounds, ...more }),
    ),
  ];
}

/** One figure: a line for each rival, and one for each ratio. */
function tableOf({ figure, unit, entries, ratios }: FigureResult): string {
  const hasCpu = entries.some(({ cpu_us: cpu }) => cpu !== undefined);
  const head = [figure, unit, "spread", hasCpu ? "CPU µs a job: client, server" : ""];
  const rows = entries.map(({ rival, value, spread, cpu_us: cpu }) => [
    `  ${rival}`,
    shown(value),
    `${shown(spread[0])} to ${shown(spread[1])}`,
    cpu === undefined ? "" : `${cpu.client}, ${cpu.server}${threadsShown(cpu.threads)}`,
  ]);
  const ratioRows = ratios.map(({ to, value, spread, cpu }) => [
    `  ${entries[0]!.rival} ÷ ${to}`,
    shown(value),
    `${shown(spread[0])} to ${shown(spread[1])}`,
    cpu === undefined ? "" : `${shown(cpu)} of its CPU time`,
  ]);
  const all = [head, ...rows, ...ratioRows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function threadsShown(threads: Record<string, number>): string {
  const named = Object.entries(threads);
  return named.length < 2 ? "" : ` (${named.map(([name, us]) => `${name} ${us}`).join(", ")})`;
}

function shown(value: number): string {
  return value.toLocaleString("en");
}

function roundAll(result: FigureResult): FigureResult {
  const rounded = <T extends { value: number; spread: [number, number] }>(each: T): T => ({
    ...each,
    value: round(each.value),
    spread: each.spread.map(round),
  });
  const ratios = result.ratios.map((ratio) => ({
    ...rounded(ratio),
    ...(ratio.cpu === undefined ? {} : { cpu: round(ratio.cpu) }),
  }));
  return { ...result, entries: result.entries.map(rounded), ratios };
}

function versions(): Record<string, string> {
  const { dependencies } = JSON.parse(
    readFileSync(join(import.meta.dirname, "peers/packages/package.json"), "utf8"),
  );
  const programs = {
    redis: firstLine("redis-server", ["--version"]).match(/v=(\S+)/)?.[1],
    postgresql: firstLine("postgres", ["--version"]).match(/[\d.]+/)?.[0],
    bubblewrap: firstLine("bwrap", ["--version"]).match(/[\d.]+/)?.[0],
  };
  const found = Object.entries(programs).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return {
    node: process.versions.node,
    sqlite: process.versions["sqlite"]!,
    ...dependencies,
    ...Object.fromEntries(found),
  };
}

function firstLine(program: string, args: string[]): string {
  try {
    return execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).split(
      "\n",
    )[0]!;
  } catch {
    // The machine does not have this program: the report leaves the line empty.
    return "";
  }
}
