import { WritError } from "../core/errors.ts";
import type { Connection } from "../store/sqlite/database/connection.ts";
import { type Broker, isRegistryJobId, type RegistryJob, type RegistryStatus } from "./job-record.ts";

/** A job as the database has it. Times are milliseconds since the epoch. */
export type JobRow = {
  job_id: string;
  status: RegistryStatus;
  created_at: number;
  updated_at: number;
  picked_at: number | null;
  active_at: number;
  prompt: string;
  agent: string;
  agent_session: string;
  broker: string | null;
  topic_prefix: string;
  timeout_sec: number;
  idle_timeout_sec: number;
  expected_artifacts: string;
  last_seq: number;
  auth_token: string | null;
};

/** The job with this id. Throws NOT_FOUND, which is also the answer to a text that is no id. */
export function findRow(sql: Connection, jobId: string): JobRow {
  const row = isRegistryJobId(jobId) ? sql.first<JobRow>("SELECT * FROM jobs WHERE job_id = ?", jobId) : null;
  return row ?? refuseUnknown(jobId);
}

export function refuseUnknown(jobId: string): never {
  const shown = JSON.stringify(jobId.slice(0, 100));
  throw new WritError("NOT_FOUND", `there is no job ${shown} in this registry`, {
    advice: "`jobctl registry list` shows its jobs",
  });
}

/** The job as callers see it, without the token. */
export function recordOf(row: JobRow): RegistryJob {
  return {
    schema_version: 1,
    job_id: row.job_id,
    status: row.status,
    created_at: isoTime(row.created_at),
    updated_at: isoTime(row.updated_at),
    prompt: row.prompt,
    agent: row.agent,
    agent_session: row.agent_session,
    broker: row.broker === null ? null : (JSON.parse(row.broker) as Broker),
    topic_prefix: row.topic_prefix,
    timeout_sec: row.timeout_sec,
    idle_timeout_sec: row.idle_timeout_sec,
    expected_artifacts: JSON.parse(row.expected_artifacts) as string[],
    last_seq: row.last_seq,
    auth_token: row.auth_token === null ? null : "***",
  };
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
