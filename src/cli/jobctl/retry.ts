import type { Command } from "commander";
import { withWrit } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { print } from "../print.ts";
import { jobIdHelp, resolveJobId } from "../short-id.ts";

export function define(command: Command, context: CliContext): void {
  command.argument("<id>", jobIdHelp).action((part: string) =>
    withWrit(context, command, async (writ) => {
      const accepted = await writ.retry(await resolveJobId(writ, part));
      print(context, command, accepted, ({ id, status }) => `${id} is ${status} again\n`);
    }),
  );
}
