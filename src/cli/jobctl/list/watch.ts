import type { Command } from "commander";
import { Pace } from "../../../client/hub/pace.ts";
import type { Jobs, RpcJob } from "../../../client/index.ts";
import { WritError } from "../../../core/errors.ts";
import { systemClock } from "../../../runtime/clock/clock.ts";
import { withJobs } from "../../connection/with-jobs.ts";
import type { CliContext } from "../../context.ts";
import { wholeNumber } from "../../program.ts";
import { wantsJson, writeSlowly } from "../../terminal/print.ts";
import { shortId } from "../../terminal/short-id.ts";
import { formatTable, tableWidth } from "../../terminal/table.ts";
import { neutraliseLine, safeJson } from "../../terminal/terminal.ts";
import { detailOf, jobColumns } from "./job-columns.ts";
import { Screen } from "./screen.ts";
import { shownState } from "./shown-state.ts";

// Often enough to look live, rarely enough to cost the hub nothing.
const lookMs = 500;

export function define(command: Command, context: CliContext): void {
  command
    .option("--limit <n>", "show the N newest jobs", wholeNumber(1, 1000), 50)
    .addHelpText(
      "after",
      "\nOn a terminal, q or Ctrl-C quits. In a pipe, it prints one line for each change.",
    )
    .action(({ limit }: { limit: number }) =>
      withJobs(context, command, (jobs) => {
        const show = context.stdout.isTTY && !wantsJson(command) ? showTable : showChanges;
        return show(jobs, { context, command, limit });
      }),
    );
}

type WatchInput = { context: CliContext; command: Command; limit: number };

/** A table that fills the terminal and is redrawn when something has changed. */
async function showTable(jobs: Jobs, { context, limit }: WatchInput): Promise<void> {
  const { stops } = context;
  // The first request comes before the screen is switched, so that a refusal is an ordinary line.
  let seen: RpcJob[] = (await jobs.listPage({}, { pageSize: limit, signal: stops.requested })).jobs;
  const screen = new Screen(context);
  const signal = AbortSignal.any([stops.requested, screen.left]);
  const draw = (trouble?: string): void => screen.draw(frame(context, seen, trouble));
  screen.open(() => draw());
  try {
    draw();
    for await (const look of looks(jobs, limit, signal)) {
      if (look.jobs !== undefined) seen = look.jobs;
      draw(look.trouble);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    screen.close();
  }
}

function frame(context: CliContext, jobs: RpcJob[], trouble: string | undefined): string[] {
  const nowMs = Date.now();
  const count = (shown: string): number => jobs.filter((job) => shownState(job, nowMs) === shown).length;
  const scheduled = count("SCHEDULED") === 0 ? "" : `${count("SCHEDULED")} scheduled, `;
  const head =
    trouble ??
    `${count("RUNNING")} running, ${count("QUEUED")} queued, ${scheduled}${jobs.length} shown; q quits`;
  return [
    head,
    "",
    ...formatTable(jobColumns(context, nowMs), jobs, tableWidth(context.stdout)).trimEnd().split("\n"),
  ];
}

/** One line, or one JSON object, for each job that is new or has changed. */
async function showChanges(jobs: Jobs, { context, command, limit }: WatchInput): Promise<void> {
  const signal = context.stops.requested;
  let known = new Map<string, string>();
  let wasInTrouble = false;
  try {
    for await (const { jobs: seen, trouble } of looks(jobs, limit, signal)) {
      if (trouble !== undefined && !wasInTrouble)
        context.stderr.write(`jobctl: ${neutraliseLine(trouble)}\n`);
      wasInTrouble = trouble !== undefined;
      if (seen === undefined) continue;
      const now = new Map(seen.map((job) => [job.job_id, wantsJson(command) ? safeJson(job) : line(job)]));
      // Oldest first, in the order in which they happened.
      for (const [id, text] of [...now].reverse()) {
        if (known.get(id) !== text) await writeSlowly(context, `${text}\n`, signal);
      }
      known = now;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

function line(job: RpcJob): string {
  const nowMs = Date.now();
  const told = [shortId(job.job_id), shownState(job, nowMs).padEnd(7), job.worker, detailOf(job, nowMs)];
  return neutraliseLine(told.filter((word) => word !== null && word !== "").join("  "));
}

type Poll = { jobs?: RpcJob[]; trouble?: string };

/** Polls the list. A hub that does not answer is retried with a back-off. */
async function* looks(jobs: Jobs, limit: number, signal: AbortSignal): AsyncGenerator<Poll> {
  const pace = new Pace({ clock: systemClock, random: Math.random });
  for (;;) {
    try {
      const page = await jobs.listPage({}, { pageSize: limit, signal });
      pace.answered();
      pace.progressed();
      yield { jobs: page.jobs };
      await systemClock.sleep(lookMs, signal);
    } catch (error) {
      if (error instanceof WritError) yield { trouble: error.message };
      await pace.pauseAfter(error, signal);
    }
  }
}
