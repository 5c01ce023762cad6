import type { Command } from "commander";
import { Pace } from "../../../client/hub/pace.ts";
import type { Jobs, RpcJob } from "../../../client/index.ts";
import type { RpcListPage } from "../../../client/jobs/jobs.ts";
import { WritError } from "../../../core/errors.ts";
import { systemClock } from "../../../runtime/clock/clock.ts";
import { withJobs } from "../../connection/with-jobs.ts";
import type { CliContext } from "../../context.ts";
import { wholeNumber } from "../../program.ts";
import { wantsJson, writeSlowly } from "../../terminal/print.ts";
import { shortId } from "../../terminal/short-id.ts";
import { formatTable, tableWidth } from "../../terminal/table.ts";
import { neutraliseLine, safeJson } from "../../terminal/terminal.ts";
import { formatCount, formatPart } from "./format-count.ts";
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
  let seen = await readPage(jobs, limit, stops.requested);
  let counts = await countStates(jobs, seen, stops.requested);
  const screen = new Screen(context);
  const signal = AbortSignal.any([stops.requested, screen.left]);
  const draw = (trouble?: string): void =>
    screen.draw(frame(context, seen.jobs, trouble ?? headOf(counts, seen)));
  screen.open(() => draw());
  try {
    draw();
    const look = async (): Promise<void> => {
      seen = await readPage(jobs, limit, signal);
      counts = await countStates(jobs, seen, signal);
    };
    for await (const { trouble } of looks(look, signal)) draw(trouble);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    screen.close();
  }
}

function frame(context: CliContext, jobs: RpcJob[], head: string): string[] {
  const table = formatTable(jobColumns(context, Date.now()), jobs, tableWidth(context.stdout));
  return [head, "", ...table.trimEnd().split("\n")];
}

type StateCounts = Record<"running" | "queued" | "scheduled", Count>;
type Count = { count: number; isMore: boolean };

function headOf({ running, queued, scheduled }: StateCounts, { jobs }: RpcListPage): string {
  const text = ({ count, isMore }: Count): string => formatCount(count, isMore);
  const later = scheduled.count === 0 ? "" : `${text(scheduled)} scheduled, `;
  return `${text(running)} running, ${text(queued)} queued, ${later}${formatPart(jobs.length, undefined)}; q quits`;
}

/** How many of all jobs are in each state. Counted on the page if that has all jobs, and otherwise by the hub. */
async function countStates(jobs: Jobs, page: RpcListPage, signal: AbortSignal): Promise<StateCounts> {
  const nowMs = Date.now();
  const count = async (shown: string, status: string): Promise<Count> => {
    const rows = page.jobs.filter((job) => shownState(job, nowMs) === shown).length;
    if (page.nextPageToken === undefined) return { count: rows, isMore: false };
    const { total } = await jobs.listPage({ status }, { pageSize: 1, count: true, signal });
    return total ?? { count: rows, isMore: true };
  };
  return {
    running: await count("RUNNING", "running"),
    queued: await count("QUEUED", "waiting,assigned"),
    scheduled: await count("SCHEDULED", "scheduled"),
  };
}

/** One line, or one JSON object, for each job that is new or has changed. */
async function showChanges(jobs: Jobs, { context, command, limit }: WatchInput): Promise<void> {
  const signal = context.stops.requested;
  let known = new Map<string, string>();
  let wasInTrouble = false;
  try {
    const look = async (): Promise<RpcJob[]> => (await readPage(jobs, limit, signal)).jobs;
    for await (const { found: seen, trouble } of looks(look, signal)) {
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

function readPage(jobs: Jobs, limit: number, signal: AbortSignal): Promise<RpcListPage> {
  return jobs.listPage({}, { pageSize: limit, signal });
}

type Poll<T> = { found?: T; trouble?: string };

/** Looks again and again. A hub that does not answer is retried with a back-off. */
async function* looks<T>(look: () => Promise<T>, signal: AbortSignal): AsyncGenerator<Poll<T>> {
  const pace = new Pace({ clock: systemClock, random: Math.random });
  for (;;) {
    try {
      const found = await look();
      pace.answered();
      pace.progressed();
      yield { found };
      await systemClock.sleep(lookMs, signal);
    } catch (error) {
      if (error instanceof WritError) yield { trouble: error.message };
      await pace.pauseAfter(error, signal);
    }
  }
}
