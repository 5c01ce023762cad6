import type { Command } from "commander";
import { withWrit } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { print } from "../print.ts";
import { neutraliseLine } from "../terminal.ts";

type Flags = { reason?: string; lift?: boolean };

export function define(command: Command, context: CliContext): void {
  command
    .option("--reason <text>", "lock the hub, for this reason")
    .option("--lift", "lift the lockdown")
    .action((flags: Flags) =>
      withWrit(context, command, async (writ) => {
        if (flags.reason !== undefined) await writ.lockDown(flags.reason);
        if (flags.lift === true) await writ.liftLockdown();
        print(context, command, await writ.lockdown(), ({ locked, reason, user_id, since }) =>
          locked
            ? `${neutraliseLine(`locked since ${new Date(since!).toISOString()} by ${user_id ?? "the hub"}: ${reason}`)}\n`
            : "not locked\n",
        );
      }),
    );
}
