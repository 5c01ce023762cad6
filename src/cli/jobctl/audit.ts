import { type Command, Option } from "commander";
import type { AuditRecord, Writ } from "../../client/index.ts";
import { type EventKind, eventTable } from "../../core/events.ts";
import { withWrit } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { parseDuration, parseMoment } from "../duration.ts";
import { wantsJson, writeSlowly } from "../print.ts";
import { parsed, wholeNumber } from "../program.ts";
import { resolveJobId, shortId } from "../short-id.ts";
import { neutraliseLine, safeJson } from "../terminal.ts";

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
  const moment = parsed(momentOf, "a date such as 2030-01-31, or an age such as 2h or 7d");
  command
    .addOption(new Option("--event <name>", "only events of this kind").choices(Object.keys(eventTable)))
    .option("--user <id>", "only events caused by this user")
    .option("--tenant <id>", "only events of this tenant")
    .option("--job <id>", "only events of this job")
    .addOption(
      new Option("--severity <level>", "only this level").choices(["LOW", "MEDIUM", "HIGH", "CRITICAL"]),
    )
    .option("--since <time>", "only events after this date, or newer than this age (2h, 7d)", moment)
    .option("--until <time>", "only events before this date, or older than this age", moment)
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
  const filter = { event, user_id: user, tenant_id: tenant, job_id: jobId, severity, since, until };
  const pageSize = all ? pageRecords : Math.min(limit, pageRecords);
  const signal = context.stops.requested;
  let count = 0;
  for await (const record of writ.audit(filter, { pageSize })) {
    signal.throwIfAborted();
    const line = wantsJson(command) ? safeJson(record) : showRecord(record);
    await writeSlowly(context, `${line}\n`, signal);
    if (++count === limit && !all) break;
  }
  if (count === 0 && context.stdout.isTTY) context.stderr.write("no events match\n");
}

/** A deleted job is still in the trail under its full id, which cannot be looked up any more. */
async function resolveJob(writ: Writ, id: string): Promise<string> {
  return id.length === 36 ? id : resolveJobId(writ, id);
}

function momentOf(text: string): number | undefined {
  const nowMs = Date.now();
  const agoMs = /^\d{12,}$/.test(text) ? undefined : parseDuration(text);
  return agoMs === undefined ? parseMoment(text, nowMs) : nowMs - agoMs;
}

function showRecord(record: AuditRecord): string {
  const { job_id: _, status: __, type: ___, priority: ____, attempt: _____, ...details } = record.details;
  const told = Object.entries(details)
    .filter(([, value]) => value !== null && value !== "")
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`);
  const words = [
    record.timestamp,
    String(record.seq).padStart(7),
    record.severity.padEnd(8),
    record.event.padEnd(22),
    record.tenant_id,
    record.user_id,
    record.job_id && shortId(record.job_id),
    ...told,
  ];
  return neutraliseLine(words.filter((word) => word !== null && word !== "").join("  "));
}
