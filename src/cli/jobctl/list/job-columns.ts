import type { RpcJob } from "../../../client/index.ts";
import { timeText } from "../../../core/text/time-text.ts";
import type { CliContext } from "../../context.ts";
import { formatAge } from "../../terminal/duration.ts";
import { shortId } from "../../terminal/short-id.ts";
import type { Column } from "../../terminal/table.ts";
import { paintFor } from "../../terminal/terminal.ts";
import { shownState } from "./shown-state.ts";
import { commandLine } from "./status.ts";

const colours = {
  UNKNOWN: "dim",
  QUEUED: "dim",
  RUNNING: "cyan",
  EXITED: "green",
  STOPPED: "yellow",
  FAILED: "red",
} as const satisfies Record<RpcJob["state"], string>;

/** The columns of `list` and `watch`. */
export function jobColumns(context: CliContext, nowMs: number): Column<RpcJob>[] {
  const paint = paintFor(context.stdout, context.env);
  return [
    { title: "ID", cell: (job) => shortId(job.job_id) },
    {
      title: "STATE",
      cell: (job) => shownState(job, nowMs),
      paint: (text, job) => paint[colourOf(job)](text),
    },
    { title: "AGE", cell: (job) => formatAge(job.created_at, nowMs) },
    { title: "TRY", cell: triesOf, isOptional: true },
    { title: "USER", cell: (job) => job.user, minWidth: 6, isOptional: true },
    { title: "WORKER", cell: (job) => job.worker, minWidth: 8, isOptional: true },
    { title: "COMMAND", cell: (job) => commandLine(job.command) || job.type, minWidth: 12 },
    { title: "DETAIL", cell: (job) => detailOf(job, nowMs), minWidth: 10, isOptional: true },
  ];
}

function colourOf({ state, exit_code }: RpcJob): "dim" | "cyan" | "green" | "yellow" | "red" {
  return state === "EXITED" && exit_code !== 0 && exit_code !== null ? "red" : colours[state];
}

/** Which try it is, and of how many; null before the first. */
export function triesOf({ attempts, max_attempts: max }: RpcJob): string | null {
  if (attempts === 0) return null;
  return max > 1 ? `${attempts} of ${max}` : String(attempts);
}

/** When the next attempt is due, and how the last one failed; null unless it waits for one. */
function retryText({ retry_at: dueAt, last_error: error, last_line }: RpcJob, nowMs: number): string | null {
  if (dueAt === null) return null;
  const when = dueAt > nowMs ? `retry in ${formatAge(nowMs, dueAt)}` : "retry when a worker is free";
  return error === null ? when : `${when}: ${withLine(error, last_line)}`;
}

/** How far it is, when it is tried again, or how it ended. */
export function detailOf(job: RpcJob, nowMs: number): string | null {
  if (shownState(job, nowMs) === "SCHEDULED") return `starts at ${timeText(job.scheduled_at!)}`;
  const retry = job.state === "QUEUED" ? retryText(job, nowMs) : null;
  if (retry !== null) return retry;
  if (job.state === "RUNNING" && job.progress !== null) return progressBar(job.progress);
  if (job.reason !== "") return failureText(job);
  return job.state === "EXITED" ? `exit ${job.exit_code ?? 0}` : null;
}

/** What says most comes first, because a small terminal cuts it: the reason, what the job wrote last, and the code. */
export function failureText({ reason, last_line, fail_detail: detail }: RpcJob): string {
  return `${withLine(reason, last_line)}${detail === null ? "" : ` (${detail})`}`;
}

function withLine(reason: string, line: string | null): string {
  return line === null || reason.includes(line) ? reason : `${reason}: ${line}`;
}

const barChars = 20;

function progressBar(progress: number): string {
  const percent = Math.min(100, Math.max(0, Math.round(progress)));
  const full = Math.round((percent / 100) * barChars);
  return `${"#".repeat(full)}${".".repeat(barChars - full)} ${percent} %`;
}
