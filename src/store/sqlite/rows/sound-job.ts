import { type JobRecord, jobStates } from "../../../core/jobs/job.ts";
import type { DamagedPart } from "../../jobs/find-damage.ts";
import { numberFields, numberOrNullFields } from "../../jobs/job-columns.ts";

type Field = keyof JobRecord;

const texts = [
  "id",
  "tenantId",
  "userId",
  "type",
  "documentSha256",
  "idempotencyKey",
] as const satisfies Field[];

const textsOrNull = [
  "requestHash",
  "limitsDefaulted",
  "workerId",
  "leaseTokenHash",
  "leaseKeyId",
  "result",
  "resultHash",
  "resultKey",
  "partialResult",
  "progress",
  "isolation",
  "usage",
  "outputFiles",
  "receipt",
  "failReason",
  "failCode",
  "failDetail",
  "terms",
] as const satisfies Field[];

/**
 * A damaged page can put a value of any type into any column, and SQLite does not notice when it reads it. Replaces
 * what has the wrong type, so that code that shows the job can rely on the types of a record. Why: ADR 0029.
 */
export function soundJob(job: JobRecord): { job: JobRecord; damaged: DamagedPart[] } {
  const sound: Record<string, unknown> = { ...job };
  let isSound = true;
  const check = (fields: readonly Field[], isRight: (value: unknown) => boolean, neutral: unknown): void => {
    for (const field of fields) {
      if (isRight(sound[field])) continue;
      sound[field] = neutral;
      isSound = false;
    }
  };
  check(numberFields, Number.isSafeInteger, 0);
  check(numberOrNullFields, (value) => value === null || Number.isSafeInteger(value), null);
  check(texts, (value) => typeof value === "string", "");
  check(textsOrNull, (value) => value === null || typeof value === "string", null);
  check(["status"], (value) => (jobStates as readonly unknown[]).includes(value), "failed");
  check(["failHistory"], Array.isArray, []);
  return { job: sound as JobRecord, damaged: isSound ? [] : ["row"] };
}
