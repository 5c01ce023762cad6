import type { ReactNode } from "react";
import type { JobSummary } from "../../contract/shapes/view-shapes.ts";
import { isEnded } from "../../core/jobs/job.ts";
import { useHasPassed } from "../hub/clock.ts";
import { durationText } from "../parts/format.ts";
import { lastLineOf } from "../parts/last-line.ts";
import { PlainText, plainText } from "../parts/plain-text.tsx";
import { Ticking } from "../parts/ticking.tsx";
import { joinWords } from "../submit/shell-words.ts";

/** How long the job waited for its latest attempt, or has been waiting. */
export function waitedText(job: JobSummary, now: number): string {
  const from = Math.max(job.created_at, job.run_at);
  const isWaiting = job.status === "pending";
  const to = isWaiting ? now : (job.claimed_at ?? job.completed_at);
  if (to === null || to < from) return "–";
  return durationText(to - from);
}

export function ranText(job: JobSummary, now: number): string {
  const ms = ranMs(job, now);
  return ms === null ? "–" : durationText(ms);
}

export function ranMs(
  job: Pick<JobSummary, "status" | "started_at" | "completed_at" | "execution_time_ms">,
  now: number,
): number | null {
  if (job.status === "running") return job.started_at === null ? null : Math.max(0, now - job.started_at);
  if (!isEnded(job.status)) return null;
  if (job.execution_time_ms !== null) return job.execution_time_ms;
  return job.started_at === null || job.completed_at === null ? null : job.completed_at - job.started_at;
}

type Preview = { text: ReactNode; isCode: boolean };

const previewCharsMax = 160;
const commandCharsMax = 160;
/** The first half of a character of two units, which a cut can leave. */
const halfCharacter = /[\ud800-\udbff]$/;

/** The result, the reason, or the progress, in one line. */
export function previewOf(job: JobSummary): Preview {
  if (job.status === "completed") return resultPreview(job);
  if (job.status === "failed" || job.status === "quarantined") return words(failureText(job));
  if (job.status === "pending") return words(<Pending job={job} />);
  if (job.progress_detail !== null || job.params === null || job.params === undefined)
    return words(job.progress_detail ?? "");
  return { text: JSON.stringify(job.params).slice(0, previewCharsMax), isCode: true };
}

function resultPreview(job: JobSummary): Preview {
  if (job.cut?.includes("result")) return words("a large result");
  if (job.result === null || job.result === undefined) return words(`exit ${job.exit_code ?? 0}`);
  return { text: JSON.stringify(job.result).slice(0, previewCharsMax), isCode: true };
}

function failureText(job: JobSummary): ReactNode {
  const reason = job.last_failure?.reason ?? job.fail_reason ?? "";
  // The state already shows that it was cancelled; a reason is shown only if it says more.
  if (job.fail_code === "CANCELLED") return reason === "cancelled" ? "" : reason;
  const code = job.fail_detail ?? job.fail_code ?? "";
  const line = lastLineOf(job.last_failure);
  if (line === undefined)
    return (
      <>
        <span className="code">{code}</span> <PlainText text={reason.slice(0, previewCharsMax)} />
      </>
    );
  // A row has little room, and the job's own last line tells most: the code takes at most half of the row.
  return (
    <span className="failure">
      <span className="code cut" title={code}>
        {shortCode(job, code)}
      </span>{" "}
      <span className="mono cut" title={plainText(reason)}>
        <PlainText text={line.slice(0, previewCharsMax)} />
      </span>
    </span>
  );
}

/** For a command that ended with an error, the exit code is enough. */
function shortCode({ exit_code: exitCode }: JobSummary, code: string): string {
  return code === "WORKER_EXIT_ERROR" && exitCode !== null ? `exit ${exitCode}` : code;
}

function Pending({ job }: { job: JobSummary }): ReactNode {
  const isDue = useHasPassed(job.run_at);
  if (!isDue && job.attempt > 0) {
    return (
      <>
        <Ticking text={(now) => `Again in ${durationText(job.run_at - now)} after`} />{" "}
        <span className="code">{job.last_failure?.detail ?? job.last_failure?.code ?? "a release"}</span>
      </>
    );
  }
  if (!isDue) return <Ticking text={(now) => `Starts in ${durationText(job.run_at - now)}`} />;
  const tags = job.requires?.tags ?? [];
  if (tags.length > 0)
    return `Waits for a worker with ${tags.length === 1 ? "tag" : "tags"} ${tags.join(", ")}`;
  // The job's own page asks the hub whether a worker is free, draining or unfit.
  return "Waits for a worker";
}

/** The command with its quotes, as far as a row has room for it; null for a job without one. */
export function commandText({ command }: Pick<JobSummary, "command">): string | null {
  if (command === null || command === undefined) return null;
  // A row has one line; a sign marks where another line of the command begins.
  const text = joinWords(command).replaceAll(/\s*\n\s*/g, " ↵ ");
  return text.length <= commandCharsMax
    ? text
    : `${text.slice(0, commandCharsMax).replace(halfCharacter, "")}…`;
}

function words(text: ReactNode): Preview {
  return { text, isCode: false };
}
