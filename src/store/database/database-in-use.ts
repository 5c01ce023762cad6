import { WritError } from "../../core/errors.ts";

/** What a database says of itself. `record` is the event of the number that was asked for; null if it has none. */
export type FoundDatabase = { id: string; lastSeq: number; record: string | null; isCopy: boolean };

type WrittenEvent = { ts: number; event: string; job_id: string | null };

/**
 * Which database of a server a hub uses, and how far its log has come. A hub compares its database when it starts; a database
 * that is back after an outage may be an older copy, or another one, and is compared with this. Why: ADR 0030.
 */
export class DatabaseInUse {
  #id: string | null = null;
  #lastSeq = 0;
  /** The last event that this hub has written: another hub may have given its number again since. */
  #record = { seq: 0, text: "" };
  readonly #onOther = new Set<() => void>();

  /** The first database that is compared is the one in use. */
  get isOpen(): boolean {
    return this.#id !== null;
  }

  wrote(lastSeq: number, event: WrittenEvent | undefined): void {
    this.#lastSeq = Math.max(this.#lastSeq, lastSeq);
    if (event !== undefined && lastSeq > this.#record.seq)
      this.#record = { seq: lastSeq, text: `${event.ts} ${event.event} ${event.job_id ?? ""}` };
  }

  /** Throws if the database that `read` finds is not the one in use, or an older state of it. Null means that it is empty. */
  async compare(
    read: (recordSeq: number) => Promise<FoundDatabase | null>,
  ): Promise<{ id: string; lastSeq: number }> {
    // Others may write while it is read, so what counts is what was known before.
    const known = { lastSeq: this.#lastSeq, record: this.#record };
    const found = await read(known.record.seq);
    if (found === null) throw this.lost("is empty now, and not the one that this hub uses");
    this.#id ??= found.id;
    if (found.id !== this.#id) throw this.lost("is not the one that this hub uses");
    if (found.lastSeq < known.lastSeq) {
      if (found.isCopy) throw lateCopy();
      throw this.lost(
        `has lost its newest part: it ends at record ${found.lastSeq}, and this hub knows record ${known.lastSeq}`,
      );
    }
    // Old events are removed.
    if (found.record !== null && found.record !== known.record.text)
      throw this.lost(`is not the one that this hub uses: record ${known.record.seq} is another one`);
    this.#lastSeq = Math.max(this.#lastSeq, found.lastSeq);
    return { id: found.id, lastSeq: found.lastSeq };
  }

  /** Connections that are open are given up, so that nothing is done on any of them before it is compared again. */
  lost(problem: string): WritError {
    for (const listener of [...this.#onOther]) listener();
    return new WritError("STORE_UNAVAILABLE", `the database in WRIT_DATABASE_URL ${problem}`, {
      away: true,
      lost: "in WRIT_DATABASE_URL",
      advice: "put the right one back; otherwise stop the hub, and its next start says how to continue",
    });
  }

  /** Returns a function to stop listening. */
  onOther(listener: () => void): () => void {
    this.#onOther.add(listener);
    return () => this.#onOther.delete(listener);
  }
}

/** It may still receive what it lacks. */
function lateCopy(): WritError {
  return new WritError(
    "STORE_UNAVAILABLE",
    "the database only reads at present: it is a copy that follows another server, and is behind what this hub knows",
    { away: true, advice: "promote it once it has everything, or lead the hub back to the server before" },
  );
}
