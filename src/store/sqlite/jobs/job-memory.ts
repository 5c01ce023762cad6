import { isActive } from "../../../core/jobs/job.ts";
import { isPlain, type JobEntry } from "./job-entry.ts";

/** More than any fleet holds at once, and at most 20 MB as long as progress texts are short. */
const cleanMax = 20_000;
/** Documents that can be claimed without reading their frames: at most about 40 MB. */
const documentCharsMax = 16 * 1024 ** 2;

type Undo =
  | { seq: number; before: JobEntry | undefined; wasDirty: boolean; touched: JobEntry | undefined }
  /** The rows of these were written. */
  | { written: JobEntry[] };
export type MemoryMark = number;

/**
 * The jobs that memory decides about: those whose rows are not written yet, those that workers hold, and the newest that can be
 * claimed. Everything else is read from the table. Why: ADR 0116.
 */
export class JobMemory {
  readonly #bySeq = new Map<number, JobEntry>();
  readonly #seqs = new Map<string, number>();
  /** Changed since the rows were written. */
  readonly #dirty = new Set<number>();
  /** Changed in this group. */
  readonly #touched = new Map<number, JobEntry>();
  #undo: Undo[] = [];
  #documentChars = 0;

  get(seq: number): JobEntry | undefined {
    return this.#bySeq.get(seq);
  }

  find(id: string): JobEntry | undefined {
    const seq = this.#seqs.get(id);
    return seq === undefined ? undefined : this.#bySeq.get(seq);
  }

  get dirtyCount(): number {
    return this.#dirty.size;
  }

  /** A job has changed, or is new. */
  put(entry: JobEntry): void {
    const { seq } = entry.record;
    this.#undo.push({
      seq,
      before: this.#bySeq.get(seq),
      wasDirty: this.#dirty.has(seq),
      touched: this.#touched.get(seq),
    });
    this.#set(seq, entry);
    this.#dirty.add(seq);
    this.#touched.set(seq, entry);
  }

  /** It was read from the table as it is. */
  remember(entry: JobEntry): void {
    if (this.#bySeq.size < 2 * cleanMax) this.#set(entry.record.seq, entry);
  }

  /** Its row is gone. */
  forget(seq: number): void {
    this.#delete(seq);
    this.#dirty.delete(seq);
    this.#touched.delete(seq);
  }

  /** The rows were changed by a statement: whatever is clean is read again. There must be nothing else. */
  clear(): void {
    if (this.#dirty.size > 0) throw new Error("jobs that were not written would be forgotten");
    this.#bySeq.clear();
    this.#seqs.clear();
    this.#documentChars = 0;
  }

  mark(): MemoryMark {
    return this.#undo.length;
  }

  backTo(mark: MemoryMark): void {
    while (this.#undo.length > mark) {
      const step = this.#undo.pop()!;
      if ("written" in step) this.#unwrite(step.written);
      else this.#unput(step);
    }
  }

  #unwrite(entries: JobEntry[]): void {
    for (const entry of entries) {
      this.#set(entry.record.seq, entry);
      this.#dirty.add(entry.record.seq);
    }
  }

  #unput({ seq, before, wasDirty, touched }: Exclude<Undo, { written: JobEntry[] }>): void {
    if (before === undefined) this.#delete(seq);
    else this.#set(seq, before);
    if (!wasDirty) this.#dirty.delete(seq);
    if (touched === undefined) this.#touched.delete(seq);
    else this.#touched.set(seq, touched);
  }

  /** What the group has changed. */
  touched(): JobEntry[] {
    return [...this.#touched.values()];
  }

  /** The group is over, and can no longer be undone. Its frame can be read from now on, so what it changed need not be in memory. */
  closeGroup(): void {
    const seqs = [...this.#touched.keys()];
    this.#touched.clear();
    this.#undo = [];
    for (const seq of seqs) this.#keepWithinBounds(seq);
  }

  #keepWithinBounds(seq: number): void {
    const entry = this.#bySeq.get(seq);
    if (entry === undefined) return;
    const isRoom = entry.document === null || this.#documentChars <= documentCharsMax;
    const kept = isRoom ? entry : { ...entry, document: null };
    if (this.#dirty.has(seq) || isWanted(kept)) this.#set(seq, kept);
    else this.#delete(seq);
  }

  dirty(): JobEntry[] {
    return [...this.#dirty].map((seq) => this.#bySeq.get(seq)!);
  }

  /** The rows of all of them are written. Only what is likely to be asked for soon is kept, and what the group has changed. */
  written(): void {
    this.#undo.push({ written: this.dirty() });
    let kept = this.#bySeq.size - this.#dirty.size;
    for (const seq of this.#dirty) {
      const entry = this.#bySeq.get(seq)!;
      if (this.#touched.has(seq) || (isWanted(entry) && kept++ < cleanMax))
        this.#bySeq.set(seq, { ...entry, isStored: true, isStoredPlain: isPlain(entry) });
      else this.#delete(seq);
    }
    this.#dirty.clear();
  }

  #set(seq: number, entry: JobEntry): void {
    this.#documentChars += (entry.document?.length ?? 0) - (this.#bySeq.get(seq)?.document?.length ?? 0);
    this.#bySeq.set(seq, entry);
    this.#seqs.set(entry.record.id, seq);
  }

  #delete(seq: number): void {
    const entry = this.#bySeq.get(seq);
    if (entry === undefined) return;
    this.#documentChars -= entry.document?.length ?? 0;
    this.#bySeq.delete(seq);
    if (this.#seqs.get(entry.record.id) === seq) this.#seqs.delete(entry.record.id);
  }
}

/** A worker holds it, or it can be claimed without reading its frame. */
function isWanted({ record, document }: JobEntry): boolean {
  return isActive(record.status) || document !== null;
}
