import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Entry, FigureResult } from "./_contest.ts";
import { resultsFolder, type SavedResults } from "./_results.ts";
import { barChart } from "./report/bar-chart.ts";

/**
 * Writes docs/benchmarks.md and its charts from the results that `--save` kept in bench/results. What stands below the
 * heading of the notes is written by hand and kept.
 * Usage: npm run bench -- report
 */
const docs = join(import.meta.dirname, "../docs");
const page = join(docs, "benchmarks.md");
const images = join(docs, "images/benchmarks");
const notesHeading = "## What stands in the way";
const titles: Record<string, string> = {
  queue: "Enqueue and drain",
  "queue-postgres": "Enqueue and drain on PostgreSQL",
  latency: "Idle pick-up",
  exec: "Process jobs",
  lists: "A long history",
  "hub-memory": "Idle memory",
};

/** What is measured twice, and where: the lists of the summary name it. */
const places: Record<string, string> = { "queue-postgres": " on PostgreSQL" };

const remarks: Record<string, string> = {
  lists:
    "The two sizes were measured minutes apart, because the jobs between them had to be made. So the machine's other work did\nnot fall on both alike, unlike elsewhere on this page; a ratio below 1 says no more than that the page did not get slower.\nThe submissions with and without lists were measured in turns.",
};

const results = Object.keys(titles)
  .filter((bench) => readdirSync(resultsFolder).includes(`${bench}.json`))
  .map((bench) => JSON.parse(readFileSync(join(resultsFolder, `${bench}.json`), "utf8")) as SavedResults);
const [newest] = results.toSorted((left, right) => right.measured_at.localeCompare(left.measured_at));
if (newest === undefined) {
  console.error("bench: there are no results yet: run `npm run bench -- queue --peers --save` first");
  process.exit(1);
}
mkdirSync(images, { recursive: true });
const parts = [introduction(newest), summary(), ...results.map(section), notes()];
writeFileSync(page, `${parts.join("\n\n").trimEnd()}\n`);
console.log(`wrote ${page}`);

function introduction({ machine }: SavedResults): string {
  const versions = Object.entries(Object.assign({}, ...results.map((each) => each.versions)));
  return `# Benchmarks

Writ beside queues that a user would pick instead, measured in turns on one machine. \`npm run bench -- report\` writes this
page from the files in \`bench/results\`; only the last section is written by hand. A figure is the median of its rounds, with
the lowest and the highest beside it. A ratio is taken within each round, so that other work on the machine falls on both
alike: **on a machine that does other work, the ratios and the CPU time of a job say more than the rates.**

The machine: ${machine.cores} cores (${machine.cpu}), ${machine.memory_gb} GB, Linux ${machine.kernel}, shared with other work at the time. Versions:
${versions.map(([name, version]) => `${name} ${version}`).join(", ")}.

What the rivals promise differs. Writ has a job on disk before it answers, signs it, and keeps its history, events and
receipt. \`bullmq\` is BullMQ on Redis with \`appendfsync everysec\`, which may lose a second of accepted jobs in a power failure;
\`bullmq-always\` has \`appendfsync always\`. pg-boss and graphile-worker run on PostgreSQL with fsync; \`graphile-batched\` uses its
local queue and reports ends in batches, and graphile-worker deletes a job that has ended. \`bare\` is an HTTP server that
does nothing but the durable insert.`;
}

/** Where a rival does better than Writ, from the ratios, so that a reader need not look for it. */
function summary(): string {
  const compared = results
    .filter(({ bench }) => ["queue", "queue-postgres", "latency", "exec"].includes(bench))
    .flatMap(({ bench, figures }) =>
      figures.flatMap(({ figure, unit, ratios }) =>
        ratios.map(({ to, value }) => ({
          figure: `${figure}${places[bench] ?? ""}`,
          to,
          value,
          isAhead: unit === "ms" ? value < 1 : value > 1,
        })),
      ),
    );
  if (compared.length === 0)
    return "## Beside the rivals\n\nNot measured for this page yet: `npm run bench -- queue --peers --save`, `-- latency --peers --save` and\n`-- exec --peers --save` keep the results that belong here.";
  const lines = (isAhead: boolean) =>
    compared
      .filter((each) => each.isAhead === isAhead)
      .map(({ figure, to, value }) => `- ${figure}: ${shown(value)} of \`${to}\``)
      .join("\n");
  return `## Where a rival is ahead\n\n${lines(false) || "Nowhere."}\n\n## Where Writ is ahead\n\n${lines(true) || "Nowhere."}`;
}

function section({ bench, command, measured_at: at, commit, figures }: SavedResults): string {
  const head = `## ${titles[bench]}\n\n\`${command}\`, ${at.slice(0, 10)}, commit ${commit}.`;
  const remark = remarks[bench] === undefined ? [] : [remarks[bench]];
  return [head, ...remark, ...figures.map((figure) => figureText(bench, figure))].join("\n\n");
}

function figureText(bench: string, result: FigureResult): string {
  const { figure, unit, entries, ratios } = result;
  const name = `${bench}-${figure.toLowerCase().replace(/[^a-z0-9]+/g, "-")}.svg`;
  const isCharted = bench !== "lists";
  if (isCharted) writeFileSync(join(images, name), barChart(figure, unit, entries));
  const values = entries.map(({ rival, value }) => `${rival} ${shown(value)} ${unit}`).join(", ");
  const chart = isCharted ? `\n\n![${figure}: ${values}](images/benchmarks/${name})` : "";
  const ratioTo = new Map(ratios.map((ratio) => [ratio.to, ratio]));
  const rows = entries.map((entry) => {
    const ratio = ratioTo.get(entry.rival);
    return [
      entry.rival,
      shown(entry.value),
      spreadShown(entry.spread),
      cpuShown(entry),
      ratio === undefined ? "" : `${shown(ratio.value)} (${spreadShown(ratio.spread)})`,
      ratio?.cpu === undefined ? "" : shown(ratio.cpu),
    ];
  });
  const first = entries[0]!.rival;
  const head = [
    "",
    unit,
    "spread",
    "CPU µs a job: client, server",
    `${first} ÷ this one`,
    "the same of CPU time",
  ];
  return `### ${figure[0]!.toUpperCase()}${figure.slice(1)}${chart}\n\n${table(head, rows)}`;
}

/** Without the columns in which every row is empty. */
function table(head: string[], rows: string[][]): string {
  const used = head.map((_, column) => rows.some((row) => row[column] !== ""));
  const kept = [head, ...rows].map((row) => row.filter((_, column) => used[column]));
  const widths = kept[0]!.map((_, column) => Math.max(3, ...kept.map((row) => row[column]!.length)));
  const line = (row: string[]) =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |`;
  const rule = widths.map((width) => "-".repeat(width));
  return [line(kept[0]!), line(rule), ...kept.slice(1).map(line)].join("\n");
}

function cpuShown({ cpu_us: cpu }: Entry): string {
  if (cpu === undefined) return "";
  return cpu.client === 0 ? shown(cpu.server) : `${shown(cpu.client)}, ${shown(cpu.server)}`;
}

function spreadShown([low, high]: [number, number]): string {
  return `${shown(low)} to ${shown(high)}`;
}

function shown(value: number): string {
  return value.toLocaleString("en");
}

function notes(): string {
  const old = existsSync(page) ? readFileSync(page, "utf8") : "";
  const at = old.indexOf(notesHeading);
  return at === -1 ? `${notesHeading}\n\nNothing is written down yet.` : old.slice(at);
}
