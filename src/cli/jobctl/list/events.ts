import type { Command } from "commander";
import type { JobEvent, TimelineEvent, Writ } from "../../../client/index.ts";
import { isEnded, type JobState } from "../../../core/jobs/job.ts";
import { withWrit } from "../../connection/connection.ts";
import type { CliContext } from "../../context.ts";
import { wantsJson, writeSlowly } from "../../terminal/print.ts";
import { jobIdHelp, resolveJobId, shortId } from "../../terminal/short-id.ts";
import { neutraliseLine, safeJson } from "../../terminal/terminal.ts";
import type { ToldCall } from "../delegate/call-text.ts";

export function define(command: Command, context: CliContext): void {
  command
    .argument("[id]", `${jobIdHelp}; without it, follow the events of all jobs from now on`)
    .option("--follow", "then follow new events until the job has ended")
    .action((id: string | undefined, { follow = false }: { follow?: boolean }) =>
      withWrit(context, command, async (writ) => {
        const input = { context, command };
        if (id === undefined) return followAll(writ, input);
        await showOne(writ, { ...input, follow, jobId: await resolveJobId(writ, id) });
      }),
    );
}

type Input = { context: CliContext; command: Command };

async function followAll(writ: Writ, input: Input): Promise<void> {
  for await (const event of writ.events({ signal: input.context.stops.requested }))
    await printLive(input, event);
}

async function showOne(writ: Writ, input: Input & { jobId: string; follow: boolean }): Promise<void> {
  const { context, jobId, follow } = input;
  const signal = context.stops.requested;
  let lastSeq: number | undefined;
  let status: unknown;
  for await (const event of writ.timeline(jobId)) {
    await printPast(input, event);
    lastSeq = event.seq;
    status = event.details["status"] ?? status;
  }
  if (!follow || isEnded(status as JobState)) return;
  // All events share one sequence, so the live events continue exactly where the timeline stopped.
  const lastEventId = lastSeq === undefined ? undefined : String(lastSeq);
  for await (const event of writ.events({ jobId, lastEventId, signal })) {
    await printLive(input, event);
    if (event.event !== "reset" && isEnded(event.status)) return;
  }
}

async function printPast({ context, command }: Input, event: TimelineEvent): Promise<void> {
  const name = event.event.toLowerCase().replace(/^job_/, "").replaceAll("_", " ");
  const { worker_id, attempt, progress, reason, detail } = event.details;
  const told = [
    worker_id && `on ${worker_id}`,
    attempt && `attempt ${attempt}`,
    percentText(progress),
    reason ?? detail,
    event.event === "JOB_AGENT" && callWords(event.details),
  ];
  await printLine(context, wantsJson(command) ? safeJson(event) : row(event.ts, name, told));
}

async function printLive({ context, command }: Input, event: JobEvent): Promise<void> {
  const isReset = event.event === "reset";
  if (wantsJson(command))
    return printLine(context, safeJson(isReset ? event : { ...event, job_id: event.id }));
  if (isReset) return printLine(context, "(events may be missing here)");
  const { worker_id, attempt, progress, detail, fail_code } = event;
  const told = [
    shortId(event.id),
    event.type,
    worker_id && `on ${worker_id}`,
    attempt > 0 && `attempt ${attempt}`,
  ];
  const call = event.event === "job:agent" && callWords(event);
  await printLine(
    context,
    row(event.ts, event.event.replace(/^job:/, ""), [
      ...told,
      percentText(progress),
      detail,
      fail_code,
      call,
    ]),
  );
}

function callWords({ tool, title, call_status: status }: ToldCall): string {
  return [tool, title, status === "completed" ? "" : `(${status})`].filter(Boolean).join(" ");
}

function percentText(progress: unknown): string | undefined {
  return typeof progress === "number" ? `${Math.round(progress)} %` : undefined;
}

function row(ts: number, name: string, told: unknown[]): string {
  const words = told.filter(
    (word) => word !== undefined && word !== null && word !== "" && word !== false && word !== 0,
  );
  return neutraliseLine(`${new Date(ts).toISOString()}  ${name.padEnd(16)}  ${words.join("  ")}`).trimEnd();
}

async function printLine(context: CliContext, line: string): Promise<void> {
  await writeSlowly(context, `${line}\n`, context.stops.requested);
}
