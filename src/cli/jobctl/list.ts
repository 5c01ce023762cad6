import { type Command, Option } from "commander";
import type { Job, JobState, Writ } from "../../client/index.ts";
import { jobStates } from "../../core/job.ts";
import { withWrit } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { formatAge } from "../duration.ts";
import { wantsJson, writeSlowly } from "../print.ts";
import { wholeNumber } from "../program.ts";
import { shortId } from "../short-id.ts";
import { type Column, formatTable } from "../table.ts";
import { safeJson } from "../terminal.ts";
import { statusPaint } from "./status-paint.ts";

type ListFlags = { status?: JobState; type?: string; worker?: string; limit: number; all?: boolean };

// A table is aligned as a whole; a longer list comes as several, each with its own titles.
const TABLE_ROWS_MAX = 1000;

export function define(command: Command, context: CliContext): void {
  command
    .addOption(new Option("--status <status>", "only jobs in this state").choices(jobStates))
    .option("--type <type>", "only jobs of this type")
    .option("--worker <id>", "only jobs of this worker")
    .option("--limit <n>", "at most so many", wholeNumber(1, 1_000_000), 50)
    .option("--all", "all of them")
    .action((flags: ListFlags) =>
      withWrit(context, command, (writ) => list(writ, { context, command, flags })),
    );
}

async function list(
  writ: Writ,
  { context, command, flags }: { context: CliContext; command: Command; flags: ListFlags },
): Promise<void> {
  const { status, type, worker: workerId, all = false, limit } = flags;
  const pageSize = all ? TABLE_ROWS_MAX : Math.min(limit, TABLE_ROWS_MAX);
  const signal = context.stops.asked;
  const columns = jobColumns(context);
  let rows: Job[] = [];
  let count = 0;
  for await (const job of writ.list({ status, type, workerId }, { pageSize })) {
    signal.throwIfAborted();
    if (wantsJson(command)) await writeSlowly(context, `${safeJson(job)}\n`, signal);
    else rows.push(job);
    if (rows.length === TABLE_ROWS_MAX) {
      await writeSlowly(context, formatTable(columns, rows), signal);
      rows = [];
    }
    if (++count === limit && !all) break;
  }
  if (rows.length > 0) await writeSlowly(context, formatTable(columns, rows), signal);
  if (count === 0 && context.stdout.isTTY) context.stderr.write("no jobs\n");
}

function jobColumns(context: CliContext): Column<Job>[] {
  const nowMs = Date.now();
  return [
    { title: "ID", cell: (job) => shortId(job.id) },
    { title: "STATUS", cell: (job) => job.status, paint: statusPaint(context) },
    { title: "TYPE", cell: (job) => job.type },
    { title: "AGE", cell: (job) => formatAge(job.created_at, nowMs) },
    { title: "TRIES", cell: (job) => `${job.attempts}/${job.max_attempts}` },
    { title: "WORKER", cell: (job) => job.worker_id },
    { title: "DETAIL", cell: (job) => job.fail_reason ?? job.progress_detail ?? percent(job) },
  ];
}

function percent({ progress, status }: Job): string | null {
  return progress === null || status !== "running" ? null : `${Math.round(progress)} %`;
}
