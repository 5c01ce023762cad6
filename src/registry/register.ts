import { randomBytes } from "node:crypto";
import type { Connection } from "../store/sqlite/database/connection.ts";
import { type CheckedRegistration, checkRegistration, type Registration } from "./check-registration.ts";
import { writeRegistered } from "./history.ts";
import { inTurn } from "./in-turn.ts";
import type { RegistryJob } from "./job-record.ts";
import { type JobRow, recordOf } from "./job-row.ts";
import { addToRegistry } from "./registry-database.ts";
import type { RegistryPlace } from "./registry-place.ts";

/** Adds a job for a session. It waits there until somebody picks it. */
export async function register(place: RegistryPlace, input: Registration): Promise<RegistryJob> {
  const given = checkRegistration(input);
  // Somebody may pick the job as soon as it is in the registry, and must not be in its history before `registered`.
  return inTurn(
    place,
    async (nowMs) => {
      const record = recordOf(await addToRegistry(place, (sql) => insertJob(sql, given, nowMs)));
      await writeRegistered(place, record);
      return record;
    },
    { make: true },
  );
}

function insertJob(sql: Connection, given: CheckedRegistration, nowMs: number): JobRow {
  const jobId = freeId(sql);
  const job: JobRow = {
    job_id: jobId,
    status: "pending",
    created_at: nowMs,
    updated_at: nowMs,
    picked_at: null,
    active_at: nowMs,
    prompt: given.prompt,
    agent: given.agent,
    agent_session: given.agentSession,
    broker: given.broker === null ? null : JSON.stringify(given.broker),
    topic_prefix: given.topicPrefix ?? `writ/jobs/${jobId}`,
    timeout_sec: given.timeoutSec,
    idle_timeout_sec: given.idleTimeoutSec,
    expected_artifacts: JSON.stringify(given.expectedArtifacts),
    last_seq: 0,
    auth_token: given.auth ? randomBytes(32).toString("hex") : null,
  };
  const names = Object.keys(job);
  const marks = names.map(() => "?").join(", ");
  sql.run(`INSERT INTO jobs (${names.join(", ")}) VALUES (${marks})`, ...Object.values(job));
  return job;
}

/** A billion ids in eight digits: the first free one is found at once unless a registry holds very many jobs. */
const idTriesMax = 1_000;

function freeId(sql: Connection): string {
  for (let tries = 0; tries < idTriesMax; tries++) {
    const id = randomBytes(4).toString("hex");
    if (sql.first("SELECT 1 FROM jobs WHERE job_id = ?", id) === null) return id;
  }
  throw new Error("no free id was found; use another registry");
}
