import { WritError } from "../../core/errors.ts";
import { columnOf } from "../jobs/job-columns.ts";
import { newestSchema, refuseOldSchema, type SchemaStep } from "./schema-steps.ts";

/**
 * The interface through which a whole database is copied into another one, whatever drivers they have. Rows travel as they
 * are stored and in bulk: nothing is decided, sealed or logged again. Both drivers read and write the same rows, so what was
 * written can be read back and compared. Why: ADR 0086.
 */
export type DatabaseCopy = {
  /** Whether it seals in groups. Then seals of jobs are made anew when they are read, and mean the same. */
  readonly isFramed: boolean;
  /** Null if no hub has used it yet. */
  getIdentity(): Promise<CopiedIdentity | null>;
  getMove(): Promise<DatabaseMove | null>;
  setMove(move: DatabaseMove | null): Promise<void>;

  countRows(part: CopyPart): Promise<number>;
  /** All rows of a part in the order of its key, after the given key, in pages. */
  readRows(part: CopyPart, after: CopyKey | null): AsyncIterable<CopyRow[]>;
  getNumbers(): Promise<CopyNumbers>;

  /** Makes room for the log of a source with these numbers. */
  prepare(numbers: CopyNumbers): Promise<void>;
  getProgress(): Promise<Map<string, PartProgress>>;
  /** Writes rows and how far the part has come then; both or none. */
  writeRows(part: CopyPart, rows: CopyRow[], progress: PartProgress): Promise<void>;
  writeNumbers(numbers: CopyNumbers): Promise<void>;
  /** Makes it a database that a hub can use: it has its identity, and is no target of a move any more. */
  finish(identity: CopiedIdentity): Promise<void>;
  close(): Promise<void>;
};

type CopyValue = string | number | null | Uint8Array;
export type CopyRow = Record<string, CopyValue>;
export type CopyKey = (string | number)[];
export type PartProgress = { after: CopyKey; rows: number };

export type CopiedIdentity = { id: string; keyCheck: string };

export type DatabaseMove = {
  role: "source" | "target";
  /** The id of the database that is moved. */
  databaseId: string;
  /** Where the other one is, without a password. */
  other: string;
  startedAt: number;
  endedAt: number | null;
};

/** What is kept as a number instead of rows. */
export type CopyNumbers = {
  jobSeq: number;
  eventSeq: number;
  turn: number;
  outputBytes: number;
  uncheckedHashSeq: number;
  /** The number of the oldest record of the log, or of the seal before it. */
  firstSeq: number;
  /** The number of the last record that has a seal. */
  sealedSeq: number;
  states: Record<string, number>;
};

/** A table, or what a driver keeps in several. `key` is unique and gives the order. */
export type CopyPart = { name: string; columns: readonly string[]; key: readonly string[] };

function part(name: string, key: string, rest = ""): CopyPart {
  const words = (text: string): string[] => text.split(" ").filter((word) => word !== "");
  return { name, key: words(key), columns: [...words(key), ...words(rest)] };
}

/** What drivers keep apart from the record of a job. `place` is ready, delayed, held, active or ended. */
const ofJobs =
  "queue_id place due_at is_key_chosen document mac summary output_sizes output_bytes output_dropped_through";
const recordColumns = Object.values(columnOf).filter((column) => column !== "seq");

