import type { JobRecord } from "../../../core/jobs/job.ts";
import { type DamagedPart, findDamage } from "../../jobs/find-damage.ts";
import { isHistoryLost } from "../../jobs/stored-record.ts";
import type { DroppedSizes } from "../../output-store.ts";
import type { StoredJob } from "../../store.ts";
import type { Context } from "../context.ts";
import { isDamage } from "../database/sqlite-error.ts";
import { jobColumns, jobWidth, type QueueContext, type Row, readJob } from "./job-row.ts";
import { soundJob } from "./sound-job.ts";

/** What is needed to read a job, whether or not it could also be written. */
export type StoredContext = Pick<Context, "sql" | "book" | "tallies" | "macKey">;

/** For SELECT: a job with its document. Conditions follow. */
export const storedText = `SELECT ${jobColumns}, document, mac, output_dropped_through, output_sizes
  FROM jobs LEFT JOIN documents ON documents.job_seq = jobs.seq`;

/** The job in a row that was selected with `storedText`, with its seal and its hash checked. Why: ADR 0081. */
export function readStored(context: StoredContext, row: Row): StoredJob {
  const [text, mac, throughAttempt, sizes] = row.slice(jobWidth) as [unknown, Uint8Array, number, string];
  const document = typeof text === "string" ? text : "";
  const { job, damaged } = readSound(context, row);
  const uncheckedHashSeq = context.tallies.get("unchecked_hash_seq");
  return {
    job,
    document,
    output: { throughAttempt, sizes: readSizes(sizes) },
    damaged: [...damaged, ...findDamage(context.macKey, { job, document, mac, uncheckedHashSeq })],
  };
}

type Sound = { job: JobRecord; damaged: DamagedPart[] };

/** The record in a row that was selected with `jobColumns`, with what of it cannot be read. */
export function readSound(context: QueueContext, row: Row): Sound {
  const { job, damaged } = soundJob(readJob(context, row));
  return { job, damaged: isHistoryLost(row) ? [...damaged, "fail_history"] : damaged };
}

/** The sizes of outputs by attempt; none if the text is damaged, because they are only shown. */
export function readSizes(text: string | null): DroppedSizes["sizes"] {
  try {
    return (JSON.parse(text ?? "{}") ?? {}) as DroppedSizes["sizes"];
  } catch {
    return {};
  }
}

/**
 * A job that cannot be read as a whole, because one of its pages is broken: as much of it as can be read. Null if not
 * even its owner is known.
 */
export function readUnreadable(context: QueueContext, seq: number): StoredJob | null {
  try {
    const row = context.sql
      .rowStatement(`SELECT ${jobColumns} FROM jobs WHERE jobs.seq = ?`)
      .get(seq) as unknown as Row;
    return blankStored(readSound(context, row), ["document"]);
  } catch (error) {
    if (!isDamage(error)) throw error;
    return readOwner(context, seq);
  }
}

type Owner = Pick<JobRecord, "id" | "tenantId" | "userId" | "type">;

/** The first columns of a row are on its first page, so they may be readable if the rest is not. */
function readOwner(context: QueueContext, seq: number): StoredJob | null {
  try {
    const owner = context.sql.first<Owner>(
      "SELECT id, tenant_id AS tenantId, user_id AS userId, type FROM jobs WHERE seq = ?",
      seq,
    );
    const rest = { seq, queueKey: "", retryCounts: {}, attemptsChosen: false };
    // What is missing is a column of the wrong type like any other.
    return owner && blankStored(soundJob({ ...owner, ...rest } as JobRecord), ["row", "document"]);
  } catch (error) {
    if (!isDamage(error)) throw error;
    return null;
  }
}

function blankStored({ job, damaged }: Sound, lost: DamagedPart[]): StoredJob {
  const output = { throughAttempt: 0, sizes: {} };
  return { job, document: "", output, damaged: [...new Set([...damaged, ...lost])] };
}
