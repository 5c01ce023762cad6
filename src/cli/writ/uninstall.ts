import { existsSync } from "node:fs";
import type { Command } from "commander";
import { WritError } from "../../core/errors.ts";
import type { CliContext } from "../context.ts";
import { serviceRole } from "../service/role.ts";
import { removeServiceFile, runServiceCommand } from "../service/run-steps.ts";
import {
  installedRoles,
  needsAccount,
  planService,
  type ServiceFlags,
  uninstallSteps,
} from "../service/service-plan.ts";
import { type ServicePlan, type ServiceRole, serviceNames } from "../service/unit.ts";
import { print } from "../terminal/print.ts";

export function define(command: Command, context: CliContext): void {
  command
    .argument("[role]", "hub or worker (default: a hub with a worker)", serviceRole)
    .option("--user", "the service of your own")
    .option("--dry-run", "only print what would be done")
    .action(async (role: ServiceRole = "up", { user = false, dryRun = false }: ServiceFlags) => {
      const plan = planService(context, command, { role, isOfUser: user });
      const { before, files, after } = uninstallSteps(plan, context.userHome);
      const missing = files.some((path) => existsSync(path)) ? null : notInstalled(plan, context.userHome);
      if (missing !== null && !dryRun) throw new WritError("NOT_FOUND", missing);
      if (missing !== null) context.stderr.write(`note: ${missing}\n`);
      if (!dryRun) {
        // After an earlier version, the line about the account may be all that is left.
        const hasUnit = installedRoles(user, context.userHome).includes(role);
        for (const words of hasUnit ? before : []) await runServiceCommand(words);
        for (const path of files) await removeServiceFile(path);
        for (const words of after) await runServiceCommand(words);
      }
      const commands = [...before, ...files.map((path) => ["rm", path]), ...after];
      print(context, command, { done: !dryRun, home: plan.home, commands }, () => {
        const run = commands.map((words) => `  ${words.join(" ")}\n`).join("");
        const what = dryRun ? `Run:\n\n${run}\n` : `${serviceNames[role]} is removed.\n`;
        return `${what}${plan.home} stays, with everything in it.\n${needsAccount(plan) ? accountStays : ""}`;
      });
    });
}

const accountStays = "The account writ stays too, because it owns that folder; `userdel writ` removes it.\n";

/** Somebody who leaves out the role, or --user, may have installed another service. */
function notInstalled({ role, isOfUser }: ServicePlan, userHome: string): string {
  const others = [false, true].flatMap((ofUser) =>
    installedRoles(ofUser, userHome).map((other) => uninstallWords(other, ofUser)),
  );
  const words = `${serviceNames[role]} is not installed${isOfUser ? " for this user" : ""}`;
  return others.length === 0 ? words : `${words}; what is installed is removed by ${others.join(" or ")}`;
}

function uninstallWords(role: ServiceRole, isOfUser: boolean): string {
  return `\`writ uninstall${role === "up" ? "" : ` ${role}`}${isOfUser ? " --user" : ""}\``;
}
