import type { JobSummary, JobView } from "../../contract/shapes/view-shapes.ts";
import type { WhyView } from "../../contract/why-view.ts";
import { isEnded } from "../../core/jobs/job.ts";

/** What a model needs to know of a job, without fields that are empty. What the job itself wrote is not among it. */
export function describeJob(job: JobView | JobSummary, why?: WhyView): Record<string, unknown> {
  const { stdout, stderr } = job.output;
  return given({
    job_id: job.id,
    status: job.status,
    why: why?.summary,
    ended: isEnded(job.status),
    type: job.type,
    command: commandOf(job),
    agent: fieldOf(job, "agent"),
    repo: fieldOf(job, "kind") === "delegate" ? fieldOf(job, "repo_root") : undefined,
    exit_code: job.exit_code,
    fail_code: job.fail_code,
    fail_detail: job.fail_detail,
    attempt: `${job.attempts} of ${job.max_attempts}`,
    worker: job.worker_id,
    user: job.user_id,
    created_at: timeText(job.created_at),
    started_at: timeText(job.started_at),
    ended_at: timeText(job.completed_at),
    output_bytes: stdout + stderr === 0 ? undefined : { stdout, stderr },
  });
}

/** The first words are enough to recognise a command. */
const commandCharsMax = 300;

function commandOf(job: JobView | JobSummary): string | undefined {
  const words = "command" in job && Array.isArray(job.command) ? job.command : fieldOf(job, "argv");
  if (!Array.isArray(words)) return undefined;
  const text = words.join(" ");
  return text.length > commandCharsMax ? `${text.slice(0, commandCharsMax)}…` : text;
}

function fieldOf({ run }: JobView | JobSummary, name: string): unknown {
  return (run as Record<string, unknown> | null)?.[name];
}

export function timeText(ms: number | null): string | undefined {
  return ms === null ? undefined : new Date(ms).toISOString();
}

function given(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  );
}
