import type { ChangeContext } from "../../../core/jobs/effects.ts";
import type { JobState } from "../../../core/jobs/job.ts";
import type { WriteDriver } from "../../acts/driver.ts";
import type { Context } from "../context.ts";
import { writeRowsNow } from "../jobs/flush-rows.ts";
import { idText } from "../jobs/job-entry.ts";
import { findById, selectEntries } from "../jobs/load-entry.ts";
import { submitJobs } from "../jobs/submit-jobs.ts";
import { writeJob } from "../jobs/write-job.ts";
import { appendEvent } from "../log/append-event.ts";
import { bound, readDriver, render } from "./drive-act.ts";

/** What acts that are written once for all drivers need of this one. Their events are in the frame of the group. Why: ADR 0116. */
export function writeDriver(context: Context): WriteDriver {
  const { sql, book, notice } = context;
  return {
    ...readDriver(context),
    book,
    notice,
    get heldAttempts() {
      writeRowsNow(context);
      return heldText;
    },
    send: (text, ...values) => void sql.run(render(text), ...values.map(bound)),
    append: (event) => appendEvent(context, event),
    changeSettings: (inBook) => inBook?.(book),
    // A claim is an act of its own, in the same thread.
    *stopClaims() {},
    *submitJobs(inputs) {
      return inputs.map((input) => submitJobs(context, input));
    },
    // biome-ignore lint/correctness/useYield: memory, or a row that is read here, has the answer.
    *statusesOf(jobIds) {
      return statusesOf(context, jobIds);
    },
    countWorker() {},
    tellWorker: (workerId, now) => notice.worker(workerId, now),
    disconnectJobs: (workerId, how) => disconnectJobs(context, workerId, how),
    forgetWorker() {},
  };
}

function statusesOf(context: Context, jobIds: string[]): Map<string, JobState> {
  const found = jobIds.map((id) => findById(context, id)?.record).filter((job) => job !== undefined);
  return new Map(found.map(({ id, status }) => [id, status]));
}

const heldText = `SELECT ${idText} AS id, attempt FROM jobs WHERE status IN (1, 2)`;

function disconnectJobs(context: Context, workerId: string, how: ChangeContext): void {
  if (context.workers.of(workerId).active === 0) return;
  writeRowsNow(context);
  const held = selectEntries(
    context,
    "WHERE due_at IS NOT NULL AND status IN (1, 2) AND worker = ? ORDER BY seq",
    context.names.numberOf(workerId),
  );
  for (const entry of held) writeJob(context, entry, { act: "disconnect" }, how);
}
