import type { Command } from "commander";
import type { Jobs, RpcJob } from "../../../client/index.ts";
import type { RpcListFilter } from "../../../client/jobs/jobs.ts";
import { withJobs } from "../../connection/with-jobs.ts";
import type { CliContext } from "../../context.ts";
import { wholeNumber } from "../../program.ts";
import { wantsJson, writeSlowly } from "../../terminal/print.ts";
import { Table, tableWidth } from "../../terminal/table.ts";
import { safeJson } from "../../terminal/terminal.ts";
import { formatPart } from "./format-count.ts";
import { jobColumns } from "./job-columns.ts";
import { addFilterOptions, addStateOptions, type FilterFlags, jobFilter } from "./job-filter.ts";

type ListFlags = FilterFlags & { limit: number; all?: boolean };

// The first of these pieces decides how wide the columns are.
const pieceRows = 1000;
const pageRowsMin = 50;

export function define(command: Command, context: CliContext): void {
  addStateOptions(command);
  addFilterOptions(command);
  command
    .option("--limit <n>", "print at most N jobs", wholeNumber(1, 1_000_000), 50)
    .option("--all", "print all jobs, without a limit")
    .action((flags: ListFlags) => {
      const filter = jobFilter(flags);
      return withJobs(context, command, (jobs) => list(jobs, { context, command, flags, filter }));
    });
}

type ListCall = { context: CliContext; command: Command; flags: ListFlags; filter: RpcListFilter };

async function list(jobs: Jobs, call: ListCall): Promise<void> {
  const { context, command, flags, filter } = call;
  const signal = context.stops.requested;
  const limit = flags.all ? Number.POSITIVE_INFINITY : flags.limit;
  const table = new Table(jobColumns(context, Date.now()), tableWidth(context.stdout));
  const show = (rows: RpcJob[]): string =>
    wantsJson(command) ? rows.map((job) => `${safeJson(job)}\n`).join("") : table.format(rows);
  // The same for all pages: some states are told apart only among the jobs of a page, and a small one has few of them.
  const pageSize = Math.max(pageRowsMin, Math.min(limit, pieceRows));
  let count = 0;
  let isMore = false;
  let pageToken: string | undefined;
  do {
    const page = await jobs.listPage(filter, { pageSize, pageToken, signal });
    const rows = page.jobs.slice(0, limit - count);
    if (rows.length > 0) await writeSlowly(context, show(rows), signal);
    count += rows.length;
    pageToken = page.nextPageToken;
    isMore = pageToken !== undefined || rows.length < page.jobs.length;
  } while (pageToken !== undefined && count < limit);
  if (count === 0 && context.stdout.isTTY) context.stderr.write("no jobs\n");
  if (isMore) await sayRest(jobs, call, count);
}

/** On stderr, so that a person sees it and a program that reads the list does not. */
async function sayRest(jobs: Jobs, { context, filter }: ListCall, count: number): Promise<void> {
  const { total } = await jobs.listPage(filter, {
    pageSize: 1,
    count: true,
    signal: context.stops.requested,
  });
  if (total !== undefined && !total.isMore && total.count <= count) return;
  context.stderr.write(`${formatPart(count, total)}; --all shows the rest\n`);
}
