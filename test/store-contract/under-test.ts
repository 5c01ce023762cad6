import type { JobRecord, JobState } from "../../src/core/jobs/job.ts";
import type { AuditReader } from "../../src/store/log/audit-reader.ts";
import type { Store } from "../../src/store/store.ts";

/** A driver under test: an empty database that can be opened, more than once at a time, and changed behind its back. */
export type StoreUnderTest = {
  open(): Promise<Store>;
  /** For checking the audit trail without a hub. */
  openAuditReader(): Promise<AuditReader>;
  tamper: Tamper;
  remove(): Promise<void>;
};

/** What somebody with access to the database could do. A driver that cannot do it has nothing to fear from it. */
export type Tamper = {
  editJob<Field extends SealedField>(jobId: string, field: Field, value: JobRecord[Field]): Promise<void>;
  /** Replaces a text that only the hub writes. */
  editText(jobId: string, field: TextField, text: string): Promise<void>;
  /** Changes what the hub notes of the end of a job, in its row only. */
  editEnd(jobId: string, end: EditedEnd): Promise<void>;
  /** Puts a job into the queue that another one is in. */
  moveJob(jobId: string, toQueueOf: string): Promise<void>;
  editDocument(jobId: string, document: string): Promise<void>;
  /** Replaces a part of the document; throws if the document does not contain it. */
  editInDocument(jobId: string, from: string, to: string): Promise<void>;
  /** Takes the document away, and its seal with it. */
  removeDocument(jobId: string): Promise<void>;
  /** Two jobs exchange their documents and the seals. */
  swapDocuments(jobId: string, otherId: string): Promise<void>;
  /** Edits what is kept of a job that was forgotten. */
  editReceipt(jobId: string, edit: ReceiptEdit): Promise<void>;
  /** Replaces the text in which the details of an event are kept. */
  editEvent(seq: number, details: string): Promise<void>;
  /** Takes an event away and leaves its seal. */
  removeEvent(seq: number): Promise<void>;
  /** Takes away the seals after this one, as if an earlier version had not come to them. Null where each event is its own seal. */
  removeSeals: ((afterSeq: number) => Promise<void>) | null;
  /** Notes that the output of all attempts so far was dropped to save space. */
  dropOutput(jobId: string): Promise<void>;
};

export type EditedEnd = {
  status?: JobState;
  exitCode?: number | null;
  resultHash?: string;
  failCode?: null;
  heldAt?: null;
};

type TextField = "result" | "failHistory" | "retryCounts" | "isolation" | "usage";

export const tamperVerbs = [
  "editJob",
  "editText",
  "editEnd",
  "moveJob",
  "editDocument",
  "editInDocument",
  "removeDocument",
  "swapDocuments",
  "editReceipt",
  "editEvent",
  "removeEvent",
  "removeSeals",
  "dropOutput",
] as const satisfies (keyof Tamper)[];

/** The fields of a record that its seal covers beside the document, except the queue. */
export type SealedField =
  | "tenantId"
  | "userId"
  | "type"
  | "priority"
  | "timeoutSec"
  | "documentTimeoutSec"
  | "maxAttempts"
  | "attemptsChosen"
  | "limitsDefaulted"
  | "terms"
  | "documentSha256"
  | "idempotencyKey";

/** `routing` is the text of the other fields that the seal covers, `mac` the seal itself. */
export type ReceiptEdit =
  | { jobId: string }
  | { document: string }
  | { routing: string }
  | { mac: Uint8Array };
