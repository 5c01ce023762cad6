import { type DamagedPart, findDamage } from "../../jobs/find-damage.ts";
import { isHistoryLost } from "../../jobs/stored-record.ts";
import { comparedEvents, compareStored } from "../../jobs/timeline-end.ts";
import type { DroppedSizes } from "../../output-store.ts";
import type { GetJobInput, StoredJob } from "../../store.ts";
import type { Connection } from "../connection/connection.ts";
import { readJob, recordColumns, recordFrom } from "../jobs/job-row.ts";
import type { ReadContext } from "./read-context.ts";

export type OutputColumns = { dropped_through: number | null; sizes: string | null };
type StoredRow = Record<string, unknown> &
  OutputColumns & { document: string | null; mac: Buffer | null; uncheckedHashSeq: number; newest?: string };

const storedColumns = `${recordColumns}, j.document, j.mac, o.dropped_through, o.sizes,
    (SELECT unchecked_hash_seq FROM log_state) AS "uncheckedHashSeq"`;
const storedFrom = `FROM ${recordFrom("job_states")} LEFT JOIN job_outputs o ON o.seq = j.seq
  WHERE j.id = $1 AND ($2::text IS NULL OR j.tenant_id = $2)`;

/** Its newest events, in the statement that reads the job: so both are of one moment. Details may have a NUL, which no JSON of PostgreSQL has. */
export const newestText = `to_json(ARRAY(SELECT details FROM events WHERE job_id = j.id AND job_seq IS NOT NULL
    AND (event LIKE 'JOB\\_%' OR event = 'INVALID_SIGNATURE') ORDER BY seq DESC LIMIT ${comparedEvents}))::text AS newest`;

const plainText = `SELECT ${storedColumns} ${storedFrom}`;
const comparedText = `SELECT ${storedColumns}, ${newestText} ${storedFrom}`;

/** The job, with its seal and its hash checked. Why: ADR 0029. */
export async function getJob(
  sql: Connection,
  { jobId, tenantId = null, isCompared = false }: GetJobInput,
  { macKey }: ReadContext,
): Promise<StoredJob | null> {
  const row = await sql.first<StoredRow>(isCompared ? comparedText : plainText, jobId, tenantId);
  if (row === null) return null;
  const { job, damaged } = readSound(row);
  const document = row.document ?? "";
  const { mac, uncheckedHashSeq } = row;
  const found = findDamage(macKey, { job, document, mac, uncheckedHashSeq });
  const stored = { job, document, output: readOutput(row), damaged: [...damaged, ...found] };
  return isCompared ? compareStored(stored, JSON.parse(row.newest ?? "[]") as string[]) : stored;
}

/** The record in a row, with what of it cannot be read. */
export function readSound(row: Record<string, unknown>): Pick<StoredJob, "job" | "damaged"> {
  const values = Object.values(row);
  const damaged: DamagedPart[] = isHistoryLost(values) ? ["fail_history"] : [];
  return { job: readJob(values), damaged };
}

/** The sizes of outputs by attempt; none if the text is damaged, because they are only shown. */
export function readOutput({ dropped_through, sizes }: OutputColumns): DroppedSizes {
  try {
    const read = JSON.parse(sizes ?? "{}") as DroppedSizes["sizes"];
    return { throughAttempt: dropped_through ?? 0, sizes: read };
  } catch {
    return { throughAttempt: dropped_through ?? 0, sizes: {} };
  }
}
