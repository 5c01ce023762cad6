import { type Command, Option } from "commander";
import type { Quota, TenantQuota, Writ } from "../../client/index.ts";
import { quotaLimits } from "../../contract/shapes/admin-shapes.ts";
import { WritError } from "../../core/errors.ts";
import { queuesAllowed } from "../../core/jobs/quota.ts";
import { withWrit } from "../connection/connection.ts";
import type { CliContext } from "../context.ts";
import { listByDefault, parsed } from "../program.ts";
import { print } from "../terminal/print.ts";
import { printRows } from "../terminal/print-rows.ts";
import { type Column, formatFields } from "../terminal/table.ts";

type Limit = keyof Quota;
type LimitFlags = Partial<Record<string, number | "none">>;

export function define(command: Command, context: CliContext): void {
  defineList(listByDefault(command), context);
  defineSet(command.command("set"), context);
}

function defineList(command: Command, context: CliContext): void {
  command.description("list what each tenant uses and may use").action(() =>
    withWrit(context, command, async ({ fleet }) => {
      await printRows(context, command, { rows: await fleet.quotas(), columns, none: "no tenants" });
    }),
  );
}

function defineSet(command: Command, context: CliContext): void {
  command
    .description("change the limits of a tenant; the others stay")
    .argument("<tenant>", "the tenant's id");
  for (const limit of quotaLimits) {
    const option = new Option(`--${flagOf(limit)} <n>`, `${meaning[limit]}, or none`);
    command.addOption(option.argParser(limit === "max_agent_usd_per_day" ? amountOf : limitOf));
  }
  command.action((tenant: string, flags: LimitFlags) =>
    withWrit(context, command, (writ) => setQuota(writ, { context, command, tenant, flags })),
  );
}

const meaning: Record<Limit, string> = {
  max_pending: "how many jobs may wait",
  max_queues: "how many queues may hold waiting jobs (default 10000)",
  max_running: "how many jobs may run at once",
  submits_per_sec: "how many jobs may be submitted each second",
  max_output_bytes: "the most bytes of each output stream of a job",
  max_artifact_bytes: "the most bytes of all files that the tenant stores",
  max_schedules: "how many schedules there may be (default 1000)",
  max_agent_usd_per_day: "how many dollars coding agents may report in one UTC day",
  max_agent_tokens_per_day: "how many tokens coding agents may report in one UTC day",
  max_agent_tool_calls_per_day: "how many calls of tools coding agents may make in one UTC day",
  max_webhooks: "how many webhooks there may be (default 20)",
  max_hooks: "how many hooks there may be (default 100)",
};

async function setQuota(
  writ: Writ,
  {
    context,
    command,
    tenant,
    flags,
  }: { context: CliContext; command: Command; tenant: string; flags: LimitFlags },
): Promise<void> {
  const given = quotaLimits.flatMap((limit) => {
    const value = flags[new Option(`--${flagOf(limit)}`).attributeName()];
    return value === undefined ? [] : [[limit, value] as const];
  });
  if (given.length === 0) {
    const names = quotaLimits.map((limit) => `--${flagOf(limit)}`).join(", ");
    throw new WritError("INVALID_ARGUMENT", `no limit given; use ${names}`);
  }
  const merged: [string, number | "none"][] = Object.entries({
    ...(await writ.fleet.quota(tenant)),
    ...Object.fromEntries(given),
  });
  const quota = Object.fromEntries(merged.filter(([, value]) => value !== "none")) as Quota;
  const set = await writ.fleet.setQuota(tenant, quota);
  print(context, command, { tenant_id: tenant, quota: set }, ({ quota: shown }) =>
    formatFields([
      ["tenant", tenant],
      ...quotaLimits.map((limit) => [limit, shown[limit] ?? limitUnset(limit)] as const),
    ]),
  );
}

/** What applies while the limit is not set. */
function limitUnset(limit: Limit): string {
  return limit === "max_queues" ? `${queuesAllowed({})} (default)` : "none";
}

function flagOf(limit: Limit): string {
  return limit.replaceAll("_", "-");
}

const limitOf = parsed(
  (text): number | "none" | undefined =>
    text === "none" ? text : /^\d{1,15}$/.test(text) ? Number(text) : undefined,
  "a whole number, or none",
);

const amountOf = parsed(
  (text): number | "none" | undefined =>
    text === "none" ? text : /^\d{1,7}(\.\d{1,6})?$/.test(text) ? Number(text) : undefined,
  "a number such as 20 or 2.5, or none",
);

const columns: Column<TenantQuota>[] = [
  { title: "TENANT", cell: (row) => row.tenant_id },
  { title: "PENDING", cell: (row) => usedOf(row.pending, row.quota.max_pending) },
  { title: "RUNNING", cell: (row) => usedOf(row.active, row.quota.max_running) },
  { title: "SUBMITS/S", cell: (row) => row.quota.submits_per_sec ?? null },
  { title: "OUTPUT BYTES", cell: (row) => row.quota.max_output_bytes ?? null },
  { title: "ARTIFACT BYTES", cell: (row) => row.quota.max_artifact_bytes ?? null },
];

function usedOf(used: number, max: number | undefined): string {
  return max === undefined ? String(used) : `${used} of ${max}`;
}
