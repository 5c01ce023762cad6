// Gives out jobs of a registry, each once, and ends those whose time is over. Why: ADR 0049, ADR 0098.
import type { Connection } from "../store/sqlite/database/connection.ts";
import { checkSession } from "./check-registration.ts";
import { type StatusChange, writeStatusChanges } from "./history.ts";
import { inTurn } from "./in-turn.ts";
import type { RegistryJob } from "./job-record.ts";
import { type JobRow, recordOf } from "./job-row.ts";
import { changeRegistry } from "./registry-database.ts";
import type { RegistryPlace } from "./registry-place.ts";
import { moveTo } from "./set-status.ts";
import { isTimeOver } from "./time-limits.ts";

type Picked = { job: JobRow | null; changes: StatusChange[] };

/**
 * Gives the oldest pending job of a session to the caller, or null if there is none. However many processes ask, each
 * job is given out once. Jobs of any session whose time is over are set to `error` first.
 */
export async function pick(
  place: RegistryPlace,
  { agentSession }: { agentSession: string },
): Promise<RegistryJob | null> {
  checkSession(agentSession);
  const job = await inTurn(place, async (nowMs) => {
    const picked = await changeRegistry<Picked>(
      place,
      () => ({ job: null, changes: [] }),
      (sql) => pickOldest(sql, agentSession, nowMs),
    );
    await writeStatusChanges(place, picked.changes);
    return picked.job;
  });
  return job === null ? null : recordOf(job);
}

function pickOldest(sql: Connection, agentSession: string, nowMs: number): Picked {
  const ended = endOverdue(sql, nowMs);
  const jobId = oldestPending(sql, agentSession);
  if (jobId === null) return { job: null, changes: ended };
  const { row, changes } = moveTo(sql, { jobId, status: "running", nowMs });
  return { job: row, changes: [...ended, ...changes] };
}

function oldestPending(sql: Connection, agentSession: string): string | null {
  const found = sql.first<Pick<JobRow, "job_id">>(
    "SELECT job_id FROM jobs WHERE status = 'pending' AND agent_session = ? ORDER BY number LIMIT 1",
    agentSession,
  );
  return found?.job_id ?? null;
}

function endOverdue(sql: Connection, nowMs: number): StatusChange[] {
  const running = sql.all<JobRow>("SELECT * FROM jobs WHERE status = 'running' ORDER BY number");
  return running
    .filter((row) => isTimeOver(row, nowMs))
    .flatMap(({ job_id: jobId }) => {
      const { changes } = moveTo(sql, { jobId, status: "error", nowMs });
      return changes.map((change) => ({ ...change, reason: "timeout" as const }));
    });
}
