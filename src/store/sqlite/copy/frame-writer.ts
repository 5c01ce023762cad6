import type { Severity } from "../../../core/events.ts";
import type { JobRecord } from "../../../core/jobs/job.ts";
import type { StoredEvent } from "../../log/stored-event.ts";
import type { Connection } from "../database/connection.ts";
import { lastFrame } from "../frames/frame-rows.ts";
import { GroupFrame } from "../frames/group-frame.ts";
import { loadChainEnd } from "../log/event-chain.ts";

/**
 * A frame that is this full is written. Retention rewrites a payload as a whole, and a reader holds it in memory; the history of a
 * job reads all events of its frames.
 */
const jobsMax = 256;
const eventsMax = 64;
const charsMax = 1024 ** 2;

/** A record of the log under a hash, and the hash that it follows. */
type LogEntry = { stored: StoredEvent; severity: Severity; hash: string; prevHash: string };

/**
 * Writes what was accepted elsewhere into frames of this database, as it is: nothing is decided, and no event is added. To be made
 * anew after a transaction that failed. Why: ADR 0116.
 */
export class FrameWriter {
  readonly #sql: Connection;
  readonly #frame: GroupFrame;
  #lastEvent: number;
  /** The hash of the last record. */
  chainEnd: string;
  #previousHash: string;
  #entries = 0;
  #events = 0;
  #chars = 0;

  constructor(sql: Connection, macKey: Buffer) {
    this.#sql = sql;
    this.#frame = new GroupFrame(sql, macKey);
    const skipped = sql.first<{ seq: number | null }>("SELECT max(through_seq) AS seq FROM skipped_events");
    this.#lastEvent = Math.max(lastFrame(sql)?.lastEvent ?? 0, skipped?.seq ?? 0);
    this.chainEnd = loadChainEnd(sql);
    this.#previousHash = this.chainEnd;
  }

  /** Of the frame that is being filled. */
  get number(): number {
    return this.#frame.number;
  }

  /** Returns the place of the line and of the document. */
  addJob(line: JobRecord, document: string): number {
    this.#count(document.length);
    return this.#frame.addJob(line, document);
  }

  addReceipt(text: string): number {
    this.#count(text.length);
    return this.#frame.addReceipt(text);
  }

  /** Those of one frame follow each other without a gap. */
  addEvent({ stored, severity, hash, prevHash }: LogEntry): void {
    if (stored.seq !== this.#lastEvent + 1) this.#skipTo(stored.seq - 1, prevHash);
    this.#count(stored.details.length);
    this.#events++;
    this.#frame.addEvent({ stored, severity }, hash);
    this.#lastEvent = stored.seq;
    this.chainEnd = hash;
  }

  /** Only the hash of a record is left. */
  addSeal(seq: number, hash: string): void {
    this.end();
    this.#sql.run("INSERT INTO skipped_events VALUES (?, ?)", seq, hash);
    this.#skipTo(seq, hash);
  }

  get isFull(): boolean {
    return this.#entries >= jobsMax || this.#events >= eventsMax || this.#chars >= charsMax;
  }

  /** Writes what was collected. */
  end(): void {
    if (this.#entries === 0) return;
    // Rows are written beside the frame, so that it is never replayed.
    this.#frame.append(this.#sql, {
      changes: null,
      lastEvent: this.#lastEvent,
      previousHash: this.#previousHash,
    });
    this.#previousHash = this.chainEnd;
    this.#entries = 0;
    this.#events = 0;
    this.#chars = 0;
  }

  #skipTo(seq: number, hash: string): void {
    this.end();
    this.#lastEvent = seq;
    this.chainEnd = hash;
    this.#previousHash = hash;
  }

  #count(chars: number): void {
    this.#entries++;
    this.#chars += chars;
  }
}
