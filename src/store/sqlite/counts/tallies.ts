import { type JobState, jobStates } from "../../../core/jobs/job.ts";
import type { Connection } from "../database/connection.ts";

type TallyName =
  | "job_seq"
  | "event_seq"
  | "turn"
  | "output_bytes"
  | "unchecked_hash_seq"
  | "flushed_frame"
  | "copied_frame"
  | "pruned_event"
  | `jobs.${JobState}`;
export type TallyMark = Map<TallyName, number>;

const names: TallyName[] = [
  "job_seq",
  "event_seq",
  "turn",
  "output_bytes",
  "unchecked_hash_seq",
  "flushed_frame",
  "copied_frame",
  "pruned_event",
  ...jobStates.map((state) => `jobs.${state}` as const),
];

/** Numbers that would be slow to count, kept in memory and written once per transaction. Why: ADR 0003. */
export class Tallies {
  #values: TallyMark;
  readonly #written: TallyMark;

  constructor(connection: Connection) {
    const rows = connection.all<{ name: TallyName; value: number }>("SELECT name, value FROM tallies");
    const stored = new Map(rows.map((row) => [row.name, row.value]));
    this.#values = new Map(names.map((name) => [name, stored.get(name) ?? 0]));
    this.#written = new Map(this.#values);
  }

  get(name: TallyName): number {
    return this.#values.get(name)!;
  }

  /** Returns the new value. */
  add(name: TallyName, difference: number): number {
    const value = this.#values.get(name)! + difference;
    this.#values.set(name, value);
    return value;
  }

  mark(): TallyMark {
    return new Map(this.#values);
  }

  backTo(mark: TallyMark): void {
    this.#values = new Map(mark);
  }

  flush(connection: Connection): void {
    for (const [name, value] of this.#values) {
      if (this.#written.get(name) === value) continue;
      connection.run(
        "INSERT INTO tallies (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        name,
        value,
      );
      this.#written.set(name, value);
    }
  }
}
