import type { AuditMark } from "../../store/audit-store.ts";
import { type AuditRecord, firstHash } from "../../store/log/audit-record.ts";
import { newestMark } from "./audit-marks.ts";
import type { AuditFault, AuditVerdict } from "./verify-audit.ts";

/** Enough to see what happened; a log that was rewritten completely has a fault in every record. */
const faultsMax = 100;

/**
 * Follows the chain record by record. After a fault it continues from what is stored, so that each fault is found once.
 * Why: ADR 0014.
 */
export class ChainCheck {
  readonly #faults: AuditFault[] = [];
  readonly #heads: Map<number, AuditMark>;
  readonly #lastHead: number;
  #faultCount = 0;
  #records = 0;
  #first = 0;
  #goodHead = 0;
  #pending: number[] = [];
  #unsealedCount = 0;
  lastSeq: number;
  lastHash: string;
  /** When the first and the last record after the newest head were written. */
  #unsigned: { from: string; to: string } | null = null;

  constructor(marks: AuditMark[]) {
    this.#heads = new Map(marks.filter(({ audit }) => audit === "head").map((mark) => [mark.seq, mark]));
    this.#lastHead = newestMark(marks, "head")?.seq ?? 0;
    const start = newestMark(marks, "start");
    this.lastSeq = (start?.seq ?? 1) - 1;
    this.lastHash = start?.hash ?? firstHash;
  }

  /** How long records have been written since the newest head, by their own times. */
  get unsignedMs(): number {
    return this.#unsigned === null ? 0 : Date.parse(this.#unsigned.to) - Date.parse(this.#unsigned.from);
  }

  /** Whether records are missing before this one. In a log with too many gaps the reason is no longer looked up. */
  hasGapBefore(seq: number): boolean {
    return seq > this.lastSeq + 1 && this.#faultCount < faultsMax;
  }

  /**
   * Continues at a start that was signed since the check began, if what is missing is before it: the hub has removed
   * that in the meantime, as a check that begins now would find. Faults already reported stay.
   */
  startAt(start: AuditMark): void {
    if (start.seq <= this.lastSeq + 1) return;
    this.#records = 0;
    this.#first = 0;
    this.lastSeq = start.seq - 1;
    this.lastHash = start.hash;
  }

  /**
   * Continues after a record whose seal alone is present: the record and all before it are in files of another home.
   */
  continueAfter(seq: number, hash: string): void {
    this.lastSeq = seq;
    this.lastHash = hash;
  }

  fault(seq: number | null, what: string): void {
    this.#faultCount++;
    if (this.#faults.length < faultsMax) this.#faults.push({ seq, what });
  }

  /** A sealed record with the stored hash and the computed hash. */
  record(record: AuditRecord, stored: string, computed: string): void {
    const { seq } = record;
    this.#inserted();
    if (seq <= this.lastSeq) {
      // Retention was about to remove the records before the signed start.
      if (this.#records > 0) this.fault(seq, "is in the wrong position: inserted twice or reordered");
      return;
    }
    const isGap = this.#missing(seq);
    if (!isGap && record.prev_hash !== this.lastHash) this.fault(seq, "does not follow the record before it");
    // A record in the table has its predecessor only by position. If the predecessor is missing, the record's hash
    // proves nothing.
    else if (stored !== computed && !(isGap && record.prev_hash === this.lastHash))
      this.fault(seq, "was changed after it was sealed");
    if (seq > this.#lastHead) {
      this.#unsigned = { from: this.#unsigned?.from ?? record.timestamp, to: record.timestamp };
    }
    this.#take(seq, stored);
  }

  /** A record that is both in a file and in the table must be the same in both. */
  again(seq: number, hash: string | null): void {
    if (seq === this.lastSeq && hash !== null && this.#records > 0 && hash !== this.lastHash) {
      this.fault(seq, "has a different seal in the database than in its file");
    }
  }

  removed(seq: number, stored: string): void {
    this.#inserted();
    this.#missing(seq);
    this.fault(seq, "was removed; its seal is still there");
    this.#take(seq, stored);
  }

  unsealed(seq: number): void {
    this.#pending.push(seq);
    if (this.#pending.length > faultsMax) this.#pending.splice(faultsMax / 2, 1);
    this.#unsealedCount++;
  }

  /**
   * Compares the end with the number of records that the hub has counted, and the number that the home knew before the
   * check.
   */
  end({ lastWritten, lastKnown }: { lastWritten: number; lastKnown: number }): void {
    const seen = this.#pending.at(-1) ?? this.lastSeq;
    if (this.#lastHead > this.lastSeq) {
      const cut = `${this.lastSeq + 1} to ${this.#lastHead}`;
      this.fault(
        this.lastSeq + 1,
        `the tail was cut off: records ${cut} are covered by a signed head, but missing`,
      );
    } else if (lastWritten > seen) {
      this.fault(seen + 1, `the tail was cut off: the hub has counted ${lastWritten} records`);
    } else if (lastWritten < seen) {
      this.fault(seen, `was inserted: the hub has counted only ${lastWritten} records`);
    } else if (lastWritten < lastKnown) {
      this.fault(seen + 1, `the tail was cut off: database.json in the home knows record ${lastKnown}`);
    }
  }

  verdict(): Omit<AuditVerdict, "unchecked"> {
    return {
      faults: this.#faults,
      more: this.#faultCount > this.#faults.length,
      records: this.#records,
      first: this.#first,
      last: this.lastSeq,
      unsealed: this.#unsealedCount,
      signedThrough: this.#goodHead,
    };
  }

  #take(seq: number, hash: string): void {
    if (this.#records === 0) this.#first = seq;
    this.#records++;
    this.lastSeq = seq;
    this.lastHash = hash;
    const head = this.#heads.get(seq);
    if (head === undefined) return;
    if (head.hash === hash) this.#goodHead = seq;
    else this.fault(seq, `the chain was rebuilt: something after record ${this.#goodHead} was changed`);
  }

  #missing(seq: number): boolean {
    const from = this.lastSeq + 1;
    if (seq === from) return false;
    this.fault(from, seq === from + 1 ? "was removed" : `was removed, and so were all up to ${seq - 1}`);
    return true;
  }

  /** The hub seals in order, so a record without a seal before a sealed one was not written by the hub. */
  #inserted(): void {
    for (const seq of this.#pending) this.fault(seq, "was inserted: it has no seal, but a later one has");
    this.#pending = [];
    this.#unsealedCount = 0;
  }
}
