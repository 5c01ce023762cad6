import type { ErrorCode } from "../../../core/errors.ts";
import type { ActName } from "../../act-names.ts";
import type { CommitNotice } from "../../event-store.ts";

/** The messages between the hub's thread and a thread of the database. Why: ADR 0003. */

export type ThreadSettings = {
  path: string;
  macKey: Uint8Array;
  busyTimeoutMs: number;
  failpointModule: string | null;
};

/** Which file the writing thread has opened, as in FileGuard. */
export type Opened = { file: string | null };

export type ReaderSettings = ThreadSettings & Opened;

/** `flushIndex`: what a driver keeps back is written now, because a read is about to look for it. */
export type WireAct = ActName | "flushIndex";

export type Request = { id: number; act: WireAct; input: unknown };

/** The calls of one tick, or the request to close. */
export type ToThread = { kind: "requests"; requests: Request[] } | { kind: "close" };

export type ErrorText = { code: ErrorCode; message: string; details: Record<string, unknown> | undefined };

export type Answer = { id: number; value: unknown } | { id: number; error: ErrorText };

/**
 * The answer to a read: the value as JSON, because to copy the objects of a page of jobs took twice as long. A page that
 * consists of texts is copied.
 */
export type ReadAnswer = { id: number; json: string } | Answer;

/** The answers of one transaction are sent together, after its commit. */
export type Batch = { answers: Answer[]; notice: CommitNotice | null; writes: number };

export type FromThread =
  | ({ kind: "opened" } & Opened)
  | { kind: "failed"; error: ErrorText }
  | ({ kind: "batch" } & Batch)
  | { kind: "read"; answer: ReadAnswer }
  | { kind: "closed" };
