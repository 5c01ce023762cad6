import type { Command } from "commander";
import type { Why } from "../../../client/index.ts";
import { timeText } from "../../../core/text/time-text.ts";
import { withWrit } from "../../connection/connection.ts";
import type { CliContext } from "../../context.ts";
import { print } from "../../terminal/print.ts";
import { jobIdHelp, resolveJobId } from "../../terminal/short-id.ts";
import { formatFields, formatTable } from "../../terminal/table.ts";
import { failureFields } from "../failure-fields.ts";

export function define(command: Command, context: CliContext): void {
  command.argument("<id>", jobIdHelp).action((id: string) =>
    withWrit(context, command, async (writ) => {
      const jobId = await resolveJobId(writ, id);
      print(context, command, await writ.why(jobId), (why) => showWhy(why, jobId));
    }),
  );
}

/** Of a job that has ended, the summary says how: it may be any of three states. */
function stateOf({ status }: Why): string | null {
  if (status === "running") return "RUNNING";
  return status === "pending" || status === "assigned" ? "QUEUED" : null;
}

function showWhy(why: Why, jobId: string): string {
  const { code = null, detail = null, last_line = null } = why.failure ?? {};
  const fields = formatFields([
    ["state", stateOf(why)],
    ["why", why.summary],
    ...(why.reasons ?? []).slice(1).map(({ text }) => ["and", text] as const),
    ["position", why.position],
    ["due", why.retry_due_at === null ? null : timeText(why.retry_due_at)],
    ["paused", why.paused ? "yes" : null],
    ["held by", why.held_by],
    ...failureFields({ job_id: jobId, code, detail, last_line }),
  ]);
  if (why.workers.length === 0) return fields;
  const table = formatTable(
    [
      { title: "WORKER", cell: ({ worker_id }) => worker_id },
      { title: "FITS", cell: ({ fits }) => (fits ? "yes" : "no") },
      { title: "WHY", cell: ({ why: reasons }) => reasons.join("; ") },
    ],
    why.workers,
  );
  return `${fields}\n${table}`;
}
