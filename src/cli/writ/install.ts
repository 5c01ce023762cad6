import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { requireRunnable, whereToInstall, whyAccountCannotStart } from "../service/require-runnable.ts";
import { serviceRole } from "../service/role.ts";
import { requireManager, runServiceCommand, writeServiceFile } from "../service/run-steps.ts";
import {
  installSteps,
  needsAccount,
  planService,
  type ServiceFlags,
  type ServiceSteps,
} from "../service/service-plan.ts";
import { environmentFile, type ServicePlan, type ServiceRole, serviceNames } from "../service/unit.ts";
import { print } from "../terminal/print.ts";
import { neutraliseLine } from "../terminal/terminal.ts";

export function define(command: Command, context: CliContext): void {
  command
    .argument("[role]", "hub or worker (default: a hub with a worker, as `writ up`)", serviceRole)
    .option("--user", "a service of your own, without root")
    .option("--dry-run", "only print what would be done")
    .action(async (role: ServiceRole = "up", { user = false, dryRun = false }: ServiceFlags) => {
      const plan = planService(context, command, { role, isOfUser: user });
      const { check, ...steps } = installSteps(plan, context.userHome);
      if (dryRun) warnUnlessRunnable(context, plan);
      else {
        await requireManager(check);
        requireRunnable(plan);
        for (const file of steps.files) await writeServiceFile(file);
        for (const words of steps.commands) await runServiceCommand(words);
      }
      print(context, command, { done: !dryRun, home: plan.home, ...steps }, () =>
        dryRun ? describeSteps(steps) + explain(plan) : `${serviceNames[role]} is running.\n${explain(plan)}`,
      );
    });
}

/** Steps that are only printed may be meant for another machine, so they are printed all the same. */
function warnUnlessRunnable({ stderr }: CliContext, plan: ServicePlan): void {
  const why = whyAccountCannotStart(plan);
  if (why !== null) stderr.write(`warning: ${neutraliseLine(why)}; ${whereToInstall}\n`);
}

function describeSteps({ files, commands }: Omit<ServiceSteps, "check">): string {
  const written = files.map(({ path, text }) => `Write ${path}:\n\n${text.replaceAll(/^(?=.)/gm, "  ")}\n`);
  const run = commands.map((words) => `  ${words.join(" ")}\n`);
  return `${written.join("")}Then run:\n\n${run.join("")}\n`;
}

function explain(plan: ServicePlan): string {
  const { role, isOfUser, home } = plan;
  const flag = isOfUser ? " --user" : "";
  const lines = [
    `It starts ${isOfUser ? "when you log in" : "with the machine"}, again two seconds after it ends, and keeps everything in ${home}.`,
    `Settings: ${environmentFile(plan).replace("%h", "~")}, one NAME=VALUE each line; then systemctl${flag} restart ${serviceNames[role]}`,
    `Its messages: journalctl${flag} -u ${serviceNames[role]}`,
    ...(role === "worker"
      ? [`It needs ${home}/agents.yaml, which \`writ workers add\` makes at the hub.`]
      : []),
    ...(isOfUser
      ? ["To start it with the machine, and keep it while you are not logged in: loginctl enable-linger"]
      : []),
    `\`writ uninstall${role === "up" ? "" : ` ${role}`}${flag}\` undoes this and leaves ${home}${needsAccount(plan) ? " and the account writ" : ""} alone.`,
  ];
  return `${lines.join("\n")}\n`;
}
