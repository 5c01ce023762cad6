import type { Connection } from "../connection/connection.ts";

/** A busy log takes many minutes to get through as many events as this. */
const aheadEvents = 5_000_000;
const marginEvents = 2_000_000;

/** Makes the partitions for the next events; returns how far they reach. */
export async function addPartitions(sql: Connection): Promise<number> {
  const { last } = (await sql.first<{ last: number }>("SELECT last FROM log_state"))!;
  await sql.all("SELECT add_log_partitions($1)", last + aheadEvents);
  return last + aheadEvents;
}

/** Follows the log, and adds partitions long before they are needed. Why: ADR 0083. */
export class LogPartitions {
  readonly #use: (add: typeof addPartitions) => Promise<number>;
  #through = 0;
  #isAdding = false;

  constructor(use: (add: typeof addPartitions) => Promise<number>) {
    this.#use = use;
  }

  follow(lastSeq: number): void {
    if (this.#isAdding || lastSeq + marginEvents < this.#through) return;
    this.#isAdding = true;
    this.#use(addPartitions)
      .then((through) => {
        this.#through = through;
      })
      // The next commit tries again.
      .catch(() => {})
      .finally(() => {
        this.#isAdding = false;
      });
  }
}
