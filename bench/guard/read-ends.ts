import { join } from "node:path";
import { Connection } from "../../src/store/sqlite/database/connection.ts";
import { ReadContext } from "../../src/store/sqlite/reads/read-context.ts";
import { readEvents } from "../../src/store/sqlite/reads/read-events.ts";

/** Reads the log of a hub beside it, because a question to the hub would be counted. */
export type Ends = {
  /** The number of the last event. */
  last(): number;
  /** How many jobs have completed after this event; throws if one has not. */
  completedAfter(seq: number): number;
  close(): void;
};

const endsMax = 100_000;

export function openEnds(home: string): Ends {
  const path = join(home, "writ.sqlite");
  const sql = new Connection(path, 5_000, { isReader: true });
  const lastText = "SELECT max(last_event) AS seq FROM frames";
  // Nothing is proven here, so no key is needed.
  const kindsAfter = (afterSeq: number): string[] =>
    readEvents(new ReadContext(sql, Buffer.alloc(32)), { afterSeq, limit: endsMax }).map(
      ({ event }) => event,
    );
  return {
    last: () => sql.first<{ seq: number | null }>(lastText)!.seq ?? 0,
    completedAfter(seq) {
      const kinds = kindsAfter(seq);
      if (kinds.includes("JOB_FAILED")) throw new Error("a job has failed");
      return kinds.filter((kind) => kind === "JOB_COMPLETED").length;
    },
    close: () => sql.close(),
  };
}
