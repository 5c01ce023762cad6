import { type JobRecord, type NewJob, newJobRecord } from "../../core/job.ts";
import type { ChangeAnswer, ClaimOutcome } from "../store.ts";
import type { ActName } from "./act-names.ts";

/**
 * Records have many fields, and a batch has many records. As lists of values in one JSON text they cross the border
 * between two threads in a third of the time that copying the objects takes.
 */
export function packAnswer(act: ActName, value: unknown): unknown {
  if (act === "claimJobs") return packClaim(value as ClaimOutcome);
  if (act === "changeJobs") return packChanges(value as ChangeAnswer[]);
  return value;
}

export function unpackAnswer(act: ActName, value: unknown): unknown {
  if (act === "claimJobs") return unpackClaim(value as PackedClaim);
  if (act === "changeJobs") return unpackChanges(value as string);
  return value;
}

const fields = Object.keys(newJobRecord({} as NewJob, 0)) as (keyof JobRecord)[];
type Packed = unknown[];

function packJob(job: JobRecord): Packed {
  return fields.map((field) => job[field]);
}

function unpackJob(packed: Packed): JobRecord {
  const job: Record<string, unknown> = {};
  for (let index = 0; index < fields.length; index++) job[fields[index]!] = packed[index];
  return job as JobRecord;
}

/** Documents stay outside of the text: as plain strings they are copied and not escaped. */
type PackedClaim = { jobs: string; documents: string[]; leaseTokens: string[]; refused: string[] };

function packClaim({ claimed, refused }: ClaimOutcome): PackedClaim {
  return {
    jobs: JSON.stringify(claimed.map(({ job }) => packJob(job))),
    documents: claimed.map(({ document }) => document),
    leaseTokens: claimed.map(({ leaseToken }) => leaseToken),
    refused,
  };
}

function unpackClaim({ jobs, documents, leaseTokens, refused }: PackedClaim): ClaimOutcome {
  const claimed = (JSON.parse(jobs) as Packed[]).map((packed, index) => ({
    job: unpackJob(packed),
    document: documents[index]!,
    leaseToken: leaseTokens[index]!,
  }));
  return { claimed, refused };
}

type PackedChange = { answer: ChangeAnswer | Omit<ChangeAnswer, "job">; job: Packed | null };

function packChanges(answers: ChangeAnswer[]): string {
  const packed = answers.map((answer): PackedChange => {
    if (answer.kind === "unknown") return { answer, job: null };
    const { job, ...rest } = answer;
    return { answer: rest, job: packJob(job) };
  });
  return JSON.stringify(packed);
}

function unpackChanges(text: string): ChangeAnswer[] {
  return (JSON.parse(text) as PackedChange[]).map(({ answer, job }) =>
    job === null ? (answer as ChangeAnswer) : ({ ...answer, job: unpackJob(job) } as ChangeAnswer),
  );
}
