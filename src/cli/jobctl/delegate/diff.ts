import type { Command } from "commander";
import type { Writ } from "../../../client/index.ts";
import { isEnded } from "../../../core/jobs/job.ts";
import { showAll } from "../../../core/text/neutralise.ts";
import { withWrit } from "../../connection/connection.ts";
import type { CliContext } from "../../context.ts";
import { wantsJson, writeSlowly } from "../../terminal/print.ts";
import { jobIdHelp, resolveJobId } from "../../terminal/short-id.ts";
import { paintFor, safeJson, showName } from "../../terminal/terminal.ts";
import { refuseOtherKinds } from "./delegate-result.ts";
import { diffStat, type FileStat } from "./diff-stat.ts";
import { fetchDiff } from "./fetch-diff.ts";

type DiffFlags = { stat?: boolean; raw?: boolean };

export function define(command: Command, context: CliContext): void {
  command
    .argument("<id>", jobIdHelp)
    .option("--stat", "only the changed files, each with how many lines were added and removed")
    .option("--raw", "do not filter what is printed to a terminal")
    .addHelpText(
      "after",
      "\nTo a pipe or a file it writes the diff as it is, so that `git apply` can read it.",
    )
    .action((id: string, flags: DiffFlags) =>
      withWrit(context, command, (writ) => showDiff(writ, { context, command, id, flags })),
    );
}

type DiffInput = { context: CliContext; command: Command; id: string; flags: DiffFlags };

async function showDiff(writ: Writ, { context, command, id, flags }: DiffInput): Promise<void> {
  const { stdout, stderr, stops, program } = context;
  const jobId = await resolveJobId(writ, id);
  const job = await writ.get(jobId);
  refuseOtherKinds(job);
  const diff = await fetchDiff(writ, jobId, stops.requested);
  if (diff === undefined) {
    const says = isEnded(job.status)
      ? "the job has left no changes"
      : "the job has not ended yet; it has no diff so far";
    return void stderr.write(`${program}: ${says}\n`);
  }
  const text = diff.bytes.toString("utf8");
  if (wantsJson(command) || flags.stat) {
    const files = diffStat(text);
    const json = {
      job_id: jobId,
      sha256: diff.sha256,
      files: files.map(asJson),
      ...(flags.stat ? {} : { diff: text }),
    };
    stdout.write(wantsJson(command) ? `${safeJson(json)}\n` : statText(context, files));
    return;
  }
  const isFiltered = stdout.isTTY === true && !flags.raw;
  await writeSlowly(context, isFiltered ? coloured(context, showAll(text)) : diff.bytes, stops.requested);
}

function asJson({ path, added, removed, isBinary }: FileStat) {
  return { path, added, removed, binary: isBinary };
}

/** One line for each file, and a last one that counts them. */
export function statText(context: CliContext, files: readonly FileStat[]): string {
  const paint = paintFor(context.stdout, context.env);
  const width = Math.min(60, Math.max(...files.map(({ path }) => showName(path).length)));
  const lines = files.map(({ path, added, removed, isBinary }) => {
    const counts = isBinary ? "binary" : `${paint.green(`+${added}`)} ${paint.red(`-${removed}`)}`;
    return `  ${showName(path).padEnd(width)}  ${counts}\n`;
  });
  const sum = (count: (file: FileStat) => number): number =>
    files.reduce((all, file) => all + count(file), 0);
  const counted = files.length === 1 ? "1 file changed" : `${files.length} files changed`;
  const total = `${counted}, +${sum(({ added }) => added)} -${sum(({ removed }) => removed)}`;
  return `${lines.join("")}${total}\n`;
}

function coloured(context: CliContext, text: string): string {
  const paint = paintFor(context.stdout, context.env);
  const lines = text.split("\n").map((line) => {
    if (/^(?:diff --git|index|---|\+\+\+|new file|deleted file|old mode|new mode)/.test(line))
      return paint.bold(line);
    if (line.startsWith("@@")) return paint.dim(line);
    if (line.startsWith("+")) return paint.green(line);
    return line.startsWith("-") ? paint.red(line) : line;
  });
  return lines.join("\n");
}
