import { isDeepStrictEqual } from "node:util";
import type { Command } from "commander";
import type { Schedule, ScheduleInput, Writ } from "../../client/index.ts";
import { invalidArgument } from "../../core/errors.ts";
import { loadYamlFile } from "../../runtime/settings/yaml-file.ts";
import { withWrit } from "../connection/connection.ts";
import type { CliContext } from "../context.ts";
import { confirm, yesOption } from "../terminal/confirm.ts";
import { neutraliseLine } from "../terminal/terminal.ts";

export function define(command: Command, context: CliContext): void {
  const apply = command.command("apply");
  apply
    .description("make the schedules of a file true: shows what would change, and asks")
    .argument("<file>", "YAML with `schedules`: a name and the fields of PUT /schedules/NAME for each")
    .option("--prune", "remove the schedules of the caller that are not in the file")
    .option(...yesOption)
    .action((path: string, flags: { prune?: boolean; yes?: boolean }) =>
      withWrit(context, apply, async (writ) => {
        const plan = planOf(await readFile(path), await currentOf(writ));
        context.stdout.write(planText(plan, flags.prune === true));
        const removed = flags.prune ? plan.others : [];
        if (plan.changed.length + removed.length === 0) return;
        const question = `Change ${plan.changed.length} and remove ${removed.length} schedules?`;
        if (!(await confirm(context, { question, yes: flags.yes }))) return;
        for (const { name, wanted } of plan.changed) await writ.schedules.put(name, wanted);
        for (const name of removed) await writ.schedules.remove(name);
      }),
    );
}

async function readFile(path: string): Promise<Map<string, ScheduleInput>> {
  const { data } = await loadYamlFile(path, { mustBePrivate: false });
  const { schedules, ...others } = data;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    throw invalidArgument({ path: unknown, message: "is an unknown field; use schedules" });
  if (typeof schedules !== "object" || schedules === null || Array.isArray(schedules))
    throw invalidArgument({ path: "schedules", message: "must be a mapping of names to schedules" });
  // What each holds is checked by the hub, which names the field.
  return new Map(Object.entries(schedules as Record<string, ScheduleInput>));
}

/** Only the caller's own, in its own tenant: a file is never meant for those of others. */
async function currentOf(writ: Writ): Promise<Map<string, Schedule>> {
  const { user_id, tenant_id } = await writ.whoAmI();
  const found = new Map<string, Schedule>();
  for await (const schedule of writ.schedules.list())
    if (schedule.user_id === user_id && schedule.tenant_id === (tenant_id ?? "default"))
      found.set(schedule.name, schedule);
  return found;
}

type Change = { name: string; wanted: ScheduleInput; fields: string[] | null };
type Plan = { changed: Change[]; same: string[]; others: string[] };

function planOf(wanted: Map<string, ScheduleInput>, current: Map<string, Schedule>): Plan {
  const plan: Plan = { changed: [], same: [], others: [] };
  for (const [name, schedule] of wanted) {
    const known = current.get(name);
    const fields = known === undefined ? null : differing(schedule, known);
    if (fields?.length === 0) plan.same.push(name);
    else plan.changed.push({ name, wanted: schedule, fields });
  }
  plan.others = [...current.keys()].filter((name) => !wanted.has(name));
  return plan;
}

const defaults: Record<string, unknown> = {
  cron: null,
  every_sec: null,
  time_zone: "UTC",
  start_at: null,
  end_at: null,
  max_runs: null,
  jitter_sec: 0,
  catch_up: "latest",
  catch_up_sec: 86_400,
  overlap: "skip",
};

/** A pause stays as it is if the file says nothing of it. */
function differing(wanted: ScheduleInput, known: Schedule): string[] {
  const all: Record<string, unknown> = { ...defaults, paused: known.paused, ...wanted };
  return Object.keys(all).filter(
    (field) => !isDeepStrictEqual(plain(all[field]), plain((known as Record<string, unknown>)[field])),
  );
}

function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

function planText({ changed, same, others }: Plan, isPruned: boolean): string {
  const lines = [
    ...changed.map(({ name, fields }) => (fields === null ? `+ ${name}` : `~ ${name}: ${fields.join(", ")}`)),
    ...same.map((name) => `= ${name}`),
    ...others.map((name) =>
      isPruned ? `- ${name}` : `  ${name} is not in the file, and is kept; --prune removes it`,
    ),
  ];
  return lines.map((line) => `${neutraliseLine(line)}\n`).join("");
}
