import type { Command } from "commander";
import type { BulkOutcome, ListFilter } from "../../../client/index.ts";
import { WritError } from "../../../core/errors.ts";
import type { JobState } from "../../../core/jobs/job.ts";
import type { CliContext } from "../../context.ts";
import { confirm, yesOption } from "../../terminal/confirm.ts";
import { print } from "../../terminal/print.ts";
import { neutraliseLine } from "../../terminal/terminal.ts";
import { formatCount } from "./format-count.ts";
import { addFilterOptions, type FilterFlags } from "./job-filter.ts";

export type ManyFlags = FilterFlags & { all?: boolean; yes?: boolean };

type ManyCall = {
  context: CliContext;
  command: Command;
  act: "cancel" | "retry";
  flags: ManyFlags;
  /** The states of jobs that are meant. */
  status: JobState[];
  /** How a person would put it: "Stop", "were told to stop". */
  verb: string;
  outcome: string;
};

/** The options of `stop` and `retry` for many jobs at once. */
export function addManyOptions(command: Command, what: string): void {
  command.option("--all", what).option(...yesOption);
  addFilterOptions(command);
}

const filterNames = [
  "type",
  "label",
  "schedule",
  "worker",
  "user",
  "since",
  "until",
  "search",
  "state",
  "dead",
] as const;

/** Checks that either one job is named or --all is given; returns whether all are meant. */
export function meansMany(id: string | undefined, flags: ManyFlags): boolean {
  const given = filterNames.filter((name) => flags[name] !== undefined).map((name) => `--${name}`);
  if (id !== undefined && flags.all)
    throw new WritError("INVALID_ARGUMENT", "give the id of one job, or --all, not both");
  if (id === undefined && !flags.all)
    throw new WritError(
      "INVALID_ARGUMENT",
      "give the id of a job, or --all for all jobs that the other options choose",
    );
  if (!flags.all && given.length > 0)
    throw new WritError("INVALID_ARGUMENT", `${given.join(", ")}: only with --all`);
  return flags.all === true;
}

/** Counts the jobs, asks, and then changes them all. */
export async function changeMany(call: ManyCall): Promise<void> {
  const { context, command, act, flags, verb } = call;
  // Only here: loading the HTTP client takes longer than the rest of a command about one job.
  const { withWrit } = await import("../../connection/connection.ts");
  return withWrit(context, command, async (writ) => {
    const filter = filterOf(call);
    const { matched, more } = await writ.changeJobs(act, { filter, dryRun: true });
    const many = `${formatCount(matched, more)} ${matched === 1 && !more ? "job" : "jobs"}`;
    if (matched === 0) return print(context, command, nothing, () => "no jobs match\n");
    if (!(await confirm(context, { question: `${verb} ${many}?`, yes: flags.yes }))) return;
    report(call, await writ.changeJobs(act, { filter }));
  });
}

const nothing: BulkOutcome = { matched: 0, done: 0, left: [], more: false };

function filterOf({ flags, status }: ManyCall): ListFilter {
  const { type, label, schedule, worker: workerId, user: userId, since, until, search } = flags;
  const filter = { status, type, label, schedule, workerId, userId, since, until, search };
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
}

function report({ context, command, outcome: what }: ManyCall, outcome: BulkOutcome): void {
  const { matched, done, left, more } = outcome;
  print(context, command, outcome, () => `${formatCount(done)} of ${formatCount(matched)} jobs ${what}\n`);
  for (const { id, why } of left) context.stderr.write(`${id}: ${neutraliseLine(why)}\n`);
  if (more) context.stderr.write("there are more jobs than one call changes; run the same command again\n");
  if (left.length > 0) context.exitCode = 1;
}