/** Everything in a database, in the order in which it is written: what others refer to comes first. */
export const copyParts: readonly CopyPart[] = [
  part("queues", "id", "key tenant_id type pending active jobs"),
  part("tenants", "id", "turn"),
  part("quotas", "tenant_id", "quota"),
  part("agent_spending", "tenant_id", "day usd tokens tool_calls"),
  part("paused_types", "type"),
  part("lockdown", "one", "reason user_id since"),
  part("tenant_lockdowns", "tenant_id", "reason user_id since"),
  part("owner_counts", "tenant_id user_id", "pending assigned running completed failed quarantined"),
  part(
    "workers",
    "id",
    "name facts slots key_ids public_key version status blocked draining refused_claims paused_until registered_at last_heartbeat completed failed",
  ),
  part("worker_metrics", "worker_id ts", "metrics"),
  part(
    "tokens",
    "number",
    "id secret_hash role tenant_id user_id worker_id created_at expires_at revoked_at",
  ),
  part("sessions", "secret_hash", "token_id expires_at"),
  part("login_codes", "code_hash", "token_id expires_at"),
  part("standing_orders", "id", "kind tenant_id name user_id revision next_at place state seal"),
  part("order_occurrences", "order_id occurrence", "at outcome job_id ts revision"),
  part(
    "job_lanes",
    "id",
    "tenant_id name user_id max_running rate_limit period_sec burst active starts_us jobs opens_at",
  ),
  part("lane_places", "lane_id job_seq attempt", "job_id user_id until"),
  part("lane_line", "job_seq lane_id", "stands queue_id rank"),
  part("log_readers", "name", "seq memory"),
  part("outbox", "id", "channel subject body data created_at due_at tries"),
  part("watched", "subject", "until"),
  part("statistics", "tenant_id length_ms start", "period"),
  part(
    "objects",
    "id",
    "tenant_id user_id folder_id object_key job_id attempt state size sha256 created_at expires_at store_upload stored_as replaced_at",
  ),
  part("object_usage", "tenant_id", "bytes"),
  part("receipt_signatures", "id", "text signature worker_id public_key created_at"),
  part("receipts", "job_seq", "job_id document routing mac receipt ended_at"),
  part("audit_marks", "audit seq", "hash ts key_id signature"),
  // The log with its chain. Only a seal is left of a record that was removed, and then `event` is null; a record that is not
  // sealed yet has no hash.
  part("events", "seq", "ts event tenant_id job_id owner_id job_seq details origin severity hash"),
  part("jobs", "seq", `${recordColumns.join(" ")} ${ofJobs}`),
  part("job_inputs", "job_seq folder_id object_key sha256", "tenant_id"),
  part("job_labels", "tenant_id label seq"),
  part("kept_jobs", "seq", "until"),
  part("unique_keys", "tenant_id key", "seq"),
  part("small_outputs", "job_seq attempt", "stdout stderr"),
];

export function keyOf(part: CopyPart, row: CopyRow): CopyKey {
  return part.key.map((column) => row[column] as string | number);
}

/** Throws if a database that is to be copied or filled has another schema than this program. */
export function refuseOtherSchema(database: string, steps: readonly SchemaStep[], found: number): void {
  refuseOldSchema(steps[0]!.version, found);
  const known = newestSchema(steps);
  if (found === known) return;
  const advice =
    found > known ? "use the newer program" : "start its hub once with this program, which upgrades it";
  throw new WritError(
    "CONFIG_INVALID",
    `the database ${database} has schema ${found}, and this program needs ${known}; ${advice}`,
  );
}

/** Throws if a hub must not use this database, because it was moved or is only half filled. */
export function refuseMoved(move: DatabaseMove | null): void {
  if (move !== null) throw new WritError("CONFIG_INVALID", describeMove(move));
}

/** Why a hub must not use the database, and what to do. */
export function describeMove({ role, other, endedAt }: DatabaseMove): string {
  if (role === "target")
    return `this database is the target of a migration from ${other} that has not finished; run that \`writ migrate\` again`;
  return endedAt === null
    ? `this database is being moved to ${other}; run that \`writ migrate\` again, or give it up with \`writ migrate --abandon\``
    : `this database was moved to ${other}; ${howToName(other)}`;
}

/** How a hub is told of the database with this address. */
export function howToName(database: string): string {
  return database.startsWith("postgres")
    ? "set WRIT_DATABASE_URL to that one"
    : "unset WRIT_DATABASE_URL, and set SQLITE_PATH to that file unless it is the home's own";
}

/** Nothing is in it, not even what the first start of a hub writes. */
export async function isEmpty(copy: DatabaseCopy): Promise<boolean> {
  for (const part of copyParts) if ((await copy.countRows(part)) > 0) return false;
  return (await copy.getIdentity()) === null;
}
