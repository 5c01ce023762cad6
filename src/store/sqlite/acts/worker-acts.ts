import { getWorker, statusNow } from "../../acts/worker-rows.ts";
import {
  type HeartbeatAnswer,
  type HeartbeatInput,
  heartbeatAnswer,
  type SignOfLife,
} from "../../worker-store.ts";
import type { Context } from "../context.ts";
import { changeJob } from "../jobs/change-jobs.ts";
import { driveAct, readDriver } from "./drive-act.ts";

/** Renews exactly the leases listed; a lease that the worker does not know must expire. Why: ADR 0095. */
export function heartbeatWorker(context: Context, input: HeartbeatInput): HeartbeatAnswer | null {
  const { workerId, capabilities, rules } = input;
  const worker = driveAct(context.sql, getWorker(readDriver(context), { workerId }));
  if (worker === null) return null;
  context.sql.run(
    `UPDATE workers SET last_heartbeat = ?, status = ${statusNow}, facts = ? WHERE id = ?`,
    rules.nowMs,
    JSON.stringify(capabilities === null ? worker.facts : { ...worker.facts, capabilities }),
    workerId,
  );
  const renewals = input.leases.map(({ jobId, fence, usage }) => {
    const change = { act: "renew", fence, usage } as const;
    const answer = changeJob(context, { jobId, change }, { rules, origin: null });
    return { jobId, renewed: answer.kind === "moved" ? answer.job : null };
  });
  return heartbeatAnswer(worker, renewals);
}

export function noteSignsOfLife(context: Pick<Context, "sql">, { signs }: { signs: SignOfLife[] }): void {
  context.sql.run(
    `UPDATE workers SET last_heartbeat = max(last_heartbeat, heard.at), status = ${statusNow}
      FROM (SELECT value ->> 'workerId' AS id, value ->> 'atMs' AS at FROM json_each(?)) AS heard
      WHERE workers.id = heard.id`,
    JSON.stringify(signs),
  );
}
