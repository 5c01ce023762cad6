import { type Command, Option } from "commander";
import type { AuditRecord, Writ } from "../../../client/index.ts";
import { type EventKind, eventTable } from "../../../core/events.ts";
import { withWrit } from "../../connection/connection.ts";
import type { CliContext } from "../../context.ts";
import { pastMoment, wholeNumber } from "../../program.ts";
import { wantsJson, writeSlowly } from "../../terminal/print.ts";
import { resolveJobId, shortId } from "../../terminal/short-id.ts";
import { type Column, Table, tableWidth } from "../../terminal/table.ts";
import { safeJson } from "../../terminal/terminal.ts";

type Flags = {
  event?: EventKind;
  user?: string;
  tenant?: string;
  job?: string;
  severity?: AuditRecord["severity"];
  since?: number;
  until?: number;
  limit: number;
  all?: boolean;
};

const pageRecords = 500;

export function define(command: Command, context: CliContext): void {
  command
    .addOption(new Option("--event <name>", "only events of this kind").choices(Object.keys(eventTable)))
    .option("--user <id>", "only events caused by this user")
    .option("--tenant <id>", "only events of this tenant")
    .option("--job <id>", "only events of this job")
    .addOption(
      new Option("--severity <level>", "only this level").choices(["LOW", "MEDIUM", "HIGH", "CRITICAL"]),
    )
    .option("--since <time>", "only events after this date, or newer than this age (2h, 7d)", pastMoment)
    .option("--until <time>", "only events before this date, or older than this age", pastMoment)
    .option("--limit <n>", "print at most N events", wholeNumber(1, 1_000_000), 100)
    .option("--all", "print all events, without a limit")
    .action((flags: Flags) =>
      withWrit(context, command, (writ) => search(writ, { context, command, flags })),
    );
}

/** Also searches the hub's files of older days, so it may reach back a year. */
async function search(
  writ: Writ,
  { context, command, flags }: { context: CliContext; command: Command; flags: Flags },
): Promise<void> {
  const { event, user, tenant, severity, since, until, limit, all = false } = flags;
  const jobId = flags.job === undefined ? undefined : await resolveJob(writ, flags.job);
  const filter = { event, userId: user, tenantId: tenant, jobId, severity, since, until };
  const pageSize = all ? pageRecords : Math.min(limit, pageRecords);
  const signal = context.stops.requested;
  const table = new Table(columns, tableWidth(context.stdout));
  const flush = (records: AuditRecord[]): Promise<void> => {
    const text = wantsJson(command)
      ? records.map((record) => `${safeJson(record)}\n`).join("")
      : table.format(records);
    return writeSlowly(context, text, signal);
  };
  const rows: AuditRecord[] = [];
  let count = 0;
  for await (const record of writ.audit(filter, { pageSize })) {
    signal.throwIfAborted();
    rows.push(record);
    if (++count === limit && !all) break;
    if (rows.length === pageSize) await flush(rows.splice(0));
  }
  if (rows.length > 0) await flush(rows);
  if (count === 0 && context.stdout.isTTY) context.stderr.write("no events match\n");
}

/** A deleted job is still in the trail under its full id, which cannot be looked up any more. */
async function resolveJob(writ: Writ, id: string): Promise<string> {
  return id.length === 36 ? id : resolveJobId(writ, id);
}

const columns: Column<AuditRecord>[] = [
  { title: "TIME", cell: (record) => record.timestamp, minWidth: 20 },
  { title: "SEQ", cell: (record) => record.seq, isOptional: true },
  { title: "LEVEL", cell: (record) => record.severity },
  { title: "EVENT", cell: (record) => record.event },
  { title: "TENANT", cell: (record) => record.tenant_id, minWidth: 6, isOptional: true },
  { title: "USER", cell: (record) => record.user_id, minWidth: 6 },
  { title: "ADDRESS", cell: (record) => record.ip_address, minWidth: 9, isOptional: true },
  { title: "JOB", cell: (record) => record.job_id && shortId(record.job_id) },
  { title: "DETAILS", cell: detailsOf, minWidth: 8 },
];

function detailsOf({ details }: AuditRecord): string {
  const { job_id: _, status: __, type: ___, priority: ____, attempt: _____, ...rest } = details;
  return Object.entries(rest)
    .filter(([, value]) => value !== null && value !== "")
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join("  ");
}
