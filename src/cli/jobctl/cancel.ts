import type { Command } from "commander";
import { withWrit } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { print } from "../print.ts";
import { resolveJobId } from "../short-id.ts";

export function define(command: Command, context: CliContext): void {
  command.argument("<id>", "the job, or the start or end of its id").action((part: string) =>
    withWrit(context, command, async (writ) => {
      const id = await resolveJobId(writ, part);
      const cancelled = { id, over: (await writ.cancel(id)) === "over" };
      print(context, command, cancelled, ({ over }) =>
        over ? `${id} is cancelled\n` : `${id} is being stopped by its worker\n`,
      );
    }),
  );
}
