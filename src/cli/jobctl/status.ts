import type { Command } from "commander";
import type { Job } from "../../client/index.ts";
import { withWrit } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { formatDuration } from "../duration.ts";
import { print } from "../print.ts";
import { resolveJobId } from "../short-id.ts";
import { formatFields } from "../table.ts";

export function define(command: Command, context: CliContext): void {
  command.argument("<id>", "the job, or the start or end of its id").action((id: string) =>
    withWrit(context, command, async (writ) => {
      const job = await writ.get(await resolveJobId(writ, id));
      print(context, command, job, showJob);
    }),
  );
}

function showJob(job: Job): string {
  const failures = job.fail_history.map(
    ({ attempt, code, detail, reason, ts }) =>
      [`attempt ${attempt}`, `${moment(ts)} ${detail ?? code}: ${reason}`] as const,
  );
  return formatFields([
    ["id", job.id],
    ["status", job.status],
    ["type", job.type],
    ["run", describeRun(job.run)],
    ["owner", `${job.user_id} (${job.tenant_id})`],
    ["priority", job.priority],
    ["attempts", `${job.attempts} of ${job.max_attempts}`],
    ["worker", job.worker_id],
    ["progress", job.progress === null ? null : `${job.progress} %`],
    ["detail", job.progress_detail],
    ["created", moment(job.created_at)],
    ["due", job.run_at > job.created_at ? moment(job.run_at) : null],
    ["started", moment(job.started_at)],
    ["completed", moment(job.completed_at)],
    ["took", job.execution_time_ms === null ? null : formatDuration(job.execution_time_ms)],
    ["exit code", job.exit_code],
    ["output", `${job.output.stdout} bytes, errors ${job.output.stderr} bytes`],
    ["failed", job.fail_reason],
    ...failures,
  ]);
}

function describeRun(run: Record<string, unknown>): string {
  const words = run["argv"] ?? run["worker_command"];
  return Array.isArray(words) ? `${run["kind"]}: ${words.join(" ")}` : String(run["kind"]);
}

function moment(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
