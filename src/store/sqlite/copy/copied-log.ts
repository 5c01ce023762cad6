// The log as rows that are copied, each with its seal, and as records of frames. Why: ADR 0116, ADR 0121.
import { eventTable, type Severity } from "../../../core/events.ts";
import { sha256Hex } from "../../../signing/mac.ts";
import type { CopyNumbers, CopyRow } from "../../database/database-copy.ts";
import { KnownTexts } from "../../jobs/known-texts.ts";
import { firstHash } from "../../log/audit-record.ts";
import { sealText } from "../../log/seal-text.ts";
import type { StoredEvent } from "../../log/stored-event.ts";
import { soundNumber } from "./copied-jobs.ts";

type CopiedRecord = {
  seq: number;
  /** Null if only the seal is left. */
  stored: StoredEvent | null;
  severity: Severity;
  hash: string;
  prevHash: string;
  /** Whether what is stored is what was sealed. */
  isGenuine: boolean;
};

/** Follows the chain through rows that are copied, in order. What is not sealed yet gets the seal that the hub would have given it. */
export class ChainOfCopy {
  readonly #numbers: LogNumbers;
  #prevHash: string;

  /** `prevHash` is what the first row follows. */
  constructor(numbers: LogNumbers, prevHash = firstHash) {
    this.#numbers = numbers;
    this.#prevHash = prevHash;
  }

  next(row: CopyRow): CopiedRecord {
    const seq = row["seq"] as number;
    const written = row["event"] === null ? null : storedOf(row);
    const stored = written && withSoundNumbers(written);
    const severity = severityOf(row);
    const prevHash = this.#prevHash;
    const isSound = stored !== null && stored.ts === written!.ts && stored.jobSeq === written!.jobSeq;
    const computed = isSound ? hashOf(stored, { severity, prevHash }) : null;
    const hash = (row["hash"] as string | null) ?? this.#sealFor(seq, computed);
    this.#prevHash = hash;
    return { seq, stored, severity, hash, prevHash, isGenuine: computed === hash };
  }

  /**
   * The hub seals in order and counts what it writes, so a record without a seal before a sealed one, or one that was not counted, is
   * not the hub's. It gets a hash that it cannot have.
   */
  #sealFor(seq: number, computed: string | null): string {
    const { sealedSeq, eventSeq } = this.#numbers;
    return computed === null || seq < sealedSeq || seq > eventSeq ? this.#prevHash : computed;
  }
}

/** The numbers of the last record that has a seal, and of the last one that the hub has counted. */
export type LogNumbers = Pick<CopyNumbers, "sealedSeq" | "eventSeq">;

function storedOf(row: CopyRow): StoredEvent {
  return {
    seq: row["seq"] as number,
    ts: row["ts"] as number,
    event: row["event"] as StoredEvent["event"],
    tenantId: row["tenant_id"] as string | null,
    jobId: row["job_id"] as string | null,
    ownerId: row["owner_id"] as string | null,
    jobSeq: row["job_seq"] as number | null,
    details: row["details"] as string,
    origin: row["origin"] as string | null,
  };
}

/** A number that no record can hold was edited in. */
export function withSoundNumbers<T extends Pick<StoredEvent, "ts" | "jobSeq">>(stored: T): T {
  const { ts, jobSeq } = stored;
  return { ...stored, ts: soundNumber(ts), jobSeq: jobSeq === null ? null : soundNumber(jobSeq) };
}

function severityOf({ severity, event }: CopyRow): Severity {
  if (severity !== null) return severity as Severity;
  return eventTable[event as StoredEvent["event"]]?.severity ?? "LOW";
}

/** Null if there is none, because somebody has written what the hub never writes. */
function hashOf(stored: StoredEvent, sealed: { severity: Severity; prevHash: string }): string | null {
  const { details, origin } = stored;
  if (!spellings.of(details) || (origin !== null && !spellings.of(origin))) return null;
  try {
    return sha256Hex(sealText(stored, sealed));
  } catch {
    return null;
  }
}

/** A text that means the same in another spelling was not written by the hub, and must not pass for the original. */
const spellings = new KnownTexts((json) => {
  try {
    return JSON.stringify(JSON.parse(json)) === json;
  } catch {
    return false;
  }
});
