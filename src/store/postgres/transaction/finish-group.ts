import { type JobState, jobStates } from "../../../core/jobs/job.ts";
import { type ColumnKind, type ColumnValue, columnType, encodeColumn } from "../connection/columns.ts";
import type { Statement } from "./job-writes.ts";

export type QueueCounts = { jobs: number; pending: number; active: number };
export type OwnerCounts = { tenantId: string; userId: string } & Record<JobState, number>;
export type WorkerCounts = { completed: number; failed: number };
export type Limit = { pending?: number; active?: number; queues?: number };
/** The lane that writes, and the number of its group. */
export type LaneGroup = { id: string; group: number };

export type EventRow = {
  ts: number;
  event: string;
  tenant_id: string | null;
  job_id: string | null;
  owner_id: string | null;
  job_seq: number | null;
  details: string;
  origin: string | null;
  severity: string;
  /** The text that is hashed, with marks for what only the database knows. */
  seal: string;
};

type Group = {
  events: EventRow[];
  marks: { hash: string; seq: string };
  /** The jobs in each state, and the bytes of output, that have come or gone. */
  sums: number[];
  queues: ReadonlyMap<number, QueueCounts>;
  owners: ReadonlyMap<string, OwnerCounts>;
  turns: ReadonlyMap<string, number>;
  workers: ReadonlyMap<string, WorkerCounts>;
  limits: ReadonlyMap<string, Limit>;
  lane: LaneGroup | null;
  /** JSON; null for nearly all groups. */
  seldom: string | null;
};

/** The call of `finish_group`, the last statement of a transaction before its commit. Why: ADR 0080, ADR 0091. */
export function finishGroup(group: Group): Statement {
  const events = eventColumns.map(([name, kind]) =>
    encodeColumn(
      kind,
      group.events.map((event) => event[name]),
    ),
  );
  return {
    text: finishText,
    values: [
      ...events,
      group.marks.hash,
      group.marks.seq,
      encodeColumn("bigint", group.sums),
      ...columnsOf(queueColumns, group.queues),
      ...columnsOf(ownerColumns, group.owners),
      ...columnsOf(turnColumns, group.turns),
      ...columnsOf(workerColumns, group.workers),
      ...columnsOf(limitColumns, group.limits),
      group.lane?.id ?? null,
      group.lane?.group ?? null,
      group.seldom,
    ],
  };
}

const eventColumns = [
  ["ts", "bigint"],
  ["event", "text"],
  ["tenant_id", "text"],
  ["job_id", "text"],
  ["owner_id", "text"],
  ["job_seq", "bigint"],
  ["details", "text"],
  ["origin", "text"],
  ["severity", "text"],
  ["seal", "text"],
] as const satisfies [keyof EventRow, ColumnKind][];

type ListColumn<Key, Value> = [ColumnKind, (key: Key, value: Value) => ColumnValue];

const queueColumns: ListColumn<number, QueueCounts>[] = [
  ["bigint", (id) => id],
  ["bigint", (_, { jobs }) => jobs],
  ["bigint", (_, { pending }) => pending],
  ["bigint", (_, { active }) => active],
];

const ownerColumns: ListColumn<string, OwnerCounts>[] = [
  ["text", (_, { tenantId }) => tenantId],
  ["text", (_, { userId }) => userId],
  ...jobStates.map((state): ListColumn<string, OwnerCounts> => ["bigint", (_, counts) => counts[state]]),
];

const turnColumns: ListColumn<string, number>[] = [
  ["text", (tenantId) => tenantId],
  ["bigint", (_, turn) => turn],
];

const workerColumns: ListColumn<string, WorkerCounts>[] = [
  ["text", (id) => id],
  ["bigint", (_, { completed }) => completed],
  ["bigint", (_, { failed }) => failed],
];

const limitColumns: ListColumn<string, Limit>[] = [
  ["text", (tenantId) => tenantId],
  ["bigint", (_, { pending }) => pending],
  ["bigint", (_, { active }) => active],
  ["bigint", (_, { queues }) => queues],
];

const finishTypes = [
  ...eventColumns.map(([, kind]) => columnType(kind)),
  "text",
  "text",
  "bigint[]",
  ...[queueColumns, ownerColumns, turnColumns, workerColumns, limitColumns].flatMap((columns) =>
    columns.map(([kind]) => columnType(kind)),
  ),
  "uuid",
  "bigint",
  "json",
];

const finishText = `SELECT * FROM finish_group(${finishTypes.map((type, index) => `$${index + 1}::${type}`).join(", ")})`;

/** Nulls if the list is empty. */
function columnsOf<Key, Value>(
  columns: ListColumn<Key, Value>[],
  list: ReadonlyMap<Key, Value>,
): (Buffer | null)[] {
  const rows = [...list];
  return columns.map(([kind, of]) =>
    rows.length === 0
      ? null
      : encodeColumn(
          kind,
          rows.map(([key, value]) => of(key, value)),
        ),
  );
}
