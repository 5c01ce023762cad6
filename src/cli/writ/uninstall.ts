import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { print } from "../print.ts";
import { serviceRole } from "../service/role.ts";
import { removeServiceFile, runServiceCommand } from "../service/run-steps.ts";
import { planService, type ServiceFlags, uninstallSteps } from "../service/service-plan.ts";
import { type ServiceRole, serviceNames } from "../service/unit.ts";

export function define(command: Command, context: CliContext): void {
  command
    .argument("[role]", "hub or worker (default: a hub with a worker)", serviceRole)
    .option("--user", "the service of your own")
    .option("--dry-run", "only print what would be done")
    .action(async (role: ServiceRole = "up", { user = false, dryRun = false }: ServiceFlags) => {
      const plan = planService(context, command, { role, isOfUser: user });
      const { before, files, after } = uninstallSteps(plan, context.userHome);
      if (!dryRun) {
        for (const words of before) await runServiceCommand(words);
        for (const path of files) await removeServiceFile(path);
        for (const words of after) await runServiceCommand(words);
      }
      const commands = [...before, ...files.map((path) => ["rm", path]), ...after];
      print(context, command, { done: !dryRun, home: plan.home, commands }, () => {
        const run = commands.map((words) => `  ${words.join(" ")}\n`).join("");
        const what = dryRun ? `Run:\n\n${run}\n` : `${serviceNames[role]} is removed.\n`;
        return `${what}${plan.home} stays, with everything in it.\n`;
      });
    });
}
