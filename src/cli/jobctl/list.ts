import { type Command, Option } from "commander";
import type { Jobs, RpcJob } from "../../client/index.ts";
import { type RpcState, rpcStates } from "../../client/rpc-job.ts";
import type { CliContext } from "../context.ts";
import { wantsJson, writeSlowly } from "../print.ts";
import { wholeNumber } from "../program.ts";
import { Table, tableWidth } from "../table.ts";
import { safeJson } from "../terminal.ts";
import { withJobs } from "../with-jobs.ts";
import { jobColumns } from "./job-columns.ts";

type ListFlags = { state?: string; type?: string; worker?: string; limit: number; all?: boolean };

// The first of these pieces decides how wide the columns are.
const pieceRows = 1000;

export function define(command: Command, context: CliContext): void {
  command
    .addOption(new Option("--state <state>", "only jobs in this state").choices(stateChoices))
    .option("--type <type>", "only jobs of this type")
    .option("--worker <id>", "only jobs that this worker ran or is running")
    .option("--limit <n>", "print at most N jobs", wholeNumber(1, 1_000_000), 50)
    .option("--all", "print all jobs, without a limit")
    .action((flags: ListFlags) =>
      withJobs(context, command, (jobs) => list(jobs, { context, command, flags })),
    );
}

const stateChoices = rpcStates.map((state) => state.toLowerCase());

async function list(
  jobs: Jobs,
  { context, command, flags }: { context: CliContext; command: Command; flags: ListFlags },
): Promise<void> {
  const { type, worker, all = false, limit } = flags;
  const state = flags.state?.toUpperCase() as RpcState | undefined;
  const pageSize = all ? pieceRows : Math.min(limit, pieceRows);
  const signal = context.stops.requested;
  const table = new Table(jobColumns(context, Date.now()), tableWidth(context.stdout));
  let rows: RpcJob[] = [];
  let count = 0;
  for await (const job of jobs.list({ state, type, worker }, { pageSize, signal })) {
    if (wantsJson(command)) await writeSlowly(context, `${safeJson(job)}\n`, signal);
    else rows.push(job);
    if (rows.length === pieceRows) {
      await writeSlowly(context, table.format(rows), signal);
      rows = [];
    }
    if (++count === limit && !all) break;
  }
  if (rows.length > 0) await writeSlowly(context, table.format(rows), signal);
  if (count === 0 && context.stdout.isTTY) context.stderr.write("no jobs\n");
}
