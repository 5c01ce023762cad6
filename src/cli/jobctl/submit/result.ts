import type { Command } from "commander";
import { withWrit } from "../../connection/connection.ts";
import type { CliContext } from "../../context.ts";
import { wantsJson } from "../../terminal/print.ts";
import { jobIdHelp, resolveJobId } from "../../terminal/short-id.ts";
import { safeJson } from "../../terminal/terminal.ts";

export function define(command: Command, context: CliContext): void {
  command.argument("<id>", jobIdHelp).action((id: string) =>
    withWrit(context, command, async (writ) => {
      const result = await writ.result(await resolveJobId(writ, id));
      context.stdout.write(wantsJson(command) ? `${safeJson(result)}\n` : resultText(result));
    }),
  );
}

export function resultText(result: unknown): string {
  return `${safeJson(result, 2)}\n`;
}
